// People and servers as their initials, in a colour of their own.

import {isId} from './directory.js';
import {h, plain} from './dom.js';

const HUES = 12;
const BREAKS = /[\s._\-#/|]+/u;
const LETTER = /[\p{L}\p{N}]\p{M}*/u;


// named: {id, name}; large: with up to two letters
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
    if (named) {
        node.style.setProperty('--hue', hueOf(named.id));
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
