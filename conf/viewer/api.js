// @ts-check
// The API, as the token's bearer sees it, or the person who signed in, whom the
// browser's cookie tells. Nothing else here speaks to a server. Reads are asked
// again until they are answered; changes never are.

import {ready, stall, working} from './connection.js';
import {has, t} from './texts.js';

const [BASE, LOGIN] = ['api', 'login'].map((name) =>
    /** @type {HTMLMetaElement} */ (document.querySelector(
        `meta[name=guildlog-${name}]`)).content);
const KEY = 'guildlog.tokens';    // of the tab's storage, the last used last
const SIGNED = 204;               // what LOGIN answers who has a session
const PAUSES = [1, 2, 4, 8, 15];  // seconds between attempts

// requests that are left to what the reader does
const RESERVE = 150;

// refusals about which a person does the same
/** @type {Record<string, string>} */
const LIKE = {not_utf8: 'has_nul', wrong_type: 'required'};

let token = null;
let left = {requests: Infinity, until: 0};
/** @type {(status: number) => void} */
let ended = () => {};

/**
 * @typedef {import('api').components['schemas']} Schemas
 * @typedef {{server: string, bot: string, tokenId?: string,
 *     person?: Schemas['Me'], level?: Schemas['Level'],
 *     reads?: boolean}} Session
 * reads: the token does nothing else
 */

// null until somebody signs in; the views begin behind that
/** @type {Session} */
export let session = /** @type {any} */ (null);


// What the API did not do: its status, its words, and the field they are about.
export class Refusal extends Error {
    /** @param {number} status @param {Schemas['Error']} body */
    constructor(status, body) {
        super(whyOf(body));
        this.status = status;
        this.field = body.field?.split(/[.[]/)[0];
    }
}


// What is refused, in people's words: those of its code, and of what the rule
// allows. Without words here it is shown as the API says it.
/** @param {Schemas['Error']} body */
function whyOf({error, code, min, max}) {
    const bounds = max === undefined ? '' : min === undefined ? '.most'
        : '.between';
    const key = `${LIKE[code ?? ''] ?? code}${bounds}`;

    return has(`error.${key}`) ? t(`error.${key}`, {least: min, most: max})
        : error ?? '';
}


// Takes a pasted token. False if it is none.
export function signIn(pasted) {
    const text = pasted.trim();
    const claims = claimsOf(text);

    if (!claims) {
        return false;
    }

    token = text;
    session = {server: claims.sub, tokenId: claims.jti, bot: '',
        reads: claims.kind === 'read'};
    keep([...others(claims.sub), token]);
    return true;
}


// Takes the token that the tab has of that server, or the last one. False if
// there is none.
export function resume(server) {
    const text = kept().findLast((one) => !server
        || claimsOf(one)?.sub === server);

    return text !== undefined && signIn(text);
}


// Leaves the page for the platform's.
export function signInThere() {
    location.assign(LOGIN);
}


// ... which stays, in another tab.
export function signInBeside() {
    window.open(LOGIN, '_blank', 'noopener');
}


// Whether people can sign in here: then that address leads elsewhere, or tells
// that somebody has.
export async function canSignIn() {
    const {type, status} = await elsewhere(LOGIN, 'HEAD') ?? {};
    return type === 'opaqueredirect' || status === SIGNED;
}


// Who signed in, with their servers; null: nobody.
export async function whoSignedIn() {
    const signed = await elsewhere(LOGIN, 'HEAD');

    if (signed?.status !== SIGNED) {
        return null;
    }

    const response = await elsewhere(`${BASE}/me`, 'GET');

    return response?.ok ? response.json() : null;
}


// Where the person is signed in; null where there is no answer.
export function listSessions() {
    return told('/me/sessions');
}


// Ends one session of the person, or, without its ID, all. False: it goes on.
export async function endSession(id) {
    const response = await elsewhere(`${BASE}/me/sessions`
        + (id && `/${encodeURIComponent(id)}`), 'DELETE');

    return response !== null && [200, 401, 404].includes(response.status);
}


// What one of the person's servers has there, which need not be open; null
// where there is no answer.
export function glance(server, path) {
    return told(`/servers/${server}${path}`);
}


async function told(path) {
    const response = await elsewhere(BASE + path, 'GET');

    return response?.ok ? response.json().catch(() => null) : null;
}


// Opens a server of the person's.
export function openServer(person, {id, level}) {
    token = null;
    session = {server: id, person, level, bot: ''};
}


// Whether nothing that is changed would be taken: the token is to read, or the
// person's access is to look.
export function mayOnlyLook() {
    return Boolean(session?.reads
        || session?.person && session.level !== 'manage');
}


function elsewhere(address, method) {
    return fetch(address, {method, headers: {'X-Guildlog': '1'},
        cache: 'no-store', mode: 'same-origin', redirect: 'manual',
        keepalive: true,
        referrerPolicy: 'no-referrer'}).catch(() => null);
}


// Forgets all tokens, or the one that is used, and ends the session of a
// person. False: that goes on.
export async function signOut(all, person) {
    keep(all ? [] : others(session?.server));
    token = null;
    session = /** @type {any} */ (null);

    if (!person) {
        return true;
    }

    const response = await elsewhere(`${LOGIN}/logout`, 'POST');
    return response?.ok || response?.status === 401;
}


function kept() {
    try {
        return JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    } catch {
        return [];
    }
}


function keep(tokens) {
    if (tokens.length) {
        sessionStorage.setItem(KEY, JSON.stringify(tokens));
    } else {
        sessionStorage.removeItem(KEY);
    }
}


function others(server) {
    return kept().filter((one) => claimsOf(one)?.sub !== server);
}


// what to do when the token stops working: f(status)
export function whenEnded(f) {
    ended = f;
}


/**
 * @typedef {import('api').paths} Paths
 */
/**
 * @template {string} P
 * @typedef {`/servers/{guild_id}${P}` extends keyof Paths
 *     ? Paths[`/servers/{guild_id}${P}`] extends {get: {responses: {200:
 *         {content: {'application/json': infer A}}}}} ? A : any : any} Answer
 */

// get('/logs', URLSearchParams): the body, or null where nothing is stored
/**
 * @template {string} P
 * @param {P} path
 * @param {URLSearchParams} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer<P>>}
 */
export async function get(path, query, signal) {
    const response = await send('GET', path, {query, signal});
    return response.status === 404 ? null : response.json();
}


// a part of the bot's configuration, its rows or null
/**
 * @template {keyof Schemas['Config']} N
 * @param {N} name
 * @returns {Promise<Schemas['Config'][N]>}
 */
export async function part(name) {
    return (await get('/config'))[name];
}


export async function change(method, path, body, query) {
    const response = await send(method, path, {body, query});
    return response.json();
}


// a response whose body is read as it comes
export function open(path, query, signal, headers) {
    return send('GET', path, {query, signal, headers});
}


// Resolves when the rate limit leaves room for what can wait.
export async function leisure(signal) {
    while (left.requests < RESERVE && Date.now() < left.until) {
        await new Promise((resolve) => setTimeout(resolve,
            left.until - Date.now()));
        signal.throwIfAborted();
    }
}


async function send(method, path, options) {
    for (let attempt = 0; ; attempt++) {
        await ready(options.signal);

        const response = await attemptOnce(method, path, options);
        const stalled = reasonToStall(response, await refusalOf(response));

        if (!stalled) {
            working();
            return accepted(response, method);
        }

        stall(stalled, Number(response?.headers.get('Retry-After'))
            || PAUSES[Math.min(attempt, PAUSES.length - 1)]);
        if (method !== 'GET') {
            throw new Refusal(response?.status ?? 0, {error: t(response
                ? 'api.undone' : 'api.unanswered')});
        }
    }
}


// null where there is no answer
async function attemptOnce(method, path, {query, body, signal, headers}) {
    const parameters = new URLSearchParams(query);

    if (session.bot) {
        parameters.set('bot', session.bot);
    }

    try {
        const response = await fetch(`${BASE}/servers/${session.server}${path}`
            + (parameters.size ? '?' + parameters : ''), {
            method, signal,
            headers: {
                ...token ? {Authorization: `Bearer ${token}`}
                    : {'X-Guildlog': '1'}, ...headers,
                ...body && {'Content-Type': 'application/json'},
            },
            body: body && JSON.stringify(body),
            cache: 'no-store', credentials: token ? 'omit' : 'same-origin',
            mode: 'same-origin',
            redirect: 'error', referrerPolicy: 'no-referrer',
        });

        left = {
            requests: Number(response.headers.get('X-RateLimit-Remaining')),
            until: Date.now()
                + Number(response.headers.get('X-RateLimit-Reset')) * 1000,
        };
        return response;
    } catch (error) {
        if (signal?.aborted) {
            throw error;
        }
        return null;
    }
}


// the body that says why; null where none does, or nothing is refused
/** @returns {Promise<Schemas['Error'] | null>} */
async function refusalOf(response) {
    if (!response || response.ok) {
        return null;
    }

    const body = await response.json().catch(() => null);

    response.refusal = body?.error ? body : null;
    return response.refusal;
}


// A 429 with words of its own is about one endpoint, not about the token.
function reasonToStall(response, refusal) {
    if (!response) {
        return 'offline';
    }
    if (response.status === 429 && !refusal) {
        return 'limited';
    }
    return response.status === 503 ? 'failing' : null;
}


function accepted(response, method) {
    if (response.ok || response.status === 404 && method === 'GET') {
        return response;
    }

    if (response.status === 401
        || response.status === 403 && !response.refusal)
    {
        ended(response.status);
    }
    throw new Refusal(response.status, response.refusal
        ?? {error: t('api.answer', {status: String(response.status)})});
}


function claimsOf(text) {
    try {
        const part = text.split('.')[1].replaceAll('-', '+')
            .replaceAll('_', '/');
        const claims = JSON.parse(atob(part));

        return /^\d{17,20}$/.test(claims.sub) ? claims : null;
    } catch {
        return null;
    }
}
