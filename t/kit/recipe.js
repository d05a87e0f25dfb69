// The lines of util/kit/README.md for discord.js, as they stand there; recipe.t
// starts it. Only where things are is put in.

import {spawn} from 'node:child_process';
import fs from 'node:fs';

import {Guildlog, Operator} from '../../util/kit/js/index.js';
import {TYPES} from '../../util/kit/js/log-types.js';
import {Gateway, guildOf} from './gateway.js';
import {kitIn, order, until} from './lib.js';
import {idOf} from './rest.js';
import {done, is, ok} from './tap.js';

const {URL: url, OPERATOR, DIR} = process.env;
const SERVER = '613425648685547541';
const [ANN, BOB] = ['200000000000000001', '200000000000000002'];
const gateway = await new Gateway({token: 'MjAw.a.bot', guilds: [
    guildOf(SERVER, {name: 'Bern', users: {[ANN]: {name: 'ann'},
        [BOB]: {name: 'bob'}}})]}).listen();
const [, recipe] = /^# A bot with discord\.js\n\n```js\n(.*?)^```$/ms.exec(
    fs.readFileSync(new URL('../../util/kit/README.md', import.meta.url),
        'utf8'));
const file = kitIn(`${DIR}/kit`).replace(/bot\.js$/, 'recipe.js');


// exactly one place of the recipe
function put(text, place, by) {
    const parts = text.split(place);

    is(parts.length, 2, `the recipe has ${place}`);
    return parts.join(by);
}


fs.writeFileSync(file, [
    ['unix:/run/guildlog/operator.sock', `unix:${OPERATOR}`],
    ['/var/spool/bot', `${DIR}/spool`],
    ['login(token)', 'login(\'MjAw.a.bot\')'],
    ['new Client({', `new Client({rest: {api: 'http://127.0.0.1:${
        gateway.port}/api'}, `],
].reduce((text, [place, by]) => put(text, place, by), recipe));
const bot = spawn('node', [file], {stdio: ['ignore', 'inherit', 'pipe']});
let told = '';

bot.stderr.on('data', (piece) => {
    told += piece;
});

await until(() => gateway.connected, 'the bot is there');
gateway.send('GUILD_AUDIT_LOG_ENTRY_CREATE', {id: idOf(), guild_id: SERVER,
    action_type: 22, user_id: ANN, target_id: BOB, reason: 'spam'});
const operator = new Operator({url: `unix:${OPERATOR}`});

await operator.serverPut({guild_id: SERVER, body: {}});
const {token} = await operator.tokenCreate({guild_id: SERVER,
    body: {permissions: 1, creator: ANN}});
const api = new Guildlog({url, token});
let entries = [];

await until(async () => ({entries} = await api.logsPage({type: TYPES.ban}))
    && entries.length, 'a log');
is([entries[0].executor.name, entries[0].target.name, entries[0].reason],
    ['ann', 'bob', 'spam'], 'the recipe makes logs');
is(told, '', '... and says nothing while all is well');
await order('stop');
gateway.send('GUILD_BAN_REMOVE', {guild_id: SERVER, user: {id: BOB,
    username: 'bob', discriminator: '0'}});
await until(() => /^guildlog: POST \/events: /m.test(told), () => told);
ok(true, '... but tells when guildlog is away');
bot.kill();
ok(recipe.split('\n').length < 20, '... and is short');
api.close();
operator.close();
gateway.close();
done();
process.exit();
