// A server that has no log channel: three steps to one, and a word on every
// view until it has.

import {enter, is, leave, lines, newServer, ok, operator, shoot, soon,
    violations} from './lib.js';

const SCREENS = {light: {}, dark: {colorScheme: 'dark'},
    small: {viewport: {width: 320, height: 640}}};

let server;


export default async function start() {
    server = await newServer({name: 'Start'});
    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0},
        {id: '302', name: 'mod-log', type: 0}]);

    await looks();
    await finder();
    await told();
    await steps();
}


async function looks() {
    for (const [name, options] of Object.entries(SCREENS)) {
        const page = await enter(server, '#/start', options);

        await shoot(page, `start-${name}`);
        is(await page.evaluate(() => document.documentElement.scrollWidth
            > innerWidth), false, `${name}: nothing sticks out`);
        is(await violations(page), [], `${name}: axe finds nothing`);
        await leave(page, name);
    }
}


// The channels that logs can go to are listed before anything is typed.
async function finder() {
    const other = await newServer({name: 'Finder'});
    const bare = await newServer({name: 'Bare'});

    await operator('PUT', `/servers/${other.id}/channels`, [
        {id: '400', name: 'Town', type: 4},
        {id: '500', name: 'Staff', type: 4},
        {id: '501', name: 'mod-log', type: 0, parent: '500'},
        {id: '401', name: 'general', type: 0, parent: '400'},
        {id: '402', name: 'news', type: 5, parent: '400'},
        {id: '403', name: 'general lounge', type: 2, parent: '400'},
        {id: '601', name: 'generally', type: 11, parent: '401'},
        {id: '502', name: 'mod-log', type: 0, parent: '500'}]);
    await other.record({type: 10, channel: {id: '602', name: 'a thread'}});

    const page = await enter(other, '#/logs');
    const options = page.locator('.options:popover-open [role=option]');
    const offered = () => options.allInnerTexts().then((all) =>
        all.map((text) => text.replace(/\s+/g, ' ').trim()));

    await lines(page).first().waitFor();
    await page.evaluate(() => {
        location.hash = '#/start';
    });

    const field = page.getByLabel('Where should logs go?');

    await field.click();
    await soon(offered, ['mod-log Staff 501', 'mod-log Staff 502',
        'general Town', 'news Town'],
    'text channels by category, and IDs where they alone tell them apart');
    await shoot(page, 'start-channels');
    is(await violations(page, ['aria-required-children', 'color-contrast']),
        [], 'axe finds nothing in them');
    await field.fill('#gen');
    await soon(offered, ['general Town'], 'a name may begin with #');
    await field.fill('nowhere');
    await soon(offered, ['Nothing matches.'], 'that nothing matches is told');
    await shoot(page, 'start-no-channel');
    await options.click({force: true});
    is(await field.inputValue(), 'nowhere', '... and is nothing to pick');

    await page.goto(`${process.env.GUILDLOG_VIEWER}#/ignore`);
    await page.getByRole('button', {name: 'Channel categories'}).click();
    await page.getByLabel('Add', {exact: true}).click();
    await soon(offered, ['Staff', 'Town'],
        'categories are offered where one is wanted');
    await leave(page, 'channels to choose');

    const empty = await enter(bare, '#/start');

    await empty.getByLabel('Where should logs go?').click();
    await soon(() => empty.locator('.options:popover-open li').innerText(),
        'No names are known yet. Give an ID.',
        'a server of which nothing is known says so');
    await leave(empty, 'no channels');
}


async function told() {
    const page = await enter(server, '#/logs');
    const badge = page.locator('#where').getByRole('link');

    for (const view of ['logs', 'settings', 'tags']) {
        await page.evaluate((to) => {
            location.hash = `#/${to}`;
        }, view);
        await soon(() => badge.innerText(),
            'Finish setup', `${view}: it is told`);
    }
    await page.getByRole('link', {name: 'Troubleshooter'}).click();
    await page.locator('#main').getByRole('link', {name: 'Finish setup'})
        .click();
    await page.getByRole('heading', {name: 'Set up logging'}).waitFor();
    ok(true, 'the troubleshooter leads to the steps');
    await leave(page, 'what is told');
}


async function steps() {
    const page = await enter(server, '');
    let clicks = 0;
    const click = (place) => {
        clicks++;
        return place.click();
    };
    const field = page.getByLabel('Where should logs go?');

    await page.getByRole('heading', {name: 'Set up logging'}).waitFor();
    ok(true, 'a server without channels opens on the steps');

    await page.getByRole('button', {name: 'Save and send'}).click();
    await page.getByText('Choose the channel that logs go to.').waitFor();
    is(await field.getAttribute('aria-invalid'), 'true',
        'a channel is needed');

    await click(field);
    await field.pressSequentially('mod');
    await click(page.getByRole('option', {name: 'mod-log'}));
    await click(page.getByLabel('Voice'));
    await click(page.getByRole('button', {name: 'Save and send'}));
    await page.getByText('The test message arrived.').waitFor();
    await shoot(page, 'start-done');

    const [row] = await server.get('/config/logging/channels');
    is([row.main_channel, row.category_voice, row.category_text],
        ['302', '0', null], 'the channel is set, and what is left out');
    await page.locator('#where').getByRole('link')
        .waitFor({state: 'hidden'});
    await click(page.getByRole('link', {name: 'Read the log'}));
    await lines(page).first().waitFor();
    ok(clicks <= 6, 'in no more than six clicks', `${clicks}`);

    await page.goto(process.env.GUILDLOG_VIEWER);
    await lines(page).first().waitFor();
    ok(await page.locator('.logs').isVisible(),
        'from then on, it opens on the log');
    await leave(page, 'the steps');
}
