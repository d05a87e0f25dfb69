// Keeps guildlog's directory: servers, and what members, channels and roles are
// called. What changes is gathered for a moment and put in one call. What cannot
// be put now is put later; a newer change of the same thing takes its place.

import {pauseAfter} from './connection.js';

const GATHER = 500;                // ms
const MOST = 1_000;                // of one call
const PUT = {members: 'membersPut', channels: 'channelsPut', roles: 'rolesPut'};
const DELETE = {channels: 'channelDelete', roles: 'roleDelete'};


export class Directory {

    constructor(operator, trouble) {
        this.operator = operator;
        this.trouble = trouble;
        this.servers = new Map();      // what is to be put: see #of()
        this.failures = 0;
    }


    server(id, body) {
        this.#of(id).server = body;
    }


    put(id, kind, things) {
        const changes = this.#of(id)[kind];

        things.forEach((thing) => changes.set(thing.id, thing));
    }


    // a channel or a role that is gone
    remove(id, kind, thing) {
        this.#of(id)[kind].set(thing, null);
    }


    // Everything is put, or cannot be now
    async flush() {
        clearTimeout(this.timer);
        await this.running;
        await this.#run();
    }


    close() {
        clearTimeout(this.timer);
        this.closed = true;
    }


    #of(id) {
        if (!this.servers.has(id)) {
            this.servers.set(id, {members: new Map(), channels: new Map(),
                roles: new Map()});
        }
        this.#soon(GATHER);
        return this.servers.get(id);
    }


    #soon(ms) {
        if (!this.closed && !this.running) {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.#run(), ms);
        }
    }


    #run() {
        this.running = this.#all().then(() => {
            this.failures = 0;
        }, (error) => {
            this.failures++;
            this.trouble(error);
        }).finally(() => {
            this.running = null;
            if (this.servers.size) {
                this.#soon(GATHER + pauseAfter(this.failures));
            }
        });
        return this.running;
    }


    async #all() {
        for (const [id, what] of [...this.servers]) {
            this.servers.delete(id);
            try {
                await this.#put(id, what);
            } catch (error) {
                this.#again(id, what);
                throw error;
            }
        }
    }


    // what is done is taken out, so that it is not done again
    async #put(id, what) {
        if (what.server) {
            await this.operator.serverPut({guild_id: id, body: what.server});
            delete what.server;
        }
        for (const kind of ['roles', 'channels', 'members']) {
            const there = [...what[kind].values()].filter(Boolean);

            while (there.length) {
                const body = there.splice(0, MOST);

                await this.operator[PUT[kind]]({guild_id: id, body});
                body.forEach((thing) => what[kind].delete(thing.id));
            }
            for (const gone of [...what[kind].keys()]) {
                await this.operator[DELETE[kind]]({guild_id: id, id: gone});
                what[kind].delete(gone);
            }
        }
    }


    // what has come meanwhile is newer
    #again(id, what) {
        const newer = this.servers.get(id) ?? {};

        this.servers.set(id, {server: newer.server ?? what.server,
            ...Object.fromEntries(Object.keys(PUT).map((kind) => [kind,
                new Map([...what[kind], ...newer[kind] ?? []])]))});
    }
}
