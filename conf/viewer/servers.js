// @ts-check
// The servers of a person, as cards that lead to them.

import {glance} from './api.js';
import {avatar} from './avatar.js';
import {badge, fill, foreign, h} from './dom.js';
import {parts, t} from './texts.js';
import {relativeTime} from './time.js';
import {PLANS, known} from './words.js';

const MANY = 8;       // servers, from which on there is a search

const MOODS = {healthy: 'good', degraded: 'open', broken: 'bad'};


// first: the ID of the one that was open last
export function serversNode(servers, first) {
    const sorted = [...servers].sort((one, other) =>
        Number(other.id === first) - Number(one.id === first));
    const cards = sorted.map(card);
    const search = h('input', {type: 'search', 'aria-label':
        t('filters.search'), placeholder: t('filters.search'), oninput() {
        const text = search.value.trim().toLowerCase();

        cards.forEach((node, i) => {
            node.hidden = !sorted[i].name.toLowerCase().includes(text);
        });
    }});

    return h('section', {id: 'servers'},
        h('header', {class: 'actions'}, h('h2', null, t('sign.servers')),
            servers.length >= MANY && search),
        servers.length ? h('ul', {class: 'cards'}, cards)
            : h('p', {class: 'note'}, t('sign.noServer')));
}


// What there is to tell of a server is asked for when its card is seen.
function card({id, name, icon, level}) {
    const facts = h('p', {class: 'note'});
    const state = h('span');
    const node = h('li', {class: 'card'},
        avatar({id, name, icon}, 'large square'),
        h('div', null,
            h('a', {href: `#/logs?server=${id}`}, foreign(name)), facts,
            h('p', {class: 'actions'}, state,
                level !== 'manage' && badge(t('access.view')))));
    const seen = new IntersectionObserver(([{isIntersecting}]) => {
        if (isIntersecting) {
            seen.disconnect();
            tell(id, facts, state);
        }
    });

    seen.observe(node);
    return node;
}


async function tell(id, facts, state) {
    const [server, page, report] = await Promise.all(['', '/logs?limit=1',
        '/troubleshoot?live=0'].map((path) => glance(id, path)));
    const [last] = page?.entries ?? [];

    fill(facts, server && PLANS[server.plan], last && [' · ',
        parts('sign.last', {time: relativeTime(last.timestamp)})]);
    fill(state, report && stateOf(report));
}


// a server that was never set up is not broken
function stateOf({status, findings}) {
    return findings.some(({id}) => id === 'NEVER_INITIALISED')
        ? badge(t('finding.NEVER_INITIALISED'))
        : badge(known('state', status), MOODS[status]);
}
