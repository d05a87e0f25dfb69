// One line of the list. Its nodes are made once and shown again and again
// with other entries.

import {changeText} from './changes.js';
import {h, isolated, plain} from './dom.js';
import {typeOf} from './log-types.js';
import {sentenceOf} from './sentence.js';
import {setTime} from './time.js';
import {deliveryInWords} from './words.js';

export const COLUMNS = ['Time', 'What', 'Who', 'Where', 'Details', 'Delivery'];

const SIGNS = {good: '✓', bad: '✕', open: '…', none: '–'};


export class LogRow {

    constructor() {
        this.time = h('time');
        this.title = h('span', {dir: 'auto'});
        this.executor = h('bdi');
        this.arrow = h('span', {class: 'arrow', 'aria-label': 'to'}, '→');
        this.target = h('bdi');
        this.channel = cell('where');
        this.details = cell('details');
        this.sign = h('span', {'aria-hidden': true});
        this.status = h('span', {class: 'unseen'});
        this.delivery = cell('delivery', this.sign, this.status);

        this.node = h('div', {class: 'row', role: 'row', tabindex: -1},
            cell('time', this.time),
            cell('what', h('i', {class: 'dot'}), this.title),
            h('span', {role: 'gridcell', class: 'who'},
                this.executor, this.arrow, this.target),
            this.channel, this.details,
            this.delivery);
    }


    show(entry, index, selected) {
        const {node} = this;

        node.ariaRowIndex = index + 2;
        node.ariaSelected = String(selected);
        if (this.entry === entry && this.state === entry?.delivery) {
            return;
        }

        this.entry = entry;
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

        const {category, title, sentence} = typeOf(entry.type);
        const {status, why, mood} = deliveryInWords(entry.delivery);

        node.dataset.category = category;
        setTime(this.time, entry.timestamp);
        this.title.textContent = title;
        this.title.title = sentenceOf(entry, sentence).map(({word, text}) =>
            word ?? isolated(text)).join('');
        this.executor.textContent = plain(nameOf(entry.executor));
        this.target.textContent = plain(nameOf(entry.target));
        this.arrow.hidden = !entry.executor || !entry.target;
        this.channel.textContent = entry.channel
            ? '#' + isolated(nameOf(entry.channel)) : '';
        this.details.textContent = detailsOf(entry);
        this.delivery.dataset.mood = mood;
        this.delivery.title = `${status}: ${why}`;
        this.sign.textContent = SIGNS[mood];
        this.status.textContent = status;
    }
}


export function nameOf(named) {
    return named ? named.name || named.id : '';
}


// what there is to tell, on one line of bounded length
function detailsOf(entry) {
    const {content, contentAfter, messages, count, changes} = entry;
    const said = contentAfter !== null && content !== null
        ? `${cut(content)} → ${cut(contentAfter)}`
        : content ?? contentAfter ?? messages[0]?.content ?? '';
    const files = messages.reduce((n, message) =>
        n + (message.attachments?.length ?? 0), 0);

    return [
        entry.role, entry.emoji?.name && `:${entry.emoji.name}:`, entry.name,
        entry.action, entry.value, ...(changes ?? []).map(changeText),
        entry.reason, cut(said, 300),
        count !== null && `× ${count}`,
        messages.length > 1 && `${messages.length} messages`,
        files && (files === 1 ? '1 file' : `${files} files`),
    ].filter(Boolean).map((part) => isolated(cut(part, 300))).join(' · ');
}


function cut(text, most = 150) {
    return text.length > most ? text.slice(0, most) + '…' : text;
}


function cell(name, ...children) {
    return h('span', {role: 'gridcell', class: name, dir: 'auto'},
        ...children);
}
