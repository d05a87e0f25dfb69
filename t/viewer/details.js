// How the page fits its reader: high contrast, large letters, a phone, a
// language that runs from right to left, what is read out.

import {enter, is, leave, lines, newServer, ok, outside, shoot, soon,
    violations} from './lib.js';

const ANN = {id: '201', name: 'Ann'};
const HALL = {id: '301', name: 'hall'};

let server;


export default async function details() {
    server = await newServer({name: 'Details'});
    await server.record({type: 5, executor: ANN, target: {id: '202',
        name: 'Bob'}, channel: HALL, content: 'one'});

    await switches();
    await letters();
    await part();
    await phone();
    await turned();
    await names();
    await span();
}


// The same switch, on, off, and where what it stands for differs.
async function switches() {
    const page = await enter(server, '#/types', {forcedColors: 'active'});
    const all = page.getByLabel('Log all of Members');
    const picture = async () => {
        await page.getByRole('heading', {level: 2}).focus();
        await page.mouse.move(0, 0);
        return (await all.screenshot()).toString('base64');
    };

    const on = await picture();
    await all.uncheck();
    const off = await picture();
    await page.getByLabel('Log “Member joined”').check();
    const mixed = await picture();

    is(new Set([on, off, mixed]).size, 3,
        'in forced colours a switch tells its state');
    await shoot(page, 'switches');
    await page.getByRole('button', {name: 'Undo all'}).click();
    await leave(page, 'forced colours');
}


// what the browser is set to
async function letters() {
    const page = await enter(server);
    const size = () => page.evaluate(() =>
        parseFloat(getComputedStyle(document.body).fontSize));
    const usual = await size();
    const browser = await page.context().newCDPSession(page);

    await browser.send('Page.setFontSizes', {fontSizes: {standard: 24}});
    await soon(async () => await size() >= usual * 1.4, true,
        'letters are as large as the reader wants them');
    await shoot(page, 'letters');
    await leave(page, 'letters');
}


async function part() {
    const page = await enter(server, '#/troubleshoot',
        {viewport: {width: 390, height: 844}});
    const here = page.locator('.side a[aria-current]');

    await soon(() => here.evaluate((node) => {
        const {left, right} = node.getBoundingClientRect();
        return left >= 0 && right <= innerWidth;
    }), true, 'the part that is open is seen among the others');
    await shoot(page, 'part');
    await leave(page, 'a part');
}


// On a phone there is little above the entries, and filters come in a sheet.
async function phone() {
    const page = await enter(server, '#/logs',
        {viewport: {width: 390, height: 844}, locale: 'en-GB'});
    const sheet = page.locator('.sheet');
    const opener = page.getByRole('button', {name: /^Filters/});

    await lines(page).first().waitFor();
    const {y} = await lines(page).first().boundingBox();
    const {height} = await page.locator('.health').boundingBox();
    ok(y < 150 + height, 'entries begin near the top of a phone, below what '
        + 'is wrong', `at ${y}`);
    for (const name of ['Logs', 'Configuration']) {
        is(await page.locator('#nav').getByRole('link', {name}).count(), 1,
            `${name} has its name, where there is a picture alone`);
    }
    is(await outside(page), [], 'nothing sticks out');

    is(await sheet.isVisible(), false, 'filters do not lie in the way');
    await opener.click();
    await sheet.getByRole('button', {name: /^Messages/}).click();
    await soon(() => new URL(page.url()).hash,
        '#/logs?category=categoryText', 'they are in a sheet');
    await soon(() => opener.textContent(), 'Filters (1)',
        '... and it is told how many are set');
    await shoot(page, 'sheet');
    is(await violations(page), [], 'axe finds nothing there');
    await page.keyboard.press('Escape');
    is([await sheet.isVisible(), await opener.evaluate((node) =>
        node === document.activeElement)], [false, true],
    '... which goes away, to where it came from');

    const plot = page.locator('.plot');

    is(await plot.isVisible(), false, 'the chart is folded');
    await page.getByRole('button', {name: 'Chart'}).click();
    await soon(() => page.locator('.plot rect').first().isVisible(), true,
        '... until it is wanted');
    await leave(page, 'a phone');
}


async function turned() {
    const page = await enter(server, '#/settings', {locale: 'ar'});
    const time = page.locator('.message time').first();

    await time.waitFor();
    is(await time.evaluate((node) => [...node.getClientRects()].every((part) =>
        part.right <= node.previousElementSibling.getBoundingClientRect()
            .left)), true, 'a time stands whole beside who wrote it');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/tags`);
    const hinted = page.locator('[name=image], [name=color]');

    await soon(() => hinted.evaluateAll((fields) => fields.map((field) =>
        getComputedStyle(field).direction)), ['ltr', 'ltr'],
    'what is written from left to right stands so');
    await shoot(page, 'turned');
    await leave(page, 'from right to left');
}


async function names() {
    const page = await enter(server, '#/logs?type=5');

    await lines(page).first().click();
    await page.locator('.entry').waitFor();
    is(await violations(page, ['label-content-name-mismatch']), [],
        'what is seen on a button is in its name');
    ok(await page.getByRole('button', {name: 'Filter Ann'}).isVisible(),
        '... with whom it is about');
    await leave(page, 'names');
}


async function span() {
    const page = await enter(server, '#/logs');
    const note = page.locator('.bar .note');

    await soon(() => note.textContent(), 'of the last 30 days',
        'how far back the log goes is told');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/logs?after=${
        Date.now() - 600_000}`);
    await soon(() => note.textContent(), '',
        '... and not of a stretch of it that was chosen');
    await leave(page, 'a stretch');
}
