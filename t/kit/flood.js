// A bot that hands in many entries: flood.js FROM TO RATE. It prints the number
// of each entry that is safe; recorder.t kills it meanwhile. Entry n is of
// server n % SERVERS.

import readline from 'node:readline';
import {setTimeout as sleep} from 'node:timers/promises';

import {Operator} from '../../util/kit/js/index.js';

const {OPERATOR, SPOOL, SERVERS, FIRST} = process.env;
const [from, to, rate] = process.argv.slice(2).map(Number);
const operator = new Operator({url: `unix:${OPERATOR}`});
const recorder = await operator.recorder({spool: SPOOL});
const begun = Date.now();

recorder.on('refused', (entry, error) => console.log(`refused ${error}`));
console.log('open');

for (let n = from; n < to; n++) {
    const server = String(BigInt(FIRST) + BigInt(n % SERVERS));

    recorder.record(server, {event_id: `flood-${n}`, type: 5,
        content: `flood ${n}`}).then(() => console.log(`safe ${n}`));
    if (n % 20 === 0) {
        await sleep(begun + (n - from) / rate * 1000 - Date.now());
    }
}
console.log('given');
await recorder.flush();
console.log(`flushed ${JSON.stringify(recorder.counters)} ${
    Math.round(process.memoryUsage().rss / 1048576)}`);
for await (const line of readline.createInterface({input: process.stdin})) {
    if (line === 'end') {
        break;
    }
}
await recorder.close();
operator.close();
