// discord.js, as it comes from its registry, watches a stand-in of the platform
// and hands in what it sees; discord.t starts it.

import fs from 'node:fs';
import {createRequire} from 'node:module';
import {setTimeout as sleep} from 'node:timers/promises';

import {attach} from '../../util/kit/js/discord.js';
import {Guildlog, Operator} from '../../util/kit/js/index.js';
import {TYPES} from '../../util/kit/js/log-types.js';
import {Gateway, guildOf} from './gateway.js';
import {Markers, order, until} from './lib.js';
import {idOf} from './rest.js';
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
const gateway = await new Gateway({token: TOKEN, guilds: [
    guildOf(SERVER, {...known, name: 'Climbers of Bern', member_count: 213,
        ...known.guild, premium_tier: 2}),
    ...crowd.map((id) => guildOf(id)),
]}).listen();
const markers = new Markers(gateway, crowd);


function clientOf(intents = ALL) {
    return new Client({intents, rest: {api: `http://127.0.0.1:${gateway.port
    }/api`, retries: 0}});
}


function audit(action, user, target, more) {
    gateway.send('GUILD_AUDIT_LOG_ENTRY_CREATE', {id: idOf(),
        guild_id: SERVER, action_type: action, user_id: user,
        target_id: target, ...more});
}


const [ANN, BOB, CHIA] = Object.keys(known.users);
const [GENERAL] = Object.keys(known.channels);
const client = clientOf();
const adapter = await attach(client, operator, {spool: `${DIR}/bot`,
    wait: 300});

adapter.on('trouble', (error) => console.log(`# ${error.message}`));
adapter.on('refused', (entry, error) => console.error(error, entry));
await client.login(TOKEN);
await until(() => client.isReady(), 'the bot is ready');
is(adapter.missing, [], 'with all intents all types come');

// what guildlog knows then

await until(async () => {
    await adapter.directory.flush();
    return !adapter.directory.servers.size;
}, 'the directory');

const {token} = await operator.tokenCreate({guild_id: SERVER,
    body: {permissions: 1, creator: ANN}});
const api = new Guildlog({url, token});

await operator.serverPut({guild_id: SERVER, body: {plan: 'pro'}});
is((await api.serverGet()).name, 'Climbers of Bern', 'the server is there');
is((await api.serverGet()).owner_id, ANN, '... with its owner');
is((await api.searchMembers({query: 'chia'}))[0]?.id, CHIA, '... its members');
is((await api.searchChannels({query: 'general'}))[0]?.id, GENERAL,
    '... and channels');
await api.settingsGet().catch(() => {});
await api.optionsPatch({body: {ignore_bot_executors: false,
    ignore_bot_targets: false}});


// entries of the API, oldest first, but those of the service
async function stored() {
    const list = [];

    for await (const entry of api.entries({limit: 200})) {
        if (entry.executor?.id !== '0' && entry.type !== TYPES.tokenCreate) {
            list.unshift(entry);
        }
    }
    return list;
}


// those that come while something is done
async function coming(n, act) {
    const before = new Set((await stored()).map(({id}) => id));
    let fresh;

    await act();
    await until(async () => {
        fresh = (await stored()).filter(({id}) => !before.has(id));
        return fresh.length >= n;
    }, `${n} entries`);
    return fresh;
}


// each event that is told to people

const wanted = new Map(fs.readFileSync(new URL('../../conf/viewer/log-types.tsv',
    import.meta.url), 'utf8').split('\n').slice(1, -1).map((row) =>
    [Number(row.split('\t')[0]), row.split('\t')[1]]));

for (const {what, t, d, was} of events) {
    const data = {...d};

    if (t === 'GUILD_AUDIT_LOG_ENTRY_CREATE') {
        data.id = idOf();
    }
    const fresh = await coming(1, () => {
        if (/^MESSAGE_/.test(t)) {
            [was ?? []].flat().forEach((message) => gateway.send(
                'MESSAGE_CREATE', {...message, guild_id: SERVER}));
        } else if (t === 'GUILD_MEMBER_UPDATE' || t === 'GUILD_MEMBER_REMOVE') {
            adapter.known.see({t: 'GUILD_MEMBER_UPDATE', d: {...was,
                guild_id: SERVER}});
        } else if (t === 'VOICE_STATE_UPDATE') {
            adapter.known.see({t, d: {...was, guild_id: SERVER}});
        } else if (t === 'GUILD_UPDATE') {
            adapter.known.see({t, d: was});
        }
        gateway.send(t, data);
    });

    ok(fresh.length === 1, `${what}: ${fresh.map(({type}) =>
        wanted.get(type)).join(', ')}`);
}

is(adapter.counters.refused, 0, 'none is refused');
is(adapter.counters.lost, 0, '... nor lost');

// what belongs together

const message = (id, author, content) => ({id, type: 0, channel_id: GENERAL,
    guild_id: SERVER, content, author: {id: author,
        username: known.users[author].name, discriminator: '0'},
    timestamp: new Date().toISOString(), edited_timestamp: null, tts: false,
    mention_everyone: false, mentions: [], mention_roles: [], attachments: [],
    embeds: [], pinned: false});

for (const first of ['gateway', 'audit log']) {
    const id = idOf();
    const acts = [
        () => gateway.send('MESSAGE_DELETE', {id, channel_id: GENERAL,
            guild_id: SERVER}),
        () => audit(72, ANN, BOB, {options: {channel_id: GENERAL, count: '1'}}),
    ];
    const [one, ...more] = await coming(1, async () => {
        gateway.send('MESSAGE_CREATE', message(id, BOB, `rude ${first}`));
        (first === 'gateway' ? acts : acts.reverse()).forEach((act) => act());
        await sleep(0);
    });

    is([one.type, one.executor.name, one.target.name, one.content, more.length],
        [TYPES.messageDelete, 'ann.keller', 'bob', `rude ${first}`, 0],
        `a deletion and who did it are one entry (${first} first)`);
}

const [own] = await coming(1, () => {
    const id = idOf();

    gateway.send('MESSAGE_CREATE', message(id, BOB, 'my own'));
    gateway.send('MESSAGE_DELETE', {id, channel_id: GENERAL,
        guild_id: SERVER});
});

is([own.executor, own.content], [null, 'my own'],
    'a deletion of which the audit log says nothing comes alone');

const kicked = await coming(1, () => {
    gateway.send('GUILD_MEMBER_REMOVE', {guild_id: SERVER, user: {id: CHIA,
        username: 'chia', discriminator: '0', avatar: null}});
    audit(20, ANN, CHIA, {reason: 'spam'});
});

is(kicked.map(({type, reason}) => [type, reason]), [[TYPES.kick, 'spam']],
    'who was kicked has not left');

const voices = Object.entries(known.channels).filter(([, {type}]) => type === 2)
    .map(([id]) => id);
const voice = (channel) => ({guild_id: SERVER, user_id: BOB, channel_id: channel,
    session_id: 'v', deaf: false, mute: false, self_deaf: false,
    self_mute: false, self_video: false, suppress: false,
    request_to_speak_timestamp: null});
const [moved] = await coming(1, async () => {
    adapter.known.see({t: 'VOICE_STATE_UPDATE', d: voice(voices[0])});
    gateway.send('VOICE_STATE_UPDATE', voice(voices[1]));
    audit(26, ANN, null, {options: {channel_id: voices[1], count: '1'}});
});

is([moved.type, moved.executor.name, moved.target.name, moved.channel.name,
    moved.name], [TYPES.voiceMoved, 'ann.keller', 'bob', 'Lounge', 'Lobby'],
'who moved whom, from where, to where');

const [cut] = await coming(1, () => {
    gateway.send('VOICE_STATE_UPDATE', voice(null));
    audit(27, ANN, null, {options: {count: '1'}});
});

is([cut.type, cut.executor.name, cut.target.name, cut.channel.name],
    [TYPES.voiceDisconnected, 'ann.keller', 'bob', 'Lounge'],
    'who disconnected whom');

// connections that end; events come meanwhile

const {taken: before} = adapter.counters;

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
await until(() => adapter.counters.taken === before + markers.sent
    && gateway.connected, 'all of them');
gateway.invalidate(false);
await until(() => gateway.count.identify === 2 && gateway.connected,
    'a new session');
markers.send(50);
await until(() => adapter.counters.taken === before + markers.sent,
    'what comes in it');
ok(gateway.count.heartbeat > 0, 'it has a heart');
is(client.guilds.cache.size, 21, 'its servers');

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

await until(async () => {
    const {taken, recorded, duplicates} = adapter.counters;

    return recorded + duplicates === taken;
}, 'all is recorded');
await adapter.close();
await client.destroy();
gateway.close();
console.log(`# markers: ${markers.sent}`);
operator.close();
done();
process.exit();
