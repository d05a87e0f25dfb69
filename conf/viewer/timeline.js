// @ts-check
// How many entries there are over time, as the API counts them.

import {DAY, HOUR, MINUTE} from './time.js';
import {typeOf} from './log-types.js';
import {partsOf} from './several.js';

const STEPS = [1000, 5000, 15_000, MINUTE, 5 * MINUTE, 15 * MINUTE,
    30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY];

const AHEAD = 13 * HOUR;     // less than what the server counts ahead of now


// Bars between two times, at most so many: [{from, to, counts}], whose edges
// are round times of the reader's zone, also when its clocks are changed.
export function barsOf(from, to, most) {
    const step = STEPS.find((one) => (to - from) / one <= most - 1) ?? DAY;
    const zone = new Date(from).getTimezoneOffset() * MINUTE;
    const edge = new Date(Math.floor((from - zone) / step) * step + zone);
    const bars = [];

    while (+edge < to) {
        const start = +edge;

        edge.setMilliseconds(edge.getMilliseconds() + step);
        bars.push({from: start, to: +edge, counts: null});
    }
    return {step, bars};
}


// all entries are here
export function countHere(bars, entries) {
    for (const bar of bars) {
        bar.counts = {};
    }
    for (const entry of entries) {
        countOne(bars, entry);
    }
}


export function countOne(bars, entry) {
    const bar = bars.find(({from, to}) => entry.timestamp >= from
        && entry.timestamp < to);

    if (bar?.counts) {
        add(bar.counts, {[typeOf(entry.type).category]: 1});
    }
}


// The server, which keeps entries for so many ms, counts: read(query) asks it.
// drawn() is called after each answer, of which the newest come first.
export async function countThere(bars, filters, kept, read, drawn) {
    for (const run of runsOf(bars, filters, kept).reverse()) {
        const counts = run.bars.map(() => ({}));

        for (const part of partsOf(filters)) {
            const query = new URLSearchParams(part);

            query.set('after', String(run.after));
            query.set('before', String(run.before));
            query.set('buckets', String(run.bars.length));

            const {from, step, buckets} = await read(query);

            for (const bucket of buckets) {
                add(counts[(bucket.at - from) / step], bucket.counts);
            }
        }
        run.bars.forEach((bar, i) => {
            bar.counts = counts[i];
        });
        drawn();
    }
}


// Bars that are as long as one another, and whole, are one question. The first
// and the last may be cut: by the filters, by what is kept, by how far ahead
// the server looks.
function runsOf(bars, filters, kept) {
    const after = Number(filters.get('after') ?? -Infinity);
    const before = Number(filters.get('before') ?? Infinity);
    const first = Math.max(after + 1, Date.now() - kept + MINUTE);
    const last = Math.min(before, Date.now() + AHEAD);
    const runs = [];

    for (const bar of bars) {
        const run = runs.at(-1);
        const length = bar.from >= first && bar.to <= last
            && bar.to - bar.from;

        if (length && run?.length === length) {
            run.bars.push(bar);
            run.before = bar.to;
        } else {
            runs.push({length, bars: [bar],
                after: Math.max(bar.from - 1, after),
                before: Math.min(bar.to, before)});
        }
    }
    return runs;
}


function add(sums, counts) {
    for (const [category, n] of Object.entries(counts)) {
        sums[category] = (sums[category] ?? 0) + n;
    }
}
