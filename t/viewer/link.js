// Where a message in a log channel leads: its entry, or the configuration of
// its server, also for a reader who has no token of that server as yet.

import {enter, giveToken, is, leave, lines, newPage, newServer, ok, operator,
    scrollTo, shoot, soon} from './lib.js';

const ENTRIES = 500;

let server;
let ids;


export default async function link() {
    const start = Date.now() - 3_600_000;

    server = await newServer({name: 'Link'});
    ids = await server.record(...Array.from({length: ENTRIES}, (_, i) => (
        {type: 39, reason: `why ${i}`, timestamp: start + i * 1000})));

    await opened();
    await back();
    await gone();
    await asked();
    await bots();
}


function to(entry, more = '') {
    return `#/logs?server=${server.id}${more}&entry=${entry}`;
}


function reason(page) {
    return page.locator('.entry .facts div', {hasText: 'Why'}).locator('dd')
        .innerText();
}


function signIn(page, {token}) {
    return giveToken(page, token);
}


async function opened() {
    const page = await enter(server, to(ids[2]));
    const entry = page.locator('.entry');

    await soon(() => reason(page), 'why 2', 'a link opens its entry');
    await soon(() => lines(page).locator('.details').last().textContent(),
        'why 0', '... with the list behind it, where it stands');
    await soon(() => page.locator('.row[aria-selected=true] .details')
        .textContent(), 'why 2', '... and is marked');
    await shoot(page, 'link');

    await page.reload();
    await soon(() => reason(page), 'why 2', '... also after a reload');

    // its place in the list is known some time after; one step is enough
    await soon(async () => {
        if (page.url().endsWith(`entry=${ids[2]}`)) {
            await page.getByRole('button', {name: 'Older entry'}).click();
        }
        return reason(page);
    }, 'why 1', 'the entries beside it are a step away');
    is(new URL(page.url()).hash, `#/logs?entry=${ids[1]}`,
        'the address is that of the one that is open');
    await page.getByRole('button', {name: 'Close'}).click();
    await page.reload();
    await lines(page).first().waitFor();
    ok(await entry.isHidden(), 'an entry that was closed stays so');
    await leave(page, 'a link');
}


// An entry that is open is a place in the history of the tab, for a phone's
// sake, where it covers the list.
async function back() {
    const page = await enter(server, '#/logs',
        {viewport: {width: 390, height: 844}});
    const entry = page.locator('.entry');
    const top = () => page.locator('.list').evaluate((node) =>
        node.scrollTop);
    const hash = () => new URL(page.url()).hash;

    await lines(page).first().waitFor();
    await scrollTo(page, 2000);
    const before = await top();
    const line = lines(page).nth(12);
    const why = await line.locator('.details').textContent();
    const id = ids[Number(why.replace(/\D/g, ''))];

    await line.click();
    await soon(() => reason(page), why, 'an entry is opened');
    is(hash(), `#/logs?entry=${id}`, '... its address is the page’s');
    await page.goBack();
    await entry.waitFor({state: 'hidden'});
    is([hash(), await top()], ['#/logs', before],
        'Back closes it, and the list is where it was');
    await page.goForward();
    await soon(() => reason(page), why, 'Forward opens it again');
    await page.getByRole('button', {name: 'Older entry'}).click();
    await page.getByRole('button', {name: 'Close'}).click();
    await entry.waitFor({state: 'hidden'});
    is(hash(), '#/logs', 'it is closed');
    await page.getByRole('link', {name: 'Configuration'}).click();
    await page.getByRole('heading', {name: 'Log channels'}).waitFor();
    await page.goBack();
    await lines(page).first().waitFor();
    ok(await entry.isHidden(), '... and stays so in the history');
    await leave(page, 'back');
}


async function gone() {
    const page = await newPage();
    const entry = page.locator('.entry');
    const said = 'The link leads to an entry that is not in this log, or is '
        + 'past the time for which it can be read.';

    page.expected = /status of 404/;
    await page.goto(process.env.GUILDLOG_VIEWER + to('1'));
    await signIn(page, server);
    await soon(() => entry.locator('p').textContent(), said,
        'that an entry is gone is told');
    await shoot(page, 'link-gone');
    await page.getByRole('button', {name: 'Close'}).click();
    ok(await entry.isHidden(), '... until it is closed');
    await soon(() => lines(page).count().then((n) => n > 0), true,
        '... beside the list');

    await page.goto(process.env.GUILDLOG_VIEWER + to('..'));
    await soon(() => entry.locator('p').textContent(), said,
        'what is no id names no entry');
    await leave(page, 'an entry that is gone');
}


async function asked() {
    const other = await newServer({name: 'Other'});
    const page = await newPage();
    const wanted = page.locator('#wanted');
    const ended = page.locator('#ended');
    const said = `This link leads to the server ${server.id}. It opens with `
        + 'an Admin or a Read token of that server.';
    await page.goto(process.env.GUILDLOG_VIEWER);
    await page.locator('#sign-in').waitFor();
    ok(await wanted.isHidden(), 'without a link, any server will do');
    await page.goto(process.env.GUILDLOG_VIEWER + to(ids[1]));
    await soon(() => wanted.innerText(), said, 'a link asks for a token');
    ok(await ended.isHidden(), '... without a reproach');

    await signIn(page, other);
    await soon(() => ended.innerText(), 'This token belongs to another server.',
        'a token of another server is told');
    is(await wanted.innerText(), said, '... and what is asked for');
    await shoot(page, 'link-sign-in');
    await signIn(page, server);
    await soon(() => reason(page), 'why 1', 'then the link is opened');

    await page.goto(process.env.GUILDLOG_VIEWER
        + `#/config?server=${other.id}`);
    await page.locator('.side a[href="#/channels"][aria-current]').waitFor();
    ok((await page.locator('#where').innerText()).startsWith('Other'),
        'a link to a server whose token was given opens it');
    await page.goto(process.env.GUILDLOG_VIEWER + to(ids[3]));
    await soon(() => reason(page), 'why 3', '... and so does one back');

    const third = await newServer({name: 'Third'});

    await page.goto(process.env.GUILDLOG_VIEWER
        + `#/config?server=${third.id}`);
    await soon(() => wanted.innerText(), said.replace(server.id, third.id),
        'a link to another server asks for its token');
    ok(await ended.isHidden(), '... without a reproach');
    await page.goBack();
    await soon(() => reason(page), 'why 3', 'who has none of it goes back');
    await page.goForward();
    await signIn(page, third);
    await page.locator('.side a[href="#/channels"][aria-current]').waitFor();
    ok((await page.locator('#where').innerText()).startsWith('Third'),
        'with it the link is opened');
    await page.getByRole('button', {name: 'Sign out'}).click();
    await page.goto(process.env.GUILDLOG_VIEWER + to(ids[3]));
    await soon(() => wanted.innerText(), said, 'signing out forgets them all');
    await leave(page, 'a token');
}


async function bots() {
    const {ids: [id]} = await operator('POST',
        `/servers/${server.id}/logs?bot=pro`,
        [{type: 39, event_id: 'pro', reason: 'by Pro'}]);
    const page = await enter(server, to(id, '&bot=pro'));

    await soon(() => reason(page), 'by Pro', 'a link names the bot');
    is(await page.getByLabel('Bot').inputValue(), 'pro', '... which is shown');
    await leave(page, 'a bot');
}
