// One entry, whole: who, where, why, what it said before and after, and what
// became of its delivery.

import {changesNode} from './changes.js';
import {badge, button, foreign, h} from './dom.js';
import {nameOf} from './directory.js';
import {difference} from './diff.js';
import {typeOf} from './log-types.js';
import {sentenceOf} from './sentence.js';
import {iso, relativeTime, spokenTime, timeNode} from './time.js';
import {CATEGORIES, count, deliveryInWords, size} from './words.js';


// narrow({name: value}) filters the list by what is clicked
export function entryNode(entry, narrow) {
    const {category, title, sentence} = typeOf(entry.type);
    const {content, contentAfter} = entry;
    const said = sentenceOf(entry, sentence);
    const edited = content !== null && contentAfter !== null;

    return h('article', {'data-category': category},
        h('header', null,
            h('p', {class: 'kind'}, h('i', {class: 'dot'}),
                CATEGORIES[category]),
            h('h2', {tabindex: -1}, title),
            said.length > 0 && h('p', {class: 'sentence'},
                said.map(({word, text: own}) => word ?? foreign(own))),
            h('p', {class: 'when'}, spokenTime(entry.timestamp), h('br'),
                `${iso(entry.timestamp)}, ${relativeTime(entry.timestamp)}`)),
        h('dl', {class: 'facts'}, factsOf(entry, narrow)),
        changesNode(entry.changes),
        edited ? comparison(content, contentAfter)
            : text('Content', content ?? contentAfter),
        messagesOf(entry, edited),
        deliveryNode(entry.delivery));
}


function factsOf(entry, narrow) {
    const {executor, target, channel, emoji} = entry;
    const member = (id, memberRole) => () => narrow({member: id, memberRole});

    return [
        person('Who', executor, executor && member(executor.id, 'executor')),
        person('To whom', target, target && member(target.id, 'target')),
        person('Where', channel, channel
            && (() => narrow({channel: channel.id})), '#'),
        fact('Why', entry.reason),
        fact('Role', entry.role),
        fact('Name', entry.name),
        fact('Action', entry.action),
        fact('Value', entry.value),
        fact('Count', entry.count),
        entry.until && h('div', null, h('dt', null, 'Until'),
            h('dd', null, timeNode(entry.until))),
        fact('Role ID', entry.role_id, {class: 'id'}),
        picture('Picture before', entry.image?.before),
        picture('Picture after', entry.image?.after),
        emoji && fact('Emoji', [`:${emoji.name ?? ''}:`,
            emoji.animated && 'animated', emoji.id].filter(Boolean).join(' ')),
        fact('Entry', entry.id, {class: 'id'}),
    ];
}


function fact(label, value, attributes) {
    return value === null || value === undefined || value === '' ? null
        : h('div', null, h('dt', null, label),
            h('dd', attributes, foreign(value)));
}


function person(label, named, onclick, sign = '') {
    return named && h('div', null, h('dt', null, label),
        h('dd', null, sign, foreign(named.name || named.id), ' ',
            named.name ? h('small', {class: 'id'}, named.id) : null, ' ',
            button('Filter', onclick, {class: 'link',
                'aria-label': `Show only entries of ${named.name
                    || named.id}`})));
}


// its address: what is elsewhere is not shown here
function picture(label, url) {
    return url && h('div', null, h('dt', null, label), h('dd', null,
        h('a', {href: url, rel: 'noreferrer', target: '_blank'},
            foreign(url))));
}


function text(label, value) {
    return value === null || value === '' ? null
        : h('section', null, h('h3', null, label), quote(foreign(value)));
}


function quote(...children) {
    return h('div', {class: 'quote', dir: 'auto'}, ...children);
}


function comparison(before, after) {
    const [old, now] = difference(before, after);
    const side = (label, name, runs) => h('section', null,
        h('h3', null, label), quote(runs.length
            ? runs.map(([run, changed]) =>
                changed ? h(name, null, foreign(run)) : foreign(run))
            : h('em', null, 'nothing')));

    return h('div', {class: 'sides'}, side('Before', 'del', old),
        side('After', 'ins', now));
}


function messagesOf(entry, edited) {
    const {messages, messagesTruncated, content} = entry;
    const files = messages.some((message) => message.attachments?.length);

    // a single message says what the content said already
    if (!messages.length || !files && (edited || messages.length === 1
        && (messages[0].content ?? null) === content))
    {
        return null;
    }

    return h('section', {class: 'messages'},
        h('h3', null, count(messages.length + (messagesTruncated ?? 0),
            ['message', 'messages'])),
        h('ol', null, messages.map(messageNode)),
        messagesTruncated ? h('p', {class: 'note'},
            `${count(messagesTruncated)} more were not kept.`) : null);
}


function messageNode({authorId, timestamp, content, attachments}) {
    return h('li', null,
        h('p', {class: 'by'}, authorId ? author(authorId) : null, ' ',
            timestamp ? timeNode(timestamp) : null),
        content ? quote(foreign(content)) : null,
        attachments?.length ? h('ul', {class: 'files'}, attachments.map(
            ({name, size: bytes}) => h('li', null, foreign(name), ' ',
                h('small', null, size(bytes ?? 0))))) : null);
}


function author(id) {
    const node = h('bdi', null, id);

    nameOf('member', id).then((name) => {
        node.textContent = name || id;
        node.title = id;
    }, () => {});
    return node;
}


export function deliveryNode(state) {
    const {channelId, messageId} = state;
    const {status, why, mood} = deliveryInWords(state);

    return h('section', {class: 'outcome'}, h('h3', null, 'Delivery'),
        h('p', null, badge(status, mood), ' ', why),
        h('dl', {class: 'facts'},
            fact('Channel', channelId, {class: 'id'}),
            fact('Message', messageId, {class: 'id'})));
}
