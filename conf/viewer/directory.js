// @ts-check
// Names of members, channels and roles: from the server's directory, and from
// what the page has read.

import {get} from './api.js';
import {t} from './texts.js';

const MOST = 25;
const AT_ONCE = 100;       // people whom one request asks for
const TOGETHER = 20;       // ms in which they gather
const LAST_ID = 2n ** 63n - 1n;

// {name, at}, by ID, and what else the directory has of them: the newest name
// is the one they have
const known = {member: new Map(), channel: new Map(), role: new Map()};

// channels of some of the platform's types: text and announcements may be log
// channels, unlike threads and voice
const TYPES = {logChannel: [0, 5], category: [4]};

const UNKNOWN = {
    channel: t('form.unknownChannel'),
    member: t('form.unknownMember'),
    role: t('form.unknownRole'),
};

const AMBIGUOUS = {
    channel: t('form.severalChannels'),
    member: t('form.severalMembers'),
    role: t('form.severalRoles'),
};

// what will be known, by ID: many ask at once
const asked = new Map();

// people who were asked for, each with what tells of them; and those whom the
// next request asks for
let met = new Map();
let group = null;

let actors;
let listed = {};     // the directory in its own order, as it will be known


export function forget() {
    Object.values(known).forEach((all) => all.clear());
    met = new Map();
    group = null;
    actors = null;
    listed = {};
}


// members, roles, or channels of whichever type
function sortOf(kind) {
    return kind in known ? kind : 'channel';
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


// Who and what matches, best first: [{id, name, parent, type, color}]. kind:
// member, role, channel, or those channels alone that TYPES names. Without a
// query, the directory in its own order, or of members who was seen last.
export async function find(kind, text, signal) {
    const query = text.replace(/^[#@]/, '');
    const sort = sortOf(kind);
    const all = known[sort];
    const found = new Set();

    if (kind === 'member') {
        await learnActors();
    }
    for (const {id} of await (query ? search(sort, query, signal)
        : kind === 'member' ? [] : list(sort)))
    {
        found.add(id);
    }
    for (const [id, {name}] of all) {
        if (name && (id.startsWith(query)
            || name.toLowerCase().includes(query.toLowerCase())))
        {
            found.add(id);
        }
    }
    return ofType(kind, [...found]).slice(0, query ? MOST : Infinity)
        .map((id) => ({...all.get(id), id, parent: parentOf(id)}));
}


function search(sort, query, signal) {
    return read(sort, new URLSearchParams({query}), signal);
}


async function read(sort, query, signal) {
    const rows = await get(`/search/${sort}s`, query, signal);

    for (const {id, ...row} of rows) {
        known[sort].set(id, {...row, at: Date.now()});
    }
    return rows;
}


// Resolves when the directory has told what it has of somebody.
export async function meet(id) {
    if (!met.has(id) && isId(id) && BigInt(id) <= LAST_ID) {
        if (!group || group.ids.length === AT_ONCE) {
            group = gather();
        }
        group.ids.push(id);
        met.set(id, group.told);
    }
    await met.get(id);
}


function gather() {
    const ids = [];
    const told = new Promise((resolve) => setTimeout(resolve, TOGETHER))
        .then(() => {
            if (group?.ids === ids) {
                group = null;
            }
            return read('member',
                new URLSearchParams(ids.map((id) => ['id', id])));
        });

    told.catch(() => ids.forEach((id) => met.delete(id)));
    return {ids, told};
}


// all of a kind, as far as one answer has them
export function list(sort) {
    listed[sort] ??= search(sort, '').catch((error) => {
        delete listed[sort];
        throw error;
    });
    return listed[sort];
}


// A channel whose type nobody knows will do where the directory knows none.
function ofType(kind, ids) {
    const types = TYPES[kind];
    const type = (id) => known[sortOf(kind)].get(id).type;
    const fitting = types ? ids.filter((id) => types.includes(type(id))) : ids;

    return fitting.length || !types ? fitting
        : ids.filter((id) => type(id) === undefined);
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
            asked.set(id, lookUp(kind, id).then((name) => known[kind].has(id)
                || known[kind].set(id, {at: 0, name}))
                .finally(() => asked.delete(id)));
        }
        await asked.get(id);
    }
    return knownName(kind, id);
}


// of who is no member any more, the name that they had then
async function lookUp(kind, id) {
    if (kind === 'member') {
        await meet(id);
        if (!known.member.has(id)) {
            await learnActors();
        }
        return '';
    }
    return (await find(kind, id)).find((one) => one.id === id)?.name ?? '';
}


// what the directory has of it besides the name, as far as it was read
export function knownOf(kind, id) {
    return known[sortOf(kind)].get(id) ?? {};
}


function learnActors() {
    actors ??= get('/logs/actors').then((answer) => {
        for (const {id, name} of answer.actors) {
            note('member', {id, name}, Date.now());
        }
    });
    return actors;
}
