// @ts-check
// All entries that match, of which only a few pages are held at a time. An
// entry has a place, counted from the newest. Pages follow each other by
// their cursors; far places are found by time, for a page tells by its total
// how many entries it and all older ones hold, and so its own place.

import {overlaps} from './several.js';
import {deliveryInWords} from './words.js';

const PAGE = 200;
const KEPT = 15;         // pages
const NEAR = 2 * PAGE;   // places walked to by cursors rather than by time
const GUESSES = 10;


/**
 * @typedef {import('./api.js').Schemas['LogEntry']} Entry
 * @typedef {{start: number, entries: Entry[], used: number}} Page
 * @typedef {{place: number, time: number, cursor?: string}} Mark
 */

export class LogPages {
    live = /** @type {Entry[]} */ ([]);      // what came since, newest first
    pages = /** @type {Page[]} */ ([]);
    marks = /** @type {Mark[]} */ ([]);      // by place
    stored = 0;                              // entries beneath the live ones
    wanted = [0, -1];                        // the first place, the last one
    retention = 0;

    // read(query, signal) asks the API; changed() is told of what has come
    constructor(filters, read, changed) {
        this.filters = filters;
        this.read = read;
        this.changed = changed;
        this.abort = new AbortController();
        this.loading = false;
        this.uses = 0;
    }


    clear() {
        this.live = [];
        this.pages = [];
        this.marks = [];
        this.stored = 0;
    }


    // also to begin again
    async start() {
        const page = await this.ask({});
        const [newest] = page.entries;

        this.clear();
        this.stored = page.total;
        this.retention = page.retentionMs;
        this.walled = page.walled;
        this.counts = page.categoryCounts;
        this.head = newest?.id;
        this.marks = [
            {place: 0, time: newest?.timestamp ?? 0, cursor: ''},
            {place: page.total, time: Number(this.filters.get('after'))
                || Date.now() - page.retentionMs},
        ];
        this.keep(0, page);
    }


    stop() {
        this.abort.abort();
    }


    get total() {
        return this.live.length + this.stored;
    }


    get newest() {
        return this.at(0);
    }


    // all there is, where that is but one page; else null
    get whole() {
        const [page] = this.pages;
        return this.stored === 0 ? this.live
            : page?.start === 0 && page.entries.length >= this.stored
                ? [...this.live, ...page.entries] : null;
    }


    // undefined while it is not here
    at(index) {
        if (index < this.live.length) {
            return this.live[index];
        }

        const place = index - this.live.length;
        const page = this.pageOf(place);

        if (page) {
            page.used = ++this.uses;
        }
        return page?.entries[place - page.start];
    }


    // the place of an entry, wherever it is; undefined if it does not match
    async find({id, timestamp}) {
        const place = this.placeOf(id);

        if (place === undefined) {
            await this.jump(timestamp + 1);
        }
        return place ?? this.placeOf(id);
    }


    placeOf(id) {
        const parts = [{start: 0, entries: this.live}, ...this.pages.map(
            ({start, entries}) => ({start: this.live.length + start,
                entries}))];

        for (const {start, entries} of parts) {
            const i = entries.findIndex((entry) => entry.id === id);

            if (i >= 0) {
                return start + i;
            }
        }
        return undefined;
    }


    // Has these loaded, one page after the other, nearest first.
    async want(first, last) {
        this.wanted = [first, last];
        if (this.loading) {
            return;
        }

        this.loading = true;
        try {
            for (let tries = 0, place; tries < 4 * GUESSES; tries++) {
                place = this.missing();
                if (place === undefined) {
                    break;
                }
                await this.load(place, tries);
                this.changed();
            }
        } finally {
            this.loading = false;
        }
    }


    missing() {
        const [first, last] = this.wanted;

        for (let i = first; i <= last && i < this.total; i++) {
            if (i >= this.live.length && !this.pageOf(i - this.live.length)) {
                return i - this.live.length;
            }
        }
        return undefined;
    }


    pageOf(place) {
        return this.pages.find((page) => place >= page.start
            && place < page.start + page.entries.length);
    }


    async load(place, tries) {
        const from = this.marks.findLast((mark) => mark.place <= place
            && mark.cursor !== undefined) ?? this.marks[0];
        const time = this.timeOf(place - PAGE / 4);

        if (place - from.place < NEAR || tries > GUESSES || time === null) {
            await this.walk(from);
        } else {
            await this.jump(time);
        }
    }


    async walk(from) {
        const page = await this.ask(from.cursor ? {cursor: from.cursor}
            : {before: this.marks[0].time + 1});

        if (!from.cursor) {
            const newer = page.entries.findIndex(({id}) => id === this.head);
            page.entries.splice(0, Math.max(newer, 0));
            page.total -= Math.max(newer, 0);
        }

        this.shrink(from.place + page.total);
        this.keep(from.place, page);
    }


    async jump(time) {
        const page = await this.ask({before: time});
        const start = Math.max(this.stored - page.total, 0);

        this.mark({place: start, time: page.entries[0]?.timestamp ?? time});
        this.keep(start, page);
    }


    // where a place may be found: between the marks around it
    timeOf(place) {
        const after = this.marks.findIndex((mark) => mark.place > place);
        const newer = this.marks[Math.max(after - 1, 0)];
        const older = this.marks[after];

        if (!older || newer.time - older.time < 2) {
            return null;
        }
        return Math.round(newer.time - (newer.time - older.time)
            * (place - newer.place) / (older.place - newer.place));
    }


    // the oldest ones may have left the plan's window meanwhile
    shrink(stored) {
        if (stored < this.stored) {
            this.stored = stored;
            this.marks = this.marks.filter((mark) => mark.place < stored);
            this.marks.push({place: stored,
                time: Date.now() - this.retention});
        }
    }


    keep(start, page) {
        const {entries, cursor} = page;
        const last = entries.at(-1);

        if (!last) {
            return;
        }

        // a page found by time may reach into its neighbours
        this.pages = this.pages.filter((other) => other.start + other
            .entries.length <= start || other.start >= start + entries.length);
        this.pages.push({start, entries, used: ++this.uses});
        if (this.pages.length > KEPT) {
            this.pages.sort((a, b) => b.used - a.used).pop();
        }
        if (cursor) {
            this.mark({place: start + entries.length, time: last.timestamp,
                cursor});
        }
    }


    mark(mark) {
        const i = this.marks.findIndex((other) => other.place >= mark.place);

        if (i < 0 || this.marks[i].place !== mark.place) {
            this.marks.splice(i < 0 ? this.marks.length : i, 0, mark);
        } else if (this.marks[i].cursor === undefined) {
            this.marks[i] = mark;
        }
    }


    // An entry that has just come; false if it is here already.
    add(entry) {
        const known = ({id}) => id === entry.id;

        if (this.live.some(known)
            || this.pages.some((page) => page.entries.some(known)))
        {
            return false;
        }

        const i = this.live.findIndex((other) =>
            BigInt(other.id) < BigInt(entry.id));
        this.live.splice(i < 0 ? this.live.length : i, 0, entry);
        return true;
    }


    // Has the counts of now; true if nothing is new to us, so many apart that
    // wait.
    async recount(waiting) {
        const live = this.live.length;
        const page = await this.ask({limit: 1});
        const [newest] = page.entries;

        this.counts = page.categoryCounts;
        this.shrink(page.total - live);
        return (overlaps(this.filters)
            || page.total <= this.total + waiting)
            && (waiting > 0 || newest?.id === this.newest?.id);
    }


    // Looks again at the deliveries of these entries, which are all that ever
    // changes of one. True if something has.
    async refresh(entries) {
        const open = entries.filter(({delivery}) =>
            deliveryInWords(delivery).mood === 'open');
        const times = open.map(({timestamp}) => timestamp);

        if (!open.length) {
            return false;
        }

        const page = await this.ask({after: Math.min(...times) - 1,
            before: Math.max(...times) + 1});
        const now = new Map(page.entries.map(({id, delivery}) =>
            [id, delivery]));
        const changed = open.filter(({id, delivery}) => now.has(id)
            && now.get(id).reason !== delivery.reason);

        for (const entry of changed) {
            entry.delivery = now.get(entry.id);
        }
        return changed.length > 0;
    }


    ask(more) {
        const query = new URLSearchParams(this.filters);

        query.set('limit', String(PAGE));
        for (const [name, value] of Object.entries(more)) {
            query.set(name, value);
        }
        return this.read(query, this.abort.signal);
    }
}
