// A client of the API, for one server: that of its token.

import {setTimeout as sleep} from 'node:timers/promises';

import {Connection, pauseAfter, pauseOf} from './connection.js';
import {Unavailable} from './errors.js';
import {addMethods} from './methods.js';
import {API} from './operations.js';

const SILENCE = 45_000;            // ms: three heartbeats of a tail


export class Guildlog {

    constructor({token, ...options}) {
        this.server = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'))
            .sub;
        this.defaults = {guild_id: this.server};
        this.connection = new Connection({token, ...options});
    }


    // Pages to the end, newest first
    async * pages(filters = {}, options) {
        let cursor;

        do {
            const page = await this.logsPage({...filters,
                ...cursor && {cursor}}, options);

            yield page;
            cursor = page.cursor;
        } while (cursor);
    }


    // The entries of all pages
    async * entries(filters, options) {
        for await (const page of this.pages(filters, options)) {
            yield* page.entries;
        }
    }


    // New entries, as they come, each once. It goes on behind lastEventId, and
    // behind the last entry after a connection is lost. What it has missed for
    // longer than a tail can resume comes from pages, newest first. It ends
    // when the signal is aborted, or with an error that waiting does not mend
    async * tail({lastEventId, ...filters} = {}, {signal} = {}) {
        for (let failures = 0; !signal?.aborted; failures++) {
            try {
                const answer = await this.connection.open('GET',
                    `/servers/${this.server}/logs/stream`, {query: filters,
                        headers: lastEventId && {'last-event-id': lastEventId},
                        signal, patience: Infinity});

                for await (const {type, id, data} of events(answer)) {
                    failures = 0;
                    if (type === 'reset') {
                        yield* this.entries({...filters, ...JSON.parse(data)},
                            {signal});
                        lastEventId = id;
                    } else {
                        lastEventId = id;
                        yield JSON.parse(data);
                    }
                }
            } catch (error) {
                if (signal?.aborted) {
                    return;
                }
                if (pauseOf(error, failures, true) === null) {
                    throw error;
                }
            }
            await sleep(pauseAfter(failures), undefined, {signal})
                .catch(() => {});
        }
    }


    close() {
        this.connection.close();
    }
}


// Server-sent events of an answer, to its end
async function* events(answer) {
    let rest = '';
    let event = {};

    answer.setEncoding('utf8');
    answer.setTimeout(SILENCE, () => answer.destroy(new Error('silence')));
    try {
        for await (const piece of answer) {
            const lines = (rest + piece).split('\n');

            rest = lines.pop();
            for (const line of lines) {
                const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];

                if (name === 'event') {
                    event.type = value;
                } else if (name) {
                    event[name] = value;
                } else if (line === '' && event.data !== undefined) {
                    yield event;
                    event = {};
                }
            }
        }
    } catch (cause) {
        throw new Unavailable(`the tail was cut: ${cause.message}`, {cause});
    } finally {
        answer.destroy();
    }
}


addMethods(Guildlog, API);
