// @ts-check
// Filters that are written into the search: from:ann in:"the yard" type:ban
// -type:join after:2026-11-20 before:today.

import {isId, resolve} from './directory.js';
import {typeOf, typesOf} from './log-types.js';
import {t} from './texts.js';
import {DAY, dayFrom} from './time.js';
import {CATEGORIES} from './words.js';

export const HINT = 'from: to: in: type: -type: after:2026-11-20 before:today';

const OPERATOR
    = /(?<=^|\s)(-?)(from|to|in|type|after|before):("[^"]*"?|\S*)/giu;
const DAYS = {today: 0, yesterday: -1};

// what each makes of the filters; what is wrong with it is thrown
const MAKE = {
    from: (name, value) => person(name, value, 'executor'),
    to: (name, value) => person(name, value, 'target'),
    in: async (name, {channel}) => ({channel: both(channel,
        await idOf('channel', name))}),
    type: (name, {type}) => ({type: [...new Set([...type, ...named(name)])]}),
    '-type': (name, {type}) => {
        const without = named(name);
        const from = type.length ? type : Object.keys(CATEGORIES)
            .flatMap(typesOf).map(({id}) => String(id));

        const left = from.filter((id) => !without.includes(id));

        if (!left.length) {
            throw new Error(t('form.noMatch'));
        }
        return {type: left};
    },
    after: (day) => ({after: String(dayOf(day) - 1)}),
    before: (day) => ({before: String(dayOf(day))}),
};


// what is left to search for
export function wordsOf(text) {
    return text.replace(OPERATOR, '').replace(/\s+/g, ' ').trim();
}


// The filters that a text has, added to those of a value; throws an Error that
// tells what is wrong. Null: it has none.
export async function filtersIn(text, value) {
    const found = [...text.matchAll(OPERATOR)];
    let all = {...value, search: wordsOf(text)};

    for (const [, not, name, quoted] of found) {
        const make = MAKE[not + name.toLowerCase()];
        const operand = quoted.replaceAll('"', '');

        if (!make || !operand) {
            throw new Error(t('form.noMatch'));
        }
        all = {...all, ...await make(operand, all)};
    }
    return found.length ? all : null;
}


// Somebody who did it and somebody it was done to cannot be asked for at once.
async function person(name, {member, memberRole}, role) {
    if (member.length && !['', 'either', role].includes(memberRole)) {
        throw new Error(t('form.noMatch'));
    }
    return {member: both(member, await idOf('member', name)),
        memberRole: member.length ? memberRole : role};
}


async function idOf(kind, name) {
    const {id, wrong} = isId(name) ? {id: name} : await resolve(kind, name);

    if (wrong) {
        throw new Error(wrong);
    }
    return id;
}


function both(ids, id) {
    return [...ids.filter((one) => one !== id), id];
}


// the types whose title has a word that begins so
function named(name) {
    const part = ` ${name.toLowerCase()}`;
    const ids = Object.keys(CATEGORIES).flatMap(typesOf).map(({id}) => id)
        .filter((id) => ` ${typeOf(id).title.toLowerCase()}`.includes(part));

    if (!ids.length) {
        throw new Error(t('form.noMatch'));
    }
    return ids.map(String);
}


// when a day begins
function dayOf(text) {
    const day = text.toLowerCase();
    const [, year, month, date] = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(day)
        ?? [];
    const ms = day in DAYS ? dayFrom(DAYS[day])
        : +new Date(Number(year), Number(month) - 1, Number(date));

    if (!(Math.abs(ms) < 1e5 * DAY)) {
        throw new Error(t('form.noMatch'));
    }
    return ms;
}
