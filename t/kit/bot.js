// The bot of util/kit/bot as a process, between a stand-in of the platform and a
// guildlog; bot.t starts it.

import fs from 'node:fs';

import {Guildlog, Operator} from '../../util/kit/js/index.js';
import {TYPES} from '../../util/kit/js/log-types.js';
import {Gateway, guildOf, shardOf} from './gateway.js';
import {Bot, Markers, kitIn, order, until} from './lib.js';
import {BOT} from './rest.js';
import {done, is, ok} from './tap.js';

const {URL: url, OPERATOR, DIR} = process.env;
const {known} = JSON.parse(fs.readFileSync(
    new URL('../viewer/events.json', import.meta.url)));
const SERVER = '613425648685547541';
const VIEWER = 'https://logs.example/viewer/';
const [ANN, BOB] = Object.keys(known.users);
const [GENERAL] = Object.keys(known.channels);
const crowd = Array.from({length: 8}, (_, n) => String(700000000000000000n
    + (BigInt(n) << 22n)));
const gateway = await new Gateway({token: 'MjAw.a.bot', shards: 2, guilds: [
    guildOf(SERVER, {...known, name: 'Climbers of Bern', ...known.guild}),
    ...crowd.map((id) => guildOf(id))]}).listen();
const operator = new Operator({url: `unix:${OPERATOR}`});
const program = kitIn(`${DIR}/kit`);
const state = `${DIR}/state`;
const options = {token: `${DIR}/token`, operator: `unix:${OPERATOR}`, api: url,
    viewer: VIEWER, state, platform: `http://127.0.0.1:${gateway.port}/api`};
const markers = new Markers(gateway, crowd);
const sub = (name, given = {}) => [{type: 1, name, options: Object.entries(given)
    .map(([key, value]) => ({name: key, type: 3, value}))}];


fs.writeFileSync(options.token, 'MjAw.a.bot\n');


async function start() {
    const bot = new Bot(program, options);

    await bot.says(/Watcher watches, in 2 shards/);
    return bot;
}


let bot = await start();

// shards

is([...gateway.sessions.values()].map(({shard}) => shard.join('/')).sort(),
    ['0/2', '1/2'], 'as many shards as the platform recommends');
ok(new Set(crowd.map((id) => shardOf(id, 2))).size === 2, '... with servers');
markers.send(100);

// commands



// what somebody sees who uses a command, and does so again if a busy machine was
// too late
async function use(...args) {
    let seen;

    do {
        seen = undefined;
        gateway.rest.use(SERVER, ...args).then((answer) => {
            seen = answer;
        });
        await until(() => seen !== undefined, () => `an answer: ${bot.text}`);
    } while (!seen);
    return seen;
}


const [logs] = gateway.rest.commands;

is(logs.options.map(({name}) => name),
    ['channel', 'ignore', 'search', 'dashboard'], 'the platform knows them');
is([logs.default_member_permissions, logs.contexts], ['32', [0]],
    '... for those who manage the server, in servers');

const first = await use(sub('channel'));

is([first.type, first.flags, first.mentions], [5, 64, {parse: []}],
    'an answer comes in time, only to who asked, and pings nobody');
is(first.content, 'No channel is set.', 'a server without log channels');
ok(/go to <#300000000000000001>/.test((await use(sub('channel',
    {channel: '300000000000000001'}))).content), 'a channel is set');
await use(sub('channel', {category: 'category_voice', set: 'off'}));
await use(sub('channel', {category: 'category_modlog',
    channel: '300000000000000002'}));
is((await use(sub('channel'))).content, 'All logs: <#300000000000000001>\n'
    + 'Moderation: <#300000000000000002>\nVoice: off', '... and shown');
await use(sub('channel', {category: 'category_voice', set: 'main'}));
await use(sub('channel', {set: 'off'}));
is((await use(sub('channel'))).content, 'Moderation: <#300000000000000002>',
    '... and taken back');

is((await use(sub('ignore'))).content, 'Nothing is ignored.', 'no ignore list');
await use(sub('ignore', {channel: '31'}),
    {resolved: {channels: {31: {id: '31', type: 4}}}});
await use(sub('ignore', {channel: '30'}),
    {resolved: {channels: {30: {id: '30', type: 0}}}});
await use(sub('ignore', {member: BOB}));
await use(sub('ignore', {role: '40', as: 'target'}));
is((await use(sub('ignore'))).content, 'Channels: <#30>\nChannel categories:'
    + ` <#31>\nWhat these people do: <@${BOB}>\n`
    + 'What is done to people with these roles: <@&40>', 'ignore lists');
ok(/not ignored any more/i.test((await use(sub('ignore', {member: BOB,
    remove: true}))).content), '... are made shorter');

await operator.serverPut({guild_id: SERVER, body: {plan: 'pro'}});
await operator.record({guild_id: SERVER, body: [
    {event_id: 's1', type: TYPES.messageDelete, content: 'buy *gold* <@1>',
        target: {id: BOB, name: 'b_o_b'}, channel: {id: GENERAL,
            name: 'general'}},
    {event_id: 's2', type: TYPES.ban, executor: {id: ANN, name: 'ann'},
        target: {id: BOB, name: 'bob'}, reason: 'spam'}]});
const ban = await use(sub('search', {category: 'categoryModlog'}));

ok(/^<t:\d+:f> \*\*ann\*\* banned \*\*bob\*\* \(spam\)\n1 of 1, https:.*category=categoryModlog$/
    .test(ban.content), 'a search answers sentences, and leads to more');
ok(/“buy \\\*gold\\\* \\<@1>”/.test((await use(sub('search', {words: 'gold'})))
    .content), '... and no text of others is obeyed');
ok(/^Nothing is found/.test((await use(sub('search', {words: 'silver'})))
    .content), '... or says that there is nothing');
is((await use(sub('dashboard'))).content, `${VIEWER}#/logs?server=${SERVER}`,
    'the way to the viewer');
ok(/Manage Server/.test((await use(sub('channel', {set: 'off'}),
    {permissions: '2048'})).content), 'who does not manage it is refused');
is((await use(sub('dashboard'), {permissions: '8'})).content,
    `${VIEWER}#/logs?server=${SERVER}`, '... an administrator is not');
ok(/^That does not work: .*value/.test((await use(sub('ignore',
    {role: 'x'.repeat(101)}))).content), 'an error of guildlog is told');
await order('stop');
is((await use(sub('channel'))).content,
    'The log does not answer now. Try again later.', 'guildlog is away');
await order('start');

// its tokens of guildlog

const kept = () => JSON.parse(fs.readFileSync(`${state}/tokens.json`));
const {token} = await operator.tokenCreate({guild_id: SERVER,
    body: {permissions: 1, creator: ANN}});
const api = new Guildlog({url, token});
const mine = async () => (await api.tokenList()).filter(({creator}) =>
    creator === BOT.id).map(({unique_id: id}) => id);

is([fs.statSync(`${state}/tokens.json`).mode & 0o777, Object.keys(kept())],
    [0o600, [SERVER]], 'a token is kept for a server with commands, in private');
is(await mine(), [kept()[SERVER].id], '... it is the only one of the bot');
await bot.stop();
bot = await start();
await use(sub('channel'));
is(await mine(), [kept()[SERVER].id], '... a restart makes no other one');
await api.tokenRevoke({tokenId: kept()[SERVER].id});
ok(/Moderation/.test((await use(sub('channel'))).content),
    'a revoked token is replaced');
await bot.stop();
const [lost] = await mine();

fs.rmSync(`${state}/tokens.json`);
bot = await start();
await use(sub('channel'));
ok((await mine()).length === 1 && (await mine())[0] !== lost,
    'a lost file costs no second token');
fs.writeFileSync(`${state}/tokens.json`, '{}');
await api.tokenRevoke({tokenId: kept()[SERVER]?.id ?? (await mine())[0]});
for (let n = 0; n < 4; n++) {
    await operator.tokenCreate({guild_id: SERVER, body: {permissions: 2,
        creator: ANN}});
}
ok(/has 5 tokens.*Revoke one/.test((await use(sub('channel'))).content),
    'a server with five tokens is told so');

// connections that end, each in a way that the platform documents

const taken = () => gateway.count.resume + gateway.count.identify;

// what the bot has kept, as soon as that is where both shards are
async function sessionsKept() {
    let text;

    await until(() => {
        text = fs.readFileSync(`${state}/sessions.json`, 'utf8');
        const kept = Object.values(JSON.parse(text));

        return kept.length === 2 && kept.every(({sessionId}) =>
            gateway.sessions.get(sessionId)?.peer);
    }, 'where both shards are');
    return text;
}

for (const code of [4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009, 1000, 1001])
{
    const before = taken();

    markers.send(10);
    gateway.drop(code);
    // without a session the platform has nobody to tell
    if (![4003, 4005, 4007, 4008, 1000].includes(code)) {
        markers.send(10);
    }
    await bot.says(new RegExp(`\\(${code}\\): shard \\d connects again`));
    await until(() => taken() >= before + 2 && gateway.connected === 2,
        `${code}: both shards`);
    markers.send(10);
    ok(true, `closed with ${code}: the bot goes on`);
}
ok(gateway.count.missed > 0, 'events were missed, and came by RESUME');
for (const resumable of [true, false]) {
    const before = taken();

    gateway.invalidate(resumable);
    await until(() => taken() >= before + 2 && gateway.connected === 2,
        'a session');
    markers.send(10);
    ok(true, `an invalid session, ${resumable ? '' : 'not '}resumable`);
}
await sessionsKept();
{
    const {resume} = gateway.count;
    const resumed = (more, what) => until(() => gateway.connected === 2
        && gateway.count.resume >= resume + more, what);

    gateway.reconnect();
    markers.send(10);
    await resumed(2, 'both shards, on new connections');

    gateway.deaf = true;
    await resumed(3, 'a resume');
    gateway.deaf = false;
    await resumed(4, 'that of the other shard');
    ok(true, 'no answer to a heartbeat: the bot connects again and resumes');
}
markers.send(100);

// the bot ends, and another one goes on

for (const signal of ['SIGTERM', 'SIGKILL']) {
    const {identify} = gateway.count;

    const sessions = await sessionsKept();

    markers.send(100);
    await until(() => fs.readFileSync(`${state}/sessions.json`, 'utf8')
        !== sessions, 'it keeps where it is');
    const ended = bot.stop(signal);

    markers.send(100);
    is(await ended, signal === 'SIGTERM' ? 0 : signal, `the bot gets ${signal}`);
    markers.send(100);
    // as after a crash: what is on disk already comes once more
    fs.writeFileSync(`${state}/sessions.json`, sessions);
    bot = await start();
    markers.send(100);
    is(gateway.count.identify, identify, '... the next one resumes');
}

// the audit log

const everybody = (permissions) => gateway.send('GUILD_ROLE_UPDATE', {
    guild_id: SERVER, role: {id: SERVER, name: '@everyone', permissions}});

everybody('0');
await bot.says(/Climbers of Bern \(\d+\) does not let the bot view the audit log/);
everybody('128');
await bot.says(/Climbers of Bern \(\d+\) lets the bot view the audit log/);
ok(true, 'a permission that is taken is told, and when it is given back');

// a bot that is not allowed; the next one that is ends at once

await order(`all ${markers.sent}`);
await bot.stop();
for (const [code, status, sentence] of [
    [4004, 78, /the token is wrong/], [4010, 1, /no such shard/],
    [4011, 1, /too many servers/], [4012, 78, /version/],
    [4013, 78, /no such intents/], [4014, 78, /developer portal/],
]) {
    gateway.sessions.clear();
    gateway.refuse = [code, code];
    const refused = new Bot(program, {...options, state: `${DIR}/none`});

    is(await refused.ended, status, `closed with ${code}: the bot ends`);
    ok(sentence.test(refused.text), '... and says why');
}
gateway.refuse = [];

// one that waits for the platform

gateway.mute = true;
const waits = new Bot(program, {...options, state: `${DIR}/none`});

await until(() => gateway.sockets.clients.size, () => waits.text);
is(await waits.stop(), 0, 'a bot that is not greeted yet ends when it is told');
gateway.mute = false;

bot = await start();
gateway.drop(4004);
is(await bot.ended, 78, '... while it runs, too');
fs.writeFileSync(options.token, 'MjAw.another.bot\n');
const wrong = new Bot(program, options);

is(await wrong.ended, 78, 'a token that the platform does not know');
ok(/does not know this token/.test(wrong.text), '... and says so');
is(await new Bot(program, {}).ended, 2, 'no options');

gateway.close();
console.log(`# markers: ${markers.sent}`);
api.close();
operator.close();
done();
process.exit();
