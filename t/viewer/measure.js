// Measures the log viewer over a server of 100,000 entries; no test, for it
// asserts nothing. Beside a running util/run:
//
//   export $(util/run --env) GUILDLOG_VIEWER_PACKAGES=$PWD/.build/viewer
//   node t/viewer/measure.js

import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {newPage, newServer, operator, startBrowser} from './lib.js';

const ENTRIES = 100_000;
const ROUNDS = 9;
const VIEWER = process.env.GUILDLOG_VIEWER;
const demo = fileURLToPath(new URL('../../util/demo', import.meta.url));

const browser = await startBrowser();
const server = await newServer({name: 'Measured'});


async function fill() {
    const lines = execFileSync(demo, ['--days', '28', '--entries',
        String(ENTRIES)], {maxBuffer: 1e9}).toString().trim().split('\n');

    await server.ask('PATCH', '/config/logging/settings',
        {ignore_bot_executors: false, ignore_bot_targets: false});
    for (let from = 0; from < lines.length; from += 1000) {
        await operator('POST', `/servers/${server.id}/logs`,
            lines.slice(from, from + 1000).map((line) => JSON.parse(line)));
    }
}


// a page of a cold browser whose tab has the token already
async function enter() {
    const page = await newPage();

    await page.addInitScript((token) =>
        sessionStorage.setItem('guildlog.tokens', token),
    JSON.stringify([server.token]));
    return page;
}


function tell(what, values) {
    const sorted = [...values].sort((a, b) => a - b);
    const at = (part) => sorted[Math.floor((sorted.length - 1) * part)]
        .toFixed(1);

    console.log(`${what}: median ${at(0.5)}, least ${at(0)}, most ${at(1)}`);
}


async function weight() {
    const page = await enter();
    const client = await page.context().newCDPSession(page);
    let sent = 0;
    const own = new Set();

    await client.send('Network.enable');
    client.on('Network.responseReceived', ({requestId, response}) =>
        response.url.startsWith(VIEWER) && own.add(requestId));
    client.on('Network.loadingFinished', ({requestId, encodedDataLength}) => {
        if (own.has(requestId)) {
            sent += encodedDataLength;
        }
    });
    await page.goto(`${VIEWER}#/logs`);
    await page.locator('.rows .row').first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => {});
    console.log(`bytes sent for the log: ${sent}`);
    await page.evaluate(() => {
        location.hash = '#/channels';
    });
    await page.locator('.card').waitFor();
    console.log(`... and with the configuration: ${sent}`);
    await page.context().close();
}


async function paints() {
    const first = [];
    const useful = [];

    for (let round = 0; round < ROUNDS; round++) {
        const page = await enter();

        await page.addInitScript(() => {
            new MutationObserver((_, observer) => {
                if (document.querySelector('.rows time')) {
                    observer.disconnect();
                    requestAnimationFrame(() => requestAnimationFrame(() => {
                        window.useful = performance.now();
                    }));
                }
            }).observe(document, {childList: true, subtree: true});
        });
        await page.goto(`${VIEWER}#/logs`);
        await page.waitForFunction(() => window.useful);
        const [paint, rows] = await page.evaluate(() => [performance
            .getEntriesByName('first-contentful-paint')[0].startTime,
        window.useful]);
        first.push(paint);
        useful.push(rows);
        await page.context().close();
    }
    tell('first paint, ms', first);
    tell('entries painted, ms', useful);
}


// through all of it, as fast as a hand at the wheel
async function scroll() {
    const page = await enter();
    const client = await page.context().newCDPSession(page);
    const held = async () => {
        await client.send('HeapProfiler.collectGarbage');
        const {usedSize} = await client.send('Runtime.getHeapUsage');
        const {nodes} = await client.send('Memory.getDOMCounters');
        return `${(usedSize / 1e6).toFixed(1)} MB, ${nodes} nodes`;
    };

    await page.goto(`${VIEWER}#/logs`);
    await page.locator('.rows .row').first().waitFor();
    await page.waitForTimeout(3000);
    console.log(`held before: ${await held()}`);

    for (let part = 1; part <= 4; part++) {
        const frames = await page.evaluate(async (rows) => {
            const list = document.querySelector('.list');
            const step = document.querySelector('.rows .row').offsetHeight * 4;
            const until = list.scrollTop + rows * step / 4;
            const times = [];
            const work = [];
            let last = performance.now();

            while (list.scrollTop < until - step) {
                const now = await new Promise(requestAnimationFrame);

                times.push(now - last);
                last = now;
                list.scrollTop += step;
                const began = performance.now();
                await new Promise((resolve) => {
                    const {port1, port2} = new MessageChannel();
                    port1.onmessage = resolve;
                    port2.postMessage(0);
                });
                work.push(performance.now() - began);
            }
            const sorted = times.toSorted((a, b) => a - b);
            const busy = work.toSorted((a, b) => a - b);
            return {frames: times.length,
                rate: 1000 * times.length / times.reduce((a, b) => a + b),
                late: times.filter((time) => time > 25).length,
                p99: sorted[Math.floor(sorted.length * 0.99)],
                busy: busy[Math.floor(busy.length / 2)],
                busy99: busy[Math.floor(busy.length * 0.99)]};
        }, 24_000);

        console.log(`scrolled ${part * 24_000}: ${frames.rate.toFixed(1)} `
            + `frames/s, ${frames.late} of ${frames.frames} late, p99 ${
                frames.p99.toFixed(1)} ms, work in a frame ${
                frames.busy.toFixed(1)} (p99 ${frames.busy99.toFixed(1)}) ms; `
            + await held());
    }
    await page.context().close();
}


// from the API's answer to the lines on the screen
async function filter() {
    const page = await enter();
    const times = [];

    await page.goto(`${VIEWER}#/logs`);
    await page.locator('.rows .row').first().waitFor();
    for (let round = 0; round < ROUNDS; round++) {
        const category = ['Text', 'Modlog', 'Voice'][round % 3];

        times.push(await page.evaluate(async (name) => {
            const chip = document.querySelector(
                `.chip[data-category=category${name}]`);
            const total = document.querySelector('.bar strong');
            const before = total.textContent;

            performance.clearResourceTimings();
            chip.click();
            while (total.textContent === before) {
                await new Promise((resolve) => setTimeout(resolve));
            }
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            const shown = performance.now();
            const answer = performance.getEntriesByType('resource')
                .find(({name: url}) => url.includes('limit=200'));
            return shown - answer.responseEnd;
        }, category));
        await page.waitForTimeout(300);
        await page.locator('.chip').first().click();
        await page.waitForTimeout(1500);
    }
    tell('a filter’s answer on the screen, ms', times);
    await page.context().close();
}


await fill();
await weight();
await paints();
await filter();
await scroll();
await browser.close();
