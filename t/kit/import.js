// guildlog import discord, against a stand-in of the platform; import.t starts it.

import {execFile, spawn} from 'node:child_process';
import fs from 'node:fs';

import {attach} from '../../util/kit/js/discord.js';
import {Guildlog, Operator} from '../../util/kit/js/index.js';
import {TYPES} from '../../util/kit/js/log-types.js';
import {Gateway, guildOf} from './gateway.js';
import {order, until} from './lib.js';
import {idOf} from './rest.js';
import {done, is, ok} from './tap.js';

const {URL: url, OPERATOR, DIR, COMMAND} = process.env;
const {known, events} = JSON.parse(fs.readFileSync(
    new URL('../viewer/events.json', import.meta.url)));
const SERVER = '613425648685547541';
const OTHER = '613425648685547542';
const DAY = 86_400_000;
const operator = new Operator({url: `unix:${OPERATOR}`});
const gateway = await new Gateway({token: 'MjAw.a.bot', guilds: [SERVER, OTHER]
    .map((id) => guildOf(id, {...known, name: 'Climbers of Bern',
        ...known.guild}))}).listen();
const {rest} = gateway;
const [ANN, BOB] = Object.keys(known.users);
const audits = events.filter(({t}) => t === 'GUILD_AUDIT_LOG_ENTRY_CREATE')
    .map(({d}) => d);

fs.writeFileSync(`${DIR}/token`, 'MjAw.a.bot\n');
fs.writeFileSync(`${DIR}/wrong`, 'MjAw.another.bot\n');


function words({server = SERVER, token = 'token', place = 'place', more = []}) {
    return ['import', 'discord', server, '--bot-token', `${DIR}/${token}`,
        '--place', `${DIR}/${place}`, '--platform',
        `http://127.0.0.1:${gateway.port}/api/v10`, ...more];
}


// {status, out, err} of the command
function imports(options = {}) {
    return new Promise((resolve) => execFile(COMMAND, words(options),
        (error, out, err) => resolve({status: error ? error.code : 0, out,
            err})));
}


// so many ms ago, evenly; each says its number
for (let n = 0; n < 440; n++) {
    rest.audit.push({action_type: 22, user_id: ANN, target_id: BOB,
        reason: `r${n}`, id: idOf(Date.now() - Math.round((440 - n) * DAY / 10)
            + 60_000)});
}
// those of the last days are of every kind
audits.forEach((entry, n) => {
    rest.audit[rest.audit.length - 1 - n] = {...entry,
        id: rest.audit[rest.audit.length - 1 - n].id};
});
const recent = rest.audit.filter((_, n) => n >= 140).length;

// interrupted after a page, and within the limits of the platform

rest.left = 2;
rest.burst = 2;
const first = spawn(COMMAND, words({}), {stdio: 'ignore'});

await until(() => fs.existsSync(`${DIR}/place`), 'a page');
first.kill('SIGKILL');
const {status, out, err} = await imports();

is([status, err], [0, ''], 'what was interrupted goes on');
ok(rest.refused > 0, 'the platform had to refuse calls');
ok(rest.calls <= 5 + rest.refused + 2, '... and was not asked twice');
const numbers = Object.fromEntries(out.split('\n').slice(0, -1).map((line) => {
    const [, n, what] = /^(\d+) (?:entries|are|were|have) (\w+ ?\w*)/.exec(line);

    return [what, Number(n)];
}));

ok(numbers['older than'] > 0 && /than 30 days/.test(out),
    'those that are too old are told, in numbers');
await operator.serverPut({guild_id: SERVER, body: {plan: 'pro'}});
const {token} = await operator.tokenCreate({guild_id: SERVER,
    body: {permissions: 1, creator: ANN}});
const api = new Guildlog({url, token});
const stored = [];

for await (const entry of api.entries({limit: 200})) {
    if (entry.type !== TYPES.tokenCreate) {
        stored.unshift(entry);
    }
}
const told = stored.filter(({type}) => type === TYPES.ban).map(({reason}) =>
    Number(/^r(\d+)/.exec(reason)?.[1])).filter((n) => n >= 0);

is([told[0], told.length], [140, told.at(-1) - 139],
    'the entries of 30 days are there, each once');
is(told, [...told].sort((a, b) => a - b), '... in their order');
ok(stored.length >= recent - 10, '... and those of all kinds');
is([stored[0].executor.name, stored[0].target.name],
    [known.users[ANN].name, known.users[BOB].name], '... with their names');

// again, and beside a bot

rest.left = Infinity;
const calls = rest.calls;
const again = await imports();

is([again.status, rest.calls - calls], [0, 1], 'nothing is read twice');
const adapter = await attach({on: () => {}, off: () => {}, options: {intents:
    {bitfield: 0}}}, operator, {spool: `${DIR}/spool`});
const [GENERAL] = Object.keys(known.channels);
const message = {id: idOf(), channel_id: GENERAL, guild_id: SERVER,
    content: 'rude', author: {id: BOB, username: 'bob'}};
const live = {action_type: 72, user_id: ANN, target_id: BOB, id: idOf(),
    options: {channel_id: GENERAL, count: '1'}};

for (const [s, [t, d]] of [['MESSAGE_CREATE', message],
    ['MESSAGE_DELETE', message],
    ['GUILD_AUDIT_LOG_ENTRY_CREATE', {...live, guild_id: SERVER}]].entries())
{
    adapter.listener({t, d, s: s + 1}, 0);
}
await until(() => adapter.counters.recorded, 'what the bot hands in');
await adapter.close();
rest.audit.push(live);
ok(/^1 entries[^]*^1 were there already$/m.test((await imports()).out),
    'what the bot has handed in is there once');
ok(/were left to the bot/.test((await imports({place: 'another'})).out),
    '... and what it handed in long ago is not read');

// what cannot be

rest.blind = true;
const blind = await imports({place: 'blind'});

is([blind.status, /View\s+Audit Log/.test(blind.err)], [3, true],
    'a bot that may not view the log');
rest.blind = false;
const wrong = await imports({token: 'wrong', place: 'wrong-token'});

is([wrong.status, /does not know this token/.test(wrong.err)], [3, true],
    'a wrong token');
is((await imports({server: '613425648685547999', place: 'no'})).status, 3,
    'a server in which the bot is not');
await operator.serverPut({guild_id: OTHER, body: {}});
await new Guildlog({url, token: (await operator.tokenCreate({guild_id: OTHER,
    body: {permissions: 1, creator: ANN}})).token}).channelsPatch({body:
    {main_channel: '300000000000000001'}});
const channel = await imports({server: OTHER, place: 'other'});

is([channel.status, /--deliver/.test(channel.err)], [2, true],
    'a server with log channels is not flooded');
is((await imports({server: OTHER, place: 'other', more: ['--deliver']})).status,
    0, '... but if somebody wants that');
await order('stop');
is((await imports({server: OTHER, place: 'away'})).status, 4,
    'guildlog is away');
await order('start');

api.close();
operator.close();
gateway.close();
done();
process.exit();
