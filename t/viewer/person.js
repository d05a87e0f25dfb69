// Signing in with the platform: the servers of a person, a token that the
// person makes, and signing out.

import {is, leave, lines, newPage, ok, shoot, soon} from './lib.js';

const DEMO = process.env.GUILDLOG_SERVER;


export default async function person() {
    const page = await newPage();
    const there = page.getByRole('button', {name: /Sign in\s+with the/});

    page.expected = /status of 401/;
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/tokens?server=${DEMO}`);
    await there.click();

    const list = page.locator('.items li');

    await list.first().waitFor();
    ok(page.url().includes('#/tokens'),
        'back from the platform, to where the way there began');
    await soon(() => page.locator('#me').innerText().then((text) =>
        text.includes('Demo Owner')), true, 'who signed in is told');
    is(await page.evaluate(() => [document.cookie,
        sessionStorage.getItem('guildlog.tokens')]), ['', null],
    'no script can read the cookie, and there is no token');
    await shoot(page, 'person');

    await page.getByLabel('Name').fill('from the browser');
    await page.getByLabel('Kind').selectOption({label:
        'Basic: for active ignore'});
    await page.getByRole('button', {name: 'Add'}).click();
    const made = page.getByRole('textbox',
        {name: 'Your new token'});
    await soon(() => made.inputValue().then((token) =>
        token.split('.').length), 3, 'a token is shown once');
    await page.getByRole('button', {name: 'Close'}).click();

    const row = list.filter({hasText: 'from the browser'});
    await row.waitFor();
    ok(true, 'it is listed by its name');

    await page.getByLabel('Name').fill('to look on');
    await page.getByLabel('Kind').selectOption({label:
        'Read: for reading the log'});
    await page.getByRole('button', {name: 'Add'}).click();
    await soon(() => made.inputValue().then((token) =>
        JSON.parse(atob(token.split('.')[1])).kind), 'read',
    'a token that only reads is made');
    await page.getByRole('button', {name: 'Close'}).click();
    const looks = list.filter({hasText: 'to look on'});
    await soon(() => looks.locator('.badge').textContent(), 'Read',
        '... and listed as one');
    await looks.getByRole('button', {name: /^Revoke/}).click();
    await page.locator('dialog').getByRole('button', {name: 'Revoke'}).click();
    await soon(() => looks.count(), 0, '... until it is revoked');
    await row.getByRole('button', {name: /^Revoke/}).click();
    await page.locator('dialog').getByRole('button', {name: 'Revoke'}).click();
    await soon(() => row.count(), 0, 'and revoked');

    await page.getByRole('link', {name: 'Logs'}).click();
    await lines(page).first().waitFor();
    ok(true, 'the log is read');
    await page.reload();
    await lines(page).first().waitFor();
    ok(true, 'also in a new page');

    const signOut = page.getByRole('button', {name: 'Sign out'});

    page.expected = /status of (?:401|503)/;
    await page.route('**/login/logout', (route) =>
        route.fulfill({status: 503, body: '{}'}));
    await signOut.click();
    await soon(() => page.locator('#ended').textContent(), 'You are still '
        + 'signed in: there was no answer. Please open this page again and '
        + 'sign out.', 'who is not signed out is told');
    await page.unroute('**/login/logout');

    await page.goto(
        `${process.env.GUILDLOG_VIEWER}#/logs?server=100000000000000999`);
    await page.reload();
    await signOut.click();
    await there.waitFor();
    ok(true, 'signed out, where no server is open');
    await soon(() => page.context().cookies().then((all) =>
        all.filter(({name}) => name === 'guildlog').length), 0,
    'the cookie is gone');

    await page.goto(new URL('/login', process.env.GUILDLOG_VIEWER).href);
    await soon(() => page.locator('#me').innerText().then((text) =>
        text.includes('Demo Owner')), true,
    'a sign-in that did not begin in this page is seen');
    await signOut.click();
    await there.waitFor();
    ok(true, '... and can be ended');
    await leave(page, 'a person');
}
