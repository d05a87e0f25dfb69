// @ts-check
// Somebody or something by its name, with the ID at hand.

import {avatar} from './avatar.js';
import {copyId} from './copy.js';
import {knownName, knownOf, nameOf} from './directory.js';
import {fill, foreign, h} from './dom.js';
import {icon} from './icons.js';
import {hexOf} from './words.js';

// the platform's types of channels that are not for text
const TYPES = {2: 'speaker', 4: 'list', 13: 'speaker'};


// kind: member, channel, category or role; the name comes as soon as it is
// known
export function named(kind, id) {
    const node = h('span', {class: 'named'});
    const text = h('span');
    const show = (name) => {
        fill(text, foreign(name || id));
        fill(node, faceOf(kind, {...knownOf(kind, id), id, name}), text,
            copyId(id));
    };

    show(knownName(kind, id));
    nameOf(kind, id).then((name) => name && show(name), () => {});
    return node;
}


// what it is seen by: initials, the colour of a role, the kind of a channel
export function faceOf(kind, {id, name, type, color}) {
    if (kind === 'member') {
        return avatar({id, name});
    }
    if (kind !== 'role') {
        return icon(TYPES[type] ?? (kind === 'category' ? 'list' : 'hash'));
    }

    const dot = h('i', {class: 'dot'});

    dot.style.background = color ? hexOf(color) : '';
    return dot;
}
