// @ts-check
// One line of the list. Its nodes are made once and shown again and again
// with other entries.

import {avatar, turnAvatar} from './avatar.js';
import {changeText, namesIn} from './changes.js';
import {ARROW, fill, h, isolated} from './dom.js';
import {icon, iconOf, turnIcon} from './icons.js';
import {typeOfEntry} from './log-types.js';
import {mark, piece} from './marks.js';
import {sentenceOf} from './sentence.js';
import {inWords} from './service.js';
import {t} from './texts.js';
import {setTime} from './time.js';
import {LABELS, count as inNumbers, deliveryInWords} from './words.js';

export const COLUMNS = ['time', 'what', 'details', 'delivery'];

// what a field may hold that needs no label
const PLAIN = ['name', 'action', 'value', 'before', 'after'];

const SIGNS = {good: '✓', bad: '✕', open: '…', none: '–'};


export class LogRow {

    constructor() {
        this.time = h('time');
        this.icon = icon('settings');
        this.face = avatar(null);
        this.unknown = h('span', {class: 'unseen'}, t('list.unknown'));
        this.title = h('span');
        this.details = cell('details');
        this.sign = h('span', {'aria-hidden': true});
        this.status = h('span', {class: 'unseen'});
        this.delivery = cell('delivery', this.sign, this.status);

        this.node = h('div', {class: 'row', role: 'row', tabindex: -1},
            cell('time', this.time),
            h('span', {role: 'gridcell', class: 'what'}, this.icon, this.face,
                this.unknown, this.title),
            this.details, this.delivery);
    }


    // ends: whether it is the last one of its day; hits: what finds what was
    // searched for
    show(entry, index, selected, ends = false, hits = null) {
        const {node} = this;

        node.ariaRowIndex = index + 2;
        node.ariaSelected = String(selected);
        node.classList.toggle('ends', ends);
        if (this.entry === entry && this.state === entry?.delivery
            && this.hits === hits)
        {
            return;
        }

        this.entry = entry;
        this.hits = hits;
        this.state = entry?.delivery;
        node.ariaBusy = String(!entry);
        if (!entry) {
            node.removeAttribute('data-category');
            for (const part of [this.time, this.title, this.details, this.sign,
                this.status])
            {
                part.textContent = '';
            }
            this.title.title = '';
            return;
        }

        const type = typeOfEntry(entry);
        const {category, title, sentence} = type;
        const told = inWords(entry);
        const said = sentenceOf(told, sentence);
        const {status, why, mood} = deliveryInWords(entry.delivery);

        node.dataset.category = category;
        setTime(this.time, entry.timestamp);
        turnIcon(this.icon, iconOf(entry.type));
        fill(this.title, said.length ? said.map(({word, text}) =>
            word ?? h('b', null, isolated(text))) : title);
        this.title.title = title;
        this.tellDoer(told, sentence);

        const tell = () => {
            this.details.textContent = detailsOf(told, hits, type,
                said.map(({place}) => place));
            mark(this.details, hits);
        };

        tell();
        namesIn(told.changes ?? [], () => this.entry === entry
            && this.hits === hits && tell());
        mark(this.title, hits);
        this.delivery.dataset.mood = mood;
        this.delivery.title = `${status}: ${why}`;
        this.sign.textContent = SIGNS[mood];
        this.status.textContent = status;
    }


    // The face of who did it. Where nobody is known, that is told of what
    // somebody did to another, so that nobody takes the other for them; who
    // joins needs no doer, and the dashboard is nobody.
    tellDoer({executor, target}, sentence) {
        const unknown = !executor && target && isTold(sentence, 'executor');
        const who = executor ?? target;

        this.unknown.hidden = !unknown;
        this.face.classList.toggle('nobody', !who || who.id === '0');
        this.face.title = unknown ? t('list.unknown') : '';
        turnAvatar(this.face, unknown ? null : who);
    }
}


// whether a sentence needs this place, in any of its forms
function isTold(sentence = '', place) {
    return sentence.replace(/\[[^\]]*\]/g, '').includes(`{${place}}`);
}


export function samePerson({executor, target}) {
    return Boolean(executor && target && executor.id === target.id);
}


// what there is to tell besides, on one line of bounded length, what was
// searched for first. told: the places of the sentence, which says the rest
function detailsOf(entry, hits, type, told) {
    const {fields} = type;
    const {count: counted = 'count'} = fields;
    const same = samePerson(entry);
    const {content, contentAfter, messages, emoji, changes} = entry;
    const cut = (text) => piece(text, 150, hits);
    const own = (text) => text && isolated(piece(String(text), 300, hits));
    const found = hits && messages.find((message) =>
        message.content?.search(hits) >= 0);
    const said = contentAfter !== null && content !== null
        ? isolated(cut(content)) + ARROW + isolated(cut(contentAfter))
        : own(content ?? contentAfter ?? (found ?? messages[0])?.content);
    const files = messages.reduce((n, message) =>
        n + (message.attachments?.length ?? 0), 0);
    const rest = (field, value = entry[field]) =>
        (told.includes(field) ? null : value);
    const whom = (place, sign = '') => entry[place]
        && entry[place].id !== '0' && !told.includes(place)
        && `${LABELS[fields[place] ?? place]}: ${sign}${
            isolated(entry[place].name || entry[place].id)}`;
    // what holds something else than what its name says
    const labeled = (field) => {
        const label = fields[field];
        const text = own(rest(field));

        return text && label in LABELS && !PLAIN.includes(label)
            ? `${LABELS[label]}: ${text}` : text;
    };
    const parts = [
        !(same && told.includes('target')) && whom('executor'),
        !same && whom('target'),
        whom('channel', '#'),
        own(rest('role')), own(rest('emoji', emoji?.name && `:${emoji.name}:`)),
        labeled('name'), labeled('action'), labeled('value'),
        ...(changes ?? []).map((change) =>
            closed(piece(changeText(change, type), 300, hits))),
        own(entry.reason), said, rest('count') !== null && (counted === 'count'
            ? `× ${entry.count}`
            : `${LABELS[counted]}: ${inNumbers(entry.count)}`),
        messages.length > 1 && t('entry.messages', {count: messages.length}),
        files && t('list.files', {count: files}),
    ].filter(Boolean);
    const rank = (part) => hits && part.search(hits) < 0 ? 1 : 0;

    return parts.sort((a, b) => rank(a) - rank(b)).join(' · ');
}


// what stands apart in a text that was cut ends with it
function closed(text) {
    return text.includes('\u2068') ? `${text}\u2069` : text;
}


function cell(name, ...children) {
    return h('span', {role: 'gridcell', class: name, dir: 'auto'},
        ...children);
}
