// What a recorder promises, one by one; recorder.t starts it.

import {once} from 'node:events';
import fs from 'node:fs';
import files from 'node:fs/promises';
import readline from 'node:readline';

import {Full, GuildlogError, Operator} from '../../util/kit/js/index.js';
import {Spool} from '../../util/kit/js/spool.js';
import {done, fails, is, ok} from './tap.js';

const {OPERATOR, DIR, SERVER: server, FRONT} = process.env;
const operator = new Operator({url: `unix:${OPERATOR}`});
const orders = readline.createInterface({input: process.stdin})[
    Symbol.asyncIterator]();
let folders = 0;


async function order(what) {
    console.log(`# order: ${what}`);
    await orders.next();
}


function open(options) {
    return operator.recorder({spool: `${DIR}/${++folders}`, ...options});
}


// one answer for all

const recorder = await open();
const refused = [];

recorder.on('refused', (entry, error) => refused.push([entry.content, error]));
await recorder.record(server, [{type: 5, content: 'a'}, {type: 200,
    content: 'bad'}, {type: 5, content: 'b'}]);
await recorder.record(server, {type: 5, content: 'c'}, {bot: 'pro'});
await recorder.flush();
is([recorder.counters.taken, recorder.counters.recorded,
    recorder.counters.refused], [4, 3, 1], 'entries are counted');
ok(refused.length === 1 && refused[0][0] === 'bad' && /^type/.test(
    refused[0][1]), 'an entry that is refused is told with the reason');

// the same event

const event = {type: 5, content: 'same', timestamp: Date.now(),
    executor: {id: '1', name: 'x'}};

await recorder.record(server, [event, {...event}, {...event,
    executor: {name: 'x', id: '1'}}, {...event, content: 'other'}]);
await recorder.record(server, [{type: 5, content: 'now'},
    {type: 5, content: 'now'}]);
await recorder.flush();
is([recorder.counters.recorded, recorder.counters.duplicates], [7, 2],
    'the same entry of the same moment is one; those without a time are not');

// a folder is of one recorder

await fails(operator.recorder({spool: `${DIR}/1`}), GuildlogError,
    'a second recorder of the folder');
await recorder.close();

// unknown servers

const asked = [];
const meets = await open({unknown: async (id) => {
    asked.push(id);
    await operator.serverPut({guild_id: id, body: {name: 'New'}});
}});

await meets.record('300000000000000001', [{type: 5, content: '1'},
    {type: 5, content: '2'}]);
await meets.record(server, {type: 5, content: 'known'});
await meets.record('300000000000000001', {type: 5, content: '3'});
await meets.flush();
is([meets.counters.recorded, meets.counters.refused], [4, 0],
    'a server that is unknown is made known, and nothing is lost');
is(asked, ['300000000000000001'], '... once');
await meets.close();

// packets beside entries; the order of a server is kept

const mixed = await open();
const heads = () => fs.readdirSync(mixed.spool.folder).filter((name) =>
    name.endsWith('.log')).flatMap((name) => fs.readFileSync(
    `${mixed.spool.folder}/${name}`, 'utf8').split('\n').slice(0, -1));
const ban = (id) => ({t: 'GUILD_AUDIT_LOG_ENTRY_CREATE', at: Date.now(), d: {id,
    guild_id: server, action_type: 22, user_id: '1', target_id: '2'}});
const snowflake = String(BigInt(Date.now()) - 1420070400000n << 22n);
const wanted = [];

mixed.on('trouble', () => {});
mixed.on('wanted', (...those) => wanted.push(those));
await order('stop');
await mixed.record(server, {type: 5, event_id: 'mixed-1', content: 'first'});
await mixed.forward(ban(snowflake));
await mixed.forward({...ban(snowflake), at: 5.7}, {bot: 'pro'});
await mixed.forward({t: 'MESSAGE_CREATE', d: {id: '7'}});
await mixed.forward({t: 'RESUMED', d: null});
await mixed.forward({t: 'GUILD_CREATE'});
await mixed.record(server, {type: 5, event_id: 'mixed-2', content: 'last'});
is(heads().length, 4, 'a packet of no server is left out');
ok(heads()[1].startsWith(`{"server":"${server}","at":1`)
    && heads()[1].includes(',"t":"GUILD_AUDIT_LOG_ENTRY_CREATE","d":{'),
'a packet is a line of its own kind');
ok(heads()[2].startsWith(`{"server":"${server}","at":5,"bot":"pro","t":`),
    '... of a bot, at a whole ms');
await order('start');
await mixed.flush();
is([mixed.counters.taken, mixed.counters.recorded, mixed.counters.refused],
    [4, 4, 0], 'packets and entries are taken from one spool');
ok(mixed.counters.batches >= 4, '... each by its endpoint');
is(wanted, [[server, ['1', '2']], [server, ['1', '2']]],
    'people without a name are told, with their server');
await mixed.forward({t: 'NEVER_SEEN', d: {guild_id: server}});
await mixed.flush();
is(mixed.counters.unknown, {NEVER_SEEN: 1}, 'what is unknown is counted');
await mixed.close();
await fails(mixed.forward({t: 'X', d: {guild_id: server}}), Full,
    'a recorder that is closed takes nothing');

// guildlog is away

const small = await open({bytes: 10_000, batch: 40});

small.on('trouble', () => {});
await order('stop');
await small.record(server, Array.from({length: 20}, (_, n) =>
    ({type: 6, content: `s${n}`, event_id: `s${n}`})));
ok(small.counters.spoolBytes > 1000, 'entries are safe while guildlog is away');
const more = [];
let over = null;

for (let n = 0; !over; n++) {
    more.push(small.record(server, {type: 6, event_id: `m${n}`,
        content: `m${n} ${'x'.repeat(300)}`}).catch((error) => {
        over ??= error;
        return error;
    }));
    await null;
    await null;
    await null;
}
ok(over instanceof Full, 'the spool is bounded: who does not wait is told');
ok(small.counters.spoolBytes <= 10_000, '... and it has no more than it may');
await fails(small.record(server, {type: 6, content: 'x'.repeat(20_000)}), Full,
    '... nor an entry that is larger than itself');
await order('start');
const given = (await Promise.all(more)).filter((it) => !it).length;

await small.flush();
is(small.counters.recorded, 20 + given,
    'all that waited arrives when guildlog is back');
await small.close();

// a process that ends

await order('stop');
const early = await open();

await early.record(server, Array.from({length: 1000}, (_, n) =>
    ({type: 7, content: `e${n}`, event_id: `e${n}`})));
await early.close();
const names = fs.readdirSync(`${DIR}/${folders}`);

fs.appendFileSync(`${DIR}/${folders}/${names.find((name) =>
    name.endsWith('.log'))}`, '{"server":"1","type":7,"con');
await order('start');
folders--;
const late = await open();

await late.flush();
is([late.counters.taken, late.counters.recorded, late.counters.refused],
    [0, 1000, 0], 'what a process leaves is sent by the next, but half a line');
await late.close();
folders--;
const again = await open();

await again.flush();
is([again.counters.recorded, again.counters.duplicates], [0, 0],
    '... and not sent again by the one after it');
is(fs.readdirSync(`${DIR}/${folders}`), ['lock'], '... nothing of it is left');
await again.close();
ok(!fs.existsSync(`${DIR}/${folders}/lock`), '... nor a lock');

// Race: a line is written while others are read

const spool = await Spool.open(`${DIR}/race`, 1e8);
const {readFile} = files;
const textsOf = (lines) => lines.map(({text}) => text);

await spool.append(Array.from({length: 20_000}, () => 'x'));
await spool.append(['read']);
spool.next();
files.readFile = async (...those) => {
    const text = await readFile(...those);

    await spool.append(['written']);
    return text;
};
is(textsOf(await spool.next()), ['read'], 'lines are read');
files.readFile = readFile;
is(textsOf(await spool.next()), ['written'],
    'what was written meanwhile is handed out, too');
await spool.close();

// more than a proxy takes at once

const front = new Operator({url: FRONT});
const large = await front.recorder({spool: `${DIR}/front`, batch: 1000});

await large.record(server, Array.from({length: 200}, (_, n) =>
    ({type: 8, event_id: `l${n}`, content: 'y'.repeat(3000)})));
await large.flush();
is(large.counters.recorded, 200, 'a batch that is too large is halved');
ok(large.counters.batches > 2, '... and was');
await large.close();
front.close();

operator.close();
done();
process.exit();
