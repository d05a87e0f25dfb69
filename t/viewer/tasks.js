// What people come for, by clicks alone: each task has so many at most, and
// nothing is typed.

import {readFileSync} from 'node:fs';
import {enter, is, leave, lines, newServer, ok, operator, shoot, soon}
    from './lib.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ANN = {id: '201', name: 'Ann'};
const BOB = {id: '202', name: 'Bob'};
const BOT = {id: '203', name: 'Noisy', bot: true};
const NOON = new Date().setUTCHours(12, 0, 0, 0);

let server;
let clicks;


export default async function tasks() {
    server = await newServer({name: 'Tasks'});
    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0},
        {id: '302', name: 'mod-log', type: 0}]);
    await operator('PUT', `/servers/${server.id}/members`, [ANN, BOB, BOT]);

    await task('a new server is set up', 4, setUp);
    await record();
    await task('who deleted a message of yesterday', 3, deleted);
    await task('what somebody did before a ban', 2, beforeBan);
    await task('a bot is silenced from its entry', 2, silence);
    await task('a moderator gets access', 4, access);
    await task('a setting that was saved is undone', 2, undo);
    await task('last week is exported', 3, (page) => exported(page, 'CSV'));
    await task('... as NDJSON', 3, (page) => exported(page, 'NDJSON'));
    await task('... in Japanese', 3, (page) => exported(page, 'CSV', /通報/),
        {locale: 'ja'});
    await task('why logs do not arrive', 2, why);
}


async function task(what, most, f, options = {}) {
    const page = await enter(server, '', {locale: 'en-GB', ...options,
        timezoneId: 'UTC'});

    clicks = 0;
    await f(page);
    ok(clicks <= most, `${what}: ${clicks} of ${most} clicks`);
    await leave(page, what);
}


function click(place) {
    clicks++;
    return place.click();
}


async function record() {
    const at = NOON - DAY;

    await server.ask('PATCH', '/config/logging/settings',
        {ignore_bot_executors: false, ignore_bot_targets: false});
    await server.record(
        {type: 5, executor: ANN, target: BOB, channel: {id: '301',
            name: 'hall'}, content: 'yesterday', timestamp: at},
        {type: 5, executor: ANN, target: BOB, content: 'older',
            timestamp: at - 3 * DAY},
        {type: 7, executor: BOB, content: 'rude', timestamp: at - 2 * HOUR},
        {type: 39, executor: ANN, target: BOB, reason: '通報',
            timestamp: at - HOUR},
        {type: 7, executor: BOB, content: 'later', timestamp: at + HOUR},
        {type: 39, executor: ANN, target: BOB, reason: '通報',
            timestamp: at - 7 * DAY},
        {type: 57, executor: ANN, target: BOT, timestamp: at - 4 * HOUR},
        {type: 30, executor: BOT, action: 'sang', timestamp: at - 5 * HOUR},
        {type: 7, executor: BOB, content: 'today'});
}


async function setUp(page) {
    await page.getByRole('heading', {name: 'Set up logging'}).waitFor();
    await click(page.getByLabel('Where should logs go?'));
    await click(page.getByRole('option', {name: 'mod-log'}));
    await click(page.getByRole('button', {name: 'Save and send'}));
    await page.getByText('The test message arrived.').waitFor();
}


async function deleted(page) {
    await lines(page).first().waitFor();
    await click(page.getByRole('button', {name: 'Any time'}));
    await click(page.getByRole('button', {name: 'Yesterday'}).first());
    await soon(() => page.locator('.rows', {hasText: 'older'}).count(), 0,
        'what is older is not shown');
    await click(page.locator('.chip[data-category=categoryText]'));
    await soon(() => lines(page).evaluateAll((rows) => rows.map((row) =>
        row.querySelector('.what').textContent)
        .filter((text) => text.includes('deleted'))),
    ['AunknownAnn deleted a message by Bob in #hall'],
    'who deleted it is told');
}


async function beforeBan(page) {
    const ban = lines(page).filter({hasText: 'Ann banned Bob'}).first();

    await ban.waitFor();
    await click(ban);
    await click(page.locator('.entry dl > div', {hasText: 'Bob'})
        .getByRole('button', {name: 'Before this'}));
    await soon(() => lines(page).first().locator('.details').textContent(),
        'rude', 'the last thing before the ban stands first');
    await shoot(page, 'tasks-before');
}


async function silence(page) {
    await click(lines(page).filter({hasText: 'sang'}));
    await click(page.getByRole('button', {name: 'Stop logging Noisy'}));
    await page.getByText('What Noisy does is not logged').waitFor();
    await shoot(page, 'tasks-silence');
    is((await server.get('/config/logging/ignore/2')).map(
        ({ignore_value: value}) => value), [BOT.id], 'the bot is ignored');
    await page.locator('.entry').getByRole('button', {name: 'Undo'}).click();
    await page.getByText('Done.', {exact: true}).waitFor();
    is(await server.get('/config/logging/ignore/2'), {},
        '... and is not, by one click more');
}


async function access(page) {
    const offered = page.getByRole('group', {name: 'Add'})
        .getByRole('button', {name: 'Ann'});

    await click(page.getByRole('link', {name: 'Configuration'}));
    await click(page.getByRole('link', {name: 'Access'}));
    await click(offered);
    await shoot(page, 'tasks-access');
    await click(page.locator('form').getByRole('button', {name: 'Add'}));
    await soon(async () => (await server.ask('GET', '/config/access')).status,
        200, 'somebody has access');
    const [{user_id: user, level}] = await server.get('/config/access');
    is([user, level], [ANN.id, 'view'], 'they may look');
    await page.reload();
    await page.locator('.items', {hasText: 'Ann'}).waitFor();
    is(await offered.count(), 0, '... and are not offered again');
}


async function undo(page) {
    const [{main_channel: was}] = await server.get('/config/logging/channels');

    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: '301'});
    await click(lines(page).filter({hasText: 'mod-log → hall'}));
    await click(page.locator('.entry').getByRole('button', {name: 'Revert'}));
    await soon(async () => (await server.get('/config/logging/channels'))[0]
        .main_channel, was, 'the old channel is back');
}


async function exported(page, format, has = /banned|"type":39/) {
    await lines(page).first().waitFor();
    await click(page.locator('.bar [aria-haspopup=dialog]'));
    const panel = page.locator('.popover:popover-open');
    await shoot(page, `tasks-export-${format}`);
    ok(/ · [\d,]+/.test(await panel.locator('.chip').first().textContent()),
        'how much it would be is told');
    await click(panel.locator('.chip').last());
    const coming = page.waitForEvent('download');
    await click(panel.getByRole('button', {name: format, exact: true}));
    const text = readFileSync(await (await coming).path(), 'utf8');
    ok(has.test(text), 'last week is in it', text);
    ok(!/today/.test(text), '... and no other');
}


async function why(page) {
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: null});
    await page.reload();

    const badge = page.locator('#where a.health');

    await soon(() => badge.textContent(), 'Broken: There is no log channel',
        'it is told everywhere');
    await click(badge);
    await page.getByLabel('Where should logs go?').waitFor();
    ok(true, '... and leads to what mends it');
}
