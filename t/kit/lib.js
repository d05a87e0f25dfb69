// What the programs of this folder share: waiting, orders to the test that
// started them, markers, and the bot of util/kit/bot as a process.

import {spawn} from 'node:child_process';
import fs from 'node:fs';
import readline from 'node:readline';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';

import {ok} from './tap.js';

const KIT = fileURLToPath(new URL('../../util/kit/', import.meta.url));
const PATIENCE = 240_000;          // ms; other tests run beside this one
const FIRST = 900_000_000_000_000_000n;    // message of markers

let orders;


// the test does so, and says when it is done
export async function order(what) {
    orders ??= readline.createInterface({input: process.stdin})[
        Symbol.asyncIterator]();
    console.log(`# order: ${what}`);
    await orders.next();
}


export async function until(condition, what) {
    const deadline = Date.now() + PATIENCE;

    while (!await condition()) {
        if (Date.now() > deadline) {
            ok(false, `waited in vain: ${what?.call?.() ?? what}`);
            process.exit(1);
        }
        await sleep(10);
    }
}


// Packets with a number each, of these servers by turns; discord.t and others
// look for the numbers in what guildlog has stored
export class Markers {

    constructor(gateway, servers) {
        Object.assign(this, {gateway, servers, sent: 0});
    }


    send(n = 1) {
        for (let i = 0; i < n; i++) {
            this.gateway.send('AUTO_MODERATION_ACTION_EXECUTION', {
                guild_id: this.servers[this.sent % this.servers.length],
                action: {type: 2, metadata: {channel_id: '3'}}, rule_id: '1',
                rule_trigger_type: 1, user_id: '2', channel_id: '3',
                message_id: String(FIRST + BigInt(this.sent)),
                content: `m${this.sent++}`, matched_keyword: 'x',
                matched_content: 'x'});
        }
    }
}


// A copy of the kit in a folder, with the packages of the tests
export function kitIn(folder) {
    const packages = `${folder}/bot/node_modules`;

    fs.cpSync(`${KIT}js`, `${folder}/js`, {recursive: true});
    fs.mkdirSync(packages, {recursive: true});
    for (const name of fs.readdirSync(`${KIT}bot`)) {
        if (/\.js$|^package\.json$/.test(name)) {
            fs.copyFileSync(`${KIT}bot/${name}`, `${folder}/bot/${name}`);
        }
    }
    fs.symlinkSync(`${folder}/js`, `${packages}/guildlog`);
    for (const name of ['@discordjs', 'discord.js']) {
        fs.symlinkSync(`${process.env.PACKAGES}/${name}`,
            `${packages}/${name}`);
    }
    return `${folder}/bot/bot.js`;
}


export class Bot {

    // program: of kitIn(); options: of the command line
    constructor(program, options) {
        this.process = spawn('node', [program, ...Object.entries(options)
            .flatMap(([name, value]) => [`--${name}`, value])],
        {stdio: ['ignore', 'pipe', 'pipe']});
        this.text = '';
        for (const stream of [this.process.stdout, this.process.stderr]) {
            stream.setEncoding('utf8');
            stream.on('data', (piece) => {
                this.text += piece;
            });
        }
        this.ended = new Promise((resolve) =>
            this.process.on('close', (status, signal) =>
                resolve(status ?? signal)));
    }


    // it says so, after what it has said before
    async says(pattern) {
        let found;

        await until(() => (found = pattern.exec(this.text)),
            () => `${pattern} in: ${this.text}`);
        this.text = this.text.slice(found.index + found[0].length);
        return found;
    }


    stop(signal = 'SIGTERM') {
        this.process.kill(signal);
        return this.ended;
    }


    // MiB of memory
    get memory() {
        const [, kib] = /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(
            `/proc/${this.process.pid}/status`, 'utf8')) ?? [];

        return kib / 1024;
    }
}
