// How it looks, and what a screen reader finds: every view in light and dark,
// from 320 pixels to 4 K. Other languages are those of languages.js.

import {enter, is, leave, lines, newServer, ok, openPart, operator, outside,
    scrollTo, shoot, soon, violations} from './lib.js';

const ALL = ['channels', 'settings', 'types', 'ignore', 'filters', 'alerts',
    'tags', 'access', 'tokens', 'notifications', 'troubleshoot'];

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

// windows that are not high: a phone on its side, a window at 200 %, the
// smallest there is
const LOW = [[844, 390], [1440, 450], [320, 256]];

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
    await low();
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
        {...kinds[i % kinds.length], timestamp: now - i * 1_300_000 - 1000})),
    {type: 7, executor: {id: '203', name: 'W'.repeat(32)}, content: 'wide',
        timestamp: now - 400 * 1_300_000});
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
        await openPart(page, part);
        await check(page, `${name}-${part}`, rules);
        if (part === 'types') {
            await page.getByRole('button', {name: 'Message edited'}).first()
                .click();
            await page.locator('.message').waitFor();
            await check(page, `${name}-type`, rules);
            await page.getByRole('button', {name: 'Clear the selection'})
                .click();
        }
    }
}


// nothing sticks out, nothing for axe to find, and a picture for people
async function check(page, name, rules = null) {
    await shoot(page, name);

    is(await outside(page), [], `${name}: nothing sticks out`);
    is(await violations(page, rules), [], `${name}: axe finds nothing`);
}


// However low the window is, the page holds the lines that are to be seen, and
// not the whole log.
async function low() {
    const many = await newServer({name: 'Low'});
    const ann = {id: '201', name: 'Ann'};
    const start = Date.now() - 3_600_000;
    const rows = (page) => page.locator('.rows .row').count();

    await many.record(...Array.from({length: 900}, (_, i) => (
        {type: 39, executor: ann, reason: `why ${i}`, timestamp: start + i})));

    for (const [width, height] of LOW) {
        const name = `${width}x${height}`;
        const page = await enter(many, '#/logs', {viewport: {width, height}});
        const few = async (what) => {
            const n = await rows(page);
            ok(n > 5 && n < 60, `${name}: ${what}`, `${n} rows`);
        };

        await lines(page).first().waitFor();
        await few('few lines of many');
        await scrollTo(page, 3000);
        await few('... also further down');
        await lines(page).nth(12).click();
        await page.locator('.entry h2').waitFor();
        await few('... also beside an entry');
        await check(page, `low-${name}`, ['scrollable-region-focusable']);
        await page.goto(`${process.env.GUILDLOG_VIEWER}#/member?member=201`);
        await page.locator('.member .items li').first().waitFor();
        ok(await page.locator('.member li').count() < 100,
            `${name}: a person's page is short, too`);
        await leave(page, name);
    }

    const page = await enter(many);

    await lines(page).first().waitFor();
    await page.evaluate(() => {
        for (const node of document.querySelectorAll(
            'html, body, main, .logs, .content'))
        {
            Object.assign(node.style, {height: 'auto', flex: 'none'});
        }
    });
    await soon(() => page.locator('.list').evaluate((node) =>
        node.clientHeight > 20_000), true, 'a list that nothing bounds');
    await page.evaluate(() => new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const n = await rows(page);
    ok(n < 500, '... has few lines all the same', `${n} rows`);
    await leave(page, 'low windows');
}


async function themes() {
    const page = await enter(server);
    const ground = () => page.evaluate(() =>
        getComputedStyle(document.body).backgroundColor);
    const light = await ground();

    await page.getByRole('button', {name: 'Display', exact: true}).click();
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
