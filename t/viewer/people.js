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

    await counted();
    await configured();
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
        'Language: English (UK)',
        'Access: may look',
        'Invites to other servers · Action: is masked → drops the whole entry '
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


// A number is told with what it counts.
async function counted() {
    await server.record({type: 1, executor: BOB, target: BOB, count: 1239});

    const page = await enter(server, '#/logs?type=1', {locale: 'en-GB'});

    await soon(() => lines(page).first().locator('.details').textContent(),
        'Members: 1,239', 'who joins is one of so many');
    await leave(page, 'counts');
}
