// Several members and channels at once are the entries of each, newest first,
// none twice and none left out, whatever a page ends at. Types can be left out.

import {readFileSync} from 'node:fs';
import {enter, is, leave, lines, newServer, ok, operator, shoot, shownTotal,
    soon} from './lib.js';

const {overlaps, partsOf, readSeveral} = await import(
    `data:text/javascript,${encodeURIComponent(readFileSync(new URL(
        '../../conf/viewer/several.js', import.meta.url), 'utf8'))}`);

const LOG = 400;
let seed = Number(process.env.GUILDLOG_SEED ?? 1);


function random(n) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor(seed / 65536) % n;
}


// many entries in few milliseconds
const log = Array.from({length: LOG}, (_, i) => ({
    id: String(9000000000000000000n + BigInt(i)),
    timestamp: 1000 + Math.floor(i / (1 + random(2) * 40)) , i,
    channel: random(3), executor: random(4), target: random(4),
})).map((entry, i, all) => ({...entry,
    timestamp: Math.max(...all.slice(0, i + 1).map((one) => one.timestamp))}))
    .reverse();


function matches({channel, executor, target}, query) {
    const role = query.get('memberRole') ?? 'either';
    const who = role === 'executor' ? [executor] : role === 'target' ? [target]
        : [executor, target];
    const members = query.getAll('member').map(Number);
    const channels = query.getAll('channel').map(Number);

    return (!members.length || who.some((one) => members.includes(one)))
        && (!channels.length || channels.includes(channel));
}


// as the API answers
function page(query) {
    if (['member', 'channel'].some((name) => query.getAll(name).length > 1)) {
        throw new Error('400');
    }

    const cursor = query.get('cursor');
    const before = Number(query.get('before') ?? Infinity);
    const all = log.filter((entry) => matches(entry, query)
        && entry.timestamp < before && (!cursor || entry.i < Number(cursor)));
    const entries = all.slice(0, Number(query.get('limit')));

    return {entries, total: all.length, walled: false, retentionMs: 1,
        categoryCounts: {categoryText: all.length},
        cursor: all.length > entries.length ? String(entries.at(-1).i) : null};
}


async function readAll(query) {
    const entries = [];
    let cursor;

    do {
        const asked = new URLSearchParams(query);

        if (cursor) {
            asked.set('cursor', cursor);
        }
        const answer = await readSeveral(asked, async (part) => page(part));

        entries.push(...answer.entries);
        ({cursor} = answer);
        if (answer.entries.length > Number(query.get('limit'))
            || entries.length > LOG)
        {
            throw new Error('a page without end');
        }
    } while (cursor);
    return entries;
}


export default async function several() {
    await merging();
    await choosing();
}


async function merging() {
    for (const limit of [1, 7, 50, 200]) {
        for (const filters of ['member=1&member=2', 'channel=0&channel=2',
            'member=0&member=3&memberRole=target', 'member=1&channel=1',
            'member=1&member=2&channel=0&channel=1&memberRole=executor'])
        {
            const query = new URLSearchParams(`${filters}&limit=${limit}`);
            const right = log.filter((entry) => matches(entry, query));
            const found = await readAll(query);

            is(found.map(({id}) => id), right.map(({id}) => id),
                `${filters} by ${limit}`);

            const {total} = await readSeveral(query,
                async (part) => page(part));

            ok(overlaps(query) ? total >= right.length
                : total === right.length, '... with their total');
        }
    }
    is(partsOf(new URLSearchParams('member=1&member=2&channel=3&channel=4'))
        .length, 4, 'each member in each channel is asked for');
}


async function choosing() {
    const server = await newServer({name: 'Several'});
    const now = Date.now();
    const people = ['Ann', 'Bob', 'Cleo'].map((name, i) => ({id: `20${i}`,
        name}));
    const channels = ['hall', 'yard', 'roof'].map((name, i) => ({id: `30${i}`,
        name}));
    const of = (...places) => entries.filter((_, i) =>
        places.includes(i % 3)).length;
    const entries = Array.from({length: 700}, (_, i) => ({
        type: i % 2 ? 5 : 17, executor: people[i % 3],
        target: people[(i + 1) % 3], channel: channels[i % 3],
        timestamp: now - i * 1000 - 5000}));

    await server.record(...entries);
    await operator('PUT', `/servers/${server.id}/channels`, channels);

    const page = await enter(server);
    const hash = () => new URL(page.url()).hash;
    const chips = () => page.locator('.applied .chip').allTextContents();
    const pick = async (label, name) => {
        await page.getByLabel(label, {exact: true}).fill(name);
        await page.getByRole('option', {name}).first().click();
    };

    await pick('Member', 'Ann');
    await pick('Member', 'Bob');
    await soon(hash, '#/logs?member=200&member=201', 'two members');
    await soon(chips, ['Member Ann ✕', 'Member Bob ✕'], '... as chips');
    await soon(async () => /^at most /.test(await page.locator('.bar strong')
        .textContent()), true, 'one may have done it to the other: the total '
        + 'is at most so many');
    await page.getByLabel('What the member has to do').selectOption('executor');
    await soon(() => shownTotal(page), of(0, 1), 'what both did is exact');
    await page.locator('.list').evaluate((node) => {
        node.scrollTop = 1e6;
    });
    await soon(async () => {
        const row = lines(page).last();
        return [await row.getAttribute('aria-rowindex'),
            await row.locator('.what span').last().innerText()];
    }, [String(of(0, 1) + 1), 'Ann deleted a message by Bob in #hall'],
    'the oldest are found');
    await page.locator('.list').evaluate((node) => {
        node.scrollTop = 0;
    });
    await soon(async () => (await lines(page).first().innerText())
        .includes('Ann'), true, '... and the newest');

    await server.record({type: 39, executor: people[1], target: people[2]},
        {type: 39, executor: people[2], target: people[1]});
    await soon(() => shownTotal(page), of(0, 1) + 1,
        'what either does comes live, and nothing else');
    await shoot(page, 'several');

    await pick('Channel', 'yard');
    await pick('Channel', 'roof');
    await soon(() => shownTotal(page), of(1), 'two channels besides');
    await pick('Channel', 'hall');
    await soon(() => shownTotal(page), of(0, 1), 'and a third one');
    await pick('Member', 'Cleo');
    await page.locator('.filters .error', {hasText: 'At most 6'}).waitFor();
    ok(!(await chips()).includes('By Cleo ✕'),
        'nine at once are too many, which is told');
    await page.getByRole('button', {name: 'By Ann'}).click();
    await soon(() => shownTotal(page), of(1), 'one is taken out');

    const {total} = await server.get('/logs?limit=1');

    await page.getByRole('button', {name: 'Clear', exact: true}).click();
    await soon(() => shownTotal(page), total, 'without filters all is there');
    await lines(page).filter({hasText: 'deleted'}).first().click();
    await page.getByRole('button', {name: 'All but this type'}).click();
    await soon(chips, ['Not Message deleted ✕'], 'a type is left out');
    await soon(() => shownTotal(page), total - 350, '... and nothing else');
    await lines(page).filter({hasText: 'joined'}).first().click();
    await page.getByRole('button', {name: 'All but this type'}).click();
    await soon(chips, ['Not Message deleted ✕',
        'Not Member joined voice channel ✕'], 'another one is');
    await page.getByRole('button', {name: 'Not Message deleted'}).click();
    await soon(chips, ['Not Member joined voice channel ✕'],
        '... and the first is back');
    await page.getByRole('button', {name: /^Types/}).click();
    await page.getByRole('button', {name: 'All except these'}).click();
    await page.keyboard.press('Escape');
    await soon(chips, ['Type Member joined voice channel ✕'],
        'the choice is turned round');
    await leave(page, 'several');
}
