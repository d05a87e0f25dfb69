// A bot for those who have none: it watches every server it is in, hands in what
// happens, and answers /logs.
//
//     node bot.js --token FILE --operator URL --api URL --state FOLDER
//         [--viewer URL] [--platform URL]
//     node bot.js --demo
//
// --operator is the operator location, as unix:/run/guildlog/operator.sock; --api
// the base URL of the API. FOLDER is of this process alone: what is not handed in
// yet, where the bot is in the platform's events, and its tokens of guildlog.
// --viewer is the log viewer that /logs dashboard leads to, --platform another
// address of the platform's API, as that of a proxy. With --demo, a stand-in of
// the platform plays some events to the server of util/run.
//
// Ends with 78 where only people can mend it (the token, the intents), with 1
// where it may start again.

import fs from 'node:fs';
import {parseArgs} from 'node:util';

import {REST, Routes} from 'discord.js';
import {Operator} from 'guildlog';
import {attach} from 'guildlog/discord';

import {Commands} from './commands.js';
import {Gateway} from './gateway.js';
import {Rights} from './rights.js';
import {State} from './state.js';
import {Tokens} from './tokens.js';

const CONFIGURATION = 78;          // the status, as sysexits.h has it

const {values: option} = parseArgs({options: {
    token: {type: 'string'},
    operator: {type: 'string'},
    api: {type: 'string'},
    state: {type: 'string'},
    viewer: {type: 'string'},
    platform: {type: 'string'},
    demo: {type: 'boolean'},
}});
const demo = option.demo && await (await import('./demo.js')).begin();
const {operator: url, api, state: folder, viewer, platform} = demo || option;

if (!demo && !option.token || !url || !api || !folder) {
    console.error('usage: bot.js --token FILE --operator URL --api URL'
        + ' --state FOLDER [--viewer URL] [--platform URL] | --demo');
    process.exit(2);
}
const token = demo ? demo.token : fs.readFileSync(option.token, 'utf8').trim();
const rest = new REST(platform && {api: platform}).setToken(token);
const [application, user] = await Promise.all([
    rest.get(Routes.currentApplication()), rest.get(Routes.user())])
    .catch((error) => {
        console.error(error.status === 401
            ? 'the platform does not know this token'
            : `the platform does not answer: ${error.message}`);
        process.exit(error.status === 401 ? CONFIGURATION : 1);
    });

const state = new State(folder);
const operator = new Operator({url});
const gateway = new Gateway({rest, token, sessions: state.sessions});
const adapter = await attach(gateway, operator, {spool: state.spool,
    ask: (shard, payload) => gateway.ask(shard, payload)});
const rights = new Rights(user.id);
const tokens = new Tokens({file: state.tokens, operator, api, user: user.id,
    introduce: (server) => operator.serverPut({guild_id: server,
        body: {name: rights.servers.get(server)?.name.slice(0, 100)}})});
const commands = new Commands({rest, tokens, viewer});
let ending = null;


// Hands in what waits and keeps where it is, so that the next process goes on
function end(status, said) {
    ending ??= (async () => {
        if (said) {
            console.error(said);
        }
        await gateway.end();
        await adapter.close();
        state.end();
        console.log(`packets: ${adapter.counters.taken}, entries: ${
            adapter.counters.recorded}`);
        process.exit(status);
    })();
    return ending;
}


state.keep({adapter, rights});
gateway.on('raw', (packet) => {
    rights.see(packet);
    if (packet.t === 'INTERACTION_CREATE') {
        commands.answer(packet.d);
    }
});
gateway.on('said', (sentence) => console.error(`the platform: ${sentence}`));
gateway.on('over', (sentence, mends) => end(mends ? CONFIGURATION : 1,
    `the platform: ${sentence}`));
rights.on('said', (sentence) => console.error(sentence));
process.once('SIGINT', () => end(0));
process.once('SIGTERM', () => end(0));

try {
    await rest.put(Routes.applicationCommands(application.id),
        {body: commands.list});
    await gateway.connect();
    console.log(`${user.username} watches, in ${gateway.shards} shard${
        gateway.shards === 1 ? '' : 's'}`);
    demo?.play();
} catch (error) {
    await end(1, `the platform refused the bot: ${error.message}`);
}
