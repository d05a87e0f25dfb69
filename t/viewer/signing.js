// Signing in with a token, which stays in the tab and leaves with it.

import {enter, giveToken, is, leave, lines, newPage, newServer, ok, shoot,
    soon} from './lib.js';


export default async function signing() {
    const server = await newServer({name: 'Signing'});
    const page = await newPage();
    const said = page.locator('#ended');
    const signIn = (token) => giveToken(page, token);

    page.expected = /status of 40[13]/;

    const words = '**/languages/en-GB.tsv';
    let come;

    await page.route(words, (route) => {
        come = () => route.continue();
    });
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs`);
    await soon(() => typeof come, 'function', 'a page asks for its words');
    ok(await page.locator('#token').isHidden(),
        '... before it has them, no token can be given in vain');
    await come();
    await page.unroute(words);
    await soon(() => page.evaluate(() => document.activeElement.textContent),
        'Sign in with the platform', 'people sign in with the platform');
    is([await page.locator('#token').isVisible(),
        await page.locator('#sign-in .primary:visible').count()], [false, 1],
    '... and find the way of a token beside');
    await shoot(page, 'sign-in');

    await signIn('no token');
    await soon(() => said.textContent(), 'That is not a token.',
        'what is no token is told');

    await signIn(await server.newToken(2));
    await soon(() => said.textContent(), 'This token may not read logs: it '
        + 'is a Basic token, or one of another server.',
    'a Basic token is told');

    await signIn(server.token);
    await lines(page).first().waitFor();
    await soon(() => page.locator('#where').innerText().then((text) =>
        text.split(/\s/)[0]), 'Signing', 'an Admin token opens the server');
    is(await page.evaluate(() => [Object.keys(sessionStorage),
        JSON.stringify(localStorage).includes('eyJ'), document.cookie,
        location.href.includes('eyJ')]),
    [['guildlog.tokens'], false, '', false], 'it is kept by the tab alone');

    await page.reload();
    await lines(page).first().waitFor();
    ok(true, 'it outlives a reload');

    const other = await page.context().newPage();
    await other.goto(process.env.GUILDLOG_VIEWER);
    await other.locator('#sign-in').waitFor();
    ok(true, 'another tab has to ask for it');
    await other.close();

    const [{unique_id: id}] = (await server.get('/auth')).filter((row) =>
        row.permissions === 1);
    await server.ask('DELETE', `/auth?tokenId=${id}`);
    await page.getByRole('button', {name: /^Service/}).click();
    await soon(() => said.textContent(), 'The token has ended: it expired, '
        + 'was revoked, or is not one of this service.',
    'a token that was revoked is told');
    is(await page.evaluate(() => sessionStorage.length), 0,
        '... and forgotten');
    await shoot(page, 'token-ended');

    server.token = await server.newToken();
    await signIn(server.token);
    await lines(page).first().waitFor();
    await page.getByRole('button', {name: 'Sign out'}).click();
    ok(await page.locator('#sign-in').isVisible(), 'signing out asks again');
    is(await page.evaluate(() => sessionStorage.length), 0,
        '... and forgets');
    await leave(page, 'signing in');

    const next = await enter(server, '#/tokens');
    await next.locator('.items li').first().waitFor();
    ok(next.url().endsWith('#/tokens'), 'the address is kept while signing in');
    await leave(next, 'an address');
    await reads();
    await kept();
}


// A token that only reads opens the log, and no more is offered. It is asked
// for nothing that it may not do: that would be an error in the console.
async function reads() {
    const server = await newServer({name: 'Reading'});
    const nav = (page) => page.locator('#nav').innerText();

    await server.ask('PATCH', '/config/settings', {locale: 'de'});
    await server.record({type: 7, channel: {id: '300', name: 'general'},
        executor: {id: '201', name: 'Ann'}, content: 'to be read'});
    server.token = await server.newToken(3);

    const page = await enter(server, '#/logs', {locale: 'de-DE'});

    await lines(page).first().waitFor();
    await soon(() => nav(page), 'Logs', 'a token that reads: the log alone');
    is(await page.locator('#nav a').count(), 1, '... is offered');
    ok(await page.locator('#where .health').isHidden(),
        '... and no word of deliveries');
    await soon(() => page.locator('#sign-in').count(), 0, '... signed in');

    await page.getByText('to be read').first().click();
    await page.locator('.entry h2').waitFor();
    ok(true, 'an entry is opened');
    await page.locator('.entry').getByRole('link', {name: /^Mehr/})
        .click();
    await page.locator('.member .sides').waitFor();
    await soon(() => page.locator('.member h2').textContent(), 'Ann',
        'what somebody did is seen');
    await shoot(page, 'reads');

    await page.goto(`${process.env.GUILDLOG_VIEWER}#/tokens`);
    await page.locator('.logs[aria-busy=false]').waitFor();
    is(new URL(page.url()).hash, '#/logs',
        'a link to the configuration leads to the log');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/start?bot=pro`);
    await page.locator('.logs[aria-busy=false]').waitFor();
    await soon(() => new URL(page.url()).hash, '#/logs?bot=pro',
        '... of the same bot');
    await page.reload();
    await page.locator('.logs[aria-busy=false]').waitFor();
    await soon(() => nav(page), 'Logs', '... also after a reload');
    await leave(page, 'a token that reads');

    const later = await enter(server, '#/logs', {prepare: (one) =>
        one.clock.install()});

    await later.clock.fastForward(61_000);
    await lines(later).first().waitFor();
    await server.record({type: 7, executor: {id: '201', name: 'Ann'},
        content: 'and more'});
    await later.getByText('and more').waitFor();
    ok(true, 'it goes on for longer than a minute');
    await leave(later, 'a minute with it');

    const empty = await newServer({name: 'Nothing set'});

    empty.token = await empty.newToken(3);

    const bare = await enter(empty, '');

    await bare.locator('.logs[aria-busy=false]').waitFor();
    is(await bare.locator('#nav a').count(), 1,
        'nobody is led to steps that they may not take');
    await leave(bare, 'a server without a channel');
}


// What was changed outlives the token that was to save it.
async function kept() {
    const server = await newServer({name: 'Kept'});
    const other = await newServer({name: 'Other'});
    const page = await enter(server, '#/settings');
    const dialog = page.getByRole('dialog');
    const spoilers = page.getByLabel('Spoilers');
    const signIn = async (token) => {
        await dialog.getByLabel('Admin or Read token').fill(token);
        await dialog.getByRole('button', {name: 'Open'}).click();
    };

    page.expected = /status of 401/;
    // the token ends when the change is on its way: else whatever else the page
    // asks for may be told first, and the dialog stands before the button

    await page.route('**/config/**', async (route) => {
        if (route.request().method() !== 'GET') {
            for (const {unique_id: id} of await server.get('/auth')) {
                await server.ask('DELETE', `/auth?tokenId=${id}`);
            }
        }
        await route.continue();
    });
    await spoilers.check();
    await page.getByRole('button', {name: 'Save all'}).click();
    await dialog.getByText('What you changed is still here').waitFor();
    await shoot(page, 'kept');
    ok(await spoilers.isChecked(), 'what was changed is kept');

    await page.unroute('**/config/**');
    await signIn('no token');
    await dialog.getByText('That is not a token.').waitFor();
    await signIn(other.token);
    await dialog.getByText('This token belongs to another server.').waitFor();
    server.token = await server.newToken();
    await signIn(server.token);
    await dialog.waitFor({state: 'detached'});
    await page.getByRole('button', {name: 'Save all'}).click();
    await soon(async () => (await server.get('/config'))
        .serverlogConfigOptions?.[0].spoilers, 1,
    '... and saved with a new one');
    await leave(page, 'what is kept');
}
