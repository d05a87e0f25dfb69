// @ts-check
// What changed, key by key, as people read it. The keys are those of the
// platform's audit log; change-keys.tsv says what is known of them.

import {knownName, nameOf} from './directory.js';
import {ARROW, fill, foreign, h, isolated} from './dom.js';
import {changeKeys, t, textsOf} from './texts.js';
import {plainTime, timeNode} from './time.js';

// the kind of each key, and permissions by their bits
const KEYS = {};
const BITS = {};
for (const {key, kind} of await changeKeys) {
    const [, bit] = /^bit:(\d+)$/.exec(kind) ?? [];

    if (bit) {
        BITS[bit] = key;
    } else if (kind !== 'word') {
        KEYS[key] = kind;
    }
}

const WORDS = textsOf('change', ['yes', 'no', 'none', 'added', 'changed',
    'removed', 'off']);
/** @type {[number, string][]} */
const UNITS = [[86400, 'days'], [3600, 'hours'], [60, 'minutes'],
    [1, 'seconds']];
const SECONDS = {seconds: 1, minutes: 60, days: 86400};
const IDS = {user: 'member', channel: 'channel', role: 'role'};


// A part is {word}, {text} of somebody, {time}, or {kind, id, name}.
// {label, old, now}: lists of parts, null where there is nothing to tell;
// {label, all}: what came and went, or what it was of a thing that is gone.
// type: of the entry, if known
/** @param {any} change @param {{kind?: string, ofChannel?: boolean}} [type] */
export function told(change, type = {}) {
    const {key, old, new: now} = change;
    const kind = KEYS[key] !== 'type' ? KEYS[key] ?? 'text'
        : type.ofChannel ? 'choice' : 'text';
    const label = kind === 'value' || !(key in KEYS) ? {text: key}
        : {word: t(`change.${key}`)};
    const sign = key.startsWith('$add') ? '+ '
        : key.startsWith('$remove') ? '− ' : '';

    if (old === null && now === null) {
        return {label, all: []};
    }
    if (sign) {
        return {label, all: itemsOf(now ?? old, key, kind, sign)};
    }
    if (type.kind === 'gone' && now === null) {
        return {label, all: kind === 'permissions' && permissions(null, old)
            || itemsOf(old, key, kind)};
    }
    if (kind === 'image') {
        return {label, all: [{word: old === null ? WORDS.added
            : now === null ? WORDS.removed : WORDS.changed}]};
    }
    if (kind === 'permissions') {
        const all = permissions(old, now);

        if (all) {
            return {label, all};
        }
    }
    return {
        label,
        old: old === null ? null : itemsOf(old, key, kind),
        now: now === null ? [{word: WORDS.none}] : itemsOf(now, key, kind),
    };
}


function itemsOf(value, key, kind, sign = '') {
    const items = [value].flat();

    return items.length ? items.flatMap((item, i) => [
        {word: `${i ? ', ' : ''}${sign}`}, partOf(item, key, kind)])
        : [{word: WORDS.none}];
}


function permissions(old, now) {
    const [before, after] = [old, now].map((sum) =>
        /^\d{1,19}$/.test(sum ?? 0) ? BigInt(sum ?? 0) : null);

    if (before === null || after === null) {
        return null;
    }

    const named = (bits, sign) => Array.from({length: 64}, (_, bit) => bit)
        .filter((bit) => bits >> BigInt(bit) & 1n)
        .map((bit) => sign + (bit in BITS ? t(`change.${BITS[bit]}`)
            : `#${bit}`));

    return [{word: [...named(after & ~before, '+ '),
        ...named(before & ~after, '− ')].join(', ') || WORDS.none}];
}


function partOf(value, key, kind) {
    const none = {word: WORDS.none};
    const id = value?.id ?? value;

    if (kind === 'channel' && id === '0') {
        return {word: WORDS.off};
    }
    if (kind in IDS && /^\d{1,20}$/.test(id) && typeof id === 'string') {
        return {kind: IDS[kind], id, name: value.name};
    }
    if (typeof value === 'object') {
        return {text: value.name || value.id};
    }
    if (typeof value === 'boolean') {
        return {word: value ? WORDS.yes : WORDS.no};
    }
    if (kind === 'time' && Date.parse(value)) {
        return {time: Date.parse(value)};
    }
    if (value === '' || value === 0 && (kind in SECONDS || kind === 'limit'
        || kind === 'color'))
    {
        return none;
    }
    if (typeof value !== 'number') {
        return {text: value};
    }

    switch (kind) {
    case 'color':
        return {text: `#${value.toString(16).padStart(6, '0')}`};
    case 'choice':
        return {word: `${key}.${value}` in KEYS
            ? t(`change.${key}.${value}`) : String(value)};
    case 'bitrate':
        return {word: t('unit.bitrate', {count: Math.floor(value / 1000)})};
    case 'percent':
        return {word: t('unit.percent', {count: Math.round(value * 100)})};
    case 'seconds':
    case 'minutes':
    case 'days':
        return {word: duration(value * SECONDS[kind])};
    default:
        return {word: String(value)};
    }
}


export function duration(seconds) {
    return UNITS.flatMap(([size, unit]) => {
        const n = Math.floor(seconds / size);

        seconds -= n * size;
        return n ? [t(`unit.${unit}`, {count: n})] : [];
    }).join(' ');
}


/**
 * @typedef {{word?: string, text?: string, time?: number, kind?: string,
 *     id?: string, name?: string}} Part
 */

// on one line
export function changeText(change, type) {
    const {label, old, now, all} = told(change, type);
    const text = (/** @type {Part[]} */ parts) => parts.map(
        ({word, text: own, time, kind, id, name}) =>
        word ?? isolated(own ?? (time ? plainTime(time)
            : name || knownName(kind, id) || id))).join('');

    return `${text([label])}: ${all ? text(all)
        : old ? text(old) + ARROW + text(now) : text(now)}`;
}


// the same as a node: what people wrote stands apart in it already
export function changeLine(change, type) {
    const node = h('bdi', null, changeText(change, type));

    namesIn([change], () => {
        node.textContent = changeText(change, type);
    });
    return node;
}


// Looks for the names of those whose IDs alone are told; found() is called as
// soon as one of them is known.
export function namesIn(changes, found) {
    const parts = changes.map((change) => told(change)).flatMap(
        ({old, now, all}) => [...old ?? [], ...now ?? [], ...all ?? []]);

    for (const {kind, id, name} of parts) {
        if (kind && !name && !knownName(kind, id)) {
            nameOf(kind, id).then((named) => named && found(), () => {});
        }
    }
}


export function changesNode(changes, type) {
    return changes?.length ? h('section', {class: 'changes'},
        h('h3', null, t('entry.changes')),
        h('dl', {class: 'facts'}, changes.map((change) =>
            changeNode(change, type)))) : null;
}


function changeNode(change, type) {
    const {label, old, now, all} = told(change, type);

    return h('div', null, h('dt', null, partNode(label)),
        h('dd', null, all ? all.map(partNode)
            : [old && [h('del', null, old.map(partNode)), ARROW],
                h('ins', null, now.map(partNode))]));
}


/** @param {Part} part */
function partNode({word, text, time, kind, id, name}) {
    return word ?? (text !== undefined ? foreign(text)
        : time ? timeNode(time) : namedNode(kind, id, name));
}


function namedNode(kind, id, name) {
    const node = h('span', {title: id}, foreign(name || id));

    if (!name) {
        nameOf(kind, id).then((found) => {
            fill(node, foreign(found || id));
        }, () => {});
    }
    return node;
}
