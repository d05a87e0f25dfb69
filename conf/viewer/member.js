// @ts-check
// One person: what they did, what was done to them, what they were called, and
// when.

import {get, leisure, session} from './api.js';
import {NOTHING, hrefOf, queryOf} from './address.js';
import {avatar, turnAvatar} from './avatar.js';
import {changeLine} from './changes.js';
import {Chart} from './chart.js';
import {copyId} from './copy.js';
import {knownName, knownOf, learn, list as listed, meet, nameOf}
    from './directory.js';
import {ARROW, fill, foreign, h} from './dom.js';
import {icon, iconOf} from './icons.js';
import {faceOf} from './named.js';
import {samePerson} from './log-row.js';
import {typeOf} from './log-types.js';
import {sentenceOf} from './sentence.js';
import {inWords} from './service.js';
import {t} from './texts.js';
import {timeNode} from './time.js';
import {barsOf, countThere} from './timeline.js';
import {CATEGORIES, count} from './words.js';

const MOST = 10;           // entries of a list
const BARS = 30;
const EPOCH = 1_420_070_400_000;     // ms; the platform counts time from it

// log types
const NICKNAME = 25;
const JOINED = 1;
const COUNTED = [40, 41, 39];

const SIDES = [['executor', t('member.did')], ['target', t('member.suffered')]];

export const node = h('div', {class: 'page member'});

let stop = new AbortController();


export async function show({bot, filters: {member: [id]}},
    {first_log_at: first})
{
    stop.abort();
    stop = new AbortController();

    const {signal} = stop;
    const heading = h('h2', {tabindex: -1}, id);
    const all = {...NOTHING, member: id};
    const chart = new Chart((from, to) => location.assign(hrefOf('logs', bot,
        {...all, after: String(from - 1), before: String(to)})));
    const parts = h('div', {class: 'sides'});

    const face = avatar({id, name: knownName('member', id)}, 'large');
    const summary = h('div', {class: 'actions'});
    const facts = h('p', {class: 'note'});
    const roles = h('ul', {class: 'actions', 'aria-label':
        CATEGORIES.categoryRoles});

    fill(node, h('header', {class: 'card whose'}, face,
        h('div', null, h('div', {class: 'named'}, heading, copyId(id)),
            facts, roles), summary),
    chart.node, parts);
    heading.focus();

    try {
        const sides = await Promise.all(SIDES.map(([role, label]) =>
            side(label, {...all, memberRole: role}, bot, signal)));
        const lists = await Promise.all([
            list(CATEGORIES.categoryModlog, {...all, memberRole: 'target',
                category: ['categoryModlog']}, bot, signal),
            list(t('member.names'), {...all, memberRole: 'target',
                type: [String(NICKNAME)]}, bot, signal)]);
        const name = await nameOf('member', id);
        const [joined, ...counted] = await Promise.all([JOINED, ...COUNTED]
            .map((type) => last(type, id, signal)));

        if (signal.aborted) {
            return;
        }
        fill(heading, foreign(name || id));
        turnAvatar(face, {id, name}, 2);
        fill(roles, (await rolesOf(id, session.server)).map((role) =>
            h('li', {class: 'badge'}, faceOf('role', role),
                foreign(role.name || role.id))));
        fill(facts, ...factsOf(id, joined.entries[0]));
        fill(summary, counted.map(({total}, i) => total > 0
            && numberOf(COUNTED[i], total, hrefOf('logs', bot, {...all,
                memberRole: 'target', type: [String(COUNTED[i])]}))));
        fill(parts, sides.map(({node: part}) => part), lists);
        await draw(chart, queryOf(all), first ?? 0, sides[0].retention,
            signal);
    } catch (error) {
        if (!signal.aborted) {
            parts.append(h('p', {class: 'error', role: 'alert'},
                t('page.unread', {why: error.message})));
        }
    }
}


export function leave() {
    stop.abort();
}


// how many entries of a type there are of what was done to them, and the last
function last(type, member, signal) {
    return get('/logs', new URLSearchParams({member, memberRole: 'target',
        type, limit: '1'}), signal);
}


// when the account was made, which its ID tells, and when they joined
function factsOf(id, joined) {
    const made = Number(BigInt(id) >> 22n) + EPOCH;

    return [id.length > 16 && [t('registered'), ': ', timeNode(made)],
        joined && [t('memberJoin'), ': ', timeNode(joined.timestamp)]]
        .filter(Boolean).flatMap((fact, i) => i ? [' · ', fact] : fact);
}


// the highest first; what everybody has tells nothing
async function rolesOf(id, everybody) {
    await meet(id);

    const ids = (knownOf('member', id).roles ?? []).filter((role) =>
        role !== everybody);

    await (ids.length && listed('role'));
    await Promise.all(ids.map((role) => nameOf('role', role)));
    return ids.map((role) => ({...knownOf('role', role), id: role}))
        .sort((one, other) => (other.position ?? -1) - (one.position ?? -1));
}


function numberOf(type, total, href) {
    return h('a', {class: 'badge', href, 'data-category': typeOf(type)
        .category}, icon(iconOf(type)), typeOf(type).title, ' ',
    h('b', null, count(total)));
}


async function side(label, filters, bot, signal) {
    const query = queryOf(filters);

    query.set('limit', '1');
    const {total, categoryCounts, retentionMs} = await get('/logs', query,
        signal);

    return {retention: retentionMs, node: h('section', {class: 'card'},
        h('h3', null, label),
        h('p', null, h('a', {href: hrefOf('logs', bot, filters)},
            t('logs.entries', {count: total}))),
        h('ul', {class: 'items'}, Object.entries(CATEGORIES)
            .filter(([category]) => categoryCounts[category])
            .map(([category, name]) => h('li', {'data-category': category},
                h('span', null, h('i', {class: 'dot'}), name),
                h('a', {href: hrefOf('logs', bot, {...filters,
                    category: [category]})},
                count(categoryCounts[category])))))) };
}


// the last entries, a line each, which leads to the entry
async function list(label, filters, bot, signal) {
    const query = queryOf(filters);

    query.set('limit', String(MOST));
    const {entries, total} = await get('/logs', query, signal);

    entries.forEach(learn);
    return h('section', {class: 'card'}, h('h3', null, label),
        entries.length ? h('ul', {class: 'items'}, entries.map((entry) =>
            line(entry, bot)))
            : h('p', {class: 'note'}, t('member.nothing')),
        total > MOST ? h('a', {href: hrefOf('logs', bot, filters)},
            t('member.all', {count: total})) : null);
}


function line(recorded, bot) {
    const entry = inWords(recorded);
    const type = typeOf(entry.type);
    const {category, title, sentence} = type;
    const said = sentenceOf(entry, sentence);
    const changes = (entry.changes ?? []).map((change) =>
        changeLine(change, type));
    const names = entry.type === NICKNAME && !changes.length
        ? [[foreign(entry.name ?? ''), ARROW, foreign(entry.value ?? '')]]
        : changes;
    // their own name says it all
    const own = entry.type === NICKNAME && names.length && samePerson(entry);

    return h('li', {'data-category': category},
        h('span', null, icon(iconOf(entry.type)), ' ', own ? null
            : said.length ? said.map(({word, text}) => word ?? foreign(text))
                : title,
        names.map((one, i) => [own && !i ? null : ' · ', one]),
        entry.reason && [' · ', foreign(entry.reason)]),
        h('a', {href: hrefOf('logs', bot, {}, entry.id)},
            timeNode(entry.timestamp)));
}


async function draw(chart, query, first, kept, signal) {
    const now = Date.now();
    const from = Math.max(first, now - kept);
    const timeline = barsOf(Math.min(from, now), now, BARS);

    chart.show(timeline);
    await countThere(timeline.bars, query, kept, async (counted) => {
        await leisure(signal);
        return get('/logs/histogram', counted, signal);
    }, () => chart.draw());
}
