// EVENTS events at RATE a second over SERVERS servers, while the bot is
// restarted and killed, and guildlog and PostgreSQL go away; storm.t and
// t/chaos/kit.t start it. It prints how much memory the bot had at most.

import fs from 'node:fs';
import {setTimeout as sleep} from 'node:timers/promises';

import {Gateway, guildOf} from './gateway.js';
import {Bot, Markers, kitIn, order, until} from './lib.js';
import {done, is, ok} from './tap.js';

const {URL: url, OPERATOR, DIR} = process.env;
const [EVENTS, RATE, SERVERS] = ['EVENTS', 'RATE', 'SERVERS'].map((name) =>
    Number(process.env[name]));
const servers = Array.from({length: SERVERS}, (_, n) =>
    String(700000000000000000n + (BigInt(n) << 22n)));
const gateway = await new Gateway({token: 'MjAw.a.bot', shards: 2,
    interval: 10_000, guilds: servers.map((id) => guildOf(id))}).listen();
const markers = new Markers(gateway, servers);
const program = kitIn(`${DIR}/kit`);
const options = {token: `${DIR}/token`, operator: `unix:${OPERATOR}`, api: url,
    state: `${DIR}/state`, platform: `http://127.0.0.1:${gateway.port}/api`};
const AHEAD = 0.1;                 // of the events, while something is done
let memory = 0;
let bot = null;
let gate = 0;


async function start() {
    bot = new Bot(program, options);
    await bot.says(/watches, in 2 shards/);
}


async function send() {
    const begun = Date.now();

    while (markers.sent < EVENTS) {
        const due = Math.floor((Date.now() - begun) * RATE / 1000);

        markers.send(Math.min(due, EVENTS * gate, EVENTS) - markers.sent);
        memory = Math.max(memory, bot.process.exitCode === null
            && bot.memory || 0);
        await sleep(10);
    }
}


// that part of the events is on its way, and not many more
function at(part) {
    gate = part + AHEAD;
    return until(() => markers.sent >= EVENTS * part, `${part} of the events`);
}


async function restart(signal) {
    const ended = bot.stop(signal);

    is(await ended, signal === 'SIGKILL' ? signal : 0, `the bot gets ${signal}`);
    markers.send(EVENTS / 100);
    await start();
}


fs.writeFileSync(options.token, 'MjAw.a.bot\n');
await start();
const sent = send();

await at(0.1);
await restart('SIGTERM');
await at(0.25);
await order('kill');
await at(0.35);
await order('start');
await at(0.4);
await restart('SIGKILL');
await at(0.5);
await order('database');
await at(0.65);
await order('kill');
await restart('SIGKILL');
await order('start');
await at(0.8);
await restart('SIGTERM');
gateway.drop(4000);
gate = 1;
await sent;
is(gateway.count.identify, 2, 'each session was resumed until the end');
ok(gateway.count.missed > 0, '... in which events were missed meanwhile');
console.log(`# sent: ${markers.sent}`);
await order('all');
ok(memory < 512, 'the memory of the bot is bounded');
console.log(`# memory: ${Math.round(memory)} MiB`);
is(await bot.stop(), 0, 'the bot ends well');
gateway.close();
done();
process.exit();
