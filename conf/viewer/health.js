// @ts-check
// Whether logs arrive, seen from every view.

import {get, mayOnlyLook, session} from './api.js';
import {hrefOf} from './address.js';
import {fill, h} from './dom.js';
import {t} from './texts.js';
import {titleOf} from './words.js';

const FRESH = 30_000;

// what is mended by choosing a channel
const UNSET = ['NEVER_INITIALISED', 'NO_LOG_CHANNEL'];

export const node = h('a', {class: 'badge health', hidden: true,
    'data-mood': 'bad'});

let asked = 0;      // when
let unset = false;


// True if no log channel is set at all. A report that is not so old is not
// asked for again, and a token that reads gets none.
export async function check(bot, anew) {
    if (session.reads) {
        return false;
    }
    if (anew || Date.now() - asked > FRESH) {
        asked = Date.now();
        show(bot, await get('/troubleshoot', new URLSearchParams({live: '0'})));
    }
    return unset;
}


export function forget() {
    asked = 0;
    node.hidden = true;
}


function show(bot, {status, findings}) {
    const worst = findings.find(({severity}) => severity === 'blocking');

    unset = UNSET.includes(worst?.id);
    node.hidden = status !== 'broken';
    if (worst) {
        const mends = unset && !mayOnlyLook();
        // who begins has broken nothing
        const begin = worst.id === UNSET[0];

        node.dataset.mood = begin ? 'open' : 'bad';
        fill(node, !begin ? t('trouble.broken', {what: titleOf(worst)})
            : mends ? t('fix.start') : titleOf(worst));
        node.href = hrefOf(mends ? 'start' : 'troubleshoot', bot);
    }
}
