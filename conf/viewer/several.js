// @ts-check
// Several members and several channels at once. The API takes one of each: it
// is asked for every pair, one after the other, and the pages become one.

const ONE = ['member', 'channel'];     // what the API takes once

export const MOST = 6;                 // pairs


// the same query for each member in each channel
export function partsOf(query) {
    return ONE.reduce((parts, name) => parts.flatMap((part) =>
        part.getAll(name).length < 2 ? [part]
            : part.getAll(name).map((value) => {
                const one = new URLSearchParams(part);

                one.set(name, value);
                return one;
            })), [query]);
}


// May an entry be in two parts? One whom one member did it to, and another did
// it, is. Then totals are at most so many, until all is read.
export function overlaps(query) {
    const role = query.get('memberRole') ?? 'either';

    return query.getAll('member').length > 1 && role === 'either';
}


// What the live tail is asked for. One tail has to do, as a browser holds few
// connections: belongs() judges what comes.
export function tailOf(query) {
    if (partsOf(query).length === 1) {
        return query;
    }

    const tail = new URLSearchParams(query);

    [...ONE, 'memberRole'].forEach((name) => tail.delete(name));
    return tail;
}


export function belongs({executor, target, channel}, query) {
    const role = query.get('memberRole');
    const has = (name, who) => query.getAll(name).includes(who?.id);

    return partsOf(query).length === 1
        || (!query.has('member')
            || role !== 'target' && has('member', executor)
            || role !== 'executor' && has('member', target))
        && (!query.has('channel') || has('channel', channel));
}


// A page of all parts, as the API answers one. Its cursor names the last entry:
// each part goes on behind it.
export async function readSeveral(query, read) {
    const parts = partsOf(query);

    if (parts.length === 1) {
        return read(query);
    }

    const pages = [];

    for (const part of parts) {
        pages.push(await readPart(part, query.get('cursor'), read));
    }
    return merged(pages, Number(query.get('limit')));
}


async function readPart(part, cursor, read) {
    const [time, last] = cursor?.split('.') ?? [];

    part.delete('cursor');
    if (cursor) {
        part.set('before', Number(time) + 1);
    }
    for (;;) {
        const page = await read(part);
        const entries = page.entries.filter(({id}) => !last
            || BigInt(id) < BigInt(last));

        // a page that ends before it: very many entries of one millisecond
        if (!entries.length && page.cursor) {
            part.set('cursor', page.cursor);
            continue;
        }
        return {...page, entries,
            total: page.total - page.entries.length + entries.length};
    }
}


function merged(pages, limit) {
    const found = new Map(pages.flatMap(({entries}) =>
        entries.map((entry) => [entry.id, entry])));
    // behind the last entry of a page that goes on there may be others
    const end = pages.filter(({cursor}) => cursor)
        .map(({entries}) => BigInt(entries.at(-1).id))
        .reduce((a, b) => a > b ? a : b, 0n);
    const all = [...found.values()].filter(({id}) => BigInt(id) >= end)
        .sort((a, b) => BigInt(a.id) < BigInt(b.id) ? 1 : -1);
    const entries = all.slice(0, limit);
    const last = entries.at(-1);
    const more = all.length > limit || pages.some(({cursor}) => cursor);

    return {...pages[0], entries,
        total: more ? pages.reduce((sum, {total}) => sum + total, 0)
            : entries.length,
        walled: pages.some(({walled}) => walled),
        cursor: more && last ? `${last.timestamp}.${last.id}` : null,
        categoryCounts: pages.reduce((sums, {categoryCounts}) => {
            for (const [name, n] of Object.entries(categoryCounts)) {
                sums[name] = (sums[name] ?? 0) + n;
            }
            return sums;
        }, {})};
}
