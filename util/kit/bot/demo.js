// The platform of bot.js --demo: the gateway of the tests, and events of theirs,
// for the server of a running util/run.

import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const TOP = fileURLToPath(new URL('../../..', import.meta.url));
const PAUSE = 500;                 // ms between two events


export async function begin() {
    const env = Object.fromEntries(run('--env').trim().split('\n').map((line) =>
        /^(\w+)=(.*)$/.exec(line).slice(1)));

    process.env.PACKAGES = path.join(TOP, 'util/kit/bot/node_modules');
    const {Gateway, guildOf} = await import(path.join(TOP, 't/kit/gateway.js'));
    const {packetsOf} = await import(path.join(TOP, 't/kit/rest.js'));
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
            play(gateway, (n) => packetsOf(events[n % events.length], id));
        },
    };
}


function run(...options) {
    try {
        return execFileSync(path.join(TOP, 'util/run'), options,
            {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']});
    } catch {
        console.error('the demo is played to the server of util/run:'
            + ' start that first');
        process.exit(2);
    }
}


// one after another, and from the beginning again
function play(gateway, packets, n = 0) {
    packets(n).forEach((packet) => gateway.send(...packet));
    setTimeout(play, PAUSE, gateway, packets, n + 1);
}
