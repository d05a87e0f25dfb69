// @ts-check
// A message as the platform shows it: the API makes it of the server's own last
// entry of a type, or of an example where there is none as yet.

import {change, get, mayOnlyLook, session} from './api.js';
import {fill, foreign, h} from './dom.js';
import {typeOf} from './log-types.js';
import {t} from './texts.js';
import {relativeTime, timeNode} from './time.js';
import {hexOf} from './words.js';

// what the messages have of the platform's markup, and how it is drawn
const MARKS = new RegExp([/\\(?<escaped>.)/, /\*\*(?<bold>.+?)\*\*/,
    /```(?:\w*\n)?(?<fenced>[^]*?)```/, /`(?<code>[^`\n]+)`/,
    /\|\|(?<hidden>[^]+?)\|\|/, /<(?<named>(?:@&?|#)\d+)>/,
    /<a?(?<emoji>:\w+:)\d+>/, /<t:(?<time>\d+:\w)>/,
    /\[(?<link>[^\]]+)\]\(<[^>]*>\)/].map(({source}) => source).join('|'),
'u');

const DRAW = {
    escaped: (text) => text,
    bold: (text, entry) => h('strong', null, marked(text, entry)),
    fenced: (text) => h('code', null, text),
    code: (text) => h('code', null, text),
    hidden: (text, entry) => h('span', {class: 'spoiler',
        title: t('example.spoiler')}, marked(text, entry)),
    named: (text, entry) => h('span', {class: 'mention'},
        foreign(nameOf(text, entry))),
    emoji: (text) => text,
    time: (text) => timeOf(...text.split(':')),
    link: (text) => h('u', null, text),
};

const BLOCKS = {'> ': 'quoted', '-# ': 'footer'};

// of a long list, and characters of each: more is not in a message
const MESSAGES = 50;
const WRITTEN = 250;

// what will be known of the last entry, by server, bot and type
const read = new Map();

// by place: what it waits for
const turns = new WeakMap();

const EXAMPLE = {
    executor: {id: '200000000000000001', name: 'Ann'},
    target: {id: '200000000000000002', name: 'Bob'},
    channel: {id: '300000000000000001', name: t('example.channel')},
    role: t('example.role'), name: t('example.name'),
    reason: t('example.reason'), count: 3,
    value: t('example.value'), emoji: {name: 'wave'},
    content: t('example.content'), contentAfter: t('example.contentAfter'),
};


// settings: format_type, color, buttons and spoilers as the API has them
export async function preview(place, type, settings) {
    const key = `${session.server} ${session.bot} ${type}`;
    const turn = {};

    // who may change nothing may not ask for it either
    if (mayOnlyLook()) {
        return;
    }
    turns.set(place, turn);
    if (!read.has(key)) {
        read.set(key, get('/logs', new URLSearchParams({type, limit: '1'}))
            .then(({entries: [entry]}) => entry, () => undefined));
    }

    const last = await read.get(key);
    const entry = last ? recorded(last) : exampleOf(type);
    const drawn = await change('POST', '/preview', {
        entry: {...entry, event_id: 'preview'},
        settings: settingsOf(settings),
    }).then(({message}) => messageNode(message, entry),
        ({message}) => h('p', {class: 'note'}, message));

    if (turns.get(place) === turn) {
        fill(place, h('figure', {class: 'preview'},
            h('figcaption', {class: 'note'},
                t(last ? 'example.last' : 'example.none')), drawn));
    }
}


function settingsOf({format_type: format, color, buttons, spoilers}) {
    return {format_type: format ?? undefined, color, buttons,
        spoilers: spoilers === undefined ? undefined : Boolean(spoilers)};
}


// an entry of the log as it was handed in
function recorded({id, delivery, messages, messagesTruncated, ...entry}) {
    const more = messages.length - MESSAGES;

    return {...entry,
        messages: messages.length < 3 ? messages
            : messages.slice(0, MESSAGES).map(({content, ...message}) => ({
                ...message, content: content && [...content].slice(0, WRITTEN)
                    .join('')})),
        messagesTruncated: more > 0 ? (messagesTruncated ?? 0) + more
            : messagesTruncated};
}


function exampleOf(type) {
    const {fields} = typeOf(type);

    return {...Object.fromEntries(Object.entries(EXAMPLE).filter(([name]) =>
        Object.hasOwn(fields, name))), type, timestamp: Date.now(),
    ...fields.executor === fields.target && {target: null}};
}


function messageNode({content, embeds = [], components = []}, entry) {
    return h('div', {class: 'message'},
        h('p', {class: 'from'}, h('strong', null, 'Guildlog'), ' ',
            h('small', {class: 'badge'}, 'APP'), ' ',
            timeNode(entry.timestamp)),
        embeds.map((embed) => embedNode(embed, entry)),
        content && h('div', {class: 'text'}, blocksOf(content, entry)),
        h('p', {class: 'buttons'}, components.flatMap((row) =>
            row.components).map(({label}) =>
            h('span', null, foreign(label), ' ↗'))));
}


function embedNode({author, title, description, fields = [], footer, color},
    entry)
{
    const node = h('div', {class: 'embed'},
        author && h('p', {class: 'person', dir: 'auto'}, h('strong', null,
            foreign(author.name))),
        title && h('p', {class: 'title', dir: 'auto'}, title),
        description && blocksOf(description, entry),
        fields.length > 0 && h('dl', null, fields.map(({name, value}) =>
            h('div', null, h('dt', {dir: 'auto'}, name),
                h('dd', {dir: 'auto'}, marked(value, entry))))),
        h('p', {class: 'footer'}, footer.text, ' · ',
            timeNode(entry.timestamp)));

    node.style.borderInlineStartColor = hexOf(color);
    return node;
}


// lines that begin alike stand together
function blocksOf(text, entry) {
    /** @type {{mark?: string, lines: string[]}[]} */
    const blocks = [];

    for (const line of text.split('\n')) {
        const mark = Object.keys(BLOCKS).find((one) => line.startsWith(one));
        const rest = line.slice(mark?.length ?? 0);
        const last = blocks.at(-1);

        if (last && last.mark === mark) {
            last.lines.push(rest);
        } else {
            blocks.push({mark, lines: [rest]});
        }
    }

    return blocks.map(({mark, lines}) => h('p', {class: BLOCKS[mark],
        dir: 'auto'}, marked(lines.join('\n'), entry)));
}


function marked(text, entry) {
    const found = MARKS.exec(text);

    if (!found) {
        return [text];
    }

    const [[kind, inner]] = Object.entries(found.groups ?? {})
        .filter(([, group]) => group !== undefined);

    return [text.slice(0, found.index), DRAW[kind](inner, entry),
        ...marked(text.slice(found.index + found[0].length), entry)];
}


// "@1", "@&1" or "#1" by its name
function nameOf(text, {executor, target, channel, role, role_id: roleId}) {
    const id = text.replace(/\D/g, '');
    const one = [executor, target, channel].find((it) => it?.id === id);

    return text[0] + (one?.name || id === roleId && role || id);
}


function timeOf(seconds, form) {
    const ms = seconds * 1000;
    return form === 'R' ? relativeTime(ms) : timeNode(ms);
}
