// How it looks, and what a screen reader finds: every view in light and dark,
// from 320 pixels to 4 K. Other languages are those of languages.js.

import {enter, is, leave, lines, newServer, ok, operator, outside, shoot,
    soon, violations} from './lib.js';

const ALL = ['channels', 'settings', 'types', 'ignore', 'filters', 'tags',
    'access', 'tokens', 'notifications', 'troubleshoot'];

// the parts of the configuration to look at, and what axe looks for in them
const SCREENS = {
    light: {parts: ALL, rules: null},
    dark: {colorScheme: 'dark', rules: ['color-contrast'],
        parts: ['channels', 'types', 'ignore', 'tokens', 'troubleshoot']},
    small: {viewport: {width: 320, height: 640}, parts: ALL,
        rules: ['scrollable-region-focusable', 'aria-required-children']},
    '4k': {viewport: {width: 3840, height: 2160}, parts: ['channels'],
        rules: ['scrollable-region-focusable']},
    contrast: {forcedColors: 'active', parts: ['types'],
        rules: ['scrollable-region-focusable']},
};

let server;


export default async function look() {
    server = await newServer({name: 'Look'});
    await fill();

    for (const [name, {parts, rules, ...options}]
        of Object.entries(SCREENS))
    {
        const page = await enter(server, '#/logs', options);

        await views(page, name, parts, rules);
        await leave(page, name);
    }
    await themes();
    await printed();
    await empty();
}


async function fill() {
    const now = Date.now();
    const ann = {id: '201', name: 'Ann'};
    const bob = {id: '202', name: 'بوب'};
    const hall = {id: '301', name: 'hall'};
    const kinds = [
        {type: 7, executor: ann, channel: hall, content: 'See you at noon',
            contentAfter: 'See you all at noon, then'},
        {type: 39, executor: ann, target: bob, reason: 'raid'},
        {type: 5, target: bob, channel: hall, content: 'مرحبا بالعالم'},
        {type: 17, executor: bob, channel: {id: '302', name: 'Lounge'}},
        {type: 44, executor: ann, target: bob, role: 'Painter'},
        {type: 3, executor: ann, channel: hall, messages: [
            {id: '1', content: 'one', authorId: '201', timestamp: now,
                attachments: [{name: 'cat.png', size: 120_000}]},
            {id: '2', content: 'two', authorId: '202', attachments: []}]},
    ];

    await operator('PUT', `/servers/${server.id}/channels`, [hall]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: '301'});
    await server.record(...Array.from({length: 300}, (_, i) => (
        {...kinds[i % kinds.length], timestamp: now - i * 1_300_000 - 1000})));
    await server.ask('POST', '/config/logging/ignore/0', {value: '301'});
    await server.ask('POST', '/tags', {tag_name: 'rules', content: 'Be kind'});
    await server.ask('PUT', '/config/access/201', {level: 'view'});
}


async function views(page, name, parts, rules) {
    await soon(async () => await page.locator('.plot rect').count() > 0, true,
        `${name}: the chart is drawn`);
    await check(page, `${name}-logs`, rules);
    is(await page.locator('.rows .what', {hasText: 'بوب'}).first().evaluate(
        (node) => getComputedStyle(node.lastChild).direction),
    await page.evaluate(() => getComputedStyle(document.body).direction),
    `${name}: a name does not turn the sentence that begins with it`);

    await lines(page).first().click();
    await page.locator('.entry').waitFor();
    await check(page, `${name}-entry`, rules);
    await page.getByRole('button', {name: 'Close'}).click();

    if (name === 'small') {
        await page.getByRole('button', {name: /^Filters/}).click();
        await check(page, 'small-filter-bar', rules);
    }

    await page.getByRole('button', {name: /^All types|^Types/}).click();
    await page.getByLabel('Find a type').waitFor();
    await check(page, `${name}-type-picker`, rules);
    await page.keyboard.press('Escape');

    for (const part of parts) {
        await page.evaluate((to) => {
            location.hash = `#/${to}`;
        }, part);
        await page.locator(`.side a[href="#/${part}"][aria-current]`)
            .waitFor();
        await page.getByText('Loading …').waitFor({state: 'detached'});
        await check(page, `${name}-${part}`, rules);
        if (part === 'types') {
            await page.getByRole('button', {name: 'Message edited'}).first()
                .click();
            await page.locator('.message').waitFor();
            await check(page, `${name}-type`, rules);
            await page.getByRole('button', {name: 'Choose none'}).click();
        }
    }
}


// nothing sticks out, nothing for axe to find, and a picture for people
async function check(page, name, rules = null) {
    await shoot(page, name);

    is(await outside(page), [], `${name}: nothing sticks out`);
    is(await violations(page, rules), [], `${name}: axe finds nothing`);
}


async function themes() {
    const page = await enter(server);
    const ground = () => page.evaluate(() =>
        getComputedStyle(document.body).backgroundColor);
    const light = await ground();

    await page.getByRole('button', {name: 'View', exact: true}).click();
    await page.getByLabel('Colours').selectOption('dark');
    ok(await ground() !== light, 'the reader may want it dark');
    await page.reload();
    await lines(page).first().waitFor();
    ok(await ground() !== light, '... which is remembered');
    await leave(page, 'a theme');
}


// on paper stands what is read, without what is pressed
async function printed() {
    const page = await enter(server);

    // above the list, which has fewer lines then
    await page.getByRole('slider', {name: 'Entries over time'}).waitFor();
    await lines(page).first().waitFor();
    const shown = await lines(page).count();
    const paper = (await page.pdf()).toString('latin1')
        .match(/\/Type\s*\/Page\b/g).length;

    ok(paper <= 1 + shown / 20, `the ${shown} lines that were to be seen are `
        + 'printed, and no empty paper', `${paper} pages`);
    await page.emulateMedia({media: 'print'});
    is(await page.locator('.top nav, .search, .bar button').evaluateAll(
        (nodes) => nodes.some((node) => node.checkVisibility())), false,
    '... nothing to be pressed');

    await page.emulateMedia({media: 'screen'});
    await lines(page).first().click();
    await page.locator('.entry').waitFor();
    await page.emulateMedia({media: 'print'});
    is(await page.locator('.list').isVisible(), false,
        'an entry that is open is printed alone');
    await leave(page, 'paper');
}


async function empty() {
    server = await newServer({name: 'Empty'});
    const page = await enter(server, '#/logs?category=categoryText');

    await page.locator('.empty').waitFor();
    await check(page, 'empty');
    await leave(page, 'nothing');
}
