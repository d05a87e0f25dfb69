// @ts-check
// People and servers by their pictures, or by their initials in a colour of
// their own.

import {isId, knownOf, meet} from './directory.js';
import {h, plain} from './dom.js';

const HUES = 12;
const BREAKS = /[\s._\-#/|]+/u;
const LETTER = /[\p{L}\p{N}]\p{M}*/u;

// where the pictures are, if this page may show them
const [page] = /** @type {PerformanceNavigationTiming[]} */ (
    performance.getEntriesByType('navigation'));
const PICTURES = page?.serverTiming?.find(({name}) => name === 'images')
    ?.description;

const missing = new Set();    // addresses of those that are not there


// named: {id, name}, and the icon of a server; large: with up to two letters
export function avatar(named, looks = '') {
    const node = h('i', {class: `avatar ${looks}`.trim(), 'aria-hidden': true});

    turnAvatar(node, named, looks.includes('large') ? 2 : 1);
    return node;
}


// turns it into that of another; null: of somebody who is not known
export function turnAvatar(node, named, most = 1) {
    node.textContent = named ? initialsOf(named.name || named.id || '?', most)
        : '?';
    node.classList.toggle('unknown', !named);
    node.dataset.of = named?.id ?? '';
    if (!named) {
        return;
    }
    node.style.setProperty('--hue', hueOf(named.id));
    if (PICTURES && 'icon' in named) {
        show(node, 'icons', named.id, named.icon);
    } else if (PICTURES && named.id !== '0') {
        face(node, named.id);
    }
}


async function face(node, id) {
    if (knownOf('member', id).avatar === undefined) {
        await meet(id).catch(() => {});
    }
    if (node.dataset.of === id) {
        show(node, 'avatars', id, knownOf('member', id).avatar);
    }
}


// instead of the initials, once it is there
function show(node, sort, id, hash) {
    const size = node.classList.contains('large') ? 128 : 64;
    const src = `${PICTURES}/${sort}/${id}/${hash}.png?size=${size}`;

    if (hash && !missing.has(src)) {
        node.append(h('img', {src, alt: '', onload({target}) {
            target.parentNode?.replaceChildren(target);
        }, onerror({target}) {
            missing.add(src);
            target.remove();
        }}));
    }
}


function initialsOf(name, most) {
    const letters = name.split(BREAKS).flatMap((part) =>
        part.match(LETTER)?.[0] ?? []);

    return letters.slice(0, most).join('').toUpperCase()
        || plain([...name][0]);
}


// the last digits of an ID tell people apart best
function hueOf(id) {
    return Number(BigInt(isId(id) ? id : 0) % 1_000_003n) % HUES
        * (360 / HUES);
}
