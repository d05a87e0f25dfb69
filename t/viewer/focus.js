// By keyboard alone: each step in the configuration leaves the focus where the
// reader goes on, and never nowhere.

import {enter, is, leave, newServer, operator, soon} from './lib.js';

const PARTS = {settings: 'Settings', types: 'Log types',
    ignore: 'Ignore lists', filters: 'Content filters', alerts: 'Alerts',
    tags: 'Tags', access: 'Access', tokens: 'Tokens',
    notifications: 'Notifications',
    troubleshoot: 'Troubleshooter', channels: 'Log channels'};

let server;
let page;


export default async function focus() {
    server = await newServer({name: 'Focus'});
    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0}]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: '301'});
    page = await enter(server, '#/tokens');

    // who goes so fast may be told to wait, and the page does

    page.expected = /status of 429/;

    await parts();
    await lists();
    await half();
    await unsaved();
    await types();
    await notifications();
    await fixes();
    await entry();
    await views();
    await leave(page, 'the focus');
}


// the name of what has it
function focused() {
    return page.evaluate(() => {
        const node = document.activeElement;

        return node === document.body ? 'nothing'
            : node.getAttribute('aria-labelledby')?.split(' ').map((id) =>
                document.getElementById(id).textContent.trim()).join(' ')
                ?? node.ariaLabel ?? (node.labels?.[0] ?? node).textContent;
    });
}


async function press(name) {
    const control = page.getByRole('button', {name}).first();

    await control.focus();
    await control.press('Enter');
}


async function go(part) {
    await page.locator(`.side a[href="#/${part}"]`).press('Enter');
    await page.getByRole('heading', {name: PARTS[part], level: 2}).waitFor();
    await page.getByText('Loading …').waitFor({state: 'detached'});
}


async function parts() {
    for (const [part, title] of Object.entries(PARTS)) {
        await go(part);
        await soon(focused, title, `${title}: its heading is read out`);
    }
}


async function lists() {
    await go('tags');
    for (const name of ['one', 'two']) {
        await page.getByLabel('Name').fill(name);
        await page.getByLabel('Content').fill('text');
        await page.getByLabel('Content').press('Tab');
        await press('Add');
        await page.locator('.items', {hasText: name}).waitFor();
        await soon(focused, 'Name', 'after an item was added, to the next');
    }

    await press(/^Edit two/);
    await soon(focused, 'Name', 'an item is edited from its first field');
    await page.locator('.items textarea').fill('other');
    await page.locator('.items').getByRole('button', {name: 'Save'})
        .press('Enter');
    await page.locator('.items', {hasText: 'other'}).waitFor();
    await soon(focused, 'Edit two other', '... and left where it stands');

    for (const next of ['Edit two other', 'Name']) {
        await press(/^Delete/);
        await page.getByRole('dialog').getByRole('button', {name: 'Delete'})
            .press('Enter');
        await soon(focused, next, 'after one that is gone, to the next');
    }
}


// what is begun in one line outlives the others
async function half() {
    await server.ask('POST', '/tags', {tag_name: 'kept', content: 'text'});
    await go('tags');
    await press(/^Edit kept/);
    await page.locator('.items textarea').fill('half written');

    const fresh = page.locator('form').last();

    await fresh.getByLabel('Name').fill('next');
    await fresh.getByLabel('Content').fill('text');
    await fresh.getByRole('button', {name: 'Add'}).press('Enter');
    await page.locator('.items', {hasText: 'next'}).waitFor();
    is(await page.locator('.items textarea').inputValue(), 'half written',
        'a line that is changed stays while another comes');
    await page.locator('.items').getByRole('button', {name: 'Save'})
        .press('Enter');
    await page.locator('.items', {hasText: 'half written'}).waitFor();
    is(await page.locator('.items li').count(), 2, '... and is saved');
}


async function unsaved() {
    await go('settings');
    await page.getByLabel('Spoilers').press('Space');
    await press('Undo all');
    await soon(focused, 'Settings', 'what was undone leaves a page to read');
    await page.getByLabel('Spoilers').press('Space');
    await press('Save all');
    await soon(focused, 'Settings', '... and so does what was saved');
}


async function types() {
    await go('types');
    await page.getByLabel('Log “Member joined”').press('Space');
    await press('Undo');
    await soon(focused, 'Find a type', 'the last step is undone');
    await press('Member joined');
    await page.getByLabel('Pick a colour').fill('#ff8000');
    await press('Default');
    await soon(focused, 'Pick a colour', 'a colour is the usual one again');
}


async function notifications() {
    await go('notifications');
    await press('Mark all as read');
    await page.getByText('No unread notifications').waitFor();
    await soon(focused, 'Notifications', 'nothing is left to acknowledge');
}


async function fixes() {
    await server.ask('PATCH', '/config/logging/settings/5', {enabled: false});
    await go('troubleshoot');
    await press('Switch the type on');
    await page.getByText('Done.').waitFor();
    await soon(focused, 'Run a live check', 'after a fix, to the report');
    await press('Run a live check');
    await soon(focused, 'Run a live check', '... which is read anew');
}


async function entry() {
    await server.record({type: 7, executor: {id: '204', name: 'Ann'},
        content: 'pears'});
    await page.getByRole('link', {name: 'Logs'}).press('Enter');
    await page.getByText('pears').first().click();
    await press('Stop logging Ann');
    await soon(focused, 'Undo', 'what was done can be undone');
    await press('Undo');
    await soon(focused, 'Message edited', '... then the entry is read on');
    await page.keyboard.press('Escape');
    await soon(() => page.locator('.entry h2').isVisible(), false,
        '... and closed');
}


async function views() {
    const panel = page.locator('.popover:popover-open');

    await press('Saved searches');
    for (const name of ['one', 'two']) {
        await panel.getByRole('textbox').fill(name);
        await panel.getByRole('textbox').press('Enter');
    }
    await press('Delete one');
    await soon(focused, 'two', 'a saved search is deleted, another is left');
    await press('Delete two');
    await soon(focused, 'Save this search as', '... and none');
}
