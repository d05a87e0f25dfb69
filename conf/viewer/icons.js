// @ts-check
// Pictures of our own: what kind of thing happened, and what a button does.

import {h, svg} from './dom.js';
import {typeOf} from './log-types.js';

// strokes in a square of 16
const PATHS = {
    bin: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4',
    pencil: 'M3 13l.6-3L10.8 2.8l2.4 2.4L6 12.4zM9.4 4.2l2.4 2.4',
    message: 'M2.5 3h11v8H7l-3 2.5V11H2.5z',
    speaker: 'M2.5 6v4H5l3.5 3V3L5 6zM11 5.8a3 3 0 0 1 0 4.4M12.8 4a6 6 0 '
        + '0 1 0 8',
    mute: 'M2.5 6v4H5l3.5 3V3L5 6zM11 6l3 4M14 6l-3 4',
    joins: 'M6.5 7a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M2 13.5c0-6 9-6 9 0'
        + 'M13 4.5v4M11 6.5h4',
    leaves: 'M6.5 7a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M2 13.5c0-6 9-6 9 0'
        + 'M11 6.5h4',
    member: 'M8 7.2a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M3 13.8c0-6.4 10-6.4 10 '
        + '0',
    hammer: 'M8.2 2.2l5 5M6.6 3.8l5 5M7.4 3l5 5M8.5 6.7L2.5 12.6l1.2 1.2 6-5.9',
    clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.8V8l2.2 1.6',
    door: 'M9.5 2.5h-6v11h6M6.5 8h7.5M11.5 5.3L14 8l-2.5 2.7',
    shield: 'M8 2l5 1.8v4c0 3-2 5-5 6.2-3-1.2-5-3.2-5-6.2v-4zM5.8 8l1.7 1.7 '
        + '3-3.2',
    tag: 'M2.5 2.5h5l6 6-5 5-6-6zM5.3 5.3h.1',
    hash: 'M6.3 2.5l-1 11M10.7 2.5l-1 11M3 5.8h10.5M2.5 10.2H13',
    home: 'M2.5 7.5L8 2.8l5.5 4.7M4 6.5v7h8v-7M6.7 13.5V9.8h2.6v3.7',
    settings: 'M2.5 5h4M9.5 5h4M2.5 11h1M6.5 11h7M8 6.6a1.6 1.6 0 1 0 0-3.2 '
        + '1.6 1.6 0 0 0 0 3.2M5 12.6a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2',
    star: 'M8 2l1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.3l-3.7 2 .8-4.1L2 6.3l4.2-.5z',
    list: 'M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5',
    contrast: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12V2M10 4v8M12 5.5v5',
    chart: 'M2.5 13.5v-5h2.5v5zM6.8 13.5v-11h2.5v11zM11 13.5v-8h2.5v8z',
    export: 'M8 2v7.5M5 6.7l3 3 3-3M2.5 10.5v3h11v-3',
    copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
    copied: 'M3 8.5l3.2 3.2L13 4.8',
};

// by category: of what is new, gone, or else
const USUAL = {
    categoryMembers: ['joins', 'leaves', 'member'],
    categoryText: ['message', 'bin', 'pencil'],
    categoryVoice: ['speaker', 'mute', 'speaker'],
    categoryServer: ['home', 'home', 'home'],
    categoryRoles: ['tag', 'tag', 'tag'],
    categoryChannels: ['hash', 'hash', 'hash'],
    categoryService: ['settings', 'settings', 'settings'],
    categoryActions: ['star', 'star', 'star'],
    categoryModlog: ['shield', 'shield', 'shield'],
};

// ban, timeout, kick; roles of members; what a rule did
const OWN = {39: 'hammer', 40: 'clock', 41: 'door', 44: 'tag', 45: 'tag',
    101: 'shield'};


export function icon(name) {
    const node = svg('svg', {viewBox: '0 0 16 16', class: 'icon',
        'aria-hidden': true});

    node.append(svg('path', {d: PATHS[name]}));
    return node;
}


// a picture, with its name beside it where there is room for that
export function labeled(name, text) {
    return [icon(name), h('span', {class: 'label'}, text)];
}


// turns one picture into another
export function turnIcon(node, name) {
    node.firstChild.setAttribute('d', PATHS[name]);
}


export function iconOf(type) {
    const {category, kind} = typeOf(type);
    const at = ['new', 'gone'].indexOf(kind);

    return OWN[type] ?? USUAL[category].at(at);
}
