// The configuration: each part is read, changed, and told when the API does
// not like it, beside the field.

import {enter, is, leave, newServer, ok, operator, shoot, soon}
    from './lib.js';

const REFUSALS = /status of 4(00|02|09|29)/;

let server;
let page;


export default async function config() {
    server = await newServer({name: 'Configuration'});
    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0},
        {id: '302', name: 'yard', type: 0}]);
    await operator('PUT', `/servers/${server.id}/members`, [
        {id: '201', name: 'Ann'}, {id: '202', name: 'Bob'}]);
    page = await enter(server, '#/channels');
    page.expected = REFUSALS;

    for (const part of [channels, settings, types, ignore, filters, tags,
        access, tokens, notifications, troubleshooter])
    {
        await part();
    }
    await leave(page, 'the configuration');
    await bots();
}


async function go(name) {
    await page.getByRole('navigation', {name: 'Configuration'})
        .getByRole('link', {name}).click();
    await page.getByRole('heading', {name, level: 2}).waitFor();
    await page.getByText('Loading …').waitFor({state: 'detached'});
}


function saved(place = page) {
    return soon(() => place.locator('.said').first().textContent(),
        'Saved.', 'saved');
}


async function part(name) {
    return (await server.get('/config'))[name];
}


async function choose(label, text) {
    await page.getByLabel(label, {exact: true}).fill(text);
    await page.getByRole('option', {name: text}).first().click();
}


function save(place = page) {
    return place.getByRole('button', {name: /^Save/}).first().click();
}


// the error that stands by the field, read out with it
async function told(label, error, place = page) {
    const field = place.getByLabel(label, {exact: true});

    await soon(() => field.evaluate((node) =>
        node.getAttribute('aria-describedby').split(' ')
            .map((id) => document.getElementById(id))
            .filter((about) => about.classList.contains('error')
                && !about.hidden)
            .map((about) => about.textContent).join()), error,
    `what is wrong with ${label} stands beside it`);
    is(await field.getAttribute('aria-invalid'), 'true', '... and is marked');
}


async function channels() {
    await choose('Main channel', 'hall');
    await choose('Voice', 'Off');
    await save();
    await saved();
    let [row] = await part('serverlogConfigChannels');
    is([row.main_channel, row.category_voice, row.category_text],
        ['301', '0', null], 'channels are set');

    await page.getByLabel('Members', {exact: true}).fill('no channel');
    await save();
    await told('Members', 'must be a string of 1 to 20 digits, from 0 to '
        + '9223372036854775807');
    await shoot(page, 'config-error');

    await page.reload();
    await soon(() => page.getByLabel('Main channel').inputValue(), 'hall',
        'and shown by name');
    await choose('Voice', 'Follows the main channel');
    await save();
    await saved();
    [row] = await part('serverlogConfigChannels');
    is(row.category_voice, null, 'a category follows the main channel again');
    await save();
    await soon(() => page.locator('.said').textContent(),
        'Nothing was changed.', 'what is not changed is not sent');
}


async function settings() {
    await go('Settings');
    await page.getByLabel('Spoilers').check();
    await page.getByLabel('Format').selectOption('Plain text');
    await page.getByLabel('Support server').uncheck();
    await save();
    await saved();
    const [row] = await part('serverlogConfigOptions');
    is([row.spoilers, row.format_type, row.buttons],
        [1, 2, ['userID', 'customise']], 'settings are changed');

    const language = page.locator('form').nth(1);
    await language.getByLabel('Language').selectOption('日本語');
    await save(language);
    await saved(language);
    is((await part('settingsConfig'))[0].locale, 18, 'and the language');

    await operator('PUT', `/servers/${server.id}`, {plan: 'free'});
    page.expected = /status of 403/;
    await page.getByLabel('Format').selectOption('Embed');
    await save();
    await soon(() => page.locator('form').first().innerText().then((text) =>
        /plan/i.test(text.replace(/Other formats.*plan\./, ''))), true,
    'what the plan does not allow is told');
    ok(await page.getByRole('button', {name: 'Sign out'}).isVisible(),
        '... and is no end of the token');
    await operator('PUT', `/servers/${server.id}`, {plan: 'pro'});
    page.expected = REFUSALS;
}


async function types() {
    await go('Log types');
    await page.getByLabel('Log type', {exact: true})
        .selectOption('Message edited');
    await page.getByLabel('Recorded').selectOption('Off');
    await page.getByLabel('Colour', {exact: true}).fill('#ff8000');
    await save();
    await saved();
    const [row] = await server.get('/config/logging/settings/7');
    is([row.enabled, row.color, row.log_channel], [0, 0xff8000, null],
        'a type is customised');

    await page.getByLabel('Colour', {exact: true}).fill('red');
    await save();
    await told('Colour', 'must be an integer from 0 to 16777215');

    await page.reload();
    await page.getByLabel('Recorded').waitFor();
    is(await page.getByLabel('Recorded').inputValue(), '0', 'and shown so');
    is(await page.getByLabel('Colour', {exact: true}).inputValue(), '#ff8000',
        '... in its colour');
    await page.getByLabel('Recorded').selectOption('As the server');
    await page.getByLabel('Colour', {exact: true}).fill('');
    await save();
    await saved();
    is(await part('serverlogConfigCustomOptions'), null,
        'it follows the server again');
}


async function ignore() {
    await go('Ignore lists');
    await page.getByRole('button', {name: 'Executors'}).click();
    await choose('Add', 'Bob');
    await page.getByRole('button', {name: 'Add'}).click();
    await page.locator('.items', {hasText: 'Bob'}).waitFor();
    is((await server.get('/config/logging/ignore/2')).map((row) =>
        row.ignore_value), ['202'], 'somebody is ignored');
    await page.getByLabel('Add', {exact: true}).fill('x'.repeat(101));
    await page.getByRole('button', {name: 'Add'}).click();
    await told('Add', 'must be 1 to 100 characters long');
    await page.getByRole('button', {name: /^Remove Bob/}).click();
    await page.getByText('Nothing is ignored by this list.').waitFor();
    is(await part('serverlogConfigIgnoreStandard'), null, 'and no more');
}


async function filters() {
    await go('Filters');
    const words = page.getByRole('region', {name: 'The words'});

    await words.getByLabel('On', {exact: true}).check();
    await words.getByLabel('What is found').selectOption('drop');
    await words.getByLabel('Words').fill('apple\npear');
    await words.getByRole('button', {name: 'All types'}).click();
    await words.getByLabel('Find a type').fill('message edited');
    await words.getByLabel('Message edited', {exact: true}).check();
    await page.keyboard.press('Escape');
    await save(words);
    await saved(words);
    is(await server.get('/filters/words'), {filter_id: 'words', enabled: 1,
        action: 'drop', words: ['apple', 'pear'], log_types: [7]},
    'a filter is changed');
    await words.getByLabel('Words').fill('x'.repeat(101));
    await save(words);
    await told('Words', 'must be 1 to 100 characters long', words);
}


async function tags() {
    await go('Tags');
    const add = page.getByRole('button', {name: 'Add'});

    await page.getByLabel('Name').fill('Rules');
    await add.click();
    await told('Content', 'needed where there is no image');
    await page.getByLabel('Image').fill('javascript:alert(1)');
    await add.click();
    await told('Image', 'must be an http or https URL');
    await page.getByLabel('Image').fill('');
    await page.getByLabel('Content').fill('Be kind.');
    await add.click();
    await page.locator('.items', {hasText: 'rules'}).waitFor();
    is((await part('tags')).map((tag) => [tag.tag_name, tag.content]),
        [['rules', 'Be kind.']], 'a tag is made');

    await page.getByLabel('Name').fill('rules');
    await page.getByLabel('Content').fill('again');
    await add.click();
    await soon(() => page.locator('.said.error, .field .error')
        .allTextContents().then((all) => all.join('')), 'is taken',
    'a name that is taken is told');

    await page.getByRole('button', {name: /^Edit rules/}).click();
    const form = page.locator('.items form');
    await form.getByLabel('Content').fill('Be very kind.');
    await save(form);
    await page.locator('.items', {hasText: 'Be very kind.'}).waitFor();
    is((await part('tags'))[0].content, 'Be very kind.', 'it is changed');

    const answer = (name) => page.getByRole('dialog')
        .getByRole('button', {name}).click();
    await page.getByRole('button', {name: /^Delete rules/}).click();
    await answer('Cancel');
    is((await part('tags')).length, 1, 'nothing is deleted without a yes');
    await page.getByRole('button', {name: /^Delete rules/}).click();
    await answer('Delete');
    await page.getByText('There are no tags.').waitFor();
    is(await part('tags'), null, 'then it is');
}


async function access() {
    await go('Access');
    await choose('User', 'Ann');
    await page.getByLabel('Level').selectOption('may look');
    await page.getByRole('button', {name: 'Add'}).click();
    await page.locator('.items', {hasText: 'Ann'}).waitFor();
    is((await part('access')).map((row) => [row.user_id, row.level]),
        [['201', 'view']], 'access is given');
    await page.getByRole('button', {name: /^Edit Ann/}).click();
    const form = page.locator('.items form');
    await form.getByLabel('Level').selectOption('may change settings');
    await save(form);
    await page.locator('.items .badge', {hasText: 'may change settings'})
        .waitFor();
    is((await part('access'))[0].level, 'manage', '... changed');
    await page.getByRole('button', {name: /^Remove Ann/}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Remove'})
        .click();
    await page.getByText('Nobody else has access.').waitFor();
    is(await part('access'), null, '... and taken');
}


async function tokens() {
    await server.newToken(2);
    const before = (await server.get('/auth')).length;

    await go('Tokens');
    await page.getByText('(yours)').waitFor();
    ok(true, 'the token that is used is told');
    await page.locator('.items li', {hasText: 'Basic'})
        .getByRole('button', {name: 'Revoke'}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Revoke'})
        .click();
    await soon(async () => (await server.get('/auth')).length, before - 1,
        'a token is revoked');
    await soon(() => page.locator('.items > li').count(), before - 1,
        '... and gone from the list');
}


async function notifications() {
    await go('Notifications');
    const unread = async () => (await server.get('/notifications'))
        .filter((row) => !row.acknowledged).length;
    const before = await unread();

    is(await page.locator('.actions strong').textContent(),
        `${before} unread`, 'what was changed is told');
    await page.getByRole('button', {name: /^Acknowledge Token/}).first()
        .click();
    await soon(unread, before - 1, 'one is acknowledged');
    await page.getByRole('button', {name: 'Acknowledge all'}).click();
    await page.getByText('Nothing unread').waitFor();
    is(await unread(), 0, 'all are');
}


async function troubleshooter() {
    await server.ask('PATCH', '/config/logging/settings/5',
        {enabled: false});
    await go('Troubleshooter');
    const item = page.locator('.items li', {hasText: 'Message deleted'});

    await item.getByText('info').waitFor();
    await shoot(page, 'troubleshooter');
    await item.getByRole('button', {name: 'Switch the type on'}).click();
    await item.waitFor({state: 'detached'});
    is(await part('serverlogConfigCustomOptions'), null, 'a fix is applied');

    const asked = page.waitForResponse(/troubleshoot\?live=1/);
    await page.getByRole('button', {name: 'Ask the platform'}).click();
    is((await asked).status(), 200, 'the platform is asked');

    await page.getByLabel('To the channel of').selectOption('Main channel');
    await page.getByRole('button', {name: 'Send'}).click();
    await soon(() => page.locator('section', {hasText: 'test message'})
        .locator('.badge').count(), 1, 'a test message tells what came of it');
    await page.getByRole('button', {name: 'Send'}).click();
    await page.locator('section .said.error').waitFor();
    ok(await page.locator('#banner').isHidden(),
        'that a second one has to wait is told, and is no limit of the API');
    await page.getByRole('cell', {name: '301'}).waitFor();
    ok(true, 'the log channels are listed');
}


async function bots() {
    page = await enter(server, '#/channels?bot=pro');
    await soon(() => page.getByLabel('Main channel').inputValue(), '',
        'the Pro bot has a configuration of its own');
    await page.getByLabel('Bot', {exact: true}).selectOption('Main bot');
    await soon(() => page.getByLabel('Main channel').inputValue(), 'hall',
        'and the main bot is a choice away');
    await leave(page, 'the bots');
}
