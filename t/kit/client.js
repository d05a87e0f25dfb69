// The client against a real guildlog; client.t starts it.

import fs from 'node:fs';
import readline from 'node:readline';

import * as guildlog from '../../util/kit/js/index.js';
import {done, fails, is, ok} from './tap.js';

const {URL: url, OPERATOR, TOKEN: token, BASIC, SERVER: server} = process.env;
const api = new guildlog.Guildlog({url, token});
const operator = new guildlog.Operator({url: `unix:${OPERATOR}`});
const orders = readline.createInterface({input: process.stdin})[
    Symbol.asyncIterator]();


// the test does so, and says when it is done
async function order(what) {
    console.log(`# order: ${what}`);
    await orders.next();
}


// entries of a tail, until there are so many
async function some(tail, n) {
    const contents = [];

    while (contents.length < n) {
        contents.push((await tail.next()).value.content);
    }
    return contents;
}


async function all(things) {
    const list = [];

    for await (const thing of things) {
        list.push(thing);
    }
    return list;
}


async function record(...contents) {
    const {ids} = await operator.record({guild_id: server,
        body: contents.map((content) => ({event_id: `c-${content}`, type: 5,
            content}))});

    return ids;
}


// both planes

is(api.server, server, 'the server is that of the token');
is((await api.serverGet()).name, 'Kit', 'a call without arguments');
is(await api.channelsPatch({body: {main_channel: '3000'}}), {},
    'a call with a body');
is((await api.channelsGet())[0].main_channel, '3000', '... it is read back');
is(await api.ignoreAdd({ignore_type: 2, body: {value: '77'}}), {},
    'a parameter of the path');
is((await api.ignoreGet({ignore_type: 2}))[0].ignore_value, '77',
    '... it is read back');
is(await api.channelsPatch({bot: 'pro', body: {main_channel: '3001'}}), {},
    'a parameter of the query');
is((await api.configGet()).serverlogConfigChannels[0].main_channel, '3000',
    '... it was for the other bot');
is((await api.logTypes()).length, 102, 'a path without a server');
is((await operator.serverPut({guild_id: '300000000000000077',
    body: {name: 'New'}})).name, 'New', 'the operator makes a server');
is(await operator.membersPut({guild_id: server,
    body: [{id: '200000000000000001', name: 'Ann'}]}), {}, '... and members');
is((await api.searchMembers({query: 'an'}))[0].name, 'Ann',
    '... who are found');

const certificate = (name) => fs.readFileSync(`${process.env.TLS}/${name}`);
const remote = (tls) => new guildlog.Operator({url: process.env.REMOTE,
    patience: 0, tls: {ca: certificate('cert'), ...tls}});
const known = remote({cert: certificate('cert'), key: certificate('key')});

is((await known.serverPut({guild_id: server, body: {}})).name, 'Kit',
    'the operator by TLS, with a certificate');
ok((await fails(remote().serverPut({guild_id: server, body: {}}),
    guildlog.Invalid, '... and not without')).status === 400,
    '... as nginx says');
await fails(new guildlog.Operator({url: process.env.REMOTE, patience: 0})
    .serverPut({guild_id: server, body: {}}), guildlog.Unavailable,
    '... nor at somebody whose certificate is unknown');

// pages and exports

const ids = [];

for (let n = 0; n < 3; n++) {
    ids.push(...await record(...Array.from({length: 150},
        (_, i) => `p${n * 150 + i}`)));
}
is((await all(api.entries({type: 5}))).map(({id}) => id).reverse(), ids,
    'entries of all pages');
is((await all(api.pages({type: [5, 6], limit: 200}))).map(({entries}) =>
    entries.length), [200, 200, 50], 'pages; a parameter that is repeated');

let text = '';

for await (const piece of await api.logsExport({type: 5, format: 'ndjson'})) {
    text += piece;
}
is(text.split('\n').length, 451, 'an export is a stream');
is(await api.logsExport({type: 100}), null, '... or null, if there is nothing');

// errors

const wrong = await fails(api.logsPage({limit: 201}), guildlog.Invalid,
    'an error of 400');

ok(/limit/.test(wrong.message) && wrong.status === 400, '... says the rule');
is(wrong.code, 'out_of_range', '... and has its code');
await fails(new guildlog.Guildlog({url, token: BASIC}).logsPage(),
    guildlog.Forbidden, 'a token that may not');
await fails(new guildlog.Guildlog({url, token: `${token}x`}).logsPage(),
    guildlog.Unauthorized, 'a token that is none');
await fails(api.logsOne({id: '1'}), guildlog.NotFound, 'nothing there');
await fails(new guildlog.Operator({url: 'unix:/nowhere', patience: 0})
    .recordMany({body: []}), guildlog.Unavailable, 'nobody there');
try {
    api.logsOne();
    ok(false, 'a parameter of the path that is missing');
} catch (error) {
    is(error.message, 'logsOne: id is missing',
        'a parameter of the path that is missing');
}

// waiting

const slow = new guildlog.Guildlog({url: process.env.SLOW, token});
const before = Date.now();

await Promise.all(Array.from({length: 6}, () => slow.serverGet()));
ok(Date.now() - before >= 900, '429 is obeyed: the sixth call waited');
const refused = await fails(Promise.all(Array.from({length: 6}, () =>
    new guildlog.Guildlog({url: process.env.SLOW, token, patience: 0})
        .serverGet())), guildlog.RateLimited, '... or told, without patience');

ok(refused.retryAfter >= 1, '... with the seconds to wait');

// a tail

const stop = new AbortController();
const tail = api.tail({type: 5}, {signal: stop.signal});
const first = some(tail, 1);

for (let n = 0; !await Promise.race([first, null]); n++) {
    await record(`t${n}`);
}
ok(/^t/.test((await first)[0]), 'a tail brings what is new');
await record('u1', 'u2');
const seen = [];

while (seen.at(-1) !== 'u2') {
    seen.push(...await some(tail, 1));
}
is(seen.slice(-2), ['u1', 'u2'], '... in order');
await order('restart');
await record('v1', 'v2');
is(await some(tail, 2), ['v1', 'v2'], '... goes on after a restart');
const called = api.serverGet();

await order('restart');
is((await called).id, server, 'a call outlives a restart');
const last = await operator.record({guild_id: server,
    body: [{event_id: 'w', type: 5, content: 'w'}]});

is(await some(tail, 1), ['w'], '... and so does the tail, nothing twice');
const behind = api.tail({lastEventId: (await api.logsPage({limit: 3, type: 5}))
    .entries[2].id}, {signal: stop.signal});

is(await some(behind, 2), ['v2', 'w'], 'a tail behind an entry');
await order('days');
const gap = api.tail({type: 5, lastEventId: ids[440]}, {signal: stop.signal});
const missed = await some(gap, 9);

is(missed.slice(0, 2), ['w', 'v2'],
    'what a tail has missed for too long comes from pages');
stop.abort();
is((await tail.next()).done, true, 'a tail ends when it is told to');
await fails(new guildlog.Guildlog({url, token: BASIC}).tail().next(),
    guildlog.Forbidden, 'a tail that may not be is an error');
ok(last.recorded === 1, 'all was recorded');

api.close();
operator.close();
done();
process.exit();
