// Names of members and channels: from the server's directory, and from what
// the page has read.

import {get} from './api.js';
import {t} from './texts.js';

// {name, at}, by ID: the newest name is the one they have
const known = {member: new Map(), channel: new Map()};
const PATHS = {member: '/search/members', channel: '/search/channels'};

const UNKNOWN = {
    channel: t('form.unknownChannel'),
    member: t('form.unknownMember'),
};

const AMBIGUOUS = {
    channel: t('form.severalChannels'),
    member: t('form.severalMembers'),
};

// what will be known, by ID: many ask at once
const asked = new Map();

let actors;


export function forget() {
    known.member.clear();
    known.channel.clear();
    actors = null;
}


export function learn({executor, target, channel, timestamp}) {
    note('member', executor, timestamp);
    note('member', target, timestamp);
    note('channel', channel, timestamp);
}


function note(kind, named, at) {
    if (named?.name && !(known[kind].get(named.id)?.at > at)) {
        known[kind].set(named.id, {name: named.name, at});
    }
}


// Who and what matches, best first: [{id, name}]. Without a query, what was
// seen last.
export async function find(kind, query, signal) {
    const found = new Map();

    if (kind === 'member') {
        await learnActors();
    }
    if (query) {
        for (const {id, name} of await get(PATHS[kind],
            new URLSearchParams({query}), signal))
        {
            known[kind].set(id, {name, at: Date.now()});
            found.set(id, name);
        }
    }
    for (const [id, {name}] of known[kind]) {
        if (name && (id.startsWith(query)
            || name.toLowerCase().includes(query.toLowerCase())))
        {
            found.set(id, name);
        }
    }
    return [...found].slice(0, 25).map(([id, name]) => ({id, name}));
}


export function isId(text) {
    return /^\d{1,20}$/.test(text);
}


// {id, name} of whom a name means, among these, too; or what is {wrong} with it
export async function resolve(kind, text, fixed = []) {
    const plain = text.replace(/^[#@]/, '').toLowerCase();
    const known = await find(kind, plain).catch(() => []);
    const found = [...fixed, ...known].filter(({name}) =>
        name.toLowerCase() === plain);

    return found.length === 1 ? found[0]
        : {wrong: found.length ? AMBIGUOUS[kind] : UNKNOWN[kind]};
}


// what was read so far, "" where nobody knows it as yet
export function knownName(kind, id) {
    return known[kind]?.get(id)?.name ?? '';
}


// "" where nobody knows it
export async function nameOf(kind, id) {
    if (!known[kind].has(id) && isId(id)) {
        if (!asked.has(id)) {
            asked.set(id, find(kind, id).then((found) => known[kind].set(id,
                {at: 0, name: found.find((one) => one.id === id)?.name
                    ?? ''})).finally(() => asked.delete(id)));
        }
        await asked.get(id);
    }
    return knownName(kind, id);
}


function learnActors() {
    actors ??= get('/logs/actors').then((answer) => {
        for (const {id, name} of answer.actors) {
            note('member', {id, name}, Date.now());
        }
    });
    return actors;
}
