// Somebody or something by its name, with the ID at hand.

import {avatar, turnAvatar} from './avatar.js';
import {copyId} from './copy.js';
import {knownName, nameOf} from './directory.js';
import {foreign, fill, h} from './dom.js';


// kind: member, channel, category or role; the name comes as soon as it is
// known
export function named(kind, id) {
    const face = kind === 'member' && avatar({id, name: knownName(kind, id)});
    const text = h('span');
    const show = (name) => {
        fill(text, kind === 'channel' && name ? '#' : null,
            foreign(name || id));
        face && turnAvatar(face, {id, name});
    };

    show(knownName(kind, id));
    nameOf(kind, id).then((name) => name && show(name), () => {});
    return h('span', {class: 'named'}, face, text, copyId(id));
}
