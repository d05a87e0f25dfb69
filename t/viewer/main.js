// Runs the suites, all or those named, and prints TAP.

import {done, ok, startBrowser} from './lib.js';

const ALL = ['logs', 'look', 'bad-days', 'config', 'hostile', 'live', 'chart',
    'link', 'start', 'reading', 'several', 'preview', 'signing', 'person',
    'trouble', 'focus', 'details', 'people', 'pictures', 'tasks', 'words',
    'events', 'alerts', 'light', 'languages'];
const AT_ONCE = 2;

const named = process.argv.slice(2);
const suites = named.length ? named : ALL;
const browser = await startBrowser();


// each has servers and pages of its own
async function work() {
    for (let name; (name = suites.shift());) {
        const began = Date.now();

        try {
            await (await import(`./${name}.js`)).default();
        } catch (error) {
            ok(false, `${name} ran to its end`, error.stack);
        }
        console.log(`# ${name}: ${Date.now() - began} ms`);
    }
}


await Promise.all(Array.from({length: AT_ONCE}, work));
await browser.close();
process.exit(done() ? 1 : 0);
