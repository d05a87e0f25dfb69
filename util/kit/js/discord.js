// guildlog/discord: what a bot with discord.js 14 hands in. attach() listens to
// the raw events of the gateway, which come before discord.js changes what it
// knows. It changes nothing of the client.

import {EventEmitter} from 'node:events';

import {Directory} from './directory.js';
import {entriesOf} from './events.js';
import {EVENTS} from './events-table.js';
import {Join} from './join.js';
import {Known} from './known.js';
import {Sequence} from './sequence.js';
import {TYPES} from './log-types.js';

// the intents of the gateway, by their bits, and what each brings
const INTENTS = [
    ['GuildMembers', 1, /^GUILD_MEMBER_/],
    ['GuildModeration', 2, /^GUILD_AUDIT_LOG_ENTRY_CREATE$/],
    ['GuildVoiceStates', 7, /^VOICE_STATE_UPDATE$/],
    ['GuildMessages', 9, /^MESSAGE_(UPDATE|DELETE|DELETE_BULK)$/],
    ['GuildMessageReactions', 10, /^MESSAGE_REACTION_/],
    ['AutoModerationExecution', 21, /^AUTO_MODERATION_ACTION_EXECUTION$/],
];
const CONTENT = 1 << 15;
const GUILDS = 1;


// Options: spool (a folder), wait (ms for what belongs together), messages and
// members (how many are remembered), bot: 'pro', and those of a recorder
export async function attach(client, operator, options) {
    const adapter = new Adapter(client, operator, options);

    adapter.recorder = await operator.recorder({...options,
        unknown: (server) => adapter.introduce(server)});
    adapter.recorder.on('refused', (...args) =>
        adapter.emit('refused', ...args));
    adapter.recorder.on('trouble', (error) => adapter.emit('trouble', error));
    client.on('raw', adapter.listener);
    return adapter;
}


// Emits "trouble" (error), "refused" (entry, error), as a recorder does
class Adapter extends EventEmitter {

    constructor(client, operator, {wait = 1_500, messages = 10_000,
        members = 100_000, bot})
    {
        super();
        this.client = client;
        this.operator = operator;
        this.bot = bot;
        this.known = new Known({messages, members});
        this.directory = new Directory(operator, (error) =>
            this.emit('trouble', error));
        this.join = new Join((...args) => this.#record(...args), wait);
        this.sequence = new Sequence();
        this.writing = new Set();      // calls of record()
        this.lost = 0;
        this.listener = (packet, shard) => {
            try {
                this.#take(packet, shard);
            } catch (error) {
                this.emit('trouble', error);
            }
        };
    }


    // What will not come, as sentences: intents that the client has not
    get missing() {
        const bits = Number(this.client.options.intents.bitfield);
        const said = INTENTS.filter(([, bit]) => !(bits & 1 << bit))
            .map(([name, , events]) => `without the intent ${name} these types`
                + ` do not come: ${typesOf(events).join(', ')}`);

        if (!(bits & GUILDS)) {
            said.unshift('without the intent Guilds nothing has a name');
        }
        if (!(bits & CONTENT)) {
            said.push('without the intent MessageContent messages have no text');
        }
        return said;
    }


    // lost: entries for which the spool had no room
    get counters() {
        return {...this.recorder.counters, lost: this.lost};
    }


    // What has to be kept so that another process goes on where this one is,
    // with the sessions of the client: {shards, known}, of which JSON can be
    // made. An event that is not on disk yet comes once more then
    get state() {
        return {shards: this.sequence.state, known: this.known.state};
    }


    // Before the client's login; where the client does not resume the session
    // of a shard, what was kept of it means nothing
    set state({shards, known}) {
        this.sequence.state = shards;
        this.known.state = known;
    }


    // A server that guildlog does not know yet
    introduce(server) {
        const guild = this.known.servers.get(server)?.guild;

        return this.operator.serverPut({guild_id: server,
            body: named(guild ?? {})});
    }


    // Hands in what waits, and stops
    async close() {
        this.client.off('raw', this.listener);
        this.join.end();
        await this.directory.flush();
        this.directory.close();
        this.closed = true;
        await this.recorder.close();
        await Promise.all(this.writing);
    }


    #take({t, d, s}, shard) {
        // after a lost connection discord.js may bring what it has brought
        const packet = t && d && this.sequence.take(shard, s, t === 'READY');

        if (!packet) {
            return;
        }
        const server = d.guild_id;
        const audit = t === 'GUILD_AUDIT_LOG_ENTRY_CREATE';
        const event = {t, d};

        this.known.count(event);
        if (t === 'GUILD_UPDATE' || server && (audit || EVENTS[`gateway ${t}`]))
        {
            const knows = this.known.of(server ?? d.id, event);
            const at = Date.now();
            const full = t === 'MESSAGE_UPDATE' ? {...knows.before, ...d} : d;

            for (const entry of entriesOf({t, d: full, ...!audit
                && {id: packet.id, at}}, knows))
            {
                packet.open++;
                this.join.give(server ?? d.id, entry, audit, packet);
            }
        }
        this.known.see(event);
        this.#list(t, d);
        this.sequence.done(packet);
    }


    // What the directory has to know
    #list(t, d) {
        const {directory} = this;
        const server = d.guild_id ?? d.id;
        const gone = /_DELETE$/.test(t);

        if (t === 'GUILD_CREATE' && !d.unavailable) {
            directory.server(server, named(d));
            directory.put(server, 'roles', (d.roles ?? []).map(roleOf));
            directory.put(server, 'channels', [...d.channels ?? [],
                ...d.threads ?? []].map(channelOf));
            directory.put(server, 'members', (d.members ?? []).map(memberOf));
        } else if (t === 'GUILD_UPDATE') {
            directory.server(server, named(d));
        } else if (/^GUILD_MEMBER_(ADD|UPDATE)$/.test(t)) {
            directory.put(server, 'members', [memberOf(d)]);
        } else if (t === 'GUILD_MEMBERS_CHUNK') {
            directory.put(server, 'members', d.members.map(memberOf));
        } else if (/^GUILD_ROLE_(CREATE|UPDATE)$/.test(t)) {
            directory.put(server, 'roles', [roleOf(d.role)]);
        } else if (t === 'GUILD_ROLE_DELETE') {
            directory.remove(server, 'roles', d.role_id);
        } else if (/^(CHANNEL|THREAD)_(CREATE|UPDATE|DELETE)$/.test(t)) {
            if (gone) {
                directory.remove(server, 'channels', d.id);
            } else {
                directory.put(server, 'channels', [channelOf(d)]);
            }
        }
    }


    #record(server, entry, packets) {
        const written = this.recorder.record(server, entry, {bot: this.bot})
            .then(() => packets.forEach((it) => this.sequence.done(it)),
                (error) => {
                    // what the process leaves comes once more to the next
                    if (!this.closed) {
                        packets.forEach((it) => this.sequence.done(it));
                        this.lost++;
                        this.emit('trouble', error);
                    }
                })
            .finally(() => this.writing.delete(written));

        this.writing.add(written);
    }
}


function named({name, owner_id: owner}) {
    return {...name && {name: name.slice(0, 100)},
        ...owner && {owner_id: owner}};
}


function roleOf({id, name}) {
    return {id, name};
}


function channelOf({id, name, type, parent_id: parent}) {
    return {id, name, type, ...parent && {parent}};
}


function memberOf({user, roles}) {
    return {id: user.id, name: user.username, bot: Boolean(user.bot), roles};
}


// The types that come from these events alone
function typesOf(events) {
    const audit = events.test('GUILD_AUDIT_LOG_ENTRY_CREATE');
    const [gone, left] = [new Set(), new Set()];

    for (const [event, rows] of Object.entries(EVENTS)) {
        const [from, name] = event.split(' ');
        const lost = from === 'audit' ? audit : events.test(name);

        rows.forEach(([, type]) => (lost ? gone : left).add(type));
    }
    return Object.keys(TYPES).filter((key) => gone.has(TYPES[key])
        && !left.has(TYPES[key]));
}
