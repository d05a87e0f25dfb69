// @ts-check
// How the page stands with the server, and the line that tells the reader.

import {button, fill, h} from './dom.js';
import {parts, t} from './texts.js';

const SAYINGS = {
    offline: ['connection.offline', 'connection.again'],
    limited: ['connection.limited', 'connection.on'],
    failing: ['connection.failing', 'connection.again'],
};

const banner = /** @type {HTMLElement} */ (document.getElementById('banner'));

let until = 0;
let wake = null;      // ends a wait before its time
let waiting = null;
let timer;


// Resolves when requests may go out.
export function ready(signal) {
    return waiting ? Promise.race([waiting, aborted(signal)])
        : Promise.resolve();
}


// A module of this page, by what imports it. Where an upgrade took it away the
// page is loaded again, for newer ones do not go with those that it has.
/**
 * @template M
 * @param {() => Promise<M>} module
 * @returns {Promise<M>}
 */
export async function load(module) {
    try {
        return await module();
    } catch {
        const {status} = await fetch(import.meta.url, {method: 'HEAD',
            cache: 'no-store'}).catch(() => ({status: 0}));

        if (status === 404) {
            location.reload();
            await new Promise(() => {});
        }
        throw new Error(t('connection.offline'));
    }
}


// Stops all requests for so long.
export function stall(kind, seconds) {
    if (waiting) {
        return;
    }

    until = Date.now() + seconds * 1000;
    waiting = new Promise((resolve) => {
        wake = resolve;
    }).then(() => {
        waiting = null;
        clearInterval(timer);
    });

    show(kind);
    timer = setInterval(tick, 250);
    tick();
}


export function working() {
    if (!waiting && !banner.hidden) {
        banner.hidden = true;
        fill(banner);
    }
}


// The seconds go by unspoken: only the sentence is read out.
function show(kind) {
    const [what, next] = SAYINGS[kind];

    banner.dataset.kind = kind;
    fill(banner, h('strong', null, t(what)), ' ',
        h('span', {'aria-hidden': true}, parts(next,
            {seconds: h('span', {class: 'countdown'})})),
        kind === 'limited' ? null
            : button(t('connection.now'), () => wake(), {class: 'quiet'}));
    banner.hidden = false;
}


function tick() {
    const left = Math.ceil((until - Date.now()) / 1000);

    /** @type {HTMLElement} */ (banner.querySelector('.countdown'))
        .textContent = String(Math.max(left, 0));
    if (left <= 0) {
        wake();
    }
}


function aborted(signal) {
    return new Promise((_, reject) => signal?.addEventListener('abort',
        () => reject(signal.reason), {once: true}));
}


addEventListener('online', () => banner.dataset.kind === 'offline' && wake?.());
