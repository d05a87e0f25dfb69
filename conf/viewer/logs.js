// The view of the log: filters, chart, list, live tail, and the entry that is
// open. One Reading at a time: the entries of one set of filters.

import {get, leisure, open} from './api.js';
import {hrefOf, queryOf, writeAddress} from './address.js';
import {Chart} from './chart.js';
import {learn} from './directory.js';
import {button, debounce, fill, h, popover} from './dom.js';
import {entryNode} from './entry.js';
import {Filters} from './filters.js';
import {LogList} from './log-list.js';
import {LogPages} from './log-pages.js';
import {follow} from './stream.js';
import {DAY, HOUR} from './time.js';
import {barsOf, countHere, countOne, countThere} from './timeline.js';
import {ENTRIES, count} from './words.js';

const LOCALES = {en: 'English', de: 'Deutsch', ja: '日本語'};
const QUIET = 400;         // before the server is asked for the chart
const MANY = 1000;         // live entries after which all is read anew

const filters = new Filters(filtered);
const list = new LogList(openEntry);
const chart = new Chart((from, to) => filters.set(
    {after: String(from - 1), before: String(to)}));
const total = h('strong');
const spoken = h('span', {class: 'unseen', role: 'status'});
const note = h('span', {class: 'note'});
const fresh = button('', toTop, {class: 'fresh', hidden: true});
const live = button('', pause, {class: 'live', 'aria-pressed': 'true'});
const empty = h('p', {class: 'empty', hidden: true});
const panel = h('aside', {class: 'entry', 'aria-label': 'Entry',
    hidden: true, onkeydown: (event) => event.key === 'Escape'
        && closeEntry()});
const exporting = popover('Export', null,
    h('p', null, 'A CSV file of exactly these entries, with summaries in'),
    Object.entries(LOCALES).map(([locale, name]) =>
        button(name, () => download(locale), {lang: locale})));

export const node = h('div', {class: 'logs'},
    filters.node, chart.node,
    h('div', {class: 'bar'}, total, spoken, note, fresh,
        h('span', {class: 'gap'}), live, exporting.opener, exporting.panel),
    h('div', {class: 'content'},
        h('div', {class: 'table'}, list.node, empty), panel));

let current = null;        // {pages, stop, query, timeline, held}
let paused = false;
let bot = '';
let server;                // what will be known of it


list.failed = report;


export function show(address, facts) {
    bot = address.bot;
    server = facts;
    filters.show(address.filters);
    read(address.filters);
}


export function leave() {
    current?.stop.abort();
    current?.tail.abort();
    current?.pages.stop();
    current = null;
}


function filtered(value, typing) {
    writeAddress(hrefOf('logs', bot, value), typing);
    filters.show(value, typing);
    read(value);
}


// What is shown stays until the answer is here.
async function read(value) {
    leave();

    const query = queryOf(value);
    const reading = current = {query, value, held: [], missed: 0,
        stop: new AbortController(), tail: new AbortController(),
        pages: new LogPages(query, answer, () => list.draw())};

    node.ariaBusy = 'true';
    reading.ready = begin(reading);
    listen(reading);
    try {
        await reading.ready;
        filters.complain();
    } catch (error) {
        report(error);
    } finally {
        if (reading === current) {
            node.ariaBusy = 'false';
        }
    }
}


async function begin(reading) {
    await reading.pages.start();
    reading.begun = true;
    reading.missed = 0;
    list.show(reading.pages);
    drawTimeline(reading).catch(report);
    release(reading);
    tell();
    spoken.textContent = total.textContent;
}


async function answer(query, signal) {
    const page = await get('/logs', query, signal);

    page.entries.forEach(learn);
    return page;
}


function report(error) {
    if (error.name === 'AbortError') {
        return;
    }
    filters.complain(error);
    fill(total);
    empty.hidden = false;
    empty.textContent = 'The logs could not be read.';
}


function tell() {
    const {begun, pages, held, missed} = current;
    const days = Math.round(pages.retention / DAY);

    if (!begun) {
        return;
    }
    total.textContent = count(pages.total, ENTRIES);
    note.textContent = !pages.walled ? ''
        : `The plan allows reading back ${days ? `${days} days` : 'one hour'}.`;
    filters.showCounts(pages.counts);
    empty.hidden = pages.total > 0;
    empty.textContent = [...current.query.keys()].length
        ? 'No entry matches these filters.'
        : 'There are no entries yet.';

    fresh.hidden = !missed;
    fresh.textContent = `${count(missed)} new ↑`;
    live.ariaPressed = String(!paused);
    live.textContent = paused
        ? held.length ? `Resume (${count(held.length)} new)` : 'Resume'
        : 'Live';
    live.hidden = ended(current);
    live.title = paused ? 'New entries wait' : 'Click to pause';
}


// the chart

async function drawTimeline(reading) {
    const {pages, query, stop} = reading;
    const {first_log_at: first} = await server;
    const now = Date.now();
    const begun = Math.max(now - pages.retention,
        first ?? now - HOUR);
    const from = Math.max(Number(query.get('after') ?? begun) + 1, begun);
    const to = Number(query.get('before') ?? now);

    if (stop.signal.aborted) {
        return;
    }

    reading.timeline = barsOf(Math.min(from, to), to,
        Math.max(20, Math.min(60, Math.floor(chart.node.clientWidth / 14))));

    chart.show(reading.timeline);
    if (pages.whole) {
        countHere(reading.timeline.bars, pages.whole);
        chart.draw();
        return;
    }

    await new Promise((resolve) => setTimeout(resolve, QUIET));
    await countThere(reading.timeline.bars, query, async (counted) => {
        await leisure(stop.signal);
        return get('/logs', counted, stop.signal);
    }, () => chart.draw());
}


// the live tail

// a window that has closed gets nothing new
function ended({query}) {
    return Number(query.get('before') ?? Infinity) < Date.now();
}


function listen(reading) {
    if (ended(reading)) {
        return;
    }

    follow(reading.query, reading.lastId, reading.tail.signal, {
        opened: (lastId) => lastId || reading.ready.then(() =>
            verify(reading)).catch(() => {}),
        entry(entry) {
            learn(entry);
            reading.lastId = entry.id;
            reading.flooded = reading.held.length >= MANY;
            if (!reading.flooded) {
                reading.held.push(entry);
            }
            reading.frame ??= requestAnimationFrame(() => {
                reading.frame = undefined;
                release(reading);
            });
        },
    });
}


// What came before the tail began to listen is not in it.
async function verify(reading) {
    const {pages, held} = reading;

    if (await pages.recount() === pages.total + held.length) {
        return;
    }
    if (list.atTop) {
        await begin(reading);
    } else {
        reading.missed++;
        tell();
    }
}


// Shows what has come.
function release(reading) {
    const {pages, held, timeline} = reading;
    const before = pages.total;

    if (paused || !reading.begun) {
        tell();
        return;
    }

    for (const entry of held.splice(0)) {
        if (pages.add(entry)) {
            countOne(timeline?.bars ?? [], entry);
        }
    }

    const n = pages.total - before;
    if (n === 0) {
        return;
    }
    if (reading.flooded || pages.live.length > MANY && list.atTop) {
        reading.flooded = false;
        begin(reading).catch(report);
        return;
    }

    reading.missed = list.atTop ? 0 : reading.missed + n;
    list.pushed(n);
    chart.draw();
    tell();
    recount(reading);
}


const recount = debounce(1000, async (reading) => {
    await reading.pages.recount().catch(() => {});
    if (current === reading) {
        tell();
    }
});


function pause() {
    paused = !paused;
    if (!paused) {
        release(current);
    }
    tell();
}


function toTop() {
    current.missed = 0;
    list.toTop();
    tell();
    verify(current).catch(report);
}


// the entry that is open

function openEntry(index) {
    const entry = current.pages.at(index);

    if (!entry) {
        return;
    }

    const step = (by, label, sign) => button(sign, () => {
        list.go(index + by);
        openEntry(index + by);
    }, {'aria-label': label, class: 'quiet',
        disabled: index + by < 0 || index + by >= current.pages.total});

    fill(panel,
        h('div', {class: 'tools'},
            step(-1, 'Newer entry', '↑'), step(1, 'Older entry', '↓'),
            h('span', {class: 'gap'}),
            button('✕', closeEntry, {'aria-label': 'Close', class: 'quiet'})),
        entryNode(entry, (change) => {
            closeEntry();
            filters.set(change);
        }));
    panel.hidden = false;
    list.select(entry.id);
    panel.scrollTop = 0;
    panel.querySelector('h2').focus();
}


function closeEntry() {
    panel.hidden = true;
    list.select(null);
    list.go(list.current);
}


// what is seen, and nothing that came since
async function download(locale) {
    const query = new URLSearchParams(current.query);
    const {newest} = current.pages;

    exporting.panel.hidePopover();
    note.textContent = 'Exporting …';
    query.set('locale', locale);
    if (newest && !query.has('before')) {
        query.set('before', newest.timestamp + 1);
    }

    try {
        const response = await open('/logs/export', query);

        if (response.status === 204) {
            note.textContent = 'There is nothing to export.';
            return;
        }

        const url = URL.createObjectURL(await response.blob());
        const name = /filename="([^"]+)"/.exec(
            response.headers.get('Content-Disposition'))?.[1];

        h('a', {href: url, download: name ?? 'logs.csv'}).click();
        setTimeout(() => URL.revokeObjectURL(url), 60_000);
        tell();
    } catch (error) {
        report(error);
    }
}


// a tab that is not seen holds no connection
document.addEventListener('visibilitychange', () => {
    if (!current) {
        return;
    }
    current.tail.abort();
    current.tail = new AbortController();
    if (!document.hidden) {
        listen(current);
    }
});
