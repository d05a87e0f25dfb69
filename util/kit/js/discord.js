// guildlog/discord: what a bot with discord.js 14 hands in. attach() listens to
// the raw events of the gateway, which come before discord.js changes what it
// knows, and forwards them as they are. It changes nothing of the client.

import {EventEmitter} from 'node:events';

import {ONLY} from './log-types.js';

const INTENTS = {1: 'GuildMembers', 2: 'GuildModeration',
    7: 'GuildVoiceStates', 9: 'GuildMessages', 10: 'GuildMessageReactions',
    21: 'AutoModerationExecution'};
const CONTENT = 1 << 15;
const GUILDS = 1;

// they say nothing of which a log is made, and there are many of them
const UNTOLD = ['INTERACTION_CREATE', 'PRESENCE_UPDATE', 'TYPING_START'];

const REQUEST_MEMBERS = 8;         // an operation of the gateway
const ASKED = 100;                 // people of a question
const PAUSE = 1_000;               // ms between two questions
const AGAIN = 3_600_000;           // ms until somebody is asked for again
const REMEMBERED = 10_000;         // people who were asked for
const READY = 0;                   // a shard, as discord.js has it


// Options: spool (a folder), bot: 'pro', those of a recorder, and ask (shard,
// payload): sends it to the gateway, where the client does not as discord.js;
// false: it cannot now
export async function attach(client, operator, {bot, ask, ...options}) {
    const adapter = new Adapter(client, bot, ask ?? ((shard, payload) =>
        send(client.ws.shards.get(shard), payload)));

    adapter.begin(await operator.recorder(options));
    return adapter;
}


// Race: what waits in a shard without a connection fails when the client ends,
// and nobody could catch it
function send(shard, payload) {
    const ready = shard?.status === READY;

    if (ready) {
        shard.send(payload);
    }
    return ready;
}


// Emits "trouble" (error) and "refused" (packet, error), as a recorder does. Where
// nobody listens, the console is told
class Adapter extends EventEmitter {

    constructor(client, bot, ask) {
        super();
        Object.assign(this, {client, bot, ask});
        this.shards = new Map();       // shard: {last, open}
        this.writing = new Set();      // calls of forward()
        this.lost = 0;
        this.losing = null;            // why
        this.strangers = new Set();    // servers of which it is told
        this.homes = new Map();        // server: its shard
        this.wanted = new Map();       // server: ids
        this.asked = new Map();        // server and person: when
        this.listener = (packet, shard) => this.#take(packet, shard);
    }


    begin(recorder) {
        this.recorder = recorder;
        recorder.on('trouble', (error) => this.#tell('trouble', error));
        recorder.on('refused', (packet, error) =>
            this.#refused(packet, error));
        recorder.on('wanted', (server, ids) => this.#want(server, ids));
        this.client.on('raw', this.listener);
        this.timer = setInterval(() => this.#ask(), PAUSE);
        this.timer.unref();
    }


    // What will not come, as sentences: intents that the client has not
    get missing() {
        const bits = Number(this.client.options.intents.bitfield);
        const said = Object.entries(INTENTS).filter(([bit]) =>
            !(bits & 1 << bit)).map(([bit, name]) => `without the intent ${name}`
            + ` these types do not come: ${ONLY[bit].join(', ')}`);

        if (!(bits & GUILDS)) {
            said.unshift('without the intent Guilds nothing has a name');
        }
        if (!(bits & CONTENT)) {
            said.push('without the intent MessageContent messages have no text');
        }
        return said;
    }


    // lost: packets for which the spool had no room
    get counters() {
        return {...this.recorder.counters, lost: this.lost};
    }


    // The number of each shard's last packet up to which all is on disk: with the
    // sessions of the client, another process goes on behind it
    get state() {
        return Object.fromEntries([...this.shards].map(([shard, {last, open}]) => {
            const [first = last + 1] = open;   // they are in order

            return [shard, first - 1];
        }));
    }


    // Before the client's login
    set state(state) {
        this.shards = new Map(Object.entries(state).map(([shard, last]) =>
            [Number(shard), {last, open: new Set()}]));
    }


    // What is not handed in stays in the spool
    async close() {
        this.client.off('raw', this.listener);
        clearInterval(this.timer);
        this.closed = true;
        await this.recorder.close();
        await Promise.all(this.writing);
    }


    #take({t, d, s}, shard) {
        // after a lost connection discord.js may bring what it has brought
        if (t === 'READY' || !this.shards.has(shard)) {
            this.shards.set(shard, {last: 0, open: new Set()});
        }
        const of = this.shards.get(shard);
        const server = t === 'GUILD_CREATE' ? d?.id : d?.guild_id;
        const numbered = Number.isInteger(s);

        if (!t || !d || numbered && s <= of.last) {
            return;
        }
        if (numbered) {
            of.last = s;
        }
        if (server) {
            this.homes.set(server, shard);
        }
        if (!UNTOLD.includes(t)) {
            this.#forward(t, d, s, of);
        }
        if (t === 'GUILD_CREATE') {
            this.strangers.delete(d.id);
        }
    }


    #forward(t, {presences, ...d}, s, {open}) {
        const written = this.recorder.forward({t, d}, {bot: this.bot})
            .then(() => {
                open.delete(s);
                this.losing = null;
            }, (error) => {
                // what the process leaves comes once more to the next
                if (!this.closed) {
                    open.delete(s);
                    this.#lose(error);
                }
            }).finally(() => this.writing.delete(written));

        if (Number.isInteger(s)) {
            open.add(s);
        }
        this.writing.add(written);
    }


    // Why packets are lost is told once, and not for each of them
    #lose(error) {
        this.lost++;
        if (error.message !== this.losing) {
            this.losing = error.message;
            this.#tell('trouble', error);
        }
    }


    // A server of which guildlog takes nothing, as it was forgotten, is told of
    // once
    #refused(packet, error) {
        const {server} = packet;

        if (!error.startsWith('server: ')) {
            this.#tell('refused', packet, error);
        } else if (!this.strangers.has(server)) {
            this.strangers.add(server);
            this.#tell('trouble', new Error('nothing that happens in the server'
                + ` ${server} is logged (${error})`));
        }
    }


    #tell(event, ...args) {
        if (!this.emit(event, ...args)) {
            const [of, error = of.message] = args;

            console.warn(event === 'trouble' ? `guildlog: ${error}`
                : `guildlog refused ${of.t ?? of.event_id} of ${
                    of.server}: ${error}`);
        }
    }


    #want(server, ids) {
        const before = Date.now() - AGAIN;
        const fresh = ids.filter((id) =>
            !(this.asked.get(`${server} ${id}`) > before));

        if (this.asked.size > REMEMBERED) {
            this.asked.clear();
            this.wanted.clear();
        }
        fresh.forEach((id) => this.asked.set(`${server} ${id}`, Date.now()));
        if (fresh.length) {
            this.wanted.set(server, [...new Set([
                ...this.wanted.get(server) ?? [], ...fresh])]);
        }
    }


    // One question; who cannot be asked for now waits
    #ask() {
        for (const [server, ids] of this.wanted) {
            if (this.homes.has(server)
                && this.#asks(server, ids.slice(0, ASKED)))
            {
                this.wanted.delete(server);
                if (ids.length > ASKED) {
                    this.wanted.set(server, ids.slice(ASKED));
                }
                return;
            }
        }
    }


    // The answer comes as GUILD_MEMBERS_CHUNK; false: there was no question
    #asks(server, ids) {
        try {
            return this.ask(this.homes.get(server), {op: REQUEST_MEMBERS,
                d: {guild_id: server, user_ids: ids}}) !== false;
        } catch (error) {
            this.#tell('trouble', error);
            return true;
        }
    }
}
