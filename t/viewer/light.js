// How much it takes to open the log: what the API is asked, and the bytes of
// the page as they are sent.

import {giveToken, leave, newPage, newServer, ok} from './lib.js';

const {GUILDLOG_VIEWER: VIEWER, GUILDLOG_URL: API} = process.env;
const REQUESTS = 5;
const BYTES = 112_000;


export default async function light() {
    const server = await newServer({name: 'Light'});

    await server.record(...Array.from({length: 300}, (_, i) => ({type: 7,
        executor: {id: String(201 + i % 40), name: `Ann ${i % 40}`},
        content: `text ${i}`, timestamp: Date.now() - i * 3_600_000})));

    const page = await newPage();
    const client = await page.context().newCDPSession(page);
    const asked = [];
    const own = new Map();

    await client.send('Network.enable');
    client.on('Network.requestWillBeSent', ({requestId, request: {url}}) => {
        if (url.startsWith(API)) {
            asked.push(url.slice(API.length));
        } else if (url.startsWith(VIEWER)) {
            own.set(requestId, 0);
        }
    });
    client.on('Network.loadingFinished', ({requestId, encodedDataLength}) =>
        own.has(requestId) && own.set(requestId, encodedDataLength));
    await page.goto(`${VIEWER}#/logs`);
    await giveToken(page, server.token);
    await page.locator('.plot[aria-valuenow]').waitFor();
    await page.locator('.chart rect[height]').first().waitFor(
        {state: 'attached'});

    const bytes = [...own.values()].reduce((sum, n) => sum + n, 0);
    const reads = asked.filter((path) => !path.includes('/stream'));

    ok(reads.length <= REQUESTS, `the log opens with ${reads.length} requests`,
        ...asked);
    ok(bytes > 0 && bytes <= BYTES, `... and ${own.size} files of ${
        bytes} bytes as sent`);
    await leave(page, 'light');
}
