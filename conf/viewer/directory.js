// Names of members and channels: from the server's directory, and from what
// the page has read.

import {get} from './api.js';

const known = {member: new Map(), channel: new Map()};
const PATHS = {member: '/search/members', channel: '/search/channels'};

let actors;


export function forget() {
    known.member.clear();
    known.channel.clear();
    actors = null;
}


export function learn({executor, target, channel}) {
    for (const [kind, named] of [['member', executor], ['member', target],
        ['channel', channel]])
    {
        if (named?.name) {
            known[kind].set(named.id, named.name);
        }
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
            known[kind].set(id, name);
            found.set(id, name);
        }
    }
    for (const [id, name] of known[kind]) {
        if (id.startsWith(query)
            || name.toLowerCase().includes(query.toLowerCase()))
        {
            found.set(id, name);
        }
    }
    return [...found].slice(0, 25).map(([id, name]) => ({id, name}));
}


// what was read so far, "" where nobody knows it as yet
export function knownName(kind, id) {
    return known[kind]?.get(id) ?? '';
}


// "" where nobody knows it
export async function nameOf(kind, id) {
    if (!known[kind].has(id) && /^\d{1,20}$/.test(id)) {
        const found = await find(kind, id);
        known[kind].set(id, found.find((one) => one.id === id)?.name ?? '');
    }
    return known[kind].get(id) ?? '';
}


function learnActors() {
    actors ??= get('/logs/actors').then((answer) => {
        for (const {id, name} of answer.actors) {
            known.member.set(id, known.member.get(id) || name);
        }
    });
    return actors;
}
