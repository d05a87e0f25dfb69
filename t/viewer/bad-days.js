// Bad days: the rate limit, a store that is not available, an error, a plan
// that reads back but an hour, an upgrade. What is wrong is said, and passes.

import {enter, is, leave, lines, newServer, ok, shoot, shownTotal, soon}
    from './lib.js';

const {GUILDLOG_VIEWER: VIEWER} = process.env;


export default async function badDays() {
    const server = await newServer({name: 'Bad days', plan: 'free'});

    await server.record({type: 5, content: 'one',
        timestamp: Date.now() - 60_000});
    await limited(server);
    await unavailable(server);
    await failing(server);
    await walled(server);
    await upgraded(server);
}


// The clock of the page stands still, so that no moment of it is missed.
async function limited(server) {
    const page = await enter(server);
    const banner = page.getByText('Too many requests');
    const left = async () => await banner.isVisible()
        ? Number(await page.locator('.countdown').textContent()) : 0;
    let time = Date.now();
    const pass = (seconds) => page.clock.setFixedTime(time += seconds * 1000);

    page.expected = /status of 429/;

    // the window may end before the page asks in it, or soon after
    for (let n = 0; await left() < 2; n++) {
        await pass(60);
        while ((await Promise.all(Array.from({length: 50}, () =>
            server.ask('GET', '')))).every(({status}) => status !== 429));

        await page.getByPlaceholder('Search').fill(n % 2 ? 'One' : 'one');
        await Promise.race([banner.waitFor(), page.waitForResponse((answer) =>
            /\/logs(\?|$)/.test(answer.url()) && answer.ok())]
            .map((end) => end.catch(() => {})));
    }

    const first = await left();
    ok(first >= 2 && first <= 10, 'the limit is told, with a countdown');
    await shoot(page, 'limited');
    await pass(1);
    await soon(left, first - 1, 'which counts');
    await soon(async () => {
        await pass(1);
        return await banner.isVisible() || shownTotal(page);
    }, 1, 'then the question is answered');
    await leave(page, 'the limit');
}


async function unavailable(server) {
    const page = await enter(server);
    let wait = 1;

    page.expected = /status of 503/;
    await page.route(/search=one/, (route) => wait
        ? route.fulfill({status: 503, headers: {'Retry-After': String(wait)},
            contentType: 'application/json',
            body: '{"error":"the database cannot be reached"}'})
        : route.continue());
    await page.getByPlaceholder('Search').fill('one');
    await page.getByText('The log store is not available').waitFor();
    ok(true, 'that the store is away is told');
    wait = 3600;
    await soon(async () => Number(await page.locator('.countdown')
        .textContent()) > 60, true, 'it is asked again after the time');
    wait = 0;
    await page.getByRole('button', {name: 'Try now'}).click();
    await soon(() => shownTotal(page), 1, 'or at once, if somebody wants to');
    await page.locator('#banner').waitFor({state: 'hidden'});
    await leave(page, 'a store that is away');
}


async function failing(server) {
    const page = await enter(server);

    page.expected = /status of 500/;
    await page.route(/search=two/, (route) => route.fulfill({status: 500,
        contentType: 'application/json',
        body: '{"error":"the request could not be carried out, try again '
            + 'later","code":"failed"}'}));
    await page.getByPlaceholder('Search').fill('two');
    await page.locator('.empty', {hasText: 'could not be read'}).waitFor();
    is(await page.locator('.filters .error').textContent(),
        'That did not work. Try again later.', 'an error is told');
    await shoot(page, 'error');
    await page.route(/search=three/, (route) => route.fulfill({status: 500,
        contentType: 'application/json',
        body: '{"error":"what nobody has words for"}'}));
    await page.getByPlaceholder('Search').fill('three');
    await soon(() => page.locator('.filters .error').textContent(),
        'what nobody has words for', 'without a code it is shown as it is');
    await page.getByPlaceholder('Search').fill('one');
    await soon(() => lines(page).count(), 1, 'and the next answer counts');
    await leave(page, 'an error');
}


async function walled(server) {
    const page = await enter(server, '#/logs?after=1');

    await page.getByText('The plan allows reading back one hour.').waitFor();
    ok(true, 'the plan’s window is told');
    await leave(page, 'a window');
}


// A page from before an upgrade, whose files are gone: what it has not loaded
// yet comes with a new page.
async function upgraded(server) {
    const page = await enter(server);
    const files = () => page.evaluate(() => [...new Set(performance
        .getEntriesByType('resource').map(({name}) =>
            /[/]viewer[/](.*[/])?[^/]*[.](?:js|tsv)$/.exec(name)?.[1])
        .filter((folder) => folder !== undefined))].sort());
    const [old] = await files();
    const now = `v-${'0'.repeat(12)}/`;

    ok(/^v-[0-9a-f]{12}[/]$/.test(old), 'all modules are of one folder', old);
    await page.route(VIEWER, async (route) => {
        const response = await route.fetch();

        await route.fulfill({response, body: (await response.text())
            .replaceAll(old, now)});
    });
    await page.route(`${VIEWER}${old}**`, (route) =>
        route.fulfill({status: 404}));
    await page.route(`${VIEWER}${now}**`, async (route) =>
        route.fulfill({response: await route.fetch({
            url: route.request().url().replace(now, old)})}));

    page.expected = /404/;
    await page.getByRole('link', {name: 'Configuration'}).click();
    await page.getByRole('heading', {name: 'Log channels'}).waitFor();
    is(await files(), [now, `${now}languages/`],
        'after an upgrade, a part that was not loaded comes with all others');
    await leave(page, 'an upgrade');
}
