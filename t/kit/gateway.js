// A stand-in of the platform's gateway; rest.js is that of its other calls. It
// is strict: what the real one closes a connection for, it closes it for.

import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {createDeflate, constants as zlib, deflateSync} from 'node:zlib';

import {BOT, Rest} from './rest.js';

const {WebSocketServer} = createRequire(`${process.env.PACKAGES}/`)('ws');

const CODE = {opcode: 4001, decode: 4002, notIdentified: 4003, token: 4004,
    twice: 4005, sequence: 4007, rate: 4008, heartbeat: 4009, shard: 4010,
    version: 4012, invalidIntents: 4013, intents: 4014};
const PRIVILEGED = 1 << 1 | 1 << 8 | 1 << 15;
const KNOWN = (1 << 26) - 1;       // bits of intents
const PAYLOADS = 120;              // a minute and connection
const OVER = [1000, 1001];         // codes of closing that end a session


// guilds: what GUILD_CREATE says of each; people: by their ids, whom it knows
// besides; privileged: may it ask for all intents? shards: how many it
// recommends; interval: ms between heartbeats
export class Gateway {

    constructor({token, guilds, people = {}, interval = 1_000,
        privileged = true, shards = 1})
    {
        Object.assign(this, {token, guilds, people, interval, privileged,
            shards});
        this.sessions = new Map();     // id: {seq, sent: [packet], shard, ...}
        this.count = {identify: 0, resume: 0, heartbeat: 0, missed: 0,
            compressed: 0};
        this.questions = [];           // what was asked of members
        this.refuse = [];              // codes that next IDENTIFYs end with
        this.deaf = false;             // no heartbeat is answered
        this.mute = false;             // nobody is greeted
        this.rest = new Rest(this);
    }


    async listen() {
        this.http = createServer((request, answer) =>
            this.rest.answer(request, answer));
        this.sockets = new WebSocketServer({server: this.http});
        this.sockets.on('connection', (socket, request) =>
            new Peer(this, socket, new URL(request.url, 'ws://x').searchParams));
        await new Promise((resolve) => this.http.listen(0, '127.0.0.1',
            resolve));
        this.port = this.http.address().port;
        return this;
    }


    close() {
        this.sockets.clients.forEach((socket) => socket.terminate());
        this.sockets.close();
        this.http.close();
        this.http.closeAllConnections();
    }


    // To the sessions of the server's shard; who is not connected gets it by
    // RESUME
    send(t, d) {
        for (const session of this.sessions.values()) {
            if (shardOf(d.guild_id ?? d.id, session.shard[1])
                === session.shard[0])
            {
                session.dispatch(t, d);
            }
        }
    }


    get connected() {
        return [...this.sessions.values()].filter(({peer}) => peer).length;
    }


    // op 7: the client connects again and resumes
    reconnect() {
        this.#each((session) => session.peer.send({op: 7, d: null}));
    }


    // op 9: the session is over, or the connection alone
    invalidate(resumable) {
        this.#each((session) => {
            session.peer.send({op: 9, d: resumable});
            if (!resumable) {
                this.sessions.delete(session.id);
            }
        });
    }


    // the connection is closed with that code
    drop(code) {
        this.#each((session) => {
            const {peer} = session;

            session.peer = null;
            peer.session = null;
            peer.socket.close(code);
        });
    }


    #each(act) {
        [...this.sessions.values()].filter(({peer}) => peer).forEach(act);
    }
}


class Session {

    constructor(gateway, peer, shard) {
        Object.assign(this, {gateway, peer, shard, seq: 0, sent: []});
        this.id = `session-${++gateway.count.identify}`;
        gateway.sessions.set(this.id, this);
    }


    dispatch(t, d) {
        const packet = {op: 0, t, d, s: ++this.seq};

        this.sent.push(packet);
        if (this.peer) {
            this.peer.send(packet);
        } else {
            this.gateway.count.missed++;
        }
    }
}


// One connection
class Peer {

    constructor(gateway, socket, query) {
        Object.assign(this, {gateway, socket, session: null, payloads: []});
        if (query.get('compress') === 'zlib-stream') {
            this.stream = createDeflate();
            this.stream.on('data', (piece) => this.pieces.push(piece));
            this.pieces = [];
        }
        this.#alive();
        socket.on('close', (code) => {
            clearTimeout(this.timer);
            if (this.session?.peer === this) {
                this.session.peer = null;
            }
            // it was the client that closed it
            if (this.session && OVER.includes(code)) {
                gateway.sessions.delete(this.session.id);
            }
        });
        socket.on('message', (text) => this.#take(String(text)));
        if (query.get('v') !== '10') {
            socket.close(CODE.version);
            return;
        }
        if (!gateway.mute) {
            this.send({op: 10, d: {heartbeat_interval: gateway.interval}});
        }
    }


    // as text; in one stream of zlib; or by itself, if it is long
    send(packet) {
        const text = JSON.stringify(packet);

        if (this.stream) {
            this.gateway.count.compressed++;
            this.stream.write(text);
            this.stream.flush(zlib.Z_SYNC_FLUSH, () =>
                this.socket.send(Buffer.concat(this.pieces.splice(0))));
        } else if (this.compress && text.length > 1_000) {
            this.gateway.count.compressed++;
            this.socket.send(deflateSync(text));
        } else {
            this.socket.send(text);
        }
    }


    #alive() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.socket.close(CODE.heartbeat),
            this.gateway.interval * 4);
    }


    #take(text) {
        const {gateway, socket} = this;
        const now = Date.now();
        let packet;

        this.payloads = this.payloads.filter((at) => at > now - 60_000);
        if (this.payloads.push(now) > PAYLOADS) {
            socket.close(CODE.rate);
            return;
        }
        try {
            packet = JSON.parse(text);
        } catch {
            socket.close(CODE.decode);
            return;
        }
        const {op, d} = packet;

        if (op === 1) {
            if (this.session && d !== null && d > this.session.seq) {
                socket.close(CODE.sequence);
                return;
            }
            gateway.count.heartbeat++;
            this.#alive();
            if (!gateway.deaf) {
                this.send({op: 11});
            }
        } else if (op === 2) {
            this.session = this.session ? socket.close(CODE.twice)
                : this.#identify(d);
        } else if (op === 6) {
            this.session = this.#resume(d);
        } else if (!this.session) {
            socket.close(CODE.notIdentified);
        } else if (op === 8) {
            gateway.questions.push(d);
            this.session.dispatch('GUILD_MEMBERS_CHUNK', this.#members(d));
        } else if (![3, 4].includes(op)) {
            socket.close(CODE.opcode);
        }
    }


    #members({guild_id: id, user_ids: ids = [], nonce}) {
        const {people} = this.gateway;

        return {guild_id: id, chunk_index: 0, chunk_count: 1, nonce,
            members: ids.filter((user) => people[user]).map((user) =>
                memberOf(user, people[user])),
            not_found: ids.filter((user) => !people[user])};
    }


    #identify({token, intents, shard = [0, 1], compress}) {
        const {gateway, socket} = this;
        const code = gateway.refuse.shift()
            ?? (token !== gateway.token ? CODE.token
                : shard[0] >= shard[1] ? CODE.shard
                    : intents & ~KNOWN ? CODE.invalidIntents
                        : intents & PRIVILEGED && !gateway.privileged
                            ? CODE.intents : null);

        if (code) {
            socket.close(code);
            return null;
        }
        const session = new Session(gateway, this, shard);
        const guilds = gateway.guilds.filter(({id}) =>
            shardOf(id, shard[1]) === shard[0]);

        this.compress = compress;
        session.dispatch('READY', {v: 10, user: BOT, session_id: session.id,
            shard, resume_gateway_url: `ws://127.0.0.1:${gateway.port}`,
            application: {id: BOT.id, flags: 0},
            guilds: guilds.map(({id}) => ({id, unavailable: true}))});
        guilds.forEach((guild) => session.dispatch('GUILD_CREATE', guild));
        return session;
    }


    #resume({token, session_id: id, seq}) {
        const session = this.gateway.sessions.get(id);

        if (token !== this.gateway.token || !session) {
            this.send({op: 9, d: false});
            return null;
        }
        if (seq > session.seq) {
            this.socket.close(CODE.sequence);
            return null;
        }
        this.gateway.count.resume++;
        session.peer = this;
        session.sent.filter(({s}) => s > seq).forEach((packet) =>
            this.send(packet));
        session.dispatch('RESUMED', {});
        return session;
    }
}


// of so many
export function shardOf(guild, shards) {
    return Number((BigInt(guild) >> 22n) % BigInt(shards));
}


// a server as GUILD_CREATE has it
export function guildOf(id, {name = 'Server', users = {}, channels = {},
    roles = {}, things = {}, ...more} = {})
{
    return {
        id, name, owner_id: Object.keys(users)[0] ?? BOT.id, icon: null,
        joined_at: '2024-01-01T00:00:00.000000+00:00', large: false,
        unavailable: false, member_count: Object.keys(users).length + 1,
        premium_tier: 0, premium_subscription_count: 0, features: [],
        emojis: [], stickers: [], presences: [], threads: [],
        stage_instances: [], voice_states: [], soundboard_sounds: [],
        guild_scheduled_events: [], preferred_locale: 'en-US',
        verification_level: 0, explicit_content_filter: 0, mfa_level: 0,
        default_message_notifications: 0, nsfw_level: 0,
        system_channel_id: null, system_channel_flags: 0, afk_timeout: 300,
        afk_channel_id: null, premium_progress_bar_enabled: false,
        // everybody may view the audit log
        roles: [{id, name: '@everyone', permissions: '128'},
            ...Object.entries(roles).map(([role, {name: called}]) =>
                ({id: role, name: called, permissions: '0'}))].map((role, i) =>
            ({color: 0, colors: {primary_color: 0}, hoist: false, position: i,
                managed: false, mentionable: false, flags: 0, ...role})),
        channels: Object.entries(channels).filter(([, {parent}]) => !parent)
            .map(([channel, {name: called, type}], position) =>
                ({id: channel, name: called, type, position, parent_id: null,
                    permission_overwrites: []})),
        threads: Object.entries(channels).filter(([, {parent}]) => parent)
            .map(([channel, {name: called, type, parent}]) =>
                ({id: channel, guild_id: id, name: called, type,
                    parent_id: parent, thread_metadata: {archived: false,
                        auto_archive_duration: 60, locked: false,
                        archive_timestamp: '2024-01-01T00:00:00.000Z'}})),
        members: [...Object.entries(users), [BOT.id, {name: BOT.username,
            bot: true}]].map(([user, one]) => memberOf(user, one)),
        ...more,
    };
}


function memberOf(id, {name, bot = false}) {
    return {user: {id, username: name, discriminator: '0', avatar: null,
        global_name: null, bot}, roles: [],
    joined_at: '2024-01-01T00:00:00.000000+00:00', deaf: false, mute: false,
    flags: 0, avatar: null, nick: null};
}
