// @ts-check
// Recent changes of the configuration: the entries of the log that tell them,
// with what was read of them.

import {change, get, mayOnlyLook, session} from './api.js';
import {hrefOf} from './address.js';
import {changeLine} from './changes.js';
import {learn} from './directory.js';
import {button, fill, foreign, h, refocus} from './dom.js';
import {typeOf} from './log-types.js';
import {sentenceOf} from './sentence.js';
import {inWords} from './service.js';
import {t} from './texts.js';
import {timeNode} from './time.js';

// ms between a notification and its entry, which one transaction makes
const TOGETHER = 2000;


export async function notifications() {
    const node = h('div', {class: 'card'});
    const looking = mayOnlyLook();


    async function show() {
        const rows = await get('/notifications');
        const entries = await entriesOf(rows);
        const unread = rows.filter((row) => !row.acknowledged);

        fill(node,
            h('div', {class: 'actions'},
                h('strong', {role: 'status'}, unread.length
                    ? t('notifications.unread', {count: unread.length})
                    : t('notifications.none')),
                unread.length && !looking ? button(t('notifications.all'), () =>
                    acknowledge('/notifications/acknowledge')) : null),
            h('ul', {class: 'items'}, rows.map((row) =>
                item(row, entries.get(row.id)))));
        node.dispatchEvent(new CustomEvent('unread', {bubbles: true,
            detail: unread.length}));
    }


    function item({id, created, notificationData: data, acknowledged}, entry) {
        const title = entry ? saidOf(entry) : [foreign(data.title,
            {lang: 'en'})];
        const {title: label} = entry ? typeOf(entry.type) : data;

        return h('li', null,
            h('div', null,
                h(acknowledged ? 'span' : 'strong', null, title), ' ',
                entry ? h('a', {href: hrefOf('logs', session.bot, {},
                    entry.id)}, timeNode(Date.parse(created)))
                    : timeNode(Date.parse(created)),
                entry ? detailsOf(entry) : h('p', {class: 'note'},
                    foreign(data.description, {lang: 'en'}))),
            acknowledged || looking ? null
                : button(t('notifications.acknowledge'), () =>
                    acknowledge(`/notifications/${id}/acknowledge`),
                {'aria-label': t('notifications.label', {title: label})}));
    }


    async function acknowledge(path) {
        try {
            await change('POST', path);
            await show();
            refocus(node, document.querySelector('.page h2'));
        } catch (refusal) {
            node.prepend(h('p', {class: 'error', role: 'alert'},
                refusal.message));
        }
    }


    await show();
    return node;
}


// The entry of each notification that has one, by the notification's ID: that
// of its log type which was made with it.
async function entriesOf(rows) {
    const found = new Map();

    if (!rows.length) {
        return found;
    }

    const times = rows.map(({created}) => Date.parse(created));
    const query = new URLSearchParams({limit: String(rows.length),
        after: String(Math.min(...times) - TOGETHER)});

    for (const type of new Set(rows.map((row) => row.notificationType))) {
        query.append('type', type);
    }

    const left = new Set((await get('/logs', query)).entries);

    for (const {id, created, notificationType} of rows) {
        const off = ({timestamp}) => Math.abs(timestamp - Date.parse(created));
        const [entry] = [...left].filter((one) => off(one) < TOGETHER
            && String(one.type) === notificationType)
            .sort((one, other) => off(one) - off(other));

        if (entry) {
            learn(entry);
            left.delete(entry);
            found.set(id, inWords(entry));
        }
    }
    return found;
}


function saidOf(entry) {
    const {title, sentence} = typeOf(entry.type);
    const said = sentenceOf(entry, sentence);

    return said.length ? said.map(({word, text}) => word ?? foreign(text))
        : [title];
}


function detailsOf({action, name, value, changes, type}) {
    const said = typeOf(type).sentence.includes('{name}');
    const words = [action, said ? null : name, value].filter(Boolean);

    return [
        words.length ? h('p', {class: 'note'}, words.flatMap((word, i) =>
            [i ? ' · ' : null, foreign(word)])) : null,
        (changes ?? []).map((one) => h('p', {class: 'note'},
            changeLine(one)))];
}
