// One way to guildlog: a URL, or a unix socket. It tries again where that is
// safe: after 429 and 503 as the answer says, after a lost connection where the
// request may be made twice.

import http from 'node:http';
import https from 'node:https';
import {setTimeout as sleep} from 'node:timers/promises';

import {errorOf, GuildlogError, Unavailable} from './errors.js';

const FIRST_PAUSE = 250;           // ms, doubled from time to time
const LONGEST_PAUSE = 5_000;       // ms

// nothing was sent: any request may be made again
const UNSENT = ['ECONNREFUSED', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH',
    'ENOTFOUND', 'EAI_AGAIN'];


export class Connection {

    // patience: for so long a call tries again; timeout: of an answer; both ms
    constructor({url, token, tls, patience = 30_000, timeout = 60_000}) {
        const [, socketPath, prefix] = /^unix:([^:]+)(?::(.*))?$/.exec(url)
            ?? [];
        const at = new URL(socketPath ? 'http://localhost' : url);
        const {request, Agent} = at.protocol === 'https:' ? https : http;

        this.patience = patience;
        this.timeout = timeout;
        this.prefix = (socketPath ? prefix ?? '' : at.pathname)
            .replace(/\/$/, '');
        this.send = request;
        this.agent = new Agent({keepAlive: true, ...tls});
        this.options = {
            ...socketPath ? {socketPath, host: 'localhost'}
                : {protocol: at.protocol, port: at.port,
                    host: at.hostname.replace(/^\[|\]$/g, '')},
            ...tls,
        };
        this.headers = token ? {authorization: `Bearer ${token}`} : {};
    }


    // An answer of 2xx, whose body is not read yet. "again": the request may
    // be made twice; "body" is a value, or text that is JSON
    async open(method, path, {query, body, headers, signal,
        again = method !== 'POST', patience = this.patience} = {})
    {
        const until = Date.now() + patience;

        for (let n = 0;; n++) {
            try {
                return await this.#once(method, path + queryOf(query),
                    {body, headers, signal, again});
            } catch (error) {
                const pause = pauseOf(error, n, again);

                if (signal?.aborted || pause === null
                    || Date.now() + pause > until)
                {
                    throw error;
                }
                await sleep(pause, undefined, {signal});
            }
        }
    }


    // What is in the answer: a value where it is JSON, else a stream of bytes,
    // null where there is nothing
    async call(method, path, options) {
        const answer = await this.open(method, path, options);

        if (answer.statusCode === 204) {
            answer.resume();
            return null;
        }
        return isJson(answer) ? JSON.parse(await textOf(answer)) : answer;
    }


    close() {
        this.agent.destroy();
    }


    #once(method, path, {body, headers, signal, again}) {
        const text = body === undefined || typeof body === 'string' ? body
            : JSON.stringify(body);
        const what = `${method} ${path.replace(/\?.*/, '')}`;

        return new Promise((resolve, reject) => {
            const request = this.send({
                ...this.options, method, path: this.prefix + path, signal,
                // a kept connection may end just when it is used
                agent: again ? this.agent : false,
                headers: {...this.headers, ...headers, ...text !== undefined
                    && {'content-type': 'application/json',
                        'content-length': Buffer.byteLength(text)}},
            });

            request.setTimeout(this.timeout, () => request.destroy(
                Object.assign(new Error('no answer in time'),
                    {code: 'ETIMEDOUT'})));
            request.on('error', (cause) => reject(cause.name === 'AbortError'
                ? cause : new Unavailable(`${what}: ${cause.message
                    || cause.code}`, {cause})));
            request.on('response', (answer) => {
                if (answer.statusCode < 300) {
                    resolve(answer);
                    return;
                }
                textOf(answer).then((said) => reject(errorOf(what,
                    answer.statusCode, isJson(answer) ? JSON.parse(said) : {},
                    Number(answer.headers['retry-after']) || undefined)))
                    .catch(reject);
            });
            request.end(text);
        });
    }
}


// ms to wait before another attempt; null: none
export function pauseOf(error, n, again) {
    const {status, retryAfter, cause} = error;

    if (!(error instanceof GuildlogError)
        || (status ? status !== 429 && status !== 503
            : !again && !UNSENT.includes(cause?.code)))
    {
        return null;
    }
    return retryAfter ? retryAfter * 1000 : pauseAfter(n);
}


// ms after so many failures
export function pauseAfter(n) {
    return Math.min(FIRST_PAUSE * 2 ** n, LONGEST_PAUSE);
}


export async function textOf(answer) {
    const pieces = [];

    try {
        for await (const piece of answer) {
            pieces.push(piece);
        }
    } catch (cause) {
        throw new Unavailable(`the answer was cut: ${cause.message}`, {cause});
    }
    return Buffer.concat(pieces).toString();
}


function isJson(answer) {
    return /^application\/json\b/.test(answer.headers['content-type']);
}


// arrays are parameters that are repeated
function queryOf(query = {}) {
    const text = Object.entries(query).flatMap(([name, value]) =>
        [value].flat().filter((one) => one !== undefined && one !== null)
            .map((one) => `${name}=${encodeURIComponent(one)}`)).join('&');

    return text && `?${text}`;
}
