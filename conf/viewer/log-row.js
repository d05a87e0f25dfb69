// One line of the list. Its nodes are made once and shown again and again
// with other entries.

import {changeText, namesIn} from './changes.js';
import {ARROW, h, isolated, plain} from './dom.js';
import {typeOf} from './log-types.js';
import {mark, piece} from './marks.js';
import {sentenceOf} from './sentence.js';
import {inWords} from './service.js';
import {t} from './texts.js';
import {setTime} from './time.js';
import {LABELS, count as inNumbers, deliveryInWords} from './words.js';

export const COLUMNS = ['time', 'what', 'who', 'where', 'details', 'delivery'];

const SIGNS = {good: '✓', bad: '✕', open: '…', none: '–'};


export class LogRow {

    constructor() {
        this.time = h('time');
        this.title = h('span');
        this.executor = h('bdi');
        this.arrow = h('span', {class: 'arrow', 'aria-label': t('list.to')},
            '→');
        this.target = h('bdi');
        this.channel = cell('where');
        this.details = cell('details');
        this.sign = h('span', {'aria-hidden': true});
        this.status = h('span', {class: 'unseen'});
        this.delivery = cell('delivery', this.sign, this.status);

        this.node = h('div', {class: 'row', role: 'row', tabindex: -1},
            cell('time', this.time),
            h('span', {role: 'gridcell', class: 'what'},
                h('i', {class: 'dot'}), this.title),
            h('span', {role: 'gridcell', class: 'who'},
                this.executor, ' ', this.arrow, ' ', this.target),
            this.channel, this.details,
            this.delivery);
    }


    // day: its name, where the entry is the last one of a day; hits: what
    // finds what was searched for
    show(entry, index, selected, day = '', hits = null) {
        const {node} = this;

        node.ariaRowIndex = index + 2;
        node.ariaSelected = String(selected);
        if (day) {
            node.dataset.day = day;
        } else {
            delete node.dataset.day;
        }
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
            for (const part of [this.time, this.title, this.executor,
                this.target, this.channel, this.details, this.sign,
                this.status])
            {
                part.textContent = '';
            }
            this.title.title = '';
            this.arrow.hidden = true;
            return;
        }

        const {category, title, sentence, kind, fields} = typeOf(entry.type);
        const told = inWords(entry);
        const said = sentenceOf(told, sentence);
        const {status, why, mood} = deliveryInWords(entry.delivery);

        node.dataset.category = category;
        setTime(this.time, entry.timestamp);
        this.title.textContent = said.map(({word, text}) =>
            word ?? isolated(text)).join('') || title;
        this.title.title = title;
        this.executor.textContent = doerOf(entry, sentence);
        this.executor.classList.toggle('unknown', !entry.executor);
        this.target.textContent = samePerson(entry) ? ''
            : plain(nameOf(entry.target));
        this.arrow.hidden = !this.target.textContent
            || !entry.executor && isTold(sentence, 'target')
                && !isTold(sentence, 'executor');
        this.channel.textContent = entry.channel
            ? '#' + isolated(nameOf(entry.channel)) : '';

        const tell = () => {
            this.details.textContent = detailsOf(told, hits, kind === 'gone',
                said.map(({place}) => place), fields.count);
            mark(this.details, hits);
        };

        tell();
        namesIn(told.changes ?? [], () => this.entry === entry
            && this.hits === hits && tell());
        for (const part of [this.title, entry.executor && this.executor,
            this.target, this.channel])
        {
            part && mark(part, hits);
        }
        this.delivery.dataset.mood = mood;
        this.delivery.title = `${status}: ${why}`;
        this.sign.textContent = SIGNS[mood];
        this.status.textContent = status;
    }
}


export function nameOf(named) {
    return named ? named.name || named.id : '';
}


// Who did it. Where nobody is known, that is said of what somebody did to
// another, so that nobody takes the other for them; who joins needs no doer.
function doerOf({executor, target}, sentence) {
    return executor ? plain(nameOf(executor))
        : target && isTold(sentence, 'executor') ? t('list.unknown') : '';
}


// whether a sentence needs this place, in any of its forms
function isTold(sentence = '', place) {
    return sentence.replace(/\[[^\]]*\]/g, '').includes(`{${place}}`);
}


export function samePerson({executor, target}) {
    return Boolean(executor && target && executor.id === target.id);
}


// what there is to tell besides, on one line of bounded length, what was
// searched for first; counted: what its count is of
function detailsOf(entry, hits, gone, told, counted = 'count') {
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
    const parts = [
        ...[rest('role'), rest('emoji', emoji?.name && `:${emoji.name}:`),
            rest('name'), rest('action'), rest('value')].map(own),
        ...(changes ?? []).map((change) =>
            closed(piece(changeText(change, gone), 300, hits))),
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
