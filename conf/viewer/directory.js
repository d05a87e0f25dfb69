// Names of members and channels: from the server's directory, and from what
// the page has read.

import {get} from './api.js';
import {locale, t} from './texts.js';

const MOST = 25;
const collator = new Intl.Collator(locale, {numeric: true});

// {name, at}, by ID, and where the directory has them {type, parent}: the
// newest name is the one they have
const known = {member: new Map(), channel: new Map()};
const PATHS = {member: '/search/members', channel: '/search/channels'};

// channels of some of the platform's types: text and announcements may be log
// channels, unlike threads and voice
const TYPES = {logChannel: [0, 5], category: [4]};

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
let channels;


export function forget() {
    known.member.clear();
    known.channel.clear();
    actors = channels = null;
}


// members or channels, of whichever type
function sortOf(kind) {
    return kind === 'member' ? kind : 'channel';
}


export function learn({executor, target, channel, timestamp}) {
    note('member', executor, timestamp);
    note('member', target, timestamp);
    note('channel', channel, timestamp);
}


function note(kind, named, at) {
    if (named?.name && !(known[kind].get(named.id)?.at > at)) {
        known[kind].set(named.id, {...known[kind].get(named.id),
            name: named.name, at});
    }
}


// Who and what matches, best first: [{id, name, parent}]. kind: member,
// channel, or those channels alone that TYPES names. Without a query, what was
// seen last; of TYPES, what the directory has.
export async function find(kind, text, signal) {
    const query = text.replace(/^[#@]/, '');
    const all = known[sortOf(kind)];
    const found = new Set();

    if (kind === 'member') {
        await learnActors();
    }
    if (query) {
        for (const one of await search(sortOf(kind), query, signal)) {
            found.add(one.id);
        }
    } else if (kind in TYPES) {
        await learnChannels();
    }
    for (const [id, {name}] of all) {
        if (name && (id.startsWith(query)
            || name.toLowerCase().includes(query.toLowerCase())))
        {
            found.add(id);
        }
    }

    const ids = ofType(kind, [...found]);

    if (!query && kind in TYPES) {
        ids.sort((one, other) => collator.compare(parentOf(one),
            parentOf(other)) || collator.compare(all.get(one).name,
            all.get(other).name));
    }
    return ids.slice(0, query ? MOST : Infinity).map((id) => ({id,
        name: all.get(id).name, parent: parentOf(id)}));
}


async function search(kind, query, signal) {
    const rows = await get(PATHS[kind], new URLSearchParams({query}), signal);

    for (const {id, ...row} of rows) {
        known[kind].set(id, {...row, at: Date.now()});
    }
    return rows;
}


// The directory is not to be had whole: by how IDs begin, it is in part.
function learnChannels() {
    channels ??= Promise.all([...'123456789'].map((digit) =>
        search('channel', digit))).catch((error) => {
        channels = null;
        throw error;
    });
    return channels;
}


// A channel whose type nobody knows will do where the directory knows none.
function ofType(kind, ids) {
    const types = TYPES[kind];
    const type = (id) => known.channel.get(id).type;
    const fitting = types ? ids.filter((id) => types.includes(type(id))) : ids;

    return fitting.length ? fitting : ids.filter((id) => type(id)
        === undefined);
}


// the name of a channel's category
function parentOf(id) {
    return known.channel.get(known.channel.get(id)?.parent)?.name ?? '';
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

    return found.length === 1 ? found[0] : {wrong: (found.length ? AMBIGUOUS
        : UNKNOWN)[sortOf(kind)]};
}


// what was read so far, "" where nobody knows it as yet
export function knownName(kind, id) {
    return known[sortOf(kind)].get(id)?.name ?? '';
}


// "" where nobody knows it
export async function nameOf(sort, id) {
    const kind = sortOf(sort);

    if (!known[kind].has(id) && isId(id)) {
        if (!asked.has(id)) {
            asked.set(id, find(kind, id).then((found) => known[kind].set(id, {
                ...known[kind].get(id), at: 0,
                name: found.find((one) => one.id === id)?.name ?? '',
            })).finally(() => asked.delete(id)));
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
