// @ts-check
// One entry, whole: who, where, why, what it said before and after, and what
// became of its delivery.

import {session} from './api.js';
import {NOTHING, hrefOf} from './address.js';
import {avatar} from './avatar.js';
import {changesNode} from './changes.js';
import {copyId} from './copy.js';
import {badge, button, foreign, h, newId} from './dom.js';
import {difference} from './diff.js';
import {icon, iconOf} from './icons.js';
import {samePerson} from './log-row.js';
import {typeOf, typeOfEntry} from './log-types.js';
import {named} from './named.js';
import {sentenceOf} from './sentence.js';
import {inWords} from './service.js';
import {t} from './texts.js';
import {iso, relativeTime, secondTime, spokenTime, timeNode} from './time.js';
import {CATEGORIES, LABELS, deliveryInWords, size} from './words.js';

const MESSAGES = 'https://discord.com/channels';

export {entryTools} from './entry-tools.js';


// narrow({name: value}) filters the list by what is clicked
export function entryNode(recorded, narrow) {
    const entry = inWords(recorded);
    const type = typeOfEntry(recorded);
    const {category, title, sentence, fields} = type;
    const {content, contentAfter} = entry;
    const said = sentenceOf(entry, sentence);
    const edited = content !== null && contentAfter !== null;

    return h('article', {'data-category': category},
        h('header', null,
            h('p', {class: 'kind'}, icon(iconOf(entry.type)),
                CATEGORIES[category]),
            h('h2', {tabindex: -1}, title),
            said.length > 0 && h('p', {class: 'sentence'},
                said.map(({word, text: own}) => word ?? foreign(own))),
            whenNode(entry.timestamp)),
        h('dl', {class: 'facts'}, factsOf(entry, fields, narrow)),
        changesNode(entry.changes, type),
        edited ? comparison(content, contentAfter)
            : isOnly(entry) ? null
                : text(t('entry.content'), content ?? contentAfter),
        messagesOf(entry, edited),
        deliveryNode(entry.delivery));
}


// one time; in other words it stands behind it
function whenNode(ms) {
    return h('details', {class: 'when'}, h('summary', null, secondTime(ms)),
        [relativeTime(ms), spokenTime(ms), iso(ms)].map((text) =>
            h('p', null, text)));
}


function factsOf(entry, fields, narrow) {
    const {executor, target, channel, emoji} = entry;
    const [message] = entry.messages;
    const there = message?.id && channel && typeOf(entry.type).kind !== 'gone';
    const label = (field, plain) => fields[field] in LABELS
        && fields[field] !== field ? LABELS[fields[field]] : plain;
    const member = (id, memberRole) => () => narrow({member: [id],
        memberRole});
    const before = (id) => () => narrow({...NOTHING, member: [id],
        before: String(entry.timestamp)});

    return [
        samePerson(entry) ? null : person(label('executor', t('list.who')),
            executor, executor && member(executor.id, 'executor'),
            executor && before(executor.id)),
        person(label('target', t('entry.whom')), target,
            target && member(target.id, 'target'),
            target && before(target.id)),
        person(label('channel', t('list.where')), channel, channel
            && (() => narrow({channel: [channel.id]})), null,
        there && away(t('entry.message'), channel.id, message.id)),
        fact(t('entry.why'), entry.reason),
        fact(LABELS.role, entry.role),
        fact(label('name', LABELS.name), entry.name),
        fact(label('action', LABELS.action), entry.action),
        fact(label('value', LABELS.value), entry.value),
        fact(label('count', LABELS.count), entry.count),
        entry.until && h('div', null, h('dt', null, LABELS.until),
            h('dd', null, timeNode(entry.until))),
        idFact(t('entry.roleId'), entry.role_id),
        picture(t('entry.pictureBefore'), entry.image?.before),
        picture(t('entry.pictureAfter'), entry.image?.after),
        emoji && fact(LABELS.emoji, [
            emoji.id ? `:${emoji.name ?? ''}:` : emoji.name,
            emoji.animated && t('entry.animated'),
            emoji.id].filter(Boolean).join(' ')),
    ];
}


function fact(label, value, attributes) {
    return value === null || value === undefined || value === '' ? null
        : h('div', null, h('dt', null, label),
            h('dd', attributes, foreign(value)));
}


function idFact(label, id) {
    return id && h('div', null, h('dt', null, label), h('dd',
        {class: 'named'}, foreign(id, {class: 'id'}), copyId(id)));
}


// before(): of a person, what they were about until then; else it is a channel
function person(label, named, onclick, before, more) {
    const sign = before ? '' : '#';
    const name = newId();
    const act = (text, f) => {
        const id = newId();
        return button(text, f, {class: 'link', id,
            'aria-labelledby': `${id} ${name}`});
    };
    const nobody = named?.id === '0';

    return named && h('div', null, h('dt', null, label),
        h('dd', {class: 'named'},
            sign || nobody ? null : avatar(named),
            h(sign || nobody ? 'span' : 'a', {id: name, href: sign || nobody
                ? null : hrefOf('member', session.bot, {member: named.id})},
            sign, foreign(named.name || named.id)),
            nobody ? null : copyId(named.id),
            act(t('entry.filter'), onclick),
            sign || nobody ? null : act(t('entry.before'), before), more));
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
            : h('em', null, t('entry.nothing'))));

    return h('div', {class: 'sides'}, side(LABELS.before, 'del', old),
        side(LABELS.after, 'ins', now));
}


function messagesOf(entry, edited) {
    const {messages, messagesTruncated} = entry;
    const files = messages.some((message) => message.attachments?.length);

    // nothing to tell besides
    if (!messages.some(tells) || edited && !files) {
        return null;
    }

    return h('section', {class: 'messages'},
        h('h3', null, t('entry.messages',
            {count: messages.length + (messagesTruncated ?? 0)})),
        h('ol', null, messages.map(messageNode)),
        messagesTruncated ? h('p', {class: 'note'},
            t('entry.notKept', {count: messagesTruncated})) : null);
}


function tells({content, authorId, timestamp, attachments}) {
    return content || authorId || timestamp || attachments?.length;
}


// a single message says what the content does, and who wrote it and when
function isOnly({messages, content}) {
    return messages.length === 1 && tells(messages[0])
        && (messages[0].content ?? null) === content;
}


function messageNode({authorId, timestamp, content, attachments}) {
    return h('li', null,
        h('p', {class: 'by'}, authorId ? named('member', authorId) : null, ' ',
            timestamp ? timeNode(timestamp) : null),
        content ? quote(foreign(content)) : null,
        attachments?.length ? h('ul', {class: 'files'}, attachments.map(
            ({name, size: bytes}) => h('li', null, foreign(name), ' ',
                h('small', null, size(bytes ?? 0))))) : null);
}


export function deliveryNode(state) {
    const {channelId, messageId} = state;
    const {status, why, mood} = deliveryInWords(state);

    return h('section', {class: 'outcome'}, h('h3', null, t('list.delivery')),
        h('p', null, badge(status, mood), ' ', why),
        h('dl', {class: 'facts'},
            channelId && h('div', null, h('dt', null, LABELS.channel),
                h('dd', null, named('channel', channelId))),
            messageId && h('div', null, h('dt', null, t('entry.messageId')),
                h('dd', {class: 'named'},
                    away(t('entry.logMessage'), channelId, messageId),
                    copyId(messageId)))));
}


// a message, at the platform
function away(label, channel, message) {
    return h('a', {rel: 'noreferrer', target: '_blank', class: 'away', href:
        `${MESSAGES}/${session.server}/${channel}/${message}`}, label, ' ↗');
}
