// The platform of bot.js --demo: the gateway of the tests, and events of theirs,
// for the server of a running util/run.

import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const TOP = fileURLToPath(new URL('../../..', import.meta.url));
const EPOCH = 1420070400000n;      // of the ids of the platform, ms
const PAUSE = 500;                 // ms between two events


export async function begin() {
    const env = Object.fromEntries(execFileSync(path.join(TOP, 'util/run'),
        ['--env'], {encoding: 'utf8'}).trim().split('\n').map((line) =>
        /^(\w+)=(.*)$/.exec(line).slice(1)));

    process.env.PACKAGES = path.join(TOP, 'util/kit/bot/node_modules');
    const {Gateway, guildOf} = await import(path.join(TOP, 't/kit/gateway.js'));
    const {known, events} = JSON.parse(fs.readFileSync(path.join(TOP,
        't/viewer/events.json')));
    const id = env.GUILDLOG_SERVER;
    const token = 'a.demo.token';
    const gateway = await new Gateway({token, interval: 30_000, guilds: [
        guildOf(id, {...known, name: 'Climbers of Bern',
            ...known.guild})]}).listen();

    return {
        token,
        operator: env.GUILDLOG_OPERATOR,
        api: env.GUILDLOG_URL,
        viewer: env.GUILDLOG_VIEWER,
        state: fs.mkdtempSync(path.join(os.tmpdir(), 'guildlog-bot.')),
        platform: `http://127.0.0.1:${gateway.port}/api`,
        play: () => {
            console.log(`see ${env.GUILDLOG_VIEWER}`);
            play(gateway, id, events);
        },
    };
}


// one after another, and from the beginning again
function play(gateway, server, events, n = 0) {
    const {t, d, was} = events[n % events.length];

    if (/^MESSAGE_/.test(t)) {
        [was ?? []].flat().forEach((message) => gateway.send('MESSAGE_CREATE',
            {...message, guild_id: server}));
    } else if (was && t !== 'GUILD_UPDATE' && t !== 'GUILD_MEMBER_REMOVE') {
        gateway.send(t, {...was, guild_id: server});
    }
    gateway.send(t, {...d, ...t === 'GUILD_UPDATE' ? {id: server}
        : {guild_id: server}, ...t === 'GUILD_AUDIT_LOG_ENTRY_CREATE' && {
        id: String(BigInt(Date.now()) - EPOCH << 22n)}});
    setTimeout(play, PAUSE, gateway, server, events, n + 1);
}
