// A bot for those who have none: it watches every server it is in, and hands in
// what happens.
//
//     node bot.js --token FILE --operator URL --spool FOLDER
//     node bot.js --demo
//
// URL is that of the operator location, as unix:/run/guildlog/operator.sock. With
// --demo, a stand-in of the platform plays some events to the server of util/run.

import fs from 'node:fs';
import {parseArgs} from 'node:util';

import {Client, GatewayIntentBits, Options} from 'discord.js';
import {Operator} from 'guildlog';
import {attach} from 'guildlog/discord';

const {values: option} = parseArgs({options: {
    token: {type: 'string'},
    operator: {type: 'string'},
    spool: {type: 'string'},
    demo: {type: 'boolean'},
}});
const demo = option.demo && await (await import('./demo.js')).begin();
const {token, operator: url, spool, rest} = demo || {
    token: option.token && fs.readFileSync(option.token, 'utf8').trim(),
    operator: option.operator, spool: option.spool};

if (!token || !url || !spool) {
    console.error('usage: bot.js --token FILE --operator URL --spool FOLDER'
        + ' | --demo');
    process.exit(2);
}

// what discord.js would remember is remembered by the package, in bounds
const client = new Client({rest, makeCache: Options.cacheWithLimits({
    ...Options.DefaultMakeCacheSettings, MessageManager: 0, PresenceManager: 0,
    ReactionManager: 0}), intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMembers,
    GatewayIntentBits.GuildModeration,
    GatewayIntentBits.GuildVoiceStates,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.GuildMessageReactions,
    GatewayIntentBits.MessageContent,
    GatewayIntentBits.AutoModerationExecution,
]});
const operator = new Operator({url});
const adapter = await attach(client, operator, {spool});

adapter.on('trouble', (error) => console.error(`guildlog: ${error.message}`));
adapter.on('refused', (entry, error) => console.error(`guildlog refused ${
    entry.event_id} of ${entry.server}: ${error}`));
client.on('error', (error) => console.error(`the platform: ${error.message}`));
client.once('clientReady', () => console.log(`${client.user.username} watches ${
    client.guilds.cache.size} servers`));

for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
        await client.destroy();
        await adapter.close();
        console.log(`handed in: ${adapter.counters.recorded}`);
        process.exit();
    });
}

try {
    await client.login(token);
} catch (error) {
    console.error(`the platform refused the bot: ${error.message}`);
    await adapter.close();
    process.exit(1);
}
demo?.play();
