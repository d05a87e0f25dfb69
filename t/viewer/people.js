// People and things, not numbers: what the API names by keys and IDs is told as
// people say it.

import {enter, is, leave, lines, newServer, ok, openPart, operator, shoot,
    soon, violations} from './lib.js';

const ANN = {id: '201', name: 'Ann'};
const BOB = {id: '202', name: 'Bob'};
const HALL = {id: '301', name: 'hall'};

let server;


export default async function people() {
    server = await newServer({name: 'People'});
    await operator('PUT', `/servers/${server.id}/channels`,
        [{...HALL, type: 0}]);
    await operator('PUT', `/servers/${server.id}/members`, [ANN, BOB]);

    await whole();
    await person();
    await counted();
    await configured();
    await pickers();
    await reverted();
}


// A change of the configuration, in the log, whole, and among notifications.
async function configured() {
    const set = (path, body) => server.ask('PATCH', path, body);

    await set('/config/logging/channels', {main_channel: HALL.id});
    await set('/config/logging/channels', {category_voice: '0'});
    await set('/config/logging/settings/18', {enabled: false});
    await set('/config/logging/settings/18', {enabled: null});
    await server.ask('POST', '/config/logging/ignore/2', {value: BOB.id});
    await set('/filters/invites', {enabled: true, action: 'drop'});
    await server.ask('PUT', `/config/access/${ANN.id}`, {level: 'view'});
    await set('/config/settings', {locale: 'en-GB'});

    const page = await enter(server,
        '#/logs?category=categoryService', {locale: 'en-GB'});
    const said = () => lines(page).evaluateAll((rows) => rows.map((row) =>
        row.querySelector('.details').textContent));

    await soon(async () => (await said()).slice(0, 8), [
        'Language: English (US) → English (UK)',
        'Access: View only',
        'Invites to other servers · Action: is masked → drops the entry '
            + '· Enabled: no → yes',
        'Ignored executors: Bob',
        'Enabled: no → yes',
        'Enabled: yes → no',
        'Voice: Follows the main channel → off',
        'Main log channel: None → hall'], 'each change is told in words');
    is(await page.locator('.rows .what', {hasText: 'voiceLeave'}).count(), 0,
        'a log type has its name, and not its key');

    await lines(page).filter({hasText: 'Bob'}).click();
    await page.locator('.entry h2').waitFor();
    await soon(() => page.locator('.entry .changes').innerText().then((text) =>
        text.replace(/\s+/g, ' ')), 'Changes Ignored executors Bob',
    'so it is in an entry');
    is(await page.locator('.entry dt').allTextContents().then((labels) =>
        labels.filter((label) => /^(Action|Value|List)$/.test(label))), [],
    '... which says nothing twice');

    await openPart(page, 'notifications');
    const items = page.locator('.items li');
    const item = (name) => items.filter({hasText: name});

    await item('Ignored executors: Bob').waitFor();
    await item('Voice: Follows the main channel → off').waitFor();
    await item('the log type Member left voice channel').first().waitFor();
    ok(true, 'so it is among the notifications');
    await shoot(page, 'people-notifications');
    is(await violations(page), [], '... axe finds nothing there');
    const count = page.locator('.side .badge');

    await soon(() => count.textContent(), String(await items.count()),
        '... and how many are unread is told beside the views');
    await item('Ignored executors').getByRole('button').click();
    await soon(() => count.textContent(), String(await items.count() - 1),
        '... as they are read');
    await item('Ignored executors').getByRole('link').click();
    await page.locator('.entry h2', {hasText: 'Ignore options changed'})
        .waitFor();
    ok(true, '... which lead to their entries');
    await leave(page, 'changes of the configuration');

    await set('/config/settings', {locale: 'de'});

    const german = await enter(server, '#/notifications');

    await german.getByText('Sprache: English (UK) → Deutsch').waitFor();
    is(await german.locator('.items').innerText().then((text) =>
        text.match(/changed|update|settings/g)), null,
    '... in the language of the page');
    await leave(german, 'notifications in German');
}


// What there is to choose is listed as people see it at the platform.
async function pickers() {
    const own = await newServer({name: 'Pickers'});

    await operator('PUT', `/servers/${own.id}/channels`, [
        {id: '811', name: 'Staff', type: 4, position: 2},
        {id: '810', name: 'Town', type: 4, position: 1},
        {id: '821', name: 'mod-log', type: 0, parent: '811', position: 1},
        {id: '822', name: 'square', type: 0, parent: '810', position: 2},
        {id: '823', name: 'news', type: 5, parent: '810', position: 1},
        {id: '824', name: 'Bench', type: 2, parent: '810', position: 3},
        {id: '825', name: 'welcome', type: 0, position: 1}]);
    await operator('PUT', `/servers/${own.id}/roles`, [
        {id: '901', name: 'Painter', color: 0x1abc9c, position: 1},
        {id: '902', name: 'Moderator', color: 0xe74c3c, position: 2}]);

    const page = await enter(own, '#/channels', {locale: 'en-GB'});
    const list = page.locator('.options:popover-open');

    await page.getByLabel('Main channel').click();
    await soon(() => list.locator('li').allInnerTexts().then((all) =>
        all.map((text) => text.replace(/\s+/g, ' ').trim())),
    ['None', 'welcome', 'Town', 'news Town', 'square Town', 'Staff',
        'mod-log Staff'], 'log channels by category, without a query');
    is(await violations(page), [], 'axe finds nothing there');
    await shoot(page, 'people-picker');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    is(await page.getByLabel('Main channel').inputValue(), 'news',
        'arrows go over the names of categories');
    await page.getByRole('button', {name: 'Undo all'}).click();

    await openPart(page, 'ignore');
    await page.getByRole('button', {name: 'By roles'}).click();
    const field = page.getByLabel('Add', {exact: true});
    await field.click();
    await soon(() => list.locator('li').allInnerTexts().then((all) =>
        all.map((text) => text.trim())), ['Moderator', 'Painter'],
    'roles, the highest first');
    is(await list.locator('.dot').evaluateAll((dots) => dots.map((dot) =>
        getComputedStyle(dot).backgroundColor)),
    ['rgb(231, 76, 60)', 'rgb(26, 188, 156)'], '... in their colours');
    await list.getByText('Painter').click();
    await page.getByRole('button', {name: 'Add', exact: true}).click();
    await page.locator('.items', {hasText: 'Painter'}).waitFor();
    is((await own.get('/config')).serverlogConfigIgnoreStandard
        .map((row) => row.ignore_value), ['901'], 'a role is chosen by name');
    await field.fill('nobody');
    await page.getByRole('button', {name: 'Add', exact: true}).click();
    await page.getByText('No role by that name is known.').waitFor();
    ok(true, '... and a wrong name is told');
    await field.fill('');

    await page.evaluate(() => {
        location.hash = '#/logs?type=69';
    });
    await soon(() => lines(page).first().locator('.details').textContent(),
        'Ignored roles of executors: Painter', '... and told by its name');
    await leave(page, 'pickers');
}


// A change of the configuration is taken back where it is read.
async function reverted() {
    const own = await newServer({name: 'Revert'});
    const config = async (name) => (await own.get('/config'))[name];
    const levels = async () => (await config('access') ?? [])
        .map(({level}) => level);

    await operator('PUT', `/servers/${own.id}/channels`, [
        {id: '851', name: 'one', type: 0}, {id: '852', name: 'two', type: 0}]);
    await own.ask('PATCH', '/config/logging/channels', {main_channel: '851'});
    await own.ask('PATCH', '/config/logging/channels', {main_channel: '852'});
    await own.ask('PATCH', '/config/logging/settings/6', {format_type: 1});
    await own.ask('PATCH', '/config/logging/settings/types',
        {types: [5, 6], set: {format_type: 2}});
    await own.ask('PUT', `/config/access/${ANN.id}`, {level: 'view'});
    await own.ask('PUT', `/config/access/${ANN.id}`, {level: 'manage'});
    await own.ask('POST', '/config/logging/ignore/4', {value: 'hello'});
    await own.ask('PATCH', '/filters/links', {enabled: true, log_types: [5]});

    const page = await enter(own, '#/logs?category=categoryService',
        {locale: 'en-GB'});
    const revert = page.getByRole('button', {name: 'Revert'});
    const back = async (text, got, wanted, what) => {
        await lines(page).locator('.details', {hasText: text}).first().click();
        await revert.click();
        await page.locator('.tools-of .said', {hasText: 'Done.'}).waitFor();
        is(await got(), wanted, what);
    };

    await lines(page).first().waitFor();
    await back('Main log channel: one → two', async () => (await config(
        'serverlogConfigChannels'))[0].main_channel, '851', 'a log channel');
    await back('Different → text', async () => (await config(
        'serverlogConfigCustomOptions')).map((row) =>
        [row.log_type, row.format_type]), [[6, 1]],
    'types that were not alike');
    await back('View only → Can change', levels, ['view'], 'access');
    await back(/^Access: View only$/, levels, [],
        '... and that there was none');
    await back('Ignored content: hello', () =>
        config('serverlogConfigIgnoreStandard'), null, 'an ignore list');
    await back('Links', async () => (await own.get('/filters'))
        .filter(({enabled}) => enabled), [], 'a filter');
    await shoot(page, 'people-revert');
    is(await violations(page), [], 'axe finds nothing');
    await lines(page).filter({hasText: 'token'}).first().click();
    await soon(() => revert.count(), 0, 'a token is not unmade so');
    await leave(page, 'what is taken back');
}


// Names are seen, and IDs are had by a button beside them.
async function whole() {
    await server.record({type: 39, executor: ANN, target: BOB,
        reason: 'spam'});

    const page = await enter(server, '#/logs?type=39');
    const entry = page.locator('.entry');

    await page.context().grantPermissions(['clipboard-read',
        'clipboard-write']);
    await lines(page).first().click();
    await soon(() => entry.locator('.facts').first().locator('.named')
        .evaluateAll((all) => all.map((node) =>
            [node.querySelector('.avatar').textContent,
                node.querySelector('a').textContent])),
    [['A', 'Ann'], ['B', 'Bob']], 'who, by face and name');
    ok(!/\b20[12]\b/.test(await entry.locator('.facts').first().innerText()),
        '... and not by number');
    is(await entry.locator('.avatar').evaluateAll((faces) =>
        new Set(faces.map((face) => getComputedStyle(face).backgroundColor))
            .size), 2, '... each in a colour of their own');
    await entry.getByRole('button', {name: 'Copy the ID 202'}).click();
    await soon(() => page.evaluate(() => navigator.clipboard.readText()),
        '202', '... whose number is had by a button');
    await leave(page, 'an entry');
}


// What is known of a person stands first.
async function person() {
    const at = Date.now() - 3_600_000;
    const cat = {id: '1000000000000000200', name: 'Cat Ray'};

    await operator('PUT', `/servers/${server.id}/roles`, [
        {id: '401', name: 'Helper', color: 0x2288dd, position: 1},
        {id: '402', name: 'Moderator', color: 0xdd8822, position: 9},
        {id: server.id, name: '@everyone', position: 0}]);
    await operator('PUT', `/servers/${server.id}/members`, [{...cat,
        roles: ['401', server.id, '402']}]);
    await server.record({type: 1, target: cat, timestamp: at},
        {type: 40, executor: ANN, target: cat, timestamp: at + 1},
        {type: 40, executor: ANN, target: cat, timestamp: at + 2},
        {type: 39, executor: ANN, target: cat, timestamp: at + 3},
        {type: 25, executor: cat, target: cat, timestamp: at + 4,
            changes: [{key: 'nick', old: 'Cat', new: 'Cat Ray'}]});

    const page = await enter(server, `#/member?member=${cat.id}`,
        {locale: 'en-GB'});
    const head = page.locator('.whose');

    await soon(() => head.locator('h2').innerText(), 'Cat Ray', 'their name');
    await soon(() => head.locator('.avatar').textContent(), 'CR', 'their face');
    await soon(() => head.getByRole('list', {name: 'Roles'})
        .getByRole('listitem').allInnerTexts(), ['Moderator', 'Helper'],
    'their roles, the highest first');
    await soon(() => head.locator('a.badge').allInnerTexts().then((all) =>
        all.map((text) => text.replace(/\s+/g, ' '))),
    ['Member timed out 2', 'Member banned 1'], 'what was done to them so far');
    ok(/^Account created: 22 Jul 2022.* · Member joined: /.test(
        await head.locator('.note').innerText()), 'since when they are here');
    await soon(() => page.locator('.card', {hasText: 'Names'})
        .locator('li span').first().innerText().then((text) => text.trim()),
    'Nickname: Cat → Cat Ray', 'their names, without more words');
    await shoot(page, 'people-member');
    is(await violations(page), [], 'axe finds nothing');
    await head.getByRole('link', {name: /timed out/}).click();
    await soon(() => lines(page).count(), 2, '... which lead to the entries');
    await leave(page, 'a person');
}


// A number is told with what it counts.
async function counted() {
    await server.record({type: 1, executor: BOB, target: BOB, count: 1239});

    const page = await enter(server, '#/logs?type=1', {locale: 'en-GB'});

    await soon(() => lines(page).first().locator('.details').textContent(),
        'Members: 1,239', 'who joins is one of so many');
    await leave(page, 'counts');
}
