// The chart of entries over time filters when a stretch of it is drawn.

import {enter, is, leave, newServer, ok, shoot, shownTotal, soon}
    from './lib.js';

const DAY = 86_400_000;


export default async function chart() {
    const server = await newServer({name: 'Chart'});
    const now = Date.now();

    // more than one page, so that the server has to count
    for (let day = 0; day < 6; day++) {
        await server.record(...Array.from({length: 50 + 10 * day}, (_, i) => (
            {type: day % 2 ? 5 : 39, content: 'x',
                timestamp: now - DAY * day - i * 60_000 - 1000})));
    }

    const page = await enter(server, '#/logs?type=1');
    const asked = [];

    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate(() => {
        location.hash = '#/logs?type=5&type=39';
    });
    const plot = page.getByRole('slider', {name: 'Entries over time'});
    const heights = () => plot.locator('rect').evaluateAll((bars) =>
        bars.reduce((sum, bar) => sum + bar.height.baseVal.value, 0));
    const {x, y, width, height} = await plot.boundingBox();

    await soon(async () => await heights() > 0, true, 'there are bars');
    await soon(() => asked.filter((url) => /histogram.*type=39/.test(url))
        .length, 1, 'one question counts them all');
    await page.mouse.move(x + width * 0.5, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + height / 2, {steps: 5});
    await soon(() => page.locator('.saying').textContent().then((text) =>
        /: \d+ entries$/.test(text)), true, 'what is drawn is counted');
    const drawn = Number((/: (\d+) entries$/.exec(
        await page.locator('.saying').textContent()))[1]);
    await shoot(page, 'chart');
    await page.mouse.up();

    await soon(() => shownTotal(page), drawn, 'and filters');
    const filters = new URLSearchParams(new URL(page.url()).hash.slice(7));
    is((await server.get(`/logs?limit=1&${filters}`)).total, drawn,
        'as the address says');
    ok(filters.has('after') && filters.has('before'), 'by time');

    const zoomed = drawn;
    await plot.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    await soon(async () => await shownTotal(page) < zoomed, true,
        'the keyboard does so, too');
    await soon(async () => {
        const query = new URL(page.url()).hash.slice(7);
        return (await server.get(`/logs?limit=1&${query}`)).total
            === await shownTotal(page);
    }, true, 'with the same outcome');
    await page.goBack();
    await soon(() => shownTotal(page), zoomed, 'and going back undoes it');
    await leave(page, 'the chart');
    await mirrored(server);
}


// where a text runs from right to left, time does as well
async function mirrored(server) {
    const page = await enter(server, '#/logs', {locale: 'ar'});
    const plot = page.locator('.plot[aria-valuenow]');
    const at = async () => Number(await plot.getAttribute('aria-valuenow'));

    await plot.locator('rect').first().waitFor({state: 'attached'});

    const {x, y, width, height} = await plot.boundingBox();

    ok(await plot.locator('rect').evaluateAll((bars) =>
        bars.at(-1).getBoundingClientRect().left
            < bars[0].getBoundingClientRect().left),
    'the newest bar is at the left');
    await page.mouse.move(x + 2, y + height / 2);
    const newest = await at();
    await page.mouse.move(x + width - 2, y + height / 2);
    is(await at(), 0, 'the pointer finds the oldest at the right');
    ok(newest > 0, '... and the newest at the left');
    await plot.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowRight');
    is(await at(), newest - 1, 'arrows go where they point');
    await shoot(page, 'chart-ar');
    await leave(page, 'a chart in Arabic');
}
