// @ts-check
// What can be done with an entry: its link, its message at the platform, what
// was around it, and all of it as JSON.

import {change, mayOnlyLook, session} from './api.js';
import {hrefTo} from './address.js';
import {copier} from './copy.js';
import {button, fill, h, isolated, refocus} from './dom.js';
import {revertOf} from './revert.js';
import {t} from './texts.js';
import {MINUTE} from './time.js';
import {typeOf} from './log-types.js';

const AROUND = 5 * MINUTE;
const MESSAGES = 'https://discord.com/channels';


// narrow({name: value}) filters the list by this alone, leaveOut() by all other
// types
export function entryTools(entry, narrow, leaveOut) {
    const {channelId, messageId} = entry.delivery;
    const [message] = entry.messages;
    const there = message?.id && entry.channel
        && typeOf(entry.type).kind !== 'gone';
    const json = JSON.stringify(entry, null, 2);
    const link = hrefTo(session.server, session.bot, entry.id);

    return h('section', {class: 'tools-of'},
        h('div', {class: 'actions'},
            h('a', {href: link}, t('entry.link')),
            copier(t('entry.copyLink'), () =>
                new URL(link, location.href).href),
            button(t('entry.around'), () => narrow({
                after: String(entry.timestamp - AROUND),
                before: String(entry.timestamp + AROUND)})),
            button(t('entry.leaveOut'), leaveOut),
            !mayOnlyLook() && [taker(entry), silencer(entry)],
            messageId && away(t('entry.logMessage'), channelId,
                messageId),
            there && away(t('entry.message'), entry.channel.id,
                message.id)),
        h('details', null, h('summary', null, 'JSON'),
            copier(t('entry.copyJson'), () => json),
            h('pre', {tabindex: 0}, json)));
}


// takes back a change of the configuration
function taker(entry) {
    const revert = revertOf(entry);

    return revert && doer(t('entry.revert'), revert, () => t('trouble.done'));
}


// keeps what this one does out of the log; of the service itself nobody can
function silencer({type, executor}) {
    const path = '/config/logging/ignore/2';
    const body = {value: executor?.id};
    const name = executor && isolated(executor.name || executor.id);

    return executor && executor.id !== '0'
        && typeOf(type).category !== 'categoryService'
        && doer(t('entry.silence', {name}), () => change('POST', path, body),
            () => [t('entry.silenced', {name}), ' ',
                doer(t('types.undo'), () => change('DELETE', path, body),
                    () => t('trouble.done'))]);
}


// a button, and what became of it
function doer(label, act, done) {
    const said = h('span', {role: 'status', class: 'said'});
    const node = button(label, async () => {
        node.disabled = true;
        said.classList.remove('error');
        said.textContent = '…';
        try {
            await act();
            fill(said, done());
        } catch (refusal) {
            node.disabled = false;
            said.classList.add('error');
            said.textContent = refusal.message;
        }
        refocus(said, node, node.closest('.entry')?.querySelector('h2'));
    });

    return [node, said];
}


function away(label, channel, message) {
    return h('a', {rel: 'noreferrer', target: '_blank', href:
        `${MESSAGES}/${session.server}/${channel}/${message}`}, label, ' ↗');
}
