// @ts-check
// Changes that are not saved yet: a bar that saves or undoes them all, and a
// question before they are left.

import {asked, button, fill, h} from './dom.js';
import {t} from './texts.js';

const watched = new Set();     // {node, changes(), save(), undo()}

const said = h('strong', {role: 'status'});

export const bar = h('div', {class: 'unsaved', role: 'region',
    'aria-label': t('unsaved.title'), hidden: true}, said,
    h('span', {class: 'gap'}),
    button(t('unsaved.undo'), undoAll), button(t('unsaved.save'), saveAll,
        {class: 'primary'}));


// part: what has a node, and may have changes
export function watch(part) {
    watched.add(part);
}


// To be called after whatever the reader or the server did.
export function look() {
    const n = changed().reduce((sum, part) => sum + part.changes(), 0);

    const here = bar.contains(document.activeElement);

    fill(said, t('unsaved.changes', {count: n}));
    bar.hidden = n === 0;
    if (here && bar.hidden) {
        /** @type {HTMLElement | null} */
        (document.querySelector('.page h2'))?.focus();
    }
    return n;
}


// True if nothing is lost, or the reader wants it lost.
export async function mayLeave() {
    if (!look()) {
        return true;
    }

    const answer = await asked(t('unsaved.question'), [
        ['stay', t('unsaved.stay')], ['drop', t('unsaved.drop'), 'danger'],
        ['save', t('unsaved.saveAndLeave'), 'primary']]);

    if (answer === 'save') {
        await saveAll();
        return !look();
    }
    if (answer === 'drop') {
        forget();
    }
    return answer === 'drop';
}


export function forget() {
    watched.clear();
    look();
}


function changed() {
    return [...watched].filter((part) => part.node.isConnected
        && part.changes());
}


// Stops at what is refused, which says so itself.
async function saveAll() {
    for (const part of changed()) {
        await part.save();
    }
    look();
}


function undoAll() {
    changed().forEach((part) => part.undo());
    look();
}


addEventListener('beforeunload', (event) => look() && event.preventDefault());
