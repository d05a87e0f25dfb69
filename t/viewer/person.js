// Signing in with the platform: the servers of a person, a token that the
// person makes, signing out, and what is shown to who may only look.

import {is, leave, lines, newPage, newServer, ok, openPart, operator, outside,
    shoot, signedIn, soon, violations} from './lib.js';

const DEMO = process.env.GUILDLOG_SERVER;
const GUEST = '200000000000000077';
const VISITOR = String(BigInt(Date.now()) * 100_000n);    // of this run
const PARTS = ['channels', 'settings', 'types', 'ignore', 'filters', 'alerts',
    'tags', 'access', 'tokens', 'notifications', 'troubleshoot'];


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
    await page.getByRole('button', {name: 'Add', exact: true}).click();
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
    await page.getByRole('button', {name: 'Add', exact: true}).click();
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
    await still();
    await guest();
    await several();
    await sessions();
}


// In the language of the page, like all it says.
async function still() {
    const page = await newPage({locale: 'de-DE'});

    page.expected = /status of (?:401|503)/;
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs?server=${DEMO}`);
    await page.getByRole('button', {name: 'Mit der Plattform anmelden'})
        .click();
    await lines(page).first().waitFor();
    await page.route('**/login/logout', (route) =>
        route.fulfill({status: 503, body: '{}'}));
    await page.getByRole('button', {name: 'Abmelden'}).click();
    await soon(() => page.locator('#ended').textContent().then((text) =>
        text.split(':')[0]), 'Du bist noch angemeldet',
    'who is not signed out is told in their language');
    await leave(page, 'another language');
}


// Who may only look is offered nothing that would be refused.
async function guest() {
    const server = await newServer({name: 'Guest'});
    const page = await newPage();
    const said = page.getByText('You can view this, but not change it.');

    await operator('PUT', `/servers/${server.id}/channels`, [
        {id: '301', name: 'hall', type: 0}]);
    await server.ask('PUT', `/config/access/${GUEST}`, {level: 'view'});
    await server.ask('POST', '/config/logging/ignore/0', {value: '301'});
    await server.ask('POST', '/tags', {tag_name: 'rules', content: 'Be kind'});
    await server.ask('POST', '/alerts', {name: 'Many bans', types: [39],
        count: 5, seconds: 30, by: 'executor'});
    await server.record({type: 5, content: 'one'});

    page.expected = /status of 401/;
    await signedIn(GUEST, 'Guest', async () => {
        await page.goto(process.env.GUILDLOG_VIEWER
            + `#/logs?server=${server.id}`);
        await page.getByRole('button', {name: /Sign in\s+with the/}).click();
        await lines(page).first().waitFor();
    });
    ok(true, 'who may only look reads the log');

    const badge = page.locator('#where').getByRole('link');

    await soon(() => badge.getAttribute('href'), '#/troubleshoot',
        '... is led to what is wrong, not to the steps that would mend it');
    is([await badge.textContent(), await badge.getAttribute('data-mood')],
        ['Logging was never set up', 'open'],
        '... of which nothing is broken: nobody has begun');

    for (const part of PARTS) {
        await openPart(page, part);
        await said.waitFor();
        await shoot(page, `guest-${part}`);
        is(await changing(page), [], `${part}: nothing can be changed`);
        is(await violations(page, ['color-contrast', 'label']), [],
            `${part}: axe finds nothing`);
    }

    const answer = page.waitForResponse(/troubleshoot\?live=1/);
    await page.getByRole('button', {name: 'Run a live check'}).click();
    is((await answer).status(), 200, 'the platform may be asked');

    await openPart(page, 'types');
    await page.getByRole('button', {name: 'Message edited', exact: true})
        .click();
    await page.getByLabel('Format', {exact: true}).waitFor();
    is(await changing(page), [], 'what is set for a type can be read');
    ok(await page.getByLabel('Format', {exact: true}).isDisabled(),
        '... and nothing else');
    await page.getByRole('button', {name: 'Clear the selection'}).click();
    await page.keyboard.press('ArrowDown');
    is(await page.evaluate(() => document.activeElement.textContent),
        'Thread created', 'arrows go through the lines');

    await page.evaluate(() => {
        location.hash = '#/start';
    });
    await page.getByRole('heading', {name: 'Set up logging'}).waitFor();
    ok(await said.isVisible(), 'the first steps are for others');
    is(await changing(page), [], '... nothing can be changed there');
    await leave(page, 'a guest');
}


// The first page of who has several servers: what each is and how it is there.
async function several() {
    const names = ['Pixel Forge', 'The Quiet Corner', 'Bird Watchers',
        'W'.repeat(100)];
    const servers = [];

    for (const name of names) {
        const server = await newServer({name});

        await server.ask('PUT', `/config/access/${VISITOR}`, {level: 'view'});
        servers.push(server);
    }
    await servers[1].record({type: 5, content: 'one'});
    await operator('PUT', `/servers/${servers[1].id}/channels`, [
        {id: '311', name: 'hall', type: 0}]);
    await servers[1].ask('PATCH', '/config/logging/channels',
        {main_channel: '311'});

    const page = await newPage();

    page.expected = /status of 401/;
    await signedIn(VISITOR, 'Visitor', async () => {
        await page.goto(process.env.GUILDLOG_VIEWER);
        await page.getByRole('button', {name: /Sign in\s+with the/}).click();
        await page.getByRole('heading', {name: 'Your servers'}).waitFor();
    });

    const cards = page.locator('.cards .card');
    const card = (name) => cards.filter({hasText: name});

    is(await cards.getByRole('link').allInnerTexts().then((all) =>
        all.sort()), names.sort(), 'each server has a card');
    is(await cards.locator('.avatar').allInnerTexts().then((all) =>
        all.sort()), ['BW', 'PF', 'TQ', 'W'], '... with a face');
    await soon(() => card('Pixel').innerText().then((text) =>
        /Pro · Last entry .*ago|now/.test(text)
            && text.includes('Logging was never set up')), true,
    '... tells the plan, the last entry, and that it is to be set up');
    await card('Quiet').getByText(/healthy|degraded|broken/).waitFor();
    ok(await card('Quiet').getByText('View only').isVisible(),
        '... how it is, and what one may do there');
    await shoot(page, 'servers');
    is(await violations(page), [], 'axe finds nothing');
    await page.setViewportSize({width: 390, height: 844});
    is(await outside(page), [], 'nothing sticks out of a phone');
    await shoot(page, 'servers-phone');

    await card('Quiet').click();
    await lines(page).first().waitFor();
    for (const width of [390, 1000]) {
        await page.setViewportSize({width, height: 844});
        is(await outside(page), [],
            `${width}: a long name leaves room for the rest`);
    }
    await page.evaluate(() => sessionStorage.removeItem('guildlog.opened'));
    await page.goto(process.env.GUILDLOG_VIEWER);
    await soon(() => cards.first().getByRole('link').textContent(),
        'The Quiet Corner', 'the one of last time comes first');
    await page.context().clearCookies();
    await cards.first().click();
    await page.getByText('your session has ended').waitFor();
    await soon(() => page.evaluate(() => document.activeElement.textContent),
        'Sign in with the platform', 'who is signed out is led to the way in');
    await leave(page, 'several servers');
}


// A person sees where they are signed in, and ends that from elsewhere.
async function sessions() {
    const pages = [];
    const enter = () => signedIn(String(BigInt(VISITOR) + 1n), 'Traveller',
        async () => {
            const page = await newPage();

            page.expected = /status of 401/;
            await page.goto(process.env.GUILDLOG_VIEWER);
            await page.getByRole('button', {name: /Sign in\s+with the/})
                .click();
            await page.getByRole('button', {name: 'Traveller'}).waitFor();
            pages.push(page);
        });

    await enter();
    await enter();

    const [here, there] = pages;
    const dialog = here.getByRole('dialog', {name: 'Where you are signed in'});
    const items = dialog.locator('.items li');
    const asks = (page) => page.getByRole('button',
        {name: /Sign in\s+with the/});

    const focused = () => here.evaluate(() =>
        document.activeElement.textContent);

    await here.getByRole('button', {name: 'Traveller'}).click();
    await soon(() => items.count(), 2, 'a person has two sessions');
    await soon(focused, 'Where you are signed in', '... Enter ends none');
    is(await items.getByText('This browser').count(), 1, '... this is one');
    is(await items.getByText(/^Signed in .*\d/).count(), 2,
        '... it is told since when');
    is(await items.getByText(/^Last used .*(?:ago|now)$/).count(), 2,
        '... and when they were used');
    await shoot(here, 'sessions');
    is(await violations(here), [], 'axe finds nothing');
    await here.setViewportSize({width: 390, height: 844});
    is(await outside(here), [], 'nothing sticks out of a phone');

    await items.getByRole('button', {name: /^Sign out/}).click();
    await soon(() => items.count(), 1, 'the other one is ended');
    await soon(focused, 'Where you are signed in', '... the dialog goes on');
    await there.reload();
    await asks(there).waitFor();
    ok(true, '... and has to sign in again');

    await enter();
    await dialog.getByRole('button', {name: 'Sign out everywhere'}).click();
    await asks(here).waitFor();
    await soon(() => here.context().cookies().then((all) =>
        all.filter(({name}) => name === 'guildlog').length), 0,
    'everywhere is here, too');
    await pages[2].reload();
    await asks(pages[2]).waitFor();
    ok(true, '... and elsewhere');
    for (const page of pages) {
        await leave(page, 'sessions');
    }
}


// what could be pressed, but for what only shows something else
function changing(page) {
    return page.locator('.page, .unsaved').locator('form, '
        + ':is(button, input, select, textarea):enabled').evaluateAll((all) =>
        all.filter((node) => node.checkVisibility()
            && !node.matches('.chip, .link, .copy, [type=search], '
                + '.editor header *')
            && node.textContent !== 'Run a live check')
            .map((node) => node.outerHTML.slice(0, 90)));
}
