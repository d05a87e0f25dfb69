// How many entries there are over time. The API tells how many match between
// two times; a page of one entry is asked for each bar.

import {DAY, HOUR, MINUTE} from './time.js';
import {typeOf} from './log-types.js';

const STEPS = [1000, 5000, 15_000, MINUTE, 5 * MINUTE, 15 * MINUTE,
    30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY];
const AT_ONCE = 4;


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
        const {category} = typeOf(entry.type);
        bar.counts[category] = (bar.counts[category] ?? 0) + 1;
    }
}


// The server counts, the newest bars first; drawn() is called after each.
export async function countThere(bars, filters, read, drawn) {
    const queue = [...bars].reverse();
    const {after, before} = limitsOf(filters);
    const categories = filters.getAll('category');

    async function work() {
        for (let bar; (bar = queue.shift());) {
            const query = new URLSearchParams(filters);

            query.set('limit', 1);
            query.set('after', Math.max(bar.from - 1, after));
            query.set('before', Math.min(bar.to, before));
            bar.counts = chosen((await read(query)).categoryCounts,
                categories);
            drawn();
        }
    }

    await Promise.all(Array.from({length: AT_ONCE}, work));
}


function limitsOf(filters) {
    return {
        after: Number(filters.get('after') ?? -Infinity),
        before: Number(filters.get('before') ?? Infinity),
    };
}


// the API counts every category, chosen or not
function chosen(counts, categories) {
    return categories.length
        ? Object.fromEntries(Object.entries(counts)
            .filter(([category]) => categories.includes(category)))
        : counts;
}
