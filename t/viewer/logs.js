// Reading the log: the list over all entries, every filter, its address, an
// entry as a whole, export.

import {readFile} from 'node:fs/promises';
import {enter, is, leave, lines, newServer, ok, operator, scrollTo, shoot,
    shownTotal, soon} from './lib.js';

const ANN = {id: '201', name: 'Ann'};
const BOB = {id: '202', name: 'Bob'};
const HALL = {id: '301', name: 'hall'};
const YARD = {id: '302', name: 'yard'};
const HOUR = 3_600_000;

let server;
let start;


// 900 entries, a second apart; the first of them the newest
async function fill() {
    const kinds = [
        (i) => ({type: 5, target: ANN, channel: HALL, content: `word${i}`}),
        (i) => ({type: 39, executor: BOB, target: ANN, reason: `why ${i}`}),
        (i) => ({type: 17, executor: ANN, channel: YARD, name: `n${i}`}),
        (i) => ({type: 44, executor: BOB, target: BOB,
            role: i % 2 ? 'Painter' : 'Singer'}),
    ];

    start = Date.now() - HOUR;
    for (let from = 0; from < 900; from += 300) {
        await server.record(...Array.from({length: 300}, (_, i) => ({
            ...kinds[(from + i) % 4](from + i),
            timestamp: start - (from + i) * 1000})));
    }
    await operator('PUT', `/servers/${server.id}/channels`,
        [{...HALL, type: 0}, {...YARD, type: 0}]);
    await operator('PUT', `/servers/${server.id}/members`, [ANN, BOB]);
}


export default async function logs() {
    server = await newServer({name: 'Logs'});
    await fill();

    const page = await enter(server);

    await list(page);
    await filters(page);
    await outdated(page);
    await refused(page);
    await leave(page, 'the list');

    await keyboard();
    await whole();
    await exports();
}


// what the API counts
async function apiTotal(query) {
    return (await server.get(`/logs?limit=1&${query}`)).total;
}


async function list(page) {
    const {total, categoryCounts} = await server.get('/logs?limit=1');

    await soon(() => shownTotal(page), total, 'all entries are told');
    for (const [category, n] of Object.entries(categoryCounts)) {
        is(await page.locator(`.chip[data-category=${category}] b`)
            .textContent(), String(n), `${category} is counted`);
    }
    await soon(() => lines(page).nth(1).locator('.details').textContent(),
        'word0', 'the newest come first');
    ok(await page.locator('.rows .row').count() < 60,
        'no more lines are made than are seen');

    // by wheel, page by page
    const seen = new Set();

    for (let y = 0; y <= 900 * 40; y += 500) {
        await scrollTo(page, y);
        for (const index of await page.locator('.rows .row').evaluateAll(
            (rows) => rows.map((row) => row.ariaRowIndex)))
        {
            seen.add(index);
        }
    }
    is(seen.size, total, 'scrolling meets every entry');

    await page.reload();
    await lines(page).first().waitFor();
    await scrollTo(page, 1e6);
    await soon(() => lines(page).last().innerText().then((text) =>
        /Singer|Painter/.test(text)), true,
    'the oldest are found without reading what is between');

    const indexes = await lines(page).evaluateAll((rows) =>
        rows.map((row) => Number(row.ariaRowIndex)));
    is(indexes, indexes.map((_, i) => total + 1 - (indexes.length - 1 - i)),
        'in their places, in their order');

    const shown = await lines(page).locator('time').evaluateAll((times) =>
        times.map((time) => Date.parse(time.dateTime)));
    is(shown, [...shown].sort((a, b) => b - a), 'newest first there, too');

    const title = await lines(page).first().locator('time')
        .getAttribute('title');
    ok(/\d{4}.*\.\d{3}.*(GMT\+1|WAT).*Z$/.test(title),
        'the exact time comes on hover', title);
}


async function filters(page) {
    // types what, or clicks; the query that the address should then hold
    const shows = async (query, what) => {
        const total = await apiTotal(query);

        await soon(() => shownTotal(page), total, `${what} filters`);
        is(new URL(page.url()).hash, `#/logs?${query}`,
            '... and stands in the address');
    };
    const clear = async () => {
        await page.getByRole('button', {name: 'Clear', exact: true}).click();
        await soon(() => new URL(page.url()).hash, '#/logs', 'cleared');
    };
    const pick = async (label, text) => {
        await page.getByLabel(label, {exact: true}).fill(text);
        await page.getByRole('option', {name: text}).first().click();
    };

    await page.getByPlaceholder('Search').pressSequentially('word100');
    await shows('search=word100', 'search as you type');
    await clear();

    await page.locator('.chip[data-category=categoryModlog]').click();
    await shows('category=categoryModlog', 'a category');
    await page.locator('.chip[data-category=categoryVoice]').click();
    await shows('category=categoryModlog&category=categoryVoice',
        'another category');
    await page.goBack();
    await shows('category=categoryModlog', 'going back');
    await page.goForward();
    await clear();

    await page.getByRole('button', {name: 'All types'}).click();
    await page.getByLabel('Find a type').fill('banned');
    await page.getByLabel('Member banned').check();
    await page.keyboard.press('Escape');
    await shows('type=39', 'a log type');
    await clear();

    await pick('Channel', 'yard');
    await shows('channel=302', 'a channel');
    await clear();

    await pick('Member', 'Bob');
    await shows('member=202', 'a member');
    await page.getByLabel('What the member has to do').selectOption('executor');
    await shows('member=202&memberRole=executor', 'who did it');
    await clear();

    await page.getByLabel('Role', {exact: true}).fill('paint');
    await shows('role=paint', 'a role');
    await clear();

    // Lagos is an hour ahead of UTC, always; a time of no seconds is not
    // kept as it is filled in
    const at = Math.floor((start - 100_000) / 60_000) * 60_000 + 30_000;
    await page.getByRole('button', {name: 'Any time'}).click();
    await page.getByLabel('Before').fill(new Date(at + HOUR).toISOString()
        .slice(0, 19));
    await page.getByLabel('After').fill(new Date(at + HOUR - 60_000)
        .toISOString().slice(0, 19));
    await page.keyboard.press('Escape');
    await shows(`after=${at - 60_000}&before=${at}`, 'a time range');

    // the day before, there
    const day = 24 * HOUR;
    const midnight = Math.floor((Date.now() + HOUR) / day) * day - HOUR;
    await page.locator('.more .time').click();
    await page.getByRole('button', {name: 'Yesterday'}).click();
    await shows(`after=${midnight - day - 1}&before=${midnight}`, 'yesterday');
    await page.locator('.more .time').click();
    await page.getByLabel('Before').fill(new Date(at + HOUR).toISOString()
        .slice(0, 19));
    await page.getByLabel('After').fill(new Date(at + HOUR - 60_000)
        .toISOString().slice(0, 19));
    await page.keyboard.press('Escape');
    await shows(`after=${at - 60_000}&before=${at}`, 'the range again');

    await page.locator('.chip[data-category=categoryModlog]').click();
    await soon(() => shownTotal(page), 15, 'filters join');
    await page.reload();
    await soon(() => shownTotal(page), 15, 'a view is what its address says');
    await clear();

    await page.getByPlaceholder('Search').fill('nothing has this');
    await page.locator('.empty', {hasText: 'No entry matches'}).waitFor();
    await shoot(page, 'no-match');
    ok(true, 'that nothing matches is told');
    await clear();
}


async function outdated(page) {
    let release;
    const held = new Promise((resolve) => {
        release = resolve;
    });

    await page.route(/search=word1(&|$)/, async (route) => {
        await held;
        await route.continue().catch(() => {});
    });
    const asked = page.waitForRequest(/search=word1(&|$)/);
    await page.getByPlaceholder('Search').fill('word1');
    await asked;
    await page.getByPlaceholder('Search').fill('word100');
    await soon(() => shownTotal(page), 1, 'the last word counts');
    release();
    await page.waitForTimeout(100);
    is(await shownTotal(page), 1, 'an answer that comes late is dropped');
    await page.unroute(/search=word1(&|$)/);
    await page.getByRole('button', {name: 'Clear', exact: true}).click();
}


async function refused(page) {
    page.expected = /status of 400/;
    await page.evaluate(() => {
        location.hash = '#/logs?channel=hall&search=word1';
    });

    const field = page.getByLabel('Channel', {exact: true});
    const error = page.locator('.filters .error');

    await soon(() => error.textContent(), 'Channel: That is not an ID. Pick a '
        + 'name from the list, or paste an ID.',
    'what the API does not take is told');
    is(await field.getAttribute('aria-describedby'),
        await error.getAttribute('id'), '... by the field it is about');
    await shoot(page, 'refused');
    await field.fill('nowhere');
    await field.press('Tab');
    await soon(() => error.textContent(), 'Channel: No channel by that name '
        + 'is known. Pick one from the list, or give its ID.',
    'a channel that is not known is told');
    await field.fill('Yard');
    await field.press('Tab');
    await soon(() => new URL(page.url()).hash, '#/logs?search=word1'
        + '&channel=302', 'one that is needs not be picked');
    await soon(() => error.isVisible(), false, '... until it is right');
    await page.getByRole('button', {name: 'Clear', exact: true}).click();
}


async function keyboard() {
    const page = await enter(server, '#/logs?category=categoryModlog');
    const focused = () => page.evaluate(() =>
        document.activeElement.ariaRowIndex);

    await lines(page).first().waitFor();
    await page.locator('main').focus();
    for (let i = 0; i < 40 && await focused() === null; i++) {
        await page.keyboard.press('Tab');
    }
    is(await focused(), '2', 'the list is reached by Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    is(await focused(), '4', 'arrows go through it');
    await page.keyboard.press('End');
    await soon(focused, '226', 'End goes to the oldest');
    await soon(() => page.locator(':focus .details').textContent(),
        'why 897', '... which is there');
    await page.keyboard.press('Home');
    await soon(focused, '2', 'Home to the newest');

    await page.keyboard.press('Enter');
    await soon(() => page.locator(':focus').textContent(), 'Member banned',
        'Enter opens the entry');
    await page.keyboard.press('Escape');
    await soon(focused, '2', 'Escape leads back to its line');
    await leave(page, 'the keyboard');
}


async function whole() {
    await server.record(
        {type: 33, executor: BOB, timestamp: start + 500, changes: [
            {key: 'name', old: 'Mod', new: 'Moderator'},
            {key: 'permissions', old: '8', new: '2048'},
            {key: 'color', old: 0, new: 3447003},
            {key: 'owner_id', old: '201', new: '202'}],
        until: start, role_id: '401', image: {after: 'https://x.y/z.png'}},
        {type: 7, executor: ANN, channel: HALL, content: 'meet me at noon',
            contentAfter: 'meet us at noon', timestamp: start + 1000},
        {type: 3, executor: BOB, channel: HALL, count: 2, timestamp: start
            + 2000, messages: [
            {id: '1', content: 'first', authorId: '201', timestamp: start,
                attachments: [{name: 'a.png', size: 1_234_000}]},
            {id: '2', content: 'second', authorId: '202',
                attachments: []}]},
        {type: 39, executor: BOB, target: ANN, reason: 'raid',
            timestamp: start + 3000});

    const page = await enter(server);
    const entry = page.locator('.entry');
    const fact = (label) => entry.locator('.facts div', {has: page
        .getByText(label, {exact: true})}).first().locator('dd').innerText();

    await lines(page).nth(1).click();
    await entry.waitFor();
    is(await entry.locator('h2').textContent(), 'Member banned',
        'an entry opens');
    is(await entry.locator('.sentence').innerText(), 'Bob banned Ann',
        'what happened, in a sentence');
    ok(/^B\s+Bob\s/.test(await fact('Moderator')), 'who did it');
    ok(/^A\s+Ann\s/.test(await fact('Member')), 'to whom');
    is(await fact('Why'), 'raid', 'why');
    ok((await entry.innerText()).includes(
        'Not delivered No log channel is set for it.'),
    'its delivery is told in words');

    await page.getByRole('button', {name: 'Older entry'}).click();
    await soon(() => entry.locator('h2').textContent(),
        'Messages bulk deleted', 'the next one');
    is(await entry.locator('.sentence').innerText(), 'Bob deleted several '
        + 'messages in #hall (2)', 'with all that is known');
    is(await entry.locator('.messages li .quote').allInnerTexts(),
        ['first', 'second'], 'each of its messages');
    ok(/a\.png 1\.2 MB/.test(await entry.locator('.files').innerText()),
        'and what was attached');
    await soon(() => entry.locator('.by bdi').allInnerTexts(),
        ['Ann', 'Bob'], 'with the names of who wrote them');
    await shoot(page, 'messages');

    await page.getByRole('button', {name: 'Older entry'}).click();
    await soon(() => entry.locator('h2').textContent(), 'Message edited',
        'and the next');
    is([await entry.locator('del').allInnerTexts(),
        await entry.locator('ins').allInnerTexts()], [['me'], ['us']],
    'before and after, with the change marked');
    await shoot(page, 'edited');

    await page.getByRole('button', {name: 'Older entry'}).click();
    await soon(() => entry.locator('h2').textContent(), 'Role changed',
        'what changed of a role');
    ok(await entry.locator('.sentence').count() === 0,
        'no sentence, where it would have a gap');
    is(await lines(page).nth(8).locator('.what > :last-child').innerText(),
        'Bob was given the role Painter', 'one person is named once');
    is(await entry.locator('.changes dt').allInnerTexts(),
        ['Name', 'Permissions', 'Colour', 'Owner'], 'key by key');
    await soon(() => entry.locator('.changes dd').allInnerTexts(),
        ['Mod → Moderator', '+ Send Messages, − Administrator',
            'none → #3498db', 'Ann → Bob'], 'before and after, with names');
    is(await fact('Role ID'), '401', 'which role');
    is(await fact('Picture after'), 'https://x.y/z.png', 'a picture');
    ok((await lines(page).nth(4).locator('.details').textContent()).includes(
        'Name: Mod → Moderator · Permissions: + Send Messages'),
    'and in the line');
    await shoot(page, 'changes');
    await page.getByRole('button', {name: 'Newer entry'}).click();

    await entry.getByRole('button', {name: 'Filter Ann'}).click();
    await soon(() => new URL(page.url()).hash,
        '#/logs?member=201&memberRole=executor', 'who did it is a filter');
    ok(await entry.isHidden(), 'which closes the entry');
    await leave(page, 'an entry');
}


async function exports() {
    const page = await enter(server, '#/logs?category=categoryModlog');
    const total = await shownTotal(page);
    const save = async (name) => {
        const download = page.waitForEvent('download');

        await page.getByRole('button', {name: 'Export'}).click();
        await page.locator('.popover:popover-open').getByLabel('Language')
            .selectOption({label: name});
        await page.getByRole('button', {name: 'CSV', exact: true}).click();
        return (await readFile(await (await download).path(), 'utf8'))
            .split('\r\n').slice(1, -1);
    };

    await page.getByRole('button', {name: 'Pause'}).click();
    await server.record({type: 39, reason: 'came later'});
    await page.getByRole('button', {name: 'Resume (1 new)'}).waitFor();

    const rows = await save('English (US)');
    is(rows.length, total, 'what is seen is exported');
    ok(rows.every((row) => row.includes('Member banned')),
        'as far as the filters let it');
    ok(!rows.some((row) => row.includes('came later')),
        'and nothing that came since');
    ok((await save('Türkçe'))[0] !== rows[0], 'in another language');
    await leave(page, 'an export');
}
