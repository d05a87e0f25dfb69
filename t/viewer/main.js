// Runs the suites, all or those named, and prints TAP.

import {done, ok, startBrowser} from './lib.js';

const all = ['signing', 'logs', 'live', 'chart'];
const named = process.argv.slice(2);
const browser = await startBrowser();

for (const name of named.length ? named : all) {
    const began = Date.now();

    console.log(`# ${name}`);
    try {
        await (await import(`./${name}.js`)).default();
    } catch (error) {
        ok(false, `${name} ran to its end`, error.stack);
    }
    console.log(`# ${name}: ${Date.now() - began} ms`);
}

await browser.close();
process.exit(done() ? 1 : 0);
