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
    await told('Members', 'No channel by that name is known. Pick one from '
        + 'the list, or give its ID.');
    await shoot(page, 'config-error');
    await page.getByRole('button', {name: 'Undo all'}).click();
    is(await page.getByLabel('Members', {exact: true}).inputValue(), '',
        'what was typed is undone');

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
        'No changes.', 'what is not changed is not sent');
}


async function settings() {
    const notice = page.locator('.saved');

    await go('Settings');
    await page.getByLabel('Spoilers').check();
    await page.getByLabel('Format').selectOption('Plain text');
    await page.getByLabel('Support server').uncheck();
    await save();
    await saved();
    const [row] = await part('serverlogConfigOptions');
    is([row.spoilers, row.format_type, row.buttons],
        [1, 2, ['userID', 'customise']], 'settings are changed');

    await page.getByLabel('Ignore what bots do').uncheck();
    await page.getByRole('button', {name: 'Save all'}).click();
    const options = async () => {
        const [{ignore_bot_executors: bots, spoilers}]
            = await part('serverlogConfigOptions');
        return [bots, spoilers];
    };
    await soon(() => notice.innerText(), 'Saved.\nUndo',
        'that it was saved is told where it was done');
    is(await options(), [0, 1], '... once it was');
    await shoot(page, 'saved');
    await notice.getByRole('button', {name: 'Undo'}).click();
    await soon(options, [1, 1], '... and it can be undone');
    await soon(() => notice.innerText(), 'Saved.\nUndo', '... or done again');
    await page.getByLabel('Spoilers').uncheck();
    is(await notice.innerText(), '', 'until something else is changed');
    await page.getByRole('button', {name: 'Undo all'}).click();

    const language = page.locator('form').nth(1);
    await language.getByLabel('Language').selectOption('日本語');
    await save(language);
    await saved(language);
    is((await part('settingsConfig'))[0].locale, 18, 'and the language');
    await language.getByLabel('Language').selectOption('English (UK)');
    await save(language);
    await saved(language);

    await operator('PUT', `/servers/${server.id}`, {plan: 'free'});
    page.expected = /status of 403/;
    await page.getByLabel('Format').selectOption('Embed');
    await save();
    await soon(() => page.locator('form').first().innerText().then((text) =>
        /plan/i.test(text.replace(/Other formats.*plan\./, ''))), true,
    'what the plan does not allow is told');
    ok(await page.getByRole('button', {name: 'Sign out'}).isVisible(),
        '... and is no end of the token');
    await page.getByRole('button', {name: 'Undo all'}).click();
    await operator('PUT', `/servers/${server.id}`, {plan: 'pro'});
    page.expected = REFUSALS;
}


async function types() {
    const line = (title) => page.locator('.types-grid tr', {has: page
        .getByRole('button', {name: title, exact: true})});
    const chosen = page.getByRole('complementary', {name: 'Chosen'});
    const unsaved = page.getByRole('region', {name: 'Unsaved changes'});
    const all = async () => Object.fromEntries((await part(
        'serverlogConfigCustomOptions') ?? []).map((row) =>
        [row.log_type, row]));

    await go('Log types');
    is(await page.locator('.types-grid tr:not(.group)').count(), 1 + 102,
        'every type has its line');
    is(await line('Member banned').locator('.where').textContent(),
        '#hall (Main channel)', 'and tells where it goes');

    await page.getByRole('button', {name: 'Moderation', exact: true}).last()
        .click();
    is(await line('Message edited').isVisible()
        && !await line('Member banned').isVisible(), true,
    'a category is folded');
    const folder = page.locator('.types-grid .fold', {hasText: 'Moderation'});
    const find = page.getByLabel('Find a type');
    is(await folder.getAttribute('aria-expanded'), 'false', '... and says so');
    await find.fill('banned');
    is([await line('Member banned').isVisible(),
        await folder.getAttribute('aria-expanded')], [true, 'true'],
    '... what is found in it is seen');
    await find.fill('');
    await page.getByRole('button', {name: 'Moderation', exact: true}).last()
        .click();
    const presets = page.getByRole('group', {name: 'Log only'})
        .getByRole('button');
    is(await presets.allTextContents(), ['Essentials', 'Moderation',
        'All types'], 'there are presets');
    await presets.filter({hasText: 'Moderation'}).click();
    is([await page.getByLabel('Log “Member banned”').isChecked(),
        await page.getByLabel('Log “Message edited”').isChecked(),
        await page.getByLabel('Log all of Service').isChecked()],
    [true, false, true], 'a preset leaves on what it names, and the service');
    await page.getByRole('button', {name: 'Undo', exact: true}).click();
    await unsaved.waitFor({state: 'hidden'});
    is(await line('Message edited').locator('.how, .color, .bots')
        .allTextContents(), ['', '', ''],
    'what is as for all types is not said of each');

    await page.getByLabel('Log “Message edited”').uncheck();
    await page.getByLabel('Log all of Voice').uncheck();
    await soon(() => unsaved.locator('strong').textContent(),
        '22 unsaved changes', 'a type and a category are switched off');
    is(await part('serverlogConfigCustomOptions'), null,
        '... not before it is saved');
    await page.getByRole('button', {name: 'Undo', exact: true}).click();
    await soon(() => unsaved.locator('strong').textContent(),
        'One unsaved change', 'the last step is undone');

    await line('Message edited').getByRole('button').click();
    await chosen.getByLabel('Format').selectOption('Plain text');
    await chosen.getByLabel('Pick a colour').fill('#ff8000');
    await choose('Log channel', 'yard');
    await shoot(page, 'types');
    await save(unsaved);
    await unsaved.waitFor({state: 'hidden'});
    let row = (await all())[7];
    is([row.enabled, row.color, row.format_type, row.log_channel],
        [0, 0xff8000, 2, '302'], 'a type is customised');
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(() => part('serverlogConfigCustomOptions'), null,
        '... which can be undone');
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(async () => (await all())[7]?.color, 0xff8000,
        '... and done again');

    await page.reload();
    await soon(() => line('Message edited').locator('.where, .how, .color')
        .allTextContents(), ['#yard', 'Plain text', '#ff8000'],
    'and shown so');
    await page.getByRole('button', {name: 'Off', exact: true}).click();
    is(await page.locator('.types-grid tr:not(.group):visible').count(), 2,
        'those that are off can be found');
    await page.getByRole('button', {name: 'All', exact: true}).click();

    const {total} = await server.get('/logs?type=77&limit=1');
    await page.getByLabel('Log all of Voice').uncheck();
    await save(unsaved);
    await unsaved.waitFor({state: 'hidden'});
    is([Object.values(await all()).filter((one) => one.enabled === 0).length,
        (await server.get('/logs?type=77&limit=1')).total - total], [22, 1],
    'a category that is switched off is one change');
    await page.getByLabel('Log all of Voice').check();
    await save(unsaved);
    await unsaved.waitFor({state: 'hidden'});

    await page.getByLabel('Choose all of Moderation').check();
    await page.getByLabel('Choose Message edited').check();
    await soon(() => chosen.getByLabel('Format').inputValue(), '',
        'where those chosen differ, it says so');
    await chosen.getByLabel('Ignore what bots do', {exact: true})
        .selectOption('Off');
    await page.getByLabel('Log channel', {exact: true}).fill('nowhere');
    await page.keyboard.press('Tab');
    await chosen.getByText('No channel by that name is known.').waitFor();
    await save(unsaved);
    await unsaved.waitFor({state: 'hidden'});
    const rows = await all();
    ok([39, 40, 41, 7].every((id) => rows[id].ignore_bot_executors === 0),
        'several are set at once');
    is(rows[7].format_type, 2, '... in what was changed, and nothing else');

    await page.getByRole('button', {name: 'Reset to server defaults'}).click();
    await save(unsaved);
    await unsaved.waitFor({state: 'hidden'});
    is(await part('serverlogConfigCustomOptions'), null,
        'they follow the server again');

    await page.getByLabel('Log “Member joined”').focus();
    await page.keyboard.press('ArrowDown');
    is(await page.evaluate(() => document.activeElement.ariaLabel),
        'Log “Member left”', 'arrows go through the lines');
    await page.keyboard.press('Space');
    await unsaved.waitFor();
    await leaving();
}


// What is not saved is not lost unasked.
async function leaving() {
    const link = page.getByRole('link', {name: 'Settings'});
    const answer = (name) => page.getByRole('dialog')
        .getByRole('button', {name}).click();
    const here = new URL(page.url()).hash;

    await link.click();
    await answer('Stay');
    await soon(() => new URL(page.url()).hash, here, 'leaving is asked about');
    ok(!await page.getByLabel('Log “Member left”').isChecked(),
        '... and what was changed is still there');
    await link.click();
    await answer('Save and leave');
    await page.getByRole('heading', {name: 'Settings'}).waitFor();
    is((await server.get('/config/logging/settings/2'))[0].enabled, 0,
        'it is saved on leaving');
    await server.ask('PATCH', '/config/logging/settings/2', {enabled: null});

    await page.getByLabel('Spoilers').uncheck();
    await page.getByRole('link', {name: 'Logs'}).click();
    await answer('Leave without saving');
    await page.locator('.logs').waitFor();
    is((await part('serverlogConfigOptions'))[0].spoilers, 1,
        'or dropped, for who wants that');
}


async function ignore() {
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/ignore`);
    await page.getByRole('heading', {name: 'Ignore lists'}).waitFor();
    await page.getByRole('button', {name: 'By members'}).click();
    await choose('Add', 'Bob');
    await page.getByRole('button', {name: 'Add'}).click();
    await page.locator('.items', {hasText: 'Bob'}).waitFor();
    is((await server.get('/config/logging/ignore/2')).map((row) =>
        row.ignore_value), ['202'], 'somebody is ignored');
    await page.getByLabel('Add', {exact: true}).fill('x'.repeat(101));
    await page.getByRole('button', {name: 'Add'}).click();
    await told('Add', 'Nobody by that name is known. Pick somebody from the '
        + 'list, or give their ID.');
    await page.getByRole('button', {name: 'Undo all'}).click();
    await page.getByRole('button', {name: /^Remove Bob/}).click();
    await page.getByText('Nothing is ignored by this list.').waitFor();
    is(await part('serverlogConfigIgnoreStandard'), null, 'and no more');
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await page.locator('.items', {hasText: 'Bob'}).waitFor();
    is((await server.get('/config/logging/ignore/2')).length, 1,
        '... unless it is undone');
    await page.getByRole('button', {name: /^Remove Bob/}).click();
    await page.getByText('Nothing is ignored by this list.').waitFor();
    await soon(() => page.locator('.saved').innerText(), 'Saved.\nUndo',
        '... as long as this list is shown');
    await page.getByRole('button', {name: 'To members'}).click();
    is(await page.locator('.saved').innerText(), '', '... and no longer');
}


async function filters() {
    await go('Content filters');
    const words = page.getByRole('region', {name: 'The words'});

    await words.getByRole('switch').check();
    await words.getByLabel('What is found').selectOption('drop');
    await words.getByLabel('Words', {exact: true}).fill('apple\npear');
    await words.getByRole('button', {name: 'All types'}).click();
    await words.getByLabel('Find a type').fill('message edited');
    await words.getByLabel('Message edited', {exact: true}).check();
    await page.keyboard.press('Escape');
    await save();
    await saved(words);
    is(await server.get('/filters/words'), {filter_id: 'words', enabled: 1,
        action: 'drop', words: ['apple', 'pear'], log_types: [7]},
    'a filter is changed');

    const undo = page.locator('.saved').getByRole('button', {name: 'Undo'});

    await undo.click();
    await soon(() => server.get('/filters/words'), {filter_id: 'words',
        enabled: 0, action: 'mask', words: [], log_types: []},
    '... which can be undone');
    is(await words.locator('.example').innerText(), '',
        '... also in the example of it');
    await undo.click();
    await soon(async () => (await server.get('/filters/words')).enabled, 1,
        '... and done again');

    const emails = page.getByRole('region', {name: 'E-mail'});
    const example = () => emails.locator('.example').innerText();

    is(await example(), 'For example ann@example.com is logged as it is.',
        'a filter shows what it does');
    await emails.getByRole('switch').check();
    is(await example(), 'For example ann@example.com is logged as '
        + '[email].', '... as it is set');
    await shoot(page, 'filters');
    await page.getByRole('button', {name: 'Undo all'}).click();
    await words.getByLabel('Words', {exact: true}).fill('x'.repeat(101));
    await save();
    await told('Words', 'Use 1 to 100 characters.', words);
    await page.getByRole('button', {name: 'Undo all'}).click();
}


async function tags() {
    await go('Tags');
    const add = page.getByRole('button', {name: 'Add'});

    await page.getByLabel('Name').fill('Rules');
    await add.click();
    await told('Content', 'A text or an image is needed.');
    await page.getByLabel('Image').fill('javascript:alert(1)');
    await add.click();
    await told('Image', 'Enter an address that begins with https:// or '
        + 'http://.');
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
        .allTextContents().then((all) => all.join('')),
    'This name is taken already.',
    'a name that is taken is told');
    await page.getByRole('button', {name: 'Undo all'}).click();

    await page.getByRole('button', {name: /^Edit rules/}).click();
    const form = page.locator('.items form');
    await form.getByLabel('Content').fill('Be very kind.');
    await save(form);
    await page.locator('.items', {hasText: 'Be very kind.'}).waitFor();
    is((await part('tags'))[0].content, 'Be very kind.', 'it is changed');
    await page.getByRole('button', {name: /^Edit rules/}).click();
    await form.getByLabel('Name').fill('law');
    await save(form);
    await page.locator('.items', {hasText: 'law'}).waitFor();
    await server.ask('POST', '/tags', {tag_name: 'rules', content: 'Mine.'});
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(() => page.locator('.saved').innerText(),
        'This name is taken already.', 'what cannot be undone is told');
    const [law, rules] = await part('tags');
    await server.ask('DELETE', `/tags/${rules.tag_id}`);
    await server.ask('PATCH', `/tags/${law.tag_id}`, {tag_name: 'rules'});
    await page.reload();

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
    await choose('Member', 'Ann');
    await page.getByLabel('Level').selectOption('View only');
    await page.getByRole('button', {name: 'Add'}).click();
    await page.locator('.items', {hasText: 'Ann'}).waitFor();
    is((await part('access')).map((row) => [row.user_id, row.level]),
        [['201', 'view']], 'access is given');
    await page.getByRole('button', {name: /^Edit Ann/}).click();
    const form = page.locator('.items form');
    await form.getByLabel('Level').selectOption('Can change settings');
    await save(form);
    await page.locator('.items .badge', {hasText: 'Can change settings'})
        .waitFor();
    is((await part('access'))[0].level, 'manage', '... changed');
    await page.getByRole('button', {name: /^Remove Ann/}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Cancel'})
        .click();
    await page.locator('.saved').getByRole('button', {name: 'Undo'}).click();
    await soon(async () => (await part('access'))[0].level, 'view',
        '... which can be undone, also where it was not taken after all');
    await soon(() => page.locator('.saved').innerText(), 'Saved.\nUndo',
        '... and says so');
    await operator('POST', `/servers/${server.id}/tokens`,
        {permissions: 2, creator: '201'});
    await page.getByRole('button', {name: /^Remove Ann/}).click();
    await page.getByRole('dialog').getByRole('button',
        {name: 'Remove and revoke their tokens: 1'}).click();
    await page.getByText('Nobody else has access.').waitFor();
    is(await part('access'), null, '... and taken');
    is((await server.get('/auth')).filter(({creator}) => creator === '201'),
        [], '... with the tokens that were made by it, if that is wanted');
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
    await page.getByRole('button', {name: /^Mark as read: Token/}).first()
        .click();
    await soon(unread, before - 1, 'one is acknowledged');
    await page.getByRole('button', {name: 'Mark all as read'}).click();
    await page.getByText('No unread notifications').waitFor();
    is(await unread(), 0, 'all are');
}


async function troubleshooter() {
    await server.ask('PATCH', '/config/logging/settings/5',
        {enabled: false});
    await go('Troubleshooter');
    const item = page.locator('.items li', {hasText: 'Message deleted'});

    await item.getByText('info').waitFor();
    is(await item.locator('p').innerText(), 'Message deleted',
        'what it is about is told in the words of the page');
    await shoot(page, 'troubleshooter');
    await item.getByRole('button', {name: 'Switch the type on'}).click();
    await item.waitFor({state: 'detached'});
    is(await part('serverlogConfigCustomOptions'), null, 'a fix is applied');

    const asked = page.waitForResponse(/troubleshoot\?live=1/);
    await page.getByRole('button', {name: 'Run a live check'}).click();
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
