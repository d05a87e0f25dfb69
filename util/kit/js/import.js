// guildlog import discord: hands in what a server's audit log has had, oldest
// first, by the same table as guildlog/discord. The command starts it:
//
//     node import.js SERVER --token FILE --operator URL --place FILE
//         [--before MS] [--deliver] [--bot pro] [--json] [--platform URL]
//         [--ca FILE] [--cert FILE] [--cert-key FILE]
//
// It goes on behind what --place says was handed in. Its status is that of the
// command.

import fs from 'node:fs';
import path from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {parseArgs} from 'node:util';

import {pauseAfter} from './connection.js';
import {GuildlogError, Unavailable} from './errors.js';
import {entriesOf, idAt, timeOf} from './events.js';
import {Known} from './known.js';
import {Operator} from './operator.js';
import {Platform, PlatformError} from './platform.js';

const DAY = 86_400_000;
const KEPT = 45 * DAY;             // ms for which the platform keeps its log
const TAKEN = 30 * DAY;            // ... and guildlog takes an entry
const ONCE = 23 * 3_600_000;       // the same event is taken once in 24 h
const PAGE = 100;
const TRIES = 5;
const AUDIT = 'GUILD_AUDIT_LOG_ENTRY_CREATE';

const [PART, USAGE, REFUSED, FAILED] = [1, 2, 3, 4];


class Import {

    constructor(server, option) {
        const file = (name) => option[name] && fs.readFileSync(option[name]);

        Object.assign(this, {server, option});
        this.operator = new Operator({url: option.operator, tls: {
            ca: file('ca'), cert: file('cert'), key: file('cert-key')}});
        this.platform = new Platform({url: option.platform,
            token: fs.readFileSync(option.token, 'utf8').trim()});
        this.known = new Known({messages: 0, members: 100_000});
        this.place = fs.existsSync(option.place)
            ? JSON.parse(fs.readFileSync(option.place, 'utf8')) : {};
        this.sum = {read: 0, recorded: 0, duplicates: 0, dropped: {},
            tooOld: 0, refused: {}, untold: 0, left: 0};
    }


    async run() {
        await this.#begin();
        for (let page = [null]; page.length; page = await this.#page()) {
            // until there is no more
        }
        return Object.keys(this.sum.refused).length ? PART : 0;
    }


    // What there is; up to when the bot itself has handed in what happened
    async #begin() {
        const {server, option} = this;
        const guild = await this.platform.get(`/guilds/${server}`);

        this.known.create({...guild, channels:
            await this.platform.get(`/guilds/${server}/channels`)});
        const {first_log_at: first} = await this.operator.serverPut({
            guild_id: server, body: {name: guild.name.slice(0, 100),
                owner_id: guild.owner_id}});
        const {lanes} = await this.operator.lanes({guild_id: server});

        if (lanes.length && !option.deliver) {
            throw Object.assign(new Error('this server has log channels, and'
                + ' all that is imported would be written there. Say --deliver'
                + ' if you want that; else import first, and set the channels'
                + ' then'), {status: USAGE});
        }
        this.place.after ??= idAt(Date.now() - KEPT);
        this.place.before ??= first ?? Number.MAX_SAFE_INTEGER;
        this.before = option.before ? Number(option.before) : this.place.before;
    }


    // The next page; its entries, none at the end
    async #page() {
        const {server, known, sum} = this;
        const page = await this.platform.get(`/guilds/${server}/audit-logs`
            + `?limit=${PAGE}&after=${this.place.after}`);
        const entries = [];

        this.#learn(page);
        for (const entry of page.audit_log_entries) {
            const event = {t: AUDIT, d: {...entry, guild_id: server}};
            const made = entriesOf(event, known.of(server, event));

            sum.read++;
            if (!this.#wants(timeOf(entry.id))) {
                sum.left++;
            } else if (made.length) {
                entries.push(...made);
            } else {
                sum.untold++;
            }
            known.see(event);
        }
        await this.#record(entries);
        this.#keep(page.audit_log_entries.at(-1)?.id);
        return page.audit_log_entries;
    }


    // What the bot has handed in is older than that, or would be a duplicate
    #wants(at) {
        return at < this.before
            || !this.option.before && at > Date.now() - ONCE;
    }


    #learn({users = [], threads = [], ...things}) {
        const {server, known} = this;

        known.see({t: 'GUILD_MEMBERS_CHUNK', d: {guild_id: server,
            members: users.map((user) => ({user}))}});
        threads.forEach((thread) => known.see({t: 'THREAD_CREATE',
            d: {...thread, guild_id: server}}));
        for (const list of ['webhooks', 'integrations',
            'guild_scheduled_events', 'auto_moderation_rules'])
        {
            things[list]?.forEach((thing) => known.see({t: 'THING_CREATE',
                d: {...thing, guild_id: server}}));
        }
    }


    async #record(entries) {
        for (let tries = 0; entries.length; tries++) {
            const answer = await this.operator.record({guild_id: this.server,
                body: entries, ...this.option.bot && {bot: this.option.bot}});

            this.sum.recorded += answer.recorded;
            this.sum.duplicates += answer.duplicates;
            for (const [rule, n] of Object.entries(answer.dropped)) {
                this.sum.dropped[rule] = (this.sum.dropped[rule] ?? 0) + n;
            }
            entries = this.#again(entries, answer.errors, tries < TRIES);
            if (entries.length) {
                await sleep(pauseAfter(tries));
            }
        }
    }


    // those that were not recorded now
    #again(entries, errors, may) {
        const again = [];

        for (const {index, error, retry} of errors) {
            if (retry && may) {
                again.push(entries[index]);
            } else if (entries[index].timestamp < Date.now() - TAKEN) {
                this.sum.tooOld++;
            } else {
                this.sum.refused[error] = (this.sum.refused[error] ?? 0) + 1;
            }
        }
        return again;
    }


    #keep(id) {
        if (id) {
            this.place.after = id;
            fs.mkdirSync(path.dirname(this.option.place), {recursive: true});
            fs.writeFileSync(`${this.option.place}.new`,
                JSON.stringify(this.place));
            fs.renameSync(`${this.option.place}.new`, this.option.place);
        }
    }
}


function show({read, recorded, duplicates, dropped, tooOld, refused, untold,
    left})
{
    const lines = [
        [read, 'entries of the audit log were read, which reaches back 45 days'],
        [recorded, 'are recorded'],
        [duplicates, 'were there already'],
        ...Object.entries(dropped).map(([rule, n]) =>
            [n, `were dropped by the rule ${rule}`]),
        [tooOld, 'are older than 30 days, which is all that guildlog takes'],
        [left, 'were left to the bot, which has been there since'],
        [untold, 'have no log type'],
        ...Object.entries(refused).map(([why, n]) =>
            [n, `were refused: ${why}`]),
    ];

    lines.filter(([n], i) => n || i < 2).forEach(([n, what]) =>
        console.log(`${n} ${what}`));
}


const {values: option, positionals: [server]} = parseArgs({
    allowPositionals: true, options: {
        ...Object.fromEntries(['token', 'operator', 'place', 'before', 'bot',
            'platform', 'ca', 'cert', 'cert-key'].map((name) =>
            [name, {type: 'string'}])),
        deliver: {type: 'boolean'}, json: {type: 'boolean'}}});
let status = 0;
let run = null;

try {
    run = new Import(server, option);
    status = await run.run();
} catch (error) {
    status = error.status === USAGE ? USAGE
        : error instanceof PlatformError ? error.refused ? REFUSED : FAILED
            : error instanceof Unavailable ? FAILED
                : error instanceof GuildlogError ? REFUSED : USAGE;
    console.error(`guildlog: ${error.message}`);
}
if (run?.sum.read) {
    if (option.json) {
        console.log(JSON.stringify(run.sum));
    } else {
        show(run.sum);
    }
}
process.exit(status);
