// @ts-check
// The filters that are set, as chips that take one out.

import {nameOf} from './directory.js';
import {button, fill, foreign, h} from './dom.js';
import {othersThan, typeOf} from './log-types.js';
import {t} from './texts.js';
import {edge, shortTime, spanTime} from './time.js';

const ROLES = {executor: t('filters.doneBy'), target: t('filters.doneTo')};


// without(change) is called with the filters that are to change
export function appliedNode(value, without) {
    const {search, after, before, member, memberRole, channel, role, type}
        = value;
    const others = othersThan(type);

    return h('ul', {class: 'applied', 'aria-label': t('filters.set')},
        search && chip(t('filters.search'), search, () =>
            without({search: ''})),
        (after || before) && chip(t('filters.time'),
            timeInWords(after, before), () =>
                without({after: '', before: ''})),
        member.map((id) => chip(ROLES[memberRole] ?? t('filters.member'),
            named('member', id), () => without({member: but(member, id),
                memberRole: member.length > 1 ? memberRole : ''}))),
        channel.map((id) => chip(t('filters.channel'), named('channel', id),
            () => without({channel: but(channel, id)}))),
        role && chip(t('filters.role'), role, () => without({role: ''})),
        others.length < type.length
            ? others.map((id) => chip(t('filters.not'), titleOf(id), () =>
                without({type: others.length > 1 ? [...type, id] : []})))
            : type.map((id) => chip(t('filters.type'), titleOf(id), () =>
                without({type: but(type, id)}))));
}


function but(values, gone) {
    return values.filter((value) => value !== gone);
}


function titleOf(id) {
    return typeOf(Number(id)).title;
}


function chip(label, value, onclick) {
    const text = h('span', null, h('small', null, label), ' ',
        typeof value === 'string' ? foreign(value) : value);
    const node = button([text, ' ✕'], onclick, {class: 'chip'});

    node.title = t('filters.takeOut');
    return h('li', null, node);
}


function named(kind, id) {
    const node = h('bdi', null, id);

    nameOf(kind, id).then((name) => fill(node, foreign(name || id)), () => {});
    return node;
}


function timeInWords(after, before) {
    return after && before ? spanTime(edge(after), Number(before))
        : after ? t('filters.chipSince', {time: shortTime(edge(after))})
            : t('filters.chipUntil', {time: shortTime(Number(before))});
}
