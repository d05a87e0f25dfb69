// Logs that stop to arrive: it is told wherever the reader is, and what mends
// it is asked about where it cannot be undone.

import {enter, giveToken, is, leave, lines, newPage, newServer, ok, operator,
    shoot, soon, spoil} from './lib.js';

let server;
let channel;


export default async function trouble() {
    server = await newServer({name: 'Trouble'});
    channel = server.id;
    await operator('PUT', `/servers/${server.id}/channels`,
        [{id: channel, name: 'hall', type: 0}]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});

    await minute();
    await atOnce();
    await translated();
    await cleared();
}


function badgeOf(page) {
    return page.locator('#where').getByRole('link');
}


// a page whose clock is the test's, from when it is told to stop
async function timed() {
    const page = await newPage();

    await page.clock.install();
    await open(page);
    return page;
}


async function open(page) {
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs`);
    await giveToken(page, server.token);
    await lines(page).first().waitFor();
}


// Nobody does anything in this page.
async function minute() {
    const page = await timed();

    ok(await badgeOf(page).isHidden(), 'nothing is wrong');

    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: null});
    await page.clock.fastForward(61_000);
    await soon(() => badgeOf(page).textContent(),
        'Broken: There is no log channel', 'what breaks is told in a minute');
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});
    await page.clock.fastForward(61_000);
    await badgeOf(page).waitFor({state: 'hidden'});
    ok(true, '... and what is mended');
    await leave(page, 'a minute');
}


// The minute does not come.
async function atOnce() {
    const page = await newPage();
    const first = (cell) => lines(page).first().locator(cell).innerText()
        .then((text) => text.replace(/\s+/g, ' '));

    await page.addInitScript(() => {
        const every = window.setInterval;

        window.setInterval = (act, ms) => ms < 60_000 ? every(act, ms) : 0;
    });
    await open(page);
    await server.record({type: 5, content: 'arrives'});
    await soon(() => first('.delivery'), '✓ Delivered', 'a log arrives');
    ok(await badgeOf(page).isHidden(), 'nothing is wrong');
    await spoil({gone: [channel]});
    await server.record({type: 5, content: 'does not'});
    await soon(() => first('.details'), 'does not', 'another is recorded');
    await soon(() => first('.delivery'), '✕ Not delivered', '... as is seen');
    await soon(() => badgeOf(page).isVisible(), true,
        '... which is told beside it');
    is(await badgeOf(page).textContent(), 'Broken: A log channel is gone',
        '... with its cause');
    await leave(page, 'at once');
}


// Why, in the reader's language: the API's own sentences are English.
async function translated() {
    const page = await enter(server, '#/troubleshoot', {locale: 'de'});
    const gone = 'Den Logkanal gibt es nicht mehr.';

    await page.getByText(gone).first().waitFor();
    is(await page.locator('.items, tbody').getByText(gone).count(), 2,
        'the cause has words, in the report and in the table');
    is(await page.locator('.page [lang=en]').allTextContents(), [],
        'nothing is left in English');
    for (const width of [390, 1400]) {
        await page.setViewportSize({width, height: 700});
        is(await page.locator('#where > :is(strong, select, .health)')
            .evaluateAll((nodes) => nodes.filter((node) =>
                node.scrollWidth > node.clientWidth && node.clientWidth)
                .map((node) => node.textContent)), [],
        `the header is whole at ${width}`);
    }
    await shoot(page, 'trouble-de');
    await leave(page, 'a cause in German');
    await technical();
}


// ... also where the operator of the service has to mend it, and of what the
// platform could not be asked
async function technical() {
    const lane = {ratePerMinute: 0, ceilingPerMinute: 25, overCeiling: false,
        failureRatio: 0, queued: 1, unhealthy: true, state: 'registering'};
    const causes = ['no_bot_token', 'bad_bot_token', 'missing_access'];
    const page = await enter(server, '#/troubleshoot', {locale: 'de',
        prepare: async (one) => {
            await one.route('**/pacing*', (route) => route.fulfill({json:
                {channels: causes.map((stateReason, i) => ({...lane,
                    channelId: String(301 + i), stateReason}))}}));
            await one.route('**/troubleshoot*', async (route) => {
                const response = await route.fetch();
                const json = await response.json();

                json.findings.push(...causes.map((_, i) => ({
                    id: 'MISSING_WEBHOOK', severity: 'degraded', title: 'x',
                    scope: {kind: 'channel', channelId: String(301 + i)},
                    detail: `Channel ${301 + i}: in English.`, fix: null})));
                json.summary.incomplete = ['channel 304: not asked',
                    'channel 305: no_answer'];
                await route.fulfill({response, json});
            });
        }});
    const text = () => page.locator('.page').innerText();

    await soon(async () => /fehlt der Token.*lehnt den Token/s.test(
        await text()), true, 'a token that is missing or refused is told');
    ok(/Nicht gefragt: .*304.*Zu viele.*305.*geantwortet/s.test(await text()),
        '... and what the platform could not be asked', await text());
    is((await text()).match(/[a-z]+_[a-z_]+|English/g), null,
        '... without a code');
    is(await page.locator('.page [lang=en]').count(), 0, '... or English');
    await leave(page, 'causes in German');
}


async function cleared() {
    const page = await enter(server, '#/troubleshoot');
    const clear = page.getByRole('button', {name: 'Stop using this channel'});
    const answer = (name) => page.getByRole('dialog')
        .getByRole('button', {name}).click();
    const stored = async () => (await server.get('/config'))
        .serverlogConfigChannels[0].main_channel;
    const state = page.locator('tbody .badge');

    await soon(() => state.allTextContents(), ['broken'],
        'the table tells of it, too');
    await clear.click();
    await answer('Cancel');
    is(await stored(), channel, 'no channel is cleared without a yes');
    ok(await clear.isVisible(), '... and it is offered still');

    await clear.click();
    await answer('Stop using');
    await soon(stored, null, 'then it is');
    await soon(() => state.allTextContents().then((all) =>
        all.includes('broken')), false, '... and the table is of now');
    await leave(page, 'a channel that is cleared');
    await spoil({gone: []});
}
