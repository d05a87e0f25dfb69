// Signing in with a token, which stays in the tab and leaves with it.

import {enter, is, leave, lines, newPage, newServer, ok, shoot, soon}
    from './lib.js';


export default async function signing() {
    const server = await newServer({name: 'Signing'});
    const page = await newPage();
    const said = page.locator('#ended');
    const field = page.getByLabel('Admin token');
    const signIn = async (token) => {
        await field.fill(token);
        await page.getByRole('button', {name: 'Open'}).click();
    };

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
    await field.waitFor();
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
    await other.getByLabel('Admin token').waitFor();
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
    ok(await field.isVisible(), 'signing out asks again');
    is(await page.evaluate(() => sessionStorage.length), 0,
        '... and forgets');
    await leave(page, 'signing in');

    const next = await enter(server, '#/tokens');
    await next.locator('.items li').first().waitFor();
    ok(next.url().endsWith('#/tokens'), 'the address is kept while signing in');
    await leave(next, 'an address');
}
