// Alerts: made of a preset, listed by what they count, changed, switched off,
// deleted and taken back, and told in the log.

import {enter, is, leave, lines, newServer, ok, openPart, operator, outside,
    shoot, soon, violations} from './lib.js';

const ANN = {id: '201', name: 'Ann'};
const HOSTILE = '<img src=x onerror=alert(1)> \u202Egpj.exe';

const PRESETS = {
    'Many bans': [[39], 5, 30, 'executor'],
    'Channels or roles deleted': [[28, 32], 3, 60, 'executor'],
    'Many kicks': [[41], 10, 60, 'executor'],
    'Bot added': [[57], 1, 1, 'executor'],
    'Webhook created': [[79], 1, 1, 'executor'],
    'Many messages deleted': [[3, 4, 5], 50, 60, 'server'],
};

let server;
let page;


export default async function alerts() {
    server = await newServer({name: 'Alerts'});
    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0}]);
    await operator('PUT', `/servers/${server.id}/roles`, [
        {id: '401', name: 'Moderator'}]);
    page = await enter(server, '#/alerts');
    page.expected = /status of 40[02]/;

    await made();
    await presets();
    await refused();
    await changed();
    await deleted();
    await fired();
    await limited();
    await hostile();
    await leave(page, 'alerts');
    for (const colorScheme of ['light', 'dark']) {
        await small(colorScheme);
    }
}


function item(name) {
    return page.locator('.items > li', {hasText: name});
}


function form() {
    return page.locator('form').last();
}


function field(label, place = form()) {
    return place.getByLabel(label, {exact: true});
}


function press(name, place = page) {
    return place.getByRole('button', {name}).first().click();
}


function begin(name) {
    return press(name, page.getByRole('group', {name: 'New alert'}));
}


function answer(name) {
    return press(name, page.getByRole('dialog'));
}


async function choose(label, text) {
    await field(label).fill(text);
    await page.getByRole('option', {name: text}).first().click();
}


// as the API has it
async function alert(name) {
    return (await server.get('/alerts')).find((one) => one.name === name);
}


function said(name) {
    return item(name).locator('.note').allTextContents();
}


async function made() {
    await page.getByText('There are no alerts.').waitFor();
    await begin('Many bans');
    is(await page.getByRole('button', {name: 'Many bans'})
        .getAttribute('aria-pressed'), 'true', 'a preset is chosen');
    is(await Promise.all(['Name', 'Count', 'Seconds', 'Counted'].map((label) =>
        field(label).inputValue())),
    ['Many bans', '5', '30', 'executor'], '... and fills the form');
    await choose('Channel', 'hall');
    await choose('Mentions', 'Moderator');
    await press(/^Add$/);
    await item('Many bans').getByText('Moderator').waitFor();

    const {alert_id: id, ...rest} = await alert('Many bans');

    ok(id, 'an alert is made');
    is(rest, {name: 'Many bans', types: [39], count: 5, seconds: 30,
        by: 'executor', channel: '301', role: '401', enabled: 1},
    '... as the form says');
    is((await said('Many bans'))[0],
        'Member banned: 5 within 30 s, by one member',
        'it says what it counts');
    await soon(async () => (await said('Many bans'))[1],
        'Channel: hall · Mentions: Moderator',
        '... where it is told, and whom it mentions');
    is(await field('Name').inputValue(), '',
        'and the form is for another one');
}


async function presets() {
    for (const name of Object.keys(PRESETS).slice(1)) {
        await begin(name);
        await press(/^Add$/);
        await item(name).waitFor();
    }
    is(Object.fromEntries((await server.get('/alerts')).map((one) => [one.name,
        [one.types, one.count, one.seconds, one.by]])), PRESETS,
    'the presets are those that alerts are for');
    is(await page.locator('.items .note:nth-child(2)').allTextContents(), [
        'Member banned: 5 within 30 s, by one member',
        'Channel deleted or Role deleted: 3 within 1 min, by one member',
        'Member kicked: 10 within 1 min, by one member',
        'Bot added: every time',
        'Webhook created: every time',
        'Messages bulk deleted, Thread message deleted or Message deleted: '
            + '50 within 1 min, in the whole server'],
    '... each in a sentence');
    is((await said('Many kicks'))[1],
        'Channel: Where service logs go · Mentions: none',
        'what is not set is told, too');
    await shoot(page, 'alerts');
    is(await violations(page), [], 'axe finds nothing');
}


// beside the field
async function refused() {
    const wrong = (label) => form().locator('.field', {hasText: label})
        .locator('.error:not([hidden])').textContent();

    await press(/^Add$/);
    is(await wrong('Log types'), 'Choose 1 to 20.', 'a type is needed');
    await press('Types: 0', form());
    await page.getByLabel('Member timed out', {exact: true}).check();
    await page.keyboard.press('Escape');
    await press(/^Add$/);
    is(await wrong('Name'), 'This is required.', '... and a name');
    await field('Name').fill('New');
    await field('Count').fill('101');
    await field('Seconds').fill('10');
    await press(/^Add$/);
    is(await wrong('Count'), 'Enter a whole number from 1 to 100.',
        'a number that is too large is told');
    await shoot(page, 'alerts-refused');
    is(await violations(page), [], '... axe finds nothing');
    await press('Undo all');
    await page.getByRole('region', {name: 'Unsaved changes'})
        .waitFor({state: 'hidden'});
}


async function changed() {
    const edit = page.locator('.items form');

    await press(/^Edit Many kicks/);
    await field('Count', edit).fill('7');
    await press('Undo all');
    is(await field('Count', edit).inputValue(), '10',
        'what was not saved can be undone');
    await field('Count', edit).fill('7');
    await field('Counted', edit).selectOption('in one channel');
    await press('Save', edit);
    await edit.waitFor({state: 'detached'});
    await item('Many kicks').waitFor();
    is((await said('Many kicks'))[0],
        'Member kicked: 7 within 1 min, in one channel', 'it is changed');
    is((await alert('Many kicks')).count, 7, '... also in the API');

    const on = item('Many kicks').getByRole('switch');

    // somebody else is quicker
    await on.click();
    await soon(async () => (await alert('Many kicks')).enabled, 0, 'and off');
    await server.ask('PATCH', `/alerts/${(await alert('Many kicks')).alert_id}`,
        {enabled: true});
    await press(/^Edit Many bans/);
    await field('Count', edit).fill('6');
    await press('Save', edit);
    await edit.waitFor({state: 'detached'});
    await soon(() => on.isChecked(), true,
        'what somebody else has turned is shown as it is');

    await on.click();
    await soon(async () => (await alert('Many kicks')).enabled, 0,
        'it is switched off');
    await page.reload();
    await item('Many kicks').waitFor();
    ok(!await on.isChecked(), '... and shown so');
    await on.click();
    await soon(async () => (await alert('Many kicks')).enabled, 1,
        '... on again');
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(async () => (await alert('Many kicks')).enabled, 0,
        '... which can be undone');
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(async () => (await alert('Many kicks')).enabled, 1,
        'and on again');
}


async function deleted() {
    const before = await alert('Many bans');

    await press(/^Delete Many bans/);
    await answer('Cancel');
    is(await alert('Many bans'), before, 'nothing is deleted without a yes');
    await press(/^Delete Many bans/);
    await answer('Delete');
    await item('Many bans').waitFor({state: 'detached'});
    is(await alert('Many bans'), undefined, 'then it is');

    await page.evaluate(() => {
        location.hash = '#/logs?type=76';
    });
    await soon(() => lines(page).evaluateAll((rows) => rows.slice(0, 2).map(
        (row) => row.querySelector('.details').textContent)), [
        'Many bans · removed · Counted: by one member · Channel: hall '
            + '· Count: 6 · Enabled: yes · Role: Moderator · Within: 30 s '
            + '· Log types: Member banned',
        'Many kicks · Enabled: no → yes'], 'changes are told in words');
    await lines(page).first().click();
    await press('Revert');
    await page.locator('.tools-of .said', {hasText: 'Done.'}).waitFor();

    const {alert_id: id, ...again} = await alert('Many bans');
    const {alert_id: old, ...rest} = before;

    ok(id !== old, 'what was deleted is made again');
    is(again, rest, '... as it was');
    await openPart(page, 'notifications');
    await page.locator('.items', {hasText: 'removed · Many bans'}).waitFor();
    ok(true, 'so it is told among the notifications');
}


// What an alert says is no rule of the platform.
async function fired() {
    await server.record({type: 57, executor: ANN,
        target: {id: '202', name: 'Helper'}});
    await server.record({type: 101, executor: ANN, name: 'No invites',
        action: 'alert'});
    await page.evaluate(() => {
        location.hash = '#/logs?type=101';
    });

    const row = lines(page).filter({hasText: 'Bot added'});

    await row.waitFor();
    is([await row.locator('.what [title=Alert]').innerText(),
        await row.locator('.details').textContent()],
    ['Alert Bot added (1 ×): Ann', '1 within 1 s'],
    'an alert is told in words');
    await row.click();
    await page.locator('.entry h2').waitFor();
    is([await page.locator('.entry h2').textContent(),
        await page.locator('.entry .sentence').textContent(),
        (await page.locator('.entry dt').allTextContents()).sort()],
    ['Alert', 'Alert Bot added (1 ×): Ann',
        ['Count', 'Member', 'Name', 'Value']], '... as a whole, too');
    await shoot(page, 'alerts-entry');
    is(await violations(page), [], '... axe finds nothing');

    await lines(page).filter({hasText: 'No invites'}).click();
    await soon(() => page.locator('.entry h2').textContent(),
        'Automation rule acted', 'what a rule did is told as that');
}


async function limited() {
    await operator('PUT', `/servers/${server.id}`, {plan: 'free'});
    await openPart(page, 'alerts');
    await begin('Bot added');
    await press(/^Add$/);
    await soon(() => form().locator('.said').textContent(),
        'Your plan has no room for another alert. A larger plan has.',
        'the limit of the plan is told');
    ok(await page.getByRole('button', {name: 'Sign out'}).isVisible(),
        '... and ends nothing');
    await operator('PUT', `/servers/${server.id}`, {plan: 'pro'});
}


async function hostile() {
    await field('Name').fill(HOSTILE);
    await press(/^Add$/);
    await item('onerror').waitFor();
    is(await page.locator('img[src=x]').count(), 0, 'a hostile name is text');
    is(await item('onerror').locator('strong').textContent(),
        HOSTILE.replace('\u202E', 'U+202E'), '... and shown as it is');
    await press(/^Delete <img/);
    await page.getByRole('dialog').getByText('onerror').waitFor();
    is(await page.locator('img[src=x]').count(), 0, '... in the question, too');
    await answer('Delete');
    await item('onerror').waitFor({state: 'detached'});
}


async function small(colorScheme) {
    const name = `alerts-${colorScheme}-phone`;
    const seen = async (what) => {
        await shoot(phone, `${name}-${what.slice(4)}`);
        is(await outside(phone), [], `${name}: ${what}: nothing sticks out`);
        is(await violations(phone), [], '... axe finds nothing');
    };
    const phone = await enter(server, '#/alerts', {colorScheme,
        viewport: {width: 360, height: 740}});

    await phone.locator('.items > li').nth(5).waitFor();
    await seen('the list');
    await phone.getByRole('button', {name: /^Edit Many bans/}).click();
    await phone.locator('.items form').waitFor();
    await seen('the form');
    await leave(phone, name);
}
