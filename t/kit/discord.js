// discord.js, as it comes from its registry, watches a stand-in of the platform
// and forwards what it sees; discord.t starts it. What becomes of the packets is
// of t/events.

import {EventEmitter} from 'node:events';
import fs from 'node:fs';
import {createRequire} from 'node:module';

import {attach} from '../../util/kit/js/discord.js';
import {Guildlog, Operator} from '../../util/kit/js/index.js';
import {TYPES} from '../../util/kit/js/log-types.js';
import {Gateway, guildOf} from './gateway.js';
import {Markers, order, until} from './lib.js';
import {idOf, packetsOf} from './rest.js';
import {done, fails, is, ok} from './tap.js';

const {Client, GatewayIntentBits: Intents} = createRequire(
    `${process.env.PACKAGES}/`)('discord.js');
const {URL: url, OPERATOR, DIR} = process.env;
const {known, events} = JSON.parse(fs.readFileSync(
    new URL('../viewer/events.json', import.meta.url)));
const SERVER = '613425648685547541';
const TOKEN = 'MjAw.a.bot';
const ALL = Object.values(Intents).filter((bit) => typeof bit === 'number')
    .reduce((bits, bit) => bits | bit, 0);
const operator = new Operator({url: `unix:${OPERATOR}`});
const crowd = Array.from({length: 20}, (_, n) => String(700000000000000000n
    + BigInt(n)));
const OTHER = '613425648685547542';
const FORGOTTEN = '613425648685547543';
const STRANGER = '498123654987321399';
const gateway = await new Gateway({token: TOKEN, guilds: [
    guildOf(SERVER, {...known, name: 'Climbers of Bern', member_count: 213,
        ...known.guild, premium_tier: 2}),
    guildOf(OTHER, known),
    guildOf(FORGOTTEN),
    ...crowd.map((id) => guildOf(id)),
], people: {[STRANGER]: {name: 'zoe'}}}).listen();
const markers = new Markers(gateway, crowd);


function clientOf(intents = ALL) {
    return new Client({intents, rest: {api: `http://127.0.0.1:${gateway.port
    }/api`, retries: 0}});
}


function audit(server, action, user, target, more) {
    gateway.send('GUILD_AUDIT_LOG_ENTRY_CREATE', {id: idOf(Date.now()),
        guild_id: server, action_type: action, user_id: user,
        target_id: target, ...more});
}


const [ANN, BOB, CHIA] = Object.keys(known.users);
const [GENERAL, , LOBBY, LOUNGE] = Object.keys(known.channels);
const client = clientOf();
const adapter = await attach(client, operator, {spool: `${DIR}/bot`});
const troubles = [];
const refused = [];

adapter.on('trouble', (error) => troubles.push(error.message));
adapter.on('refused', (packet, error) => refused.push([packet.t, error]));
await client.login(TOKEN);
await until(() => client.isReady(), 'the bot is ready');
is(adapter.missing, [], 'with all intents all types come');


// all that the gateway has sent is on disk
function safe() {
    return until(() => adapter.state[0] === [
        ...gateway.sessions.values()].at(-1).seq, 'all that was sent');
}


// ... and answered for
async function settled() {
    await safe();
    await adapter.recorder.flush();
}


// what guildlog knows then

async function apiOf(server) {
    const {token} = await operator.tokenCreate({guild_id: server,
        body: {permissions: 1, creator: ANN}});
    const api = new Guildlog({url, token});

    await api.settingsGet().catch(() => {});
    await api.optionsPatch({body: {ignore_bot_executors: false,
        ignore_bot_targets: false}});
    return api;
}


await settled();
const api = await apiOf(SERVER);

is((await api.serverGet()).name, 'Climbers of Bern', 'the server is there');
is((await api.serverGet()).owner_id, ANN, '... with its owner');
is((await api.searchMembers({query: 'chia'}))[0]?.id, CHIA, '... its members');
is((await api.searchChannels({query: 'general'}))[0]?.id, GENERAL,
    '... and channels');


// entries of the API, oldest first, but those of the service
async function stored(of = api) {
    const list = [];

    for await (const entry of of.entries({limit: 200})) {
        if (entry.executor?.id !== '0' && entry.type !== TYPES.tokenCreate) {
            list.unshift(entry);
        }
    }
    return list;
}


// each packet that people are told of arrives. Who is banned has not left; a
// change of channel is needed for a stream

const names = new Map(Object.entries(TYPES).map(([key, id]) => [id, key]));
const sorted = (types) => types.map((type) => names.get(type)).sort();
const wanted = sorted([...events.map(({entry}) => entry.type)
    .filter((type) => type !== TYPES.memberLeave), TYPES.voiceJoin,
TYPES.voiceSwitch]);

events.flatMap((event) => packetsOf(event, SERVER))
    .forEach((packet) => gateway.send(...packet));
let got = [];

await until(async () => {
    got = sorted((await stored()).map(({type}) => type));
    return got.length >= wanted.length;
}, () => `an entry of each: ${got}`);
await settled();
is(got, wanted,
    'all packets of which people are told arrive');
is([refused, troubles, adapter.counters.lost], [[], [], 0],
    '... none is refused or lost');

// a name that nobody knows is asked for

const others = await apiOf(OTHER);
let made = [];

audit(OTHER, 22, STRANGER, CHIA);
await until(() => gateway.questions.length, 'a question');
is(gateway.questions, [{guild_id: OTHER, user_ids: [STRANGER]}],
    'a name that is wanted is asked for');
await settled();
audit(OTHER, 22, STRANGER, BOB);
await until(async () => (made = await stored(others)).length === 2, 'bans');
is(made.map(({executor}) => executor.name), ['', 'zoe'],
    '... and known from then on');

// who is somewhere else and back within a ms, as packets come after a lost connection

const {now} = Date;
const moment = now();
const there = await operator.recorder({spool: `${DIR}/there`});

Date.now = () => moment;
const moves = [LOBBY, LOUNGE, LOBBY].map((channel) => there.forward({
    t: 'VOICE_STATE_UPDATE', d: {guild_id: OTHER, user_id: ANN,
        session_id: 'a', channel_id: channel}}));
Date.now = now;
await Promise.all(moves);
await there.flush();
await until(async () => (made = await stored(others)).length === 5,
    () => `each move: ${made.map(({type}) => names.get(type))}`);
is(made.slice(2).map(({channel}) => channel.id), [LOBBY, LOUNGE, LOBBY],
    'who is back within a ms has moved twice');
await there.close();
others.close();

// a server that was forgotten

const ban = () => gateway.send('GUILD_BAN_ADD', {guild_id: FORGOTTEN,
    user: {id: BOB, username: 'bob', discriminator: '0'}});
const said = `nothing that happens in the server ${FORGOTTEN} is logged`
    + ' (server: is being forgotten)';

await operator.serverForget({guild_id: FORGOTTEN});
ban();
await settled();
ban();
await settled();
is(troubles, [said], 'a server that was forgotten is told of once');
is(refused, [], '... and not with each packet');
gateway.send('GUILD_CREATE', guildOf(FORGOTTEN));
await settled();
is(troubles, [said, said], '... until the platform tells of it anew');

// connections that end; events come meanwhile

markers.send(50);
for (const [what, act] of [
    ['a lost connection', () => gateway.drop(4000)],
    ['a request to reconnect', () => gateway.reconnect()],
    ['an invalid session that may be resumed', () => gateway.invalidate(true)],
]) {
    const {resume} = gateway.count;

    act();
    markers.send(50);
    await until(() => gateway.count.resume > resume, what);
    ok(gateway.count.identify === 1, `${what} is resumed`);
    markers.send(50);
}
ok(gateway.count.missed > 0, 'events were missed meanwhile');
await order('stop');
markers.send(400);
await order('start');
markers.send(400);
await safe();
gateway.invalidate(false);
await until(() => gateway.count.identify === 2 && gateway.connected,
    'a new session');
markers.send(50);
await settled();
ok(gateway.count.heartbeat > 0, 'it has a heart');
is(client.guilds.cache.size, 23, 'its servers');

// no room for packets

const hears = new EventEmitter();
const full = await attach(hears, operator, {spool: `${DIR}/full`, bytes: 10});
const why = [];

full.on('trouble', (error) => why.push(error.constructor.name));
for (const s of [1, 2, 3]) {
    hears.emit('raw', {t: 'GUILD_BAN_ADD', d: {guild_id: SERVER}, s}, 0);
}
await until(() => full.counters.lost === 3, 'packets are lost');
is(why, ['Full'], 'packets without room are counted, and told of once');
await full.close();

// packets that wait for the disk, and those without a number

const many = new EventEmitter();
const flood = await attach(many, operator, {spool: `${DIR}/flood`, bytes: 10});

flood.on('trouble', () => {});
for (let s = 1; s <= 200_000; s++) {
    many.emit('raw', {t: 'X', d: {guild_id: SERVER}, s}, 0);
}
is(flood.state, {0: 0}, 'of very many packets none is on disk');
await until(() => flood.counters.lost === 200_000, 'they are lost');
for (const s of [undefined, null]) {
    many.emit('raw', {t: 'X', d: {guild_id: SERVER}, s}, 0);
}
many.emit('raw', {t: 'GUILD_CREATE', d: null, s: null}, 0);
is(flood.state, {0: 200_000}, 'a packet without a number changes none');
await until(() => flood.counters.lost === 200_002, '... and is forwarded');
await flood.close();

// people who cannot be asked for now

const asks = new EventEmitter();
const asked = [];
let ready = false;
const shy = await attach(asks, operator, {spool: `${DIR}/shy`,
    ask: (shard, {d}) => ready && asked.push([shard, d.guild_id, d.user_ids])});
const want = (...those) => shy.recorder.emit('wanted', ...those);

want('5', ['1']);
want(SERVER, ['2']);
asks.emit('raw', {t: 'TYPING_START', d: {guild_id: SERVER}, s: 1}, 3);
await until(() => shy.shards.has(3), 'a shard');
await new Promise((resolve) => setTimeout(resolve, 1_500));
is(asked, [], 'nobody is asked for while the gateway is away');
ready = true;
await until(() => asked.length, 'a question');
is(asked, [[3, SERVER, ['2']]], '... but when it is back');
asks.emit('raw', {t: 'TYPING_START', d: {guild_id: '5'}, s: 2}, 3);
await until(() => asked.length === 2, 'another question');
is(asked[1], [3, '5', ['1']],
    '... and of a server without a shard when it has one');
for (let n = 0; n < 30_000; n++) {
    want('6', [String(n)]);
}
ok(shy.wanted.get('6').length <= 10_001, 'who waits for too long is forgotten');
await shy.close();

// a client that ends before it has begun: nothing is left that could fail

const early = clientOf();
const first = await attach(early, operator, {spool: `${DIR}/early`});
const sent = [];

early.ws.shards.set(0, {status: 5, send: (payload) => sent.push(payload)});
early.emit('raw', {t: 'TYPING_START', d: {guild_id: SERVER}, s: 1}, 0);
first.recorder.emit('wanted', SERVER, ['3']);
await new Promise((resolve) => setTimeout(resolve, 1_500));
is(sent, [], 'a shard that is not ready is sent nothing');
early.ws.shards.get(0).status = 0;
await until(() => sent.length, 'it is ready');
is(sent[0].d, {guild_id: SERVER, user_ids: ['3']}, '... until it is');
early.ws.shards.clear();
await first.close();

// a bot that is not allowed

await fails(clientOf().login('MjAw.another.bot'), Error,
    'a wrong token is an error of discord.js');

const few = clientOf(Intents.Guilds | Intents.GuildMessages);
const less = await attach(few, operator, {spool: `${DIR}/few`});

ok(less.missing.some((said) => /GuildModeration.*\bban\b/.test(said))
    && less.missing.some((said) => /GuildVoiceStates.*\bvoiceJoin\b/.test(said))
    && less.missing.some((said) => /MessageContent/.test(said))
    && !less.missing.some((said) => /GuildMessages /.test(said)),
'intents that are missing are told, with the types that do not come');
await less.close();

await adapter.close();
await client.destroy();
gateway.close();
console.log(`# markers: ${markers.sent}`);
operator.close();
done();
process.exit();
