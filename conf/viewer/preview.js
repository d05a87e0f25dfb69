// A message as the platform shows it, drawn from the server's own last entry
// of a type, or from an example where there is none as yet.

import {get, session} from './api.js';
import {changeLine} from './changes.js';
import {ARROW, fill, foreign, h, plain} from './dom.js';
import {hexOf} from './form.js';
import {typeOf} from './log-types.js';
import {sentenceOf} from './sentence.js';
import {t} from './texts.js';
import {timeNode} from './time.js';
import {BUTTONS, LABELS, count} from './words.js';

const SIGNS = {executor: '@', target: '@', channel: ''};
const PEOPLE = ['executor', 'target', 'channel'];
const FACTS = ['role', 'name', 'count', 'emoji', 'action', 'until', 'value',
    'reason'];

// said once, by the changes
const BEFORE = ['before', 'after'];

// whose profile a button leads to
const PERSONS = ['author', 'member'];

// what will be known of the last entry, by server, bot and type
const read = new Map();

const EXAMPLE = {
    id: '1', executor: {id: '200000000000000001', name: 'Ann'},
    target: {id: '200000000000000002', name: 'Bob'},
    channel: {id: '300000000000000001', name: t('example.channel')},
    role: t('example.role'), name: t('example.name'),
    reason: t('example.reason'), count: 3, action: null,
    value: t('example.value'), emoji: {id: '', name: 'wave'},
    content: t('example.content'), contentAfter: t('example.contentAfter'),
};


// settings: format_type, color, buttons and spoilers as the API has them
export async function preview(place, type, settings) {
    const key = `${session.server} ${session.bot} ${type}`;

    place.dataset.type = type;
    if (!read.has(key)) {
        read.set(key, get('/logs', new URLSearchParams({type, limit: 1}))
            .then(({entries: [entry]}) => entry, () => undefined));
    }

    const last = await read.get(key);
    const entry = last ?? exampleOf(type);

    if (place.dataset.type !== String(type)) {
        return;
    }
    fill(place, h('figure', {class: 'preview'},
        h('figcaption', {class: 'note'},
            t(last ? 'example.last' : 'example.none')),
        messageNode(entry, settings)));
}


function exampleOf(type) {
    const {fields} = typeOf(type);
    const used = Object.entries(EXAMPLE).filter(([name]) =>
        name === 'id' || Object.hasOwn(fields, name));

    return {executor: null, target: null, channel: null, content: null,
        contentAfter: null, changes: null, messages: [],
        ...Object.fromEntries(used), type, timestamp: Date.now(),
        ...fields.executor === fields.target && {target: null}};
}


function messageNode(entry, {format_type: format, color, buttons,
    spoilers})
{
    const embed = !(format > 1);
    const compact = format % 2 === 1;
    const node = embed ? embedNode(entry, compact, spoilers)
        : textNode(entry, compact, spoilers);

    if (embed) {
        node.style.borderInlineStartColor = hexOf(color
            ?? typeOf(entry.type).color);
    }
    return h('div', {class: 'message'},
        h('p', {class: 'from'}, h('strong', null, 'Guildlog'), ' ',
            h('small', {class: 'badge'}, 'APP'), ' ',
            timeNode(entry.timestamp)),
        node,
        h('p', {class: 'buttons'}, linksOf(entry, buttons
            ?? Object.keys(BUTTONS)).map((label) =>
            h('span', null, foreign(label), ' ↗'))));
}


function embedNode(entry, compact, spoilers) {
    const {title} = typeOf(entry.type);
    const footer = h('p', {class: 'footer'}, entry.id, ' · ',
        timeNode(entry.timestamp));

    if (compact) {
        return h('div', {class: 'embed'}, briefly(entry, spoilers), footer);
    }

    const {said, facts} = partsOf(entry);

    return h('div', {class: 'embed'},
        h('p', {class: 'title'}, title),
        said.length > 0 && h('p', null, said),
        bodyOf(entry, spoilers),
        h('dl', null, facts.map(([label, value]) => h('div', null,
            h('dt', null, label), h('dd', null, value)))),
        footer);
}


function textNode(entry, compact, spoilers) {
    const {title} = typeOf(entry.type);
    const {said, facts} = partsOf(entry);
    const footer = h('p', {class: 'footer'}, entry.id, ' · ',
        timeNode(entry.timestamp), ' · ',
        h('u', null, LABELS.open));

    return h('div', {class: 'text'}, compact ? briefly(entry, spoilers) : [
        h('p', null, h('strong', null, title)),
        said.length > 0 && h('p', null, said),
        facts.map(([label, value]) => h('p', null,
            h('strong', null, t('example.label', {label}), ' '), value)),
        bodyOf(entry, spoilers, 'quoted')], footer);
}


// the sentence, what it does not say, and the beginning of what was said
function briefly(entry, spoilers) {
    const {title} = typeOf(entry.type);
    const {said, facts} = partsOf(entry, true);
    const {content, contentAfter} = entry;
    const words = [content, contentAfter].filter(Boolean);

    return [
        h('p', null, said.length ? said : h('strong', null, title),
            facts.map(([label, value]) => [' · ',
                h('strong', null, t('example.label', {label}), ' '), value])),
        words.length > 0 && h('p', null, words.map((text, i) => [
            i ? ARROW : '', hidden(entry, cut(text, 200), spoilers)])),
    ];
}


function bodyOf(entry, spoilers, looks) {
    const {content, contentAfter, messages} = entry;
    const said = (text) => h('p', {class: looks},
        hidden(entry, cut(text, 1000), spoilers));
    const changes = entry.changes ?? [];

    return [
        changes.map((change) => h('p', null, changeLine(change))),
        content && contentAfter && h('p', null, h('strong', null,
            LABELS.before)),
        content && said(content),
        contentAfter && h('p', null, h('strong', null, LABELS.after)),
        contentAfter && said(contentAfter),
        messages.length > 1 && [h('p', null, h('strong', null,
            t('example.label', {label: LABELS.messages}),
            ` ${count(messages.length)}`)),
        messages.slice(0, 3).map((message) => said(message.content ?? ''))],
    ];
}


// {said, facts}: the sentence, and what it does not say
function partsOf(entry, compact) {
    const {sentence, fields, category} = typeOf(entry.type);
    const parts = sentenceOf(entry, sentence);
    const told = new Set(parts.map(({place}) => place));
    const {executor, target} = entry;
    const same = executor && target && executor.id === target.id;
    const label = (name) => LABELS[fields[name] ?? name] ?? name;
    const people = PEOPLE.filter((name) => entry[name]
        && !(compact && told.has(name))
        && !(same && name === (told.has('target') ? 'executor' : 'target')));

    return {
        said: parts.map(({word, text, place}) => word
            ?? (place in SIGNS ? mention(SIGNS[place] + text)
                : h('strong', null, foreign(place === 'emoji'
                    ? emojiOf(entry) : text)))),
        facts: [
            ...people.map((name) => [label(name),
                category === 'categoryService' && entry[name].id === '0'
                    ? LABELS.dashboard : personNode(entry[name], compact)]),
            ...FACTS.filter((name) => !told.has(name) && isSaid(entry[name])
                && !(entry.changes?.length && BEFORE.includes(fields[name])))
                .map((name) => [label(name), name === 'until'
                    ? timeNode(entry.until) : foreign(name === 'emoji'
                        ? emojiOf(entry) : entry[name])]),
        ],
    };
}


// one of the server's own is a picture
function emojiOf({emoji: {id, name}}) {
    return id ? `:${name}:` : name;
}


function isSaid(value) {
    return value !== null && value !== undefined && value !== '';
}


function personNode({id, name}, compact) {
    return compact ? mention(`@${name || id}`)
        : [foreign(name), ' ', h('code', null, id)];
}


function mention(text) {
    return h('span', {class: 'mention'}, foreign(text));
}


// what people wrote, behind a spoiler where that is wanted
function hidden(entry, text, spoilers) {
    return spoilers && typeOf(entry.type).category === 'categoryText'
        ? h('span', {class: 'spoiler', title: t('example.spoiler')},
            foreign(text)) : foreign(text);
}


function linksOf({executor, target, type}, buttons) {
    const {fields, category} = typeOf(type);
    const label = (name) => LABELS[fields[name] ?? name];
    const people = category === 'categoryService' ? [] : [
        executor && [label('executor'), executor],
        target && target.id !== executor?.id && PERSONS.includes(
            fields.target) && [label('target'), target],
    ].filter(Boolean);

    return [
        ...buttons.includes('userID') ? people.map(([name, person]) =>
            `${t('example.label', {label: name})} ${plain(person.name
                || person.id)}`) : [],
        ...buttons.includes('supportServer') ? [BUTTONS.supportServer] : [],
        ...buttons.includes('customise') ? [BUTTONS.customise] : [],
    ];
}


function cut(text, most) {
    return text.length > most ? text.slice(0, most) + '…' : text;
}
