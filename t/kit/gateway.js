// A stand-in of the platform's gateway, and of the REST call that leads there. It
// is strict: what the real one closes a connection for, it closes it for.

import {createServer} from 'node:http';
import {createRequire} from 'node:module';

const {WebSocketServer} = createRequire(`${process.env.PACKAGES}/`)('ws');

const BOT = {id: '200000000000000099', username: 'Watcher', discriminator: '0',
    avatar: null, bot: true, global_name: null};
const CODE = {unknown: 4001, notIdentified: 4003, token: 4004, twice: 4005,
    sequence: 4007, heartbeat: 4009, intents: 4014};
const PRIVILEGED = 1 << 1 | 1 << 8 | 1 << 15;


// guilds: what GUILD_CREATE says of each; privileged: may it ask for all intents?
export class Gateway {

    constructor({token, guilds, interval = 400, privileged = true}) {
        Object.assign(this, {token, guilds, interval, privileged});
        this.sessions = new Map();     // id: {seq, sent: [packet], intents}
        this.count = {identify: 0, resume: 0, heartbeat: 0, missed: 0};
    }


    async listen() {
        this.http = createServer((request, answer) => this.#rest(request,
            answer));
        this.sockets = new WebSocketServer({server: this.http});
        this.sockets.on('connection', (socket) => this.#meet(socket));
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


    // To every session; who is not connected gets it by RESUME
    send(t, d) {
        for (const session of this.sessions.values()) {
            const packet = {op: 0, t, d, s: ++session.seq};

            session.sent.push(packet);
            if (session.socket) {
                session.socket.send(JSON.stringify(packet));
            } else {
                this.count.missed++;
            }
        }
    }


    // op 7: the client connects again and resumes
    reconnect() {
        this.#each((socket) => socket.send(JSON.stringify({op: 7, d: null})));
    }


    // op 9: the session is over, or the connection alone
    invalidate(resumable) {
        this.#each((socket, session) => {
            socket.send(JSON.stringify({op: 9, d: resumable}));
            if (!resumable) {
                this.sessions.delete(session.id);
            }
        });
    }


    // the connection is lost, with that code of closing
    drop(code) {
        this.#each((socket, session) => {
            session.socket = null;
            socket.close(code);
        });
    }


    #each(act) {
        for (const session of [...this.sessions.values()]) {
            if (session.socket) {
                act(session.socket, session);
            }
        }
    }


    #rest(request, answer) {
        const known = request.headers.authorization === `Bot ${this.token}`;
        const found = request.url === '/api/v10/gateway/bot';

        answer.writeHead(!known ? 401 : found ? 200 : 404,
            {'content-type': 'application/json'});
        answer.end(JSON.stringify(!known ? {message: '401: Unauthorized',
            code: 0} : found ? {url: `ws://127.0.0.1:${this.port}`, shards: 1,
            session_start_limit: {total: 1000, remaining: 1000,
                reset_after: 0, max_concurrency: 1}} : {message: 'Not Found',
            code: 0}));
    }


    #meet(socket) {
        let session = null;
        let timer = null;
        const alive = () => {
            clearTimeout(timer);
            timer = setTimeout(() => socket.close(CODE.heartbeat),
                this.interval * 4);
        };

        alive();
        socket.on('close', () => {
            clearTimeout(timer);
            if (session?.socket === socket) {
                session.socket = null;
            }
        });
        socket.on('message', (text) => {
            const {op, d} = JSON.parse(text);

            if (op === 1) {
                if (session && d !== null && d > session.seq) {
                    socket.close(CODE.sequence);
                    return;
                }
                this.count.heartbeat++;
                alive();
                socket.send(JSON.stringify({op: 11}));
            } else if (op === 2) {
                session = session ? socket.close(CODE.twice)
                    : this.#identify(socket, d);
            } else if (op === 6) {
                session = this.#resume(socket, d);
            } else if (!session) {
                socket.close(CODE.notIdentified);
            } else if (![3, 4, 8].includes(op)) {
                socket.close(CODE.unknown);
            }
        });
        socket.send(JSON.stringify({op: 10,
            d: {heartbeat_interval: this.interval}}));
    }


    #identify(socket, {token, intents, shard = [0, 1]}) {
        if (token !== this.token) {
            socket.close(CODE.token);
            return null;
        }
        if (intents & PRIVILEGED && !this.privileged) {
            socket.close(CODE.intents);
            return null;
        }

        const id = `session-${++this.count.identify}`;
        const session = {id, socket, seq: 0, sent: [], intents};

        this.sessions.set(id, session);
        this.#to(session, 'READY', {v: 10, user: BOT, session_id: id, shard,
            resume_gateway_url: `ws://127.0.0.1:${this.port}`,
            application: {id: BOT.id, flags: 0},
            guilds: this.guilds.map((guild) => ({id: guild.id,
                unavailable: true}))});
        for (const guild of this.guilds) {
            this.#to(session, 'GUILD_CREATE', guild);
        }
        return session;
    }


    #resume(socket, {token, session_id: id, seq}) {
        const session = this.sessions.get(id);

        if (token !== this.token || !session) {
            socket.send(JSON.stringify({op: 9, d: false}));
            return null;
        }
        if (seq > session.seq) {
            socket.close(CODE.sequence);
            return null;
        }
        this.count.resume++;
        session.socket = socket;
        session.sent.filter(({s}) => s > seq).forEach((packet) =>
            socket.send(JSON.stringify(packet)));
        socket.send(JSON.stringify({op: 0, t: 'RESUMED', d: {},
            s: ++session.seq}));
        return session;
    }


    #to(session, t, d) {
        const packet = {op: 0, t, d, s: ++session.seq};

        session.sent.push(packet);
        session.socket.send(JSON.stringify(packet));
    }
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
        roles: [{id, name: '@everyone', permissions: '0'},
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
        members: [...Object.entries(users).map(([user, one]) =>
            ({id: user, username: one.name, discriminator: '0', avatar: null,
                global_name: null, bot: Boolean(one.bot)})), BOT].map((user) =>
            ({user, roles: [], joined_at: '2024-01-01T00:00:00.000000+00:00',
                deaf: false, mute: false, flags: 0, avatar: null,
                nick: null})),
        ...more,
    };
}
