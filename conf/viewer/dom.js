// @ts-check
// Elements are made here and nowhere else: what is given as text becomes text.

import {direction, t} from './texts.js';

const PROPERTIES = new Set(['value', 'checked', 'indeterminate', 'htmlFor']);

const FOCUSED = ':is(button, input, select, textarea):enabled, h2';

const TURNING = /([\u202A-\u202E\u2066-\u2069])/;
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFEFC\u{10800}-\u{10FFF}]/u;

// from what was to what is
export const ARROW = direction === 'rtl' ? ' ← ' : ' → ';

let lastId = 0;


/** @typedef {any} Child a text, a node, nothing, or a list of these */

// h('p', {class: 'x', onclick: f}, 'text', node, null)
/**
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, any> | null} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function h(name, attributes, ...children) {
    const node = document.createElement(name);

    for (const [key, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (key.startsWith('on')) {
            node.addEventListener(key.slice(2), value);
        } else if (PROPERTIES.has(key)) {
            node[key] = value;
        } else {
            node.setAttribute(key, value === true && !key.startsWith('aria-')
                ? '' : value);
        }
    }

    fill(node, ...children);
    return node;
}


// What has the focus, and stays, keeps it.
/**
 * @template {Element | DocumentFragment} E
 * @param {E} node
 * @param {Child[]} children
 */
export function fill(node, ...children) {
    const focused = /** @type {HTMLElement} */ (document.activeElement);

    node.replaceChildren(...children.flat(Infinity).filter(
        (child) => child !== null && child !== undefined && child !== false));
    if (focused !== document.activeElement && node.contains(focused)) {
        focused.focus({preventScroll: true});
    }
    return node;
}


const made = new WeakMap();    // the rows of a list, each with its node


// Fills a list with what make(row, i) gives for each of the rows. Where nothing
// of a row is new it stays as it is, with what has the focus and what is open
// in it; anew: but for this node. What a node shows of its row stands in the
// row, also if it was changed there since.
export function fillRows(list, rows, make, anew) {
    const before = (made.get(list) ?? []).filter(([, node]) => node !== anew)
        .map(([row, node]) => ({key: JSON.stringify(row), row, node}));
    const now = rows.map((row, i) => {
        const key = JSON.stringify(row);
        const at = before.findIndex((one) => one.key === key);
        const [same] = at < 0 ? [] : before.splice(at, 1);

        return same ? [same.row, same.node] : [row, make(row, i)];
    });

    made.set(list, now);
    fill(list, now.map(([, node]) => node));
}


// Where what had the focus is gone, the first of these nodes that is there and
// can have it gets it, or the first control in it.
export function refocus(...nodes) {
    if (document.activeElement !== document.body) {
        return;
    }
    for (const node of nodes) {
        const control = node?.isConnected && (node.matches(FOCUSED) ? node
            : node.querySelector(FOCUSED));

        if (control) {
            control.focus();
            return;
        }
    }
}


export function svg(name, attributes) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', name);

    for (const [key, value] of Object.entries(attributes ?? {})) {
        node.setAttribute(key, value);
    }
    return node;
}


// Text of others, in its own direction. Characters that turn the direction of
// what follows are shown instead of obeyed: "exe.gpj" must not pose as a
// picture.
export function foreign(text, attributes) {
    const parts = String(text).split(TURNING);

    return h('bdi', attributes, ...parts.map((part, i) => i % 2
        ? h('span', {class: 'control', title: t('page.turns')},
            'U+' + part.codePointAt(0)?.toString(16).toUpperCase())
        : part));
}


// The same as plain text, with a mark for each of them.
export function plain(text) {
    return text.split(TURNING).map((part, i) => i % 2 ? '\uFFFD' : part)
        .join('');
}


// ... which turns nothing around it.
export function isolated(text) {
    return direction === 'rtl' || RIGHT_TO_LEFT.test(text)
        ? `\u2068${plain(text)}\u2069` : plain(text);
}


export function newId() {
    return 'x' + ++lastId;
}


export function button(label, onclick, attributes) {
    return h('button', {type: 'button', onclick, ...attributes}, label);
}


// mood: good, bad, open, or none
export function badge(text, mood = 'none') {
    return h('span', {class: 'badge', 'data-mood': mood}, text);
}


// Calls f when no call came for so many milliseconds.
export function debounce(ms, f) {
    let timer;

    return (...values) => {
        clearTimeout(timer);
        timer = setTimeout(f, ms, ...values);
    };
}


// A panel that opens beneath its button and closes by itself.
export function popover(label, attributes, ...children) {
    const panel = h('div', {popover: 'auto', class: 'popover', id: newId(),
        role: 'dialog', 'aria-label': label}, ...children);
    const opener = h('button', {type: 'button', ...attributes,
        popovertarget: panel.id, 'aria-haspopup': 'dialog'}, label);

    panel.addEventListener('toggle', () => {
        if (panel.matches(':popover-open')) {
            placeBelow(panel, opener);
        }
    });
    return {opener, panel};
}


export function placeBelow(panel, anchor) {
    const at = anchor.getBoundingClientRect();
    const rtl = getComputedStyle(anchor).direction === 'rtl';
    const start = rtl ? at.right - panel.offsetWidth : at.left;
    const most = innerWidth - panel.offsetWidth - 8;
    const below = innerHeight - at.bottom - 12;

    panel.style.left = Math.max(8, Math.min(start, most)) + 'px';
    panel.style.top = at.bottom + 4 + 'px';
    panel.style.maxHeight = Math.max(160, below) + 'px';
}


// Asks before something that cannot be undone; resolves to true or false.
export async function confirmed(question, action) {
    return await asked(question, [['no', t('page.cancel')],
        ['yes', action, 'danger']]) === 'yes';
}


// answers: [[value, label, class]]; resolves to a value, the first one for
// whoever closes the question
export function asked(question, answers) {
    return new Promise((resolve) => {
        const title = newId();
        const dialog = h('dialog', {'aria-labelledby': title,
            onclose: () => {
                resolve(dialog.returnValue || answers[0][0]);
                dialog.remove();
            }},
            h('form', {method: 'dialog'},
                h('p', {id: title}, ...[question].flat()),
                h('div', {class: 'actions'},
                    answers.map(([value, label, looks], i) => h('button',
                        {value, class: looks, autofocus: i === 0},
                        label)))));

        document.body.append(dialog);
        dialog.showModal();
    });
}


// Shows something until it is closed; then it resolves.
/** @returns {Promise<void>} */
export function shown(...content) {
    return new Promise((resolve) => {
        const title = newId();
        const dialog = h('dialog', {'aria-labelledby': title,
            onclose: () => {
                resolve();
                dialog.remove();
            }},
            h('form', {method: 'dialog'},
                h('div', {id: title}, ...content),
                h('div', {class: 'actions'},
                    h('button', {class: 'primary'}, t('page.close')))));

        document.body.append(dialog);
        dialog.showModal();
    });
}
