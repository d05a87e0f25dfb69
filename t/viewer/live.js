// The live tail: what is recorded appears, waits while it is paused, and is
// not lost while the reader is away.

import {enter, is, leave, lines, newServer, ok, operator, scrollTo, shoot,
    shownTotal, soon} from './lib.js';

let server;
let next = 0;


export default async function live() {
    const start = Date.now() - 5000;

    server = await newServer({name: 'Live'});
    await server.record(...Array.from({length: 100}, (_, i) => (
        {type: 5, content: `old ${i}`, timestamp: start - i})));

    const page = await enter(server, '#/logs?category=categoryText');

    await appears(page);
    await stays(page);
    await paused(page);
    await scrolled(page);
    await away(page);
    await leave(page, 'the live tail');
    await quiet();
    await twice();
    await delivered();
}


async function record() {
    const content = `new ${++next}`;

    await server.record({type: 5, content}, {type: 17});
    return content;
}


async function top(page) {
    return lines(page).first().locator('.details').textContent();
}


async function appears(page) {
    await soon(() => top(page), 'old 0', 'what there was');
    const content = await record();

    await soon(() => top(page), content, 'what comes appears on top');
    await soon(() => shownTotal(page), 101, '... and is counted');
    await soon(() => page.locator('.chip[data-category=categoryVoice] b')
        .textContent(), '1', '... what the filters leave out, too');
    is(await lines(page).nth(1).locator('.details').textContent(), 'old 0',
        'above what was there');
}


// What the reader is at is not what is at its place.
async function stays(page) {
    const entry = page.locator('.entry .quote');

    await lines(page).nth(1).focus();
    const focused = await page.locator(':focus .details').textContent();
    await page.keyboard.press('Enter');
    await entry.waitFor();
    const content = await record();
    await soon(() => top(page), content, 'while an entry is open');
    is(await page.locator('.row[aria-selected=true] .details').textContent(),
        focused, '... its line stays marked');
    await page.getByRole('button', {name: 'Newer entry'}).click();
    await page.getByRole('button', {name: 'Newer entry'}).click();
    await soon(() => entry.textContent(), content, '... and leads to the new');
    await page.getByRole('button', {name: 'Close'}).click();
}


async function paused(page) {
    const before = await top(page);

    await page.getByRole('button', {name: 'Pause'}).click();
    const older = await record();
    const newer = await record();
    await page.getByRole('button', {name: 'Resume (2 new)'}).waitFor();
    is(await top(page), before, 'while it is paused nothing moves');
    await page.getByRole('button', {name: 'Resume'}).click();
    await soon(() => lines(page).locator('.details').allTextContents()
        .then((all) => all.slice(0, 3)), [newer, older, before],
    'then it goes on, in the order in which a reader is told');
}


async function scrolled(page) {
    await scrollTo(page, 1200);
    const seen = () => page.evaluate(() => {
        const list = document.querySelector('.list')
            .getBoundingClientRect();
        return document.elementFromPoint(list.left + list.width / 2,
            list.top + list.height / 2).closest('.row').textContent;
    });

    await soon(() => page.locator('[aria-busy=true].row').count(), 0,
        'somewhere below');
    const before = await seen();
    const content = await record();

    await page.getByRole('button', {name: '1 new'}).click({trial: true});
    is(await seen(), before, 'what is being read stays where it is');
    await page.getByRole('button', {name: '1 new'}).click();
    await soon(() => top(page), content, 'and what came is a click away');
}


async function away(page) {
    page.expected = /ERR_INTERNET_DISCONNECTED|ERR_NETWORK|status of 0/;
    await page.context().setOffline(true);
    await page.getByPlaceholder('Search').fill('new');
    await page.getByText('You are offline').waitFor();
    ok(true, 'being offline is told');
    await shoot(page, 'offline');
    await record();
    const content = await record();
    await page.context().setOffline(false);
    await page.getByPlaceholder('Search').fill('');
    await soon(() => top(page), content, 'nothing is missed meanwhile');
    await soon(() => shownTotal(page), 107, 'and nothing comes twice');
    await page.getByText('You are offline').waitFor({state: 'hidden'});
    ok(true, 'being back is seen');
}


// A log that has been silent for long has no entry to resume behind.
async function quiet() {
    server = await newServer({name: 'Quiet'});

    const page = await enter(server, '#/logs?type=5');

    await page.getByText('No entry matches').waitFor();
    const content = await record();
    await soon(() => top(page), content, 'the first entry appears, too');
    await soon(() => shownTotal(page), 1, '... once');
    await leave(page, 'a quiet log');
}


// What the tail brings while the page is read stands in both.
async function twice() {
    const page = await enter(server);
    let recorded;
    const wait = new Promise((resolve) => {
        recorded = resolve;
    });

    await page.route(/limit=200/, async (route) => {
        await wait;
        await route.continue();
    });

    const listening = page.waitForResponse(/logs\/stream/);
    await page.locator('.chip[data-category=categoryText]').click();
    await listening;
    const content = await record();
    recorded();
    await soon(() => top(page), content, 'an entry that comes both ways');
    await soon(() => shownTotal(page), 2, '... is one');
    is(await lines(page).locator('.details', {hasText: content}).count(), 1,
        '... and stands there once');
    await leave(page, 'both ways');
}


// What becomes of an entry is seen without asking. The channel is of this test
// alone: the platform takes 30 messages a minute, which other suites may fill.
async function delivered() {
    const channel = server.id;

    await operator('PUT', `/servers/${server.id}/channels`,
        [{id: channel, name: 'hall', type: 0}]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});

    const page = await enter(server, '#/logs?category=categoryText');
    const content = await record();

    await soon(() => top(page), content, 'an entry to deliver');
    await lines(page).first().click();
    await soon(() => lines(page).first().locator('.delivery').innerText()
        .then((text) => text.replace(/\s+/g, ' ')), '✓ Delivered',
    'its delivery is seen');
    await soon(() => page.locator('.outcome').innerText().then((text) =>
        text.includes('It is in its log channel.')), true,
    '... where it is open, too');
    await leave(page, 'a delivery');
}
