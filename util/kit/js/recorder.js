// What hands in packets and entries: they are written to a spool on disk first
// and stay there until guildlog has answered for them. One batch is under way at
// a time, so those of a server arrive in the order in which they were given.
//
// Nothing twice: what was sent and not answered is sent again, and guildlog takes
// the same packet, and the same event_id, once in 24 hours.
//
// A line of the spool is a packet if it begins so, else an entry:
//
//     {"server":"ID","at":MS,["bot":"pro",]"t":...,"d":...}

import {createHash, randomUUID} from 'node:crypto';
import {EventEmitter} from 'node:events';
import {setTimeout as sleep} from 'node:timers/promises';

import {pauseAfter} from './connection.js';
import {Full} from './errors.js';
import {Spool} from './spool.js';

const BATCH_BYTES = 4 * 1024 * 1024;
const LOADED = 20_000;             // lines in memory, and those of one segment
const PATIENCE = 3_600_000;        // ms: for so long "retry" is obeyed
const CLOCK = 1_000;               // ms: one that goes back further was set
const PACKET = /^\{"server":"[^"]*","at":[^,]*,("bot":"pro",)?/;
const ENTRIES = ['/logs'];
const PACKETS = ['/events', {}];
const PRO_PACKETS = ['/events', {bot: 'pro'}];
const NAMES_ITSELF = ['GUILD_CREATE', 'GUILD_UPDATE', 'GUILD_DELETE'];


// Emits "refused" (packet or entry, error, code) for each that is refused for
// good, "trouble" (error) for each attempt that failed as a whole, and "wanted"
// (server, ids): people whom guildlog would like to know, as by a GUILD_MEMBERS_CHUNK
export class Recorder extends EventEmitter {

    // spool: the folder, of this process alone; bytes: the most it may have;
    // batch: packets or entries at once, up to 1,000; linger: ms in which a
    // batch gathers; unknown: called with the id of a server that guildlog does
    // not know, to PUT it
    static async open(connection, {spool, bytes = 256 * 1024 * 1024,
        batch = 500, linger = 50, unknown = null})
    {
        const recorder = new Recorder();

        Object.assign(recorder, {connection, batch, linger, unknown});
        recorder.spool = await Spool.open(spool, bytes);
        recorder.most = batch;
        recorder.lines = [];           // of the spool, in order
        recorder.rests = new Map();    // server: {until, times, since}
        recorder.waiting = [];         // calls of record() for room
        recorder.waitingBytes = 0;
        recorder.idle = [];            // for all to be done
        recorder.at = 0;               // of the last packet
        recorder.heard = new Set();    // all that came at that time
        recorder.stop = new AbortController();
        recorder.count = {taken: 0, recorded: 0, duplicates: 0, refused: 0,
            dropped: {}, unknown: {}, batches: 0, failures: 0};
        recorder.running = recorder.#run();
        return recorder;
    }


    // Resolves when the entries are on disk. Waits while the spool is full;
    // fails with Full if as many calls as a batch has entries already wait
    record(server, entries, {bot} = {}) {
        return this.#take([entries].flat().map((entry) => JSON.stringify({server,
            ...bot && {bot}, ...identified(server, bot, entry)})));
    }


    // The same for a packet, as the gateway sends it; one of no server is left
    // out. "at": when it was heard, ms
    async forward({t, d, at}, {bot} = {}) {
        const server = serverIn(t, d);

        if (server) {
            const rest = JSON.stringify({...bot && {bot}, t, d}).slice(1);

            await this.#take([`{"server":${JSON.stringify(server)},"at":${
                JSON.stringify(Math.trunc(at ?? this.#moment(server + rest)))
            },${rest}`]);
        }
    }


    // Now. The same packet once more in a ms is another act, of who came back to
    // where they were; guildlog tells it by its time from one that is sent again
    #moment(packet) {
        const ahead = this.at - Date.now();

        if (!(ahead >= 0 && ahead < CLOCK)) {
            this.at = Date.now();
            this.heard.clear();
        } else if (this.heard.has(packet)) {
            this.at++;
            this.heard.clear();
        }
        this.heard.add(packet);
        return this.at;
    }


    // Resolves when guildlog has answered for all that was taken so far
    flush() {
        return new Promise((resolve) => {
            this.idle.push(resolve);
            this.#wake();
        });
    }


    // Ends it; what is not done stays in the spool
    async close() {
        this.stop.abort();
        this.waiting.splice(0).forEach(({reject}) =>
            reject(new Full('the recorder was closed')));
        await this.running;
        await this.spool.close();
    }


    // Since the start; spoolBytes: of what is on disk now
    get counters() {
        return {...this.count, dropped: {...this.count.dropped},
            unknown: {...this.count.unknown}, spoolBytes: this.spool.size};
    }


    async #take(lines) {
        const bytes = lines.reduce((sum, line) => sum
            + Buffer.byteLength(line) + 1, 0);

        if (this.stop.signal.aborted) {
            throw new Full('the recorder was closed');
        }
        if (bytes > this.spool.most || this.waiting.length >= this.batch
            && !this.spool.hasRoomFor(this.waitingBytes + bytes))
        {
            throw new Full('the spool has no room');
        }
        await new Promise((resolve, reject) => {
            this.waiting.push({lines, bytes, resolve, reject});
            this.waitingBytes += bytes;
            this.#enter();
        });
        this.count.taken += lines.length;
        this.#wake();
    }


    // Calls enter in their order: who waits for room keeps the others back
    #enter() {
        while (this.waiting.length
            && this.spool.hasRoomFor(this.waiting[0].bytes))
        {
            const {lines, bytes, resolve, reject} = this.waiting.shift();

            this.waitingBytes -= bytes;
            this.spool.append(lines).then(resolve, reject);
        }
    }


    // Race: what comes while the next batch is looked for is not slept over
    #wake() {
        this.fresh = true;
        this.alarm?.();
    }


    async #run() {
        const {signal} = this.stop;
        let failures = 0;

        while (!signal.aborted) {
            try {
                const batch = await this.#next();

                if (batch.length) {
                    await this.#send(batch);
                }
                failures = 0;
            } catch (error) {
                if (signal.aborted) {
                    return;
                }
                this.count.failures++;
                this.emit('trouble', error);
                await this.#pause(error.retryAfter * 1000
                    || pauseAfter(failures++));
            }
        }
    }


    // Lines to send; waits for some, or for the end of a rest
    async #next() {
        this.fresh = false;
        if (this.lines.length < LOADED) {
            this.lines = this.lines.concat(await this.spool.next());
        }

        const now = Date.now();
        const batch = [];
        let bytes = 0;

        for (const line of this.lines) {
            if (batch.length >= this.most) {
                break;
            }
            if (this.rests.get(serverOf(line))?.until > now) {
                continue;
            }
            bytes += line.text.length;
            if (batch.length && (bytes > BATCH_BYTES
                || endpointOf(line) !== endpointOf(batch[0])))
            {
                break;
            }
            batch.push(line);
        }

        if (!this.lines.length) {
            this.idle.splice(0).forEach((resolve) => resolve());
        }
        if (!batch.length) {
            await this.#pause(Math.min(...[...this.rests.values()]
                .map(({until}) => until - now), PATIENCE), true);
            await this.#pause(this.linger);
        }
        return batch;
    }


    // for ms; until record() too, where "woken"
    async #pause(ms, woken) {
        const stop = new AbortController();
        const wake = () => stop.abort();

        this.stop.signal.addEventListener('abort', wake);
        if (woken) {
            this.alarm = wake;
        }
        if (!this.stop.signal.aborted && !(woken && this.fresh)) {
            await sleep(ms, undefined, {signal: stop.signal}).catch(() => {});
        }
        this.alarm = null;
        this.stop.signal.removeEventListener('abort', wake);
    }


    async #send(batch) {
        const [path, query] = endpointOf(batch[0]);
        let answer;

        this.count.batches++;
        try {
            answer = await this.connection.call('POST', path, {
                query: query && {...query, sent: Date.now()},
                body: `[${batch.map(({text}) => text).join(',')}]`,
                again: true, patience: 0, signal: this.stop.signal});
        } catch (error) {
            if (error.status !== 413 && error.status !== 400) {
                throw error;
            }
            // one of them, or all together
            if (batch.length > 1) {
                this.most = Math.ceil(batch.length / 2);
                return;
            }
            answer = {recorded: 0, duplicates: 0, dropped: {},
                errors: [{index: 0, error: error.message}]};
        }

        this.most = Math.min(this.most * 2, this.batch);
        this.count.recorded += answer.recorded;
        this.count.duplicates += answer.duplicates;
        add(this.count.dropped, answer.dropped);
        add(this.count.unknown, answer.unknown);
        this.#want(batch, answer.wanted);
        await this.#done(batch, await this.#errors(batch, answer.errors));
    }


    // An id of the answer is of the servers whose packets have it
    #want(batch, wanted = []) {
        for (const [server, lines] of wanted.length ? byServer(batch) : []) {
            const ids = wanted.filter((id) =>
                lines.some(({text}) => text.includes(`"${id}"`)));

            if (ids.length) {
                this.emit('wanted', server, ids);
            }
        }
    }


    // The lines that are sent again
    async #errors(batch, errors) {
        const again = new Set();
        const unknown = new Set();

        for (const {index, error, code, retry} of errors) {
            const server = serverOf(batch[index]);
            const asks = error === 'server: unknown' && this.unknown;

            if ((retry || asks) && this.#rest(server)) {
                again.add(batch[index]);
                if (asks) {
                    unknown.add(server);
                }
            } else {
                this.count.refused++;
                this.emit('refused', JSON.parse(batch[index].text), error,
                    code);
            }
        }
        for (const server of unknown) {
            await this.unknown(server).catch((error) =>
                this.emit('trouble', error));
        }
        return again;
    }


    async #done(batch, again) {
        const done = new Set(batch.filter((line) => !again.has(line)));
        const resting = new Set([...again].map(serverOf));

        this.lines = this.lines.filter((line) => !done.has(line));
        for (const line of done) {
            if (!resting.has(serverOf(line))) {
                this.rests.delete(serverOf(line));
            }
        }
        await this.spool.done([...done]);
        this.#enter();
    }


    // The server's entries wait for a moment; false: they have for too long
    #rest(server) {
        const now = Date.now();
        const rest = this.rests.get(server) ?? {times: 0, since: now, until: 0};

        if (rest.until <= now) {
            rest.until = now + pauseAfter(rest.times++);
        }
        this.rests.set(server, rest);
        return now - rest.since < PATIENCE;
    }
}


// The server of a packet; undefined: none
function serverIn(t, d) {
    return NAMES_ITSELF.includes(t) ? d?.id : d?.guild_id;
}


// A line begins with {"server":"ID"
function serverOf({text}) {
    return text.slice(11, text.indexOf('"', 11));
}


function byServer(lines) {
    const servers = new Map();

    for (const line of lines) {
        const server = serverOf(line);

        if (!servers.has(server)) {
            servers.set(server, []);
        }
        servers.get(server).push(line);
    }
    return servers;
}


// What takes a line: [path, query]
function endpointOf({text}) {
    const [packet, pro] = PACKET.exec(text) ?? [];

    return !packet ? ENTRIES : pro ? PRO_PACKETS : PACKETS;
}


// to the numbers by name
function add(sums, numbers = {}) {
    for (const [name, n] of Object.entries(numbers)) {
        sums[name] = (sums[name] ?? 0) + n;
    }
}


// With an event_id and a time. The same entry with the same time is the same
// event; the ids grow with time
function identified(server, bot, entry) {
    if (entry.event_id !== undefined) {
        return {timestamp: Date.now(), ...entry};
    }
    const {timestamp = Date.now(), ...rest} = entry;
    const of = entry.timestamp === undefined ? randomUUID()
        : JSON.stringify([server, bot, sorted(rest)]);

    return {...rest, timestamp, event_id: String(timestamp).padStart(14, '0')
        + createHash('sha256').update(of).digest('base64url').slice(0, 22)};
}


function sorted(value) {
    return Array.isArray(value) ? value.map(sorted)
        : value && typeof value === 'object' ? Object.keys(value).sort()
            .map((key) => [key, sorted(value[key])]) : value;
}
