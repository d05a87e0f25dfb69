// @ts-check
// The view of the log: filters, chart, list, live tail, and the entry that is
// open. One Reading at a time: the entries of one set of filters.

import {get, leisure} from './api.js';
import {NOTHING, hrefOf, queryOf, writeAddress} from './address.js';
import {Chart} from './chart.js';
import {load} from './connection.js';
import {learn} from './directory.js';
import {button, fill, h, placeBelow, popover} from './dom.js';
import {EntryPanel} from './entry-panel.js';
import {Filters} from './filters.js';
import {check} from './health.js';
import {labeled} from './icons.js';
import {LogList} from './log-list.js';
import {LogPages} from './log-pages.js';
import {othersThan} from './log-types.js';
import {finder} from './marks.js';
import {belongs, overlaps, partsOf, readSeveral, tailOf} from './several.js';
import {follow} from './stream.js';
import {t} from './texts.js';
import {DAY, HOUR} from './time.js';
import {barsOf, countHere, countOne, countThere} from './timeline.js';
import {deliveryInWords} from './words.js';

const CHANGING = 3000;     // ms between looks at what is not delivered yet
const COUNTING = 1000;     // ms before what came is counted by category
const QUIET = 400;         // before the server is asked for the chart
const OPENED = 'opened';   // of the tab's history: an entry, opened in the list
const MANY = 1000;         // live entries after which all is read anew

const filters = new Filters(filtered);
const list = new LogList(openEntry, report);
const chart = new Chart((from, to) => filters.set(
    {after: String(from - 1), before: String(to)}));
const total = h('strong');
const spoken = h('span', {class: 'unseen', role: 'status'});
const note = h('span', {class: 'note'});
const fresh = button('', toTop, {class: 'fresh', hidden: true});
const state = h('span', {class: 'live'});
const pauser = button('', pause);
const charter = button(labeled('chart', t('chart.title')), () => {
    const open = chart.node.classList.toggle('open');

    charter.ariaExpanded = String(open);
    if (open && current?.timeline) {
        chart.show(current.timeline);
    }
}, {class: 'unfold', 'aria-expanded': 'false'});
const {opener: exporter, panel: exporting} = popover(t('export.title'), null);
const empty = h('p', {class: 'empty', hidden: true});
const panel = new EntryPanel({step, close: closeEntry, narrow(change) {
    filters.set(change);
}, leaveOut(type) {
    const {type: chosen} = filters.value;

    filters.set({type: othersThan([...chosen.length ? othersThan(chosen) : [],
        String(type)])});
}});

export const node = h('div', {class: 'logs'},
    filters.node, chart.node,
    h('div', {class: 'bar'}, total, spoken, note, fresh,
        h('span', {class: 'gap'}), state, pauser, charter,
        exporter, exporting),
    h('div', {class: 'content'},
        h('div', {class: 'table'}, list.node, empty), panel.node));

let current = null;        // {pages, stop, query, timeline, held}
let paused = false;
let opened;                // the place of the entry that is open, if known
let bot = '';
let server;                // what will be known of it
let lastFailed = 0n;       // the newest entry that was seen not to arrive


// Where the entries are those that are shown, they stay as they are.
export function show(address, facts) {
    const same = current?.begun && bot === address.bot
        && String(current.query) === String(queryOf(address.filters));
    const open = !panel.node.hidden;

    bot = address.bot;
    server = facts;
    shutEntry();
    if (!same) {
        filters.show(address.filters);
        read(address.filters);
    } else if (open) {
        list.go(list.current);
    }
    if (address.entry) {
        openLinked(current, address.entry);
    }
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
    shutEntry();
    read(value);
}


// What is shown stays until the answer is here.
async function read(value) {
    leave();

    const query = queryOf(value);
    const reading = current = {query, value, held: [], missed: 0,
        stop: new AbortController(), tail: new AbortController(),
        pages: new LogPages(query, answer, () => list.draw()),
        ready: /** @type {Promise<any> | null} */ (null)};

    list.hits = finder(value.search);
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
    if (reading !== current) {
        return;
    }

    reading.begun = true;
    reading.missed = 0;
    list.show(reading.pages);
    drawTimeline(reading).catch((error) =>
        error.name === 'AbortError' || chart.fail(error));
    release(reading);
    tell();
    spoken.textContent = total.textContent;
}


function pageOf(query, signal) {
    return readSeveral(query, (one) => get('/logs', one, signal));
}


async function answer(query, signal) {
    const page = await pageOf(query, signal);

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
    empty.textContent = t('logs.unread');
}


function tell() {
    const {begun, pages, held, missed} = current;

    if (!begun) {
        return;
    }
    const entries = t('logs.entries', {count: pages.total});

    total.textContent = pages.whole || !overlaps(current.query) ? entries
        : t('logs.atMost', {entries});
    note.textContent = pages.walled || !['after', 'before'].some((name) =>
        current.query.has(name)) ? windowInWords(pages) : '';
    note.classList.toggle('usual', !pages.walled);
    filters.showCounts(pages.counts);
    empty.hidden = pages.total > 0;
    fill(empty, ...[...current.query.keys()].length
        ? [t('logs.noMatch'), ' ', button(t('logs.clear'),
            () => filters.set(NOTHING))]
        : [t('logs.empty')]);

    fresh.hidden = !missed;
    fresh.textContent = t('logs.new', {count: missed});
    state.classList.toggle('on', !paused);
    state.textContent = t(paused ? 'logs.paused' : 'logs.live');
    pauser.textContent = !paused ? t('logs.pause')
        : held.length ? t('logs.resumeNew', {count: held.length})
            : t('logs.resume');
    pauser.hidden = state.hidden = ended(current);
}


// what the plan lets be read, before anybody misses it
function windowInWords({retention, walled}) {
    const days = Math.round(retention / DAY);

    return days ? t(walled ? 'logs.planDays' : 'logs.ofDays', {count: days})
        : t(walled ? 'logs.planHour' : 'logs.ofHour');
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

    reading.timeline = barsOf(Math.min(from, to), to, Math.max(20,
        Math.min(60, Math.floor(chart.node.clientWidth / 14))));

    chart.show(reading.timeline);
    if (pages.whole) {
        countHere(reading.timeline.bars, pages.whole);
        chart.draw();
        return;
    }

    await new Promise((resolve) => setTimeout(resolve, QUIET));
    await countThere(reading.timeline.bars, query, pages.retention,
        async (counted) => {
            await leisure(stop.signal);
            return get('/logs/histogram', counted, stop.signal);
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

    follow(tailOf(reading.query), reading.lastId, reading.tail.signal, {
        opened: (lastId) => lastId || reading.ready.then(() =>
            verify(reading)).catch(() => {}),
        reset(lastId) {
            reading.lastId = lastId;
            reading.ready.then(() => renew(reading)).catch(() => {});
        },
        entry(entry) {
            learn(entry);
            reading.lastId = entry.id;
            if (!belongs(entry, reading.query)) {
                return;
            }
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
    if (!await reading.pages.recount(reading.held.length)) {
        await renew(reading);
    }
}


// Reads it all again, or offers to.
async function renew(reading) {
    if (reading !== current) {
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

    if (reading !== current || !reading.begun) {
        return;
    }
    if (paused) {
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
    opened += n;
    list.pushed(n);
    chart.draw();
    tell();
    recount(reading);
}


// The counts are the server's, once in a while.
function recount(reading) {
    reading.counting ??= setTimeout(async () => {
        reading.counting = undefined;
        await reading.pages.recount(0).catch(() => {});
        if (reading === current) {
            tell();
        }
    }, COUNTING);
}


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

    const open = !panel.node.hidden;

    opened = index;
    writeAddress(hrefOf('logs', bot, current.value, entry.id), open,
        open ? history.state : OPENED);
    panel.show(entry, list.hits);
    list.select(entry.id);
}


// the entry that the address names, which any page of the list may hold
async function openLinked(reading, id) {
    const {signal} = reading.stop;

    opened = undefined;
    try {
        const entry = /^\d+$/.test(id)
            ? await get(`/logs/${id}`, undefined, signal) : null;

        if (signal.aborted || list.selected) {
            return;
        }
        if (!entry) {
            panel.explain(t('entry.gone'), t('entry.goneWhy'));
            return;
        }

        learn(entry);
        panel.show(entry, list.hits);
        list.select(entry.id);
        await reading.ready;

        const place = await reading.pages.find(entry);

        if (list.selected === entry.id) {
            opened = place;
            list.reach(place);
        }
    } catch (error) {
        if (error.name !== 'AbortError' && !list.selected) {
            panel.explain(t('entry.unread'), error.message);
        }
    }
}


function step(by) {
    const to = opened + by;

    if (to >= 0 && to < current.pages.total) {
        list.go(to);
        openEntry(to);
    }
}


function shutEntry() {
    panel.hide();
    list.select(null);
}


// Back to where it was opened; a link was opened nowhere.
function closeEntry() {
    if (history.state === OPENED) {
        history.back();
        return;
    }
    shutEntry();
    writeAddress(hrefOf('logs', bot, current.value), true);
    list.go(list.current);
}


// What is not delivered yet may be soon.
setInterval(async () => {
    const reading = current;

    if (!reading?.begun || document.hidden) {
        return;
    }
    if (await reading.pages.refresh(list.shown).catch(() => false)
        && reading === current)
    {
        list.draw();
        panel.update(reading.pages.at(opened));
    }

    const failed = BigInt(list.shown.find(({delivery}) =>
        deliveryInWords(delivery).mood === 'bad')?.id ?? 0);

    if (failed > lastFailed) {
        lastFailed = failed;
        check(bot, true).catch(() => {});
    }
}, CHANGING);


fill(exporter, labeled('export', t('export.title')));
exporting.addEventListener('beforetoggle', async ({newState}) => {
    if (newState !== 'open') {
        return;
    }
    fill(exporting);     // what was chosen before goes at once
    try {
        const {exportNodes, save} = await load(() => import('./export.js'));

        fill(exporting, exportNodes((how, span) => {
            exporting.hidePopover();
            download(how, span, save);
        }, total.textContent));
        placeBelow(exporting, exporter);
    } catch (error) {
        fill(exporting, error.message);
    }
});


// what is seen, and nothing that came since
async function download(how, span, save) {
    const query = queryOf({...current.value, ...span});
    const {newest} = current.pages;

    for (const [name, value] of Object.entries(how)) {
        query.set(name, value);
    }
    if (newest && !query.has('before')) {
        query.set('before', newest.timestamp + 1);
    }

    note.textContent = t('export.going');
    note.classList.remove('usual');
    try {
        let saved = false;

        for (const part of partsOf(query)) {
            saved = await save(part) || saved;
        }
        tell();
        if (!saved) {
            note.textContent = t('export.nothing');
            note.classList.remove('usual');
        }
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
