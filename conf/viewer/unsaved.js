// @ts-check
// Changes that are not saved yet: a bar that saves or undoes them all, and a
// question before they are left. What was saved last is told in its place, and
// can be put back.

import {asked, button, fill, h, refocus} from './dom.js';
import {t} from './texts.js';

const watched = new Set();     // {node, changes(), save(), undo()}

let backs = [];        // for each thing saved last, what puts it back, or null
let working = false;   // several are being saved

const said = h('strong', {role: 'status'});

export const bar = h('div', {class: 'unsaved', role: 'region',
    'aria-label': t('unsaved.title'), hidden: true}, said,
    h('span', {class: 'gap'}),
    button(t('unsaved.undo'), undoAll), button(t('unsaved.save'), saveAll,
        {class: 'primary'}));


export const notice = h('div', {class: 'unsaved saved', role: 'status'});


// part: what has a node, and may have changes
export function watch(part) {
    watched.add(part);
}


// It worked; back() saves what was before, null where there is no way back.
export function saved(back) {
    backs = working ? [...backs, back] : [back];
    fill(notice);
    look();
}


// To be called after whatever the reader or the server did.
export function look() {
    const n = changed().reduce((sum, part) => sum + part.changes(), 0);

    const here = bar.contains(document.activeElement);

    fill(said, t('unsaved.changes', {count: n}));
    bar.hidden = n === 0;
    if (n && !working) {
        backs = [];
    }
    tell(n === 0 && backs.length > 0);
    if (here && bar.hidden) {
        heading()?.focus();
    }
    return n;
}


// whether what was saved is told
function tell(on) {
    if (on !== notice.hasChildNodes()) {
        fill(notice, on && [h('strong', null, t('form.saved')),
            h('span', {class: 'gap'}),
            backs.every(Boolean) && button(t('types.undo'), takeBack)]);
    }
}


/** @returns {HTMLElement | null} */
function heading() {
    return document.querySelector('.page h2');
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
    backs = [];
    look();
}


function changed() {
    return [...watched].filter((part) => part.node.isConnected
        && part.changes());
}


async function saveAll() {
    backs = [];
    await inTurn(changed().map((part) => () => part.save()));
}


async function takeBack() {
    const acts = backs;

    backs = [];
    look();
    try {
        await inTurn(acts);
    } catch (refusal) {
        fill(notice, h('span', {class: 'error'}, refusal.message));
    }
    refocus(notice, heading());
}


// What is refused says so itself.
async function inTurn(acts) {
    working = true;
    try {
        for (const act of acts) {
            await act();
        }
    } finally {
        working = false;
        look();
    }
}


function undoAll() {
    changed().forEach((part) => part.undo());
    look();
}


addEventListener('beforeunload', (event) => look() && event.preventDefault());
