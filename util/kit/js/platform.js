// The platform's REST API, for reading, within its limits: no call is made
// before the platform wants the next one.

import {setTimeout as sleep} from 'node:timers/promises';

import {pauseAfter} from './connection.js';

const URL = 'https://discord.com/api/v10';
const AGENT = 'DiscordBot (guildlog, 0.2.0)';
const TRIES = 6;                   // where the platform fails
const TIMEOUT = 30_000;            // ms

const WHY = {
    401: 'the platform does not know this token',
    403: 'the bot may not do this in this server: it needs the permission View'
        + ' Audit Log',
    404: 'the bot is not in this server',
};


// "refused": it is no use to try again
export class PlatformError extends Error {

    constructor(message, refused) {
        super(message);
        this.refused = refused;
    }
}


export class Platform {

    constructor({token, url = URL}) {
        this.url = url;
        this.headers = {authorization: `Bot ${token}`, 'user-agent': AGENT};
        this.free = 0;             // ms: when the next call may be made
    }


    async get(path) {
        for (let failures = 0;;) {
            await sleep(this.free - Date.now());
            const [status, value, seconds] = await this.#once(path);

            this.free = Date.now() + seconds * 1000;
            if (status === 200) {
                return value;
            }
            if (status === 429) {
                continue;
            }
            if (status > 0 && status < 500) {
                throw new PlatformError(WHY[status]
                    ?? `GET ${path.replace(/\?.*/, '')}: ${status} ${
                        value.message ?? ''}`, true);
            }
            if (++failures === TRIES) {
                throw new PlatformError(`the platform does not answer: ${
                    status || value.message}`, false);
            }
            this.free = Date.now() + pauseAfter(failures);
        }
    }


    // [status; value; seconds until the next call]; 0: no answer
    async #once(path) {
        try {
            const answer = await fetch(this.url + path, {headers: this.headers,
                signal: AbortSignal.timeout(TIMEOUT)});
            const header = (name) => Number(answer.headers.get(name) ?? 0);
            const value = await answer.json().catch(() => ({}));

            return [answer.status, value, answer.status === 429
                ? Math.max(value.retry_after ?? 0, header('retry-after'))
                : answer.headers.get('x-ratelimit-remaining') === '0'
                    ? header('x-ratelimit-reset-after') : 0];
        } catch (error) {
            return [0, error, 0];
        }
    }
}
