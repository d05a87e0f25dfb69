// Reading in comfort: what a search found is marked, filters and views are at
// hand, days are told apart, and an entry and a person have pages of their own.

import {enter, is, leave, lines, newServer, ok, operator, shoot, shownTotal,
    soon, violations} from './lib.js';

const DAY = 86_400_000;
const HALL = {id: '301', name: 'hall'};
const OLD = {id: '201', name: 'Anna'};
const NEW = {id: '201', name: 'Ann Bell'};
const BOB = {id: '202', name: 'Bob'};

let server;
let now;


export default async function reading() {
    server = await newServer({name: 'Reading'});
    now = (Math.floor(Date.now() / DAY) - 0.5) * DAY;    // far from midnight
    await server.record(
        {type: 5, target: OLD, executor: BOB, channel: HALL,
            timestamp: now - 2 * DAY, content: `${'so '.repeat(80)} pears and `
                + `apples ${'too '.repeat(80)}`},
        {type: 25, executor: OLD, target: OLD, timestamp: now - 2 * DAY + 1,
            changes: [{key: 'nick', old: 'Anna', new: 'Ann Bell'}]},
        {type: 39, executor: BOB, target: NEW, reason: 'apples',
            timestamp: now - DAY},
        {type: 7, executor: NEW, channel: HALL, content: 'one',
            contentAfter: 'two', timestamp: now - DAY + 1,
            messages: [{id: '501', content: 'one'}]},
        {type: 17, executor: NEW, channel: HALL, timestamp: now - 1000});

    await days();
    await who();
    await found();
    await chips();
    await operators();
    await views();
    await names();
    await entry();
    await member();
    await plan();
}


// Who had it done to them is not taken for who did it.
async function who() {
    const other = await newServer({name: 'Who'});
    const at = Date.now() - 10_000;

    await other.record(
        {type: 39, executor: BOB, target: NEW, timestamp: at},
        {type: 39, target: NEW, timestamp: at + 1},
        {type: 5, target: BOB, content: 'gone', timestamp: at + 2},
        {type: 25, executor: BOB, target: BOB, timestamp: at + 3},
        {type: 1, target: BOB, timestamp: at + 4},
        {type: 101, target: BOB, name: 'no links', timestamp: at + 5});

    const page = await enter(other, '#/logs?type=39&type=5'
        + '&type=25&type=1');
    const cells = page.locator('.rows .what');
    // the face, what is read out with it, and the sentence
    const told = () => cells.evaluateAll((all) => all.map((cell) =>
        [cell.querySelector('.avatar').textContent,
            cell.querySelector('.unseen').hidden ? ''
                : cell.querySelector('.unseen').textContent,
            cell.lastChild.textContent]));

    await soon(told, [['B', '', 'Bob joined the server'],
        ['B', '', 'Bob changed their nickname'],
        ['?', 'unknown', 'A message by Bob was deleted'],
        ['?', 'unknown', 'Ann Bell was banned'],
        ['B', '', 'Bob banned Ann Bell']],
    'that nobody is known to have done it is told');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs?type=101`);
    await soon(told, [['B', '', 'The rule no links acted on Bob']],
        'what a rule did, nobody did');
    await shoot(page, 'who');
    await leave(page, 'who');
}


async function days() {
    // without the entry of the token, which is of the day of the test
    const page = await enter(server, `#/logs?member=${NEW.id}`,
        {locale: 'en-US', now});

    await soon(() => page.locator('.rows .row.ends').count(), 2,
        'a line tells where a day begins');
    is(await page.locator('.heading .day').textContent(),
        new Intl.DateTimeFormat('en-US', {dateStyle: 'full',
            timeZone: 'Africa/Lagos'}).format(now),
    'which day it is stands above');
    is(await page.locator('.rows .time').evaluateAll((cells) =>
        cells.filter((cell) => cell.scrollWidth > cell.clientWidth)
            .map((cell) => cell.textContent)), [],
    'a time is whole, also with AM and PM');
    ok(/[AP]M$/.test(await lines(page).first().locator('time')
        .textContent()), '... which are there');
    is(await page.locator('.live').textContent(), 'Live',
        'that it is live is told');
    await page.getByRole('button', {name: 'Pause'}).click();
    is(await page.locator('.live').textContent(), 'Paused',
        '... and that it is paused');
    await shoot(page, 'days');
    await leave(page, 'days');
}


async function found() {
    const page = await enter(server, '#/logs?search=apples');
    const marks = page.locator('.rows mark');

    await soon(() => marks.allTextContents(), ['apples', 'apples'],
        'what was searched for is marked');
    is(await marks.evaluateAll((nodes) => nodes.map((node) => {
        const box = node.getBoundingClientRect();
        const cell = node.closest('[role=gridcell]').getBoundingClientRect();

        return box.left >= cell.left && box.right <= cell.right;
    })), [true, true], '... where it can be seen');
    await shoot(page, 'found');
    await lines(page).last().click();
    await soon(() => page.locator('.entry .quote mark').allTextContents(),
        ['apples'], '... and in the entry');
    await leave(page, 'what was found');
}


// Filters may be written into the search.
async function operators() {
    const page = await enter(server, '#/logs', {locale: 'en-GB', now});
    const search = page.getByPlaceholder('Search');
    const write = async (text, hash, what) => {
        await search.fill(text);
        await search.press('Enter');
        await soon(() => new URL(page.url()).hash, hash, what);
    };
    // Lagos is an hour ahead of UTC, always
    const midnight = Math.floor((now + DAY / 24) / DAY) * DAY - DAY / 24;

    await write('pears from:Bob in:hall',
        '#/logs?search=pears&channel=301&member=202&memberRole=executor',
        'from: and in: are filters, and the rest is searched for');
    await soon(() => search.inputValue(), 'pears', '... without them');
    await soon(() => page.locator('.applied .chip').allTextContents(),
        ['Search pears ✕', 'By Bob ✕', 'Channel hall ✕'], '... but as chips');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs`);
    await write('to:"Ann Bell" type:banned',
        '#/logs?member=201&memberRole=target&type=39', 'to: and type:');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs`);
    await write('after:yesterday before:today', `#/logs?after=${
        midnight - DAY - 1}&before=${midnight}`, 'after: and before:');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs`);
    await search.fill('-type:message');
    await search.press('Enter');
    await soon(() => page.locator('.applied .chip').allTextContents()
        .then((all) => all.length && all.every((text) =>
            /^Not .*message/i.test(text))), true, '-type: leaves types out');
    await search.fill('from:nobody');
    await search.press('Enter');
    await page.getByText('Nobody by that name is known.').waitFor();
    ok(true, 'a name that nobody has is told');
    await leave(page, 'operators');
}


async function chips() {
    const page = await enter(server,
        '#/logs?search=pears&member=202&memberRole=executor&type=5&type=39');
    const texts = () => page.locator('.applied .chip').allTextContents();
    const total = await shownTotal(page);

    await soon(texts, ['Search pears ✕', 'By Bob ✕',
        'Type Message deleted ✕', 'Type Member banned ✕'],
    'the filters that are set are told');
    await shoot(page, 'chips');
    await page.getByRole('button', {name: 'Search pears'}).click();
    await soon(() => new URL(page.url()).hash,
        '#/logs?member=202&memberRole=executor&type=5&type=39',
        'one is taken out');
    await soon(() => shownTotal(page), total + 1, '... and what it kept out '
        + 'is there');
    await page.getByRole('button', {name: 'Clear', exact: true}).click();
    await soon(texts, [], 'without filters there are none');
    await page.getByPlaceholder('Search').fill('nothing has this');
    await page.getByRole('button', {name: 'Clear the filters'}).click();
    await soon(() => shownTotal(page).then((n) => n > total), true,
        'who finds nothing is led back');
    await leave(page, 'chips');
}


async function views() {
    const page = await enter(server, '#/logs?type=39&search=apples');
    const open = () => page.getByRole('button', {name: 'Saved searches'})
        .click();

    await open();
    await page.getByLabel('Save this search as').fill('Bans & apples');
    await page.getByRole('button', {name: 'Save', exact: true}).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', {name: 'Clear', exact: true}).click();
    await page.reload();
    await open();
    await page.getByRole('button', {name: 'Bans & apples', exact: true})
        .click();
    await soon(() => new URL(page.url()).hash,
        '#/logs?search=apples&type=39', 'a view is kept, and found again');
    await open();
    await page.getByRole('button', {name: 'Delete Bans & apples'}).click();
    await page.getByText('No saved searches yet.').waitFor();
    ok(true, '... until it is forgotten');
    await leave(page, 'views');
}


async function names() {
    const page = await enter(server);

    await lines(page).first().waitFor();
    await page.getByLabel('Member', {exact: true}).fill('bell');
    await page.getByRole('option', {name: 'Ann Bell'}).waitFor();
    await page.getByLabel('Member', {exact: true}).fill('ann');
    await soon(() => page.locator('.options:popover-open li span').first()
        .innerText().then((text) => text.trim()), 'Ann Bell',
    'the name that somebody has now is the one that is found');
    await leave(page, 'names');
}


async function entry() {
    const page = await enter(server);
    const panel = page.locator('.entry');
    const when = panel.locator('.when');

    await page.context().grantPermissions(['clipboard-read',
        'clipboard-write']);
    await lines(page).filter({hasText: 'edited'}).click();

    const [{id}] = (await server.get('/logs?type=7')).entries;
    await panel.getByRole('button', {name: 'Copy the link'}).click();
    await panel.getByText('Copied').waitFor();
    is(await page.evaluate(() => navigator.clipboard.readText()),
        `${process.env.GUILDLOG_VIEWER}#/logs?server=${server.id}&entry=${id}`,
        'the link of an entry is copied');
    is((await when.innerText()).split('\n').length, 1, 'one time is shown');
    await when.locator('summary').click();
    ok(/ago\n[\s\S]*\.\d{3} [\s\S]*Z$/.test(await when.innerText()),
        '... and the same in other words', await when.innerText());
    is(await panel.getByRole('link', {name: 'Go to the message'})
        .getAttribute('href'),
    `https://discord.com/channels/${server.id}/301/501`,
    'its message is a click away');
    await panel.getByText('JSON', {exact: true}).click();
    is(JSON.parse(await panel.locator('pre').textContent()).id, id,
        'all of it can be seen');
    await shoot(page, 'entry-tools');
    await soon(() => panel.locator('.tools-of button:not(.link), .tools-of a')
        .allTextContents(), ['Copy the link', 'About Ann Bell',
        'Stop logging Ann Bell', 'Stop logging this type', 'Copy the JSON'],
    'what is wanted most stands out');
    await panel.getByRole('button', {name: 'Stop logging this type'}).click();
    await panel.getByText('This type is not logged from now on.').waitFor();
    is((await server.get('/config/logging/settings/7'))[0].enabled, 0,
        'more of the kind is not logged');
    await panel.getByRole('button', {name: 'Undo'}).click();
    await panel.getByText('Done.', {exact: true}).waitFor();
    is((await server.get('/config/logging/settings/7'))[0]?.enabled ?? null,
        null, '... or is, after all');
    await server.ask('PATCH', '/config/logging/settings/7', {enabled: false});
    await page.reload();
    await panel.getByRole('button', {name: 'Stop logging this type'}).click();
    await panel.getByText('This type is not logged from now on.').waitFor();
    is(await panel.getByRole('button', {name: 'Undo'}).count(), 0,
        '... and nothing is undone where it was off before');
    await server.ask('PATCH', '/config/logging/settings/7', {enabled: null});
    await panel.getByRole('group', {name: 'Filter the view'})
        .getByRole('button', {name: 'Five minutes around it'}).click();
    await soon(() => shownTotal(page), 2, 'what was around it is shown');
    await leave(page, 'an entry');
}


async function member() {
    const page = await enter(server);

    await lines(page).filter({hasText: 'banned'}).click();
    await soon(() => page.locator('.entry').getByRole('link',
        {name: /^(About )?(Bob|Ann Bell)$/}).allTextContents(),
    ['Bob', 'Ann Bell', 'About Bob'], 'people lead to what they were about');
    await page.getByRole('link', {name: 'Ann Bell', exact: true}).click();
    await page.getByRole('heading', {name: 'Ann Bell'}).waitFor();
    const card = (name) => page.locator('.member section', {has:
        page.getByRole('heading', {name})});

    is(await card('By this member').locator('p').innerText(), '3 entries',
        'what somebody did is counted');
    is(await card('To this member').locator('li').allInnerTexts(),
        ['Members\n1', 'Messages\n1', 'Moderation\n1'],
        '... and what was done to them, by category');
    ok((await card('Names').locator('li').innerText())
        .includes('Nickname: Anna → Ann Bell'), 'what they were called');
    ok((await card('Moderation').locator('li').innerText())
        .includes('Bob banned Ann Bell · apples'), 'what moderators did');
    await soon(async () => await page.locator('.plot rect').count() > 0, true,
        'by day');
    await shoot(page, 'member');
    is(await violations(page), [], 'axe finds nothing');
    await page.setViewportSize({width: 320, height: 640});
    is(await page.evaluate(() => document.documentElement.scrollWidth
        > innerWidth), false, 'nothing sticks out on a phone');
    await shoot(page, 'member-small');
    await card('To this member').getByRole('link', {name: '3 entries'}).click();
    await soon(() => new URL(page.url()).hash,
        '#/logs?member=201&memberRole=target', 'the entries are a click away');
    await leave(page, 'a member');
}


async function plan() {
    const free = await newServer({name: 'Free', plan: 'free'});
    const page = await enter(free);

    await soon(() => page.locator('.bar .note').first().textContent(),
        'of the last hour', 'the plan’s window is told beforehand');
    await leave(page, 'a plan');
}
