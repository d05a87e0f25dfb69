// @ts-check
// The first three steps of a server: where logs go, what is left out, and a
// message that shows that they arrive.

import {change, get, mayOnlyLook, part} from './api.js';
import {hrefOf} from './address.js';
import {button, fill, foreign, h, newId, refocus} from './dom.js';
import {idField} from './form.js';
import {check} from './health.js';
import {t} from './texts.js';
import {CATEGORIES, STAGES} from './words.js';

const CHANNELS = '/config/logging/channels';
const READY = 15_000;      // ms for the webhook of a new channel
const LOOKS = 500;         // ms between looks at it

export const node = h('div', {class: 'page start'});


export async function show({bot}, {plan}) {
    if (mayOnlyLook()) {
        fill(node, h('h2', {tabindex: -1}, t('start.title')),
            h('p', {class: 'note'}, t('page.mayLook')));
        node.querySelector('h2')?.focus();
        return;
    }

    const rows = await part('serverlogConfigChannels');
    /** @type {Partial<import('./api.js').Schemas['Channels']>} */
    const stored = rows?.[0] ?? {};
    const channel = idField('logChannel', []);
    const wrong = h('p', {class: 'error', role: 'alert', id: newId(),
        hidden: true});
    const result = h('p', {role: 'status'});
    const logged = Object.entries(CATEGORIES).map(([category, name]) => {
        const field = category.replace(/^category/, 'category_')
            .toLowerCase();
        const box = h('input', {type: 'checkbox', id: newId(),
            checked: stored[field] !== '0'});

        return {field, box, node: h('label', null, box, name)};
    });
    const bots = h('input', {type: 'checkbox', checked: false,
        disabled: plan === 'free'});
    const send = button(t('start.send'), () => attempt(),
        {class: 'primary'});


    async function attempt() {
        wrong.hidden = true;
        channel.input.removeAttribute('aria-invalid');
        const problem = await channel.check()
            || !channel.read() && t('start.choose');

        if (problem) {
            complain(problem);
            return;
        }

        send.disabled = true;
        try {
            await save();
            await test();
        } catch (refusal) {
            if (refusal.field === 'main_channel') {
                complain(refusal.message);
            } else {
                fill(result, refusal.message);
            }
        }
        send.disabled = false;
        refocus(send);
    }


    function complain(text) {
        fill(result);
        wrong.textContent = text;
        wrong.hidden = false;
        channel.input.setAttribute('aria-invalid', 'true');
        channel.input.focus();
    }


    async function save() {
        fill(result, t('start.saving'));
        await change('PATCH', CHANNELS, {main_channel: channel.read(),
            ...Object.fromEntries(logged.map(({field, box}) => [field,
                box.checked ? stored[field] === '0' ? null
                    : stored[field] ?? null : '0']))});
        if (bots.checked) {
            await change('PATCH', '/config/logging/settings', {
                ignore_bot_executors: false, ignore_bot_targets: false});
        }
    }


    async function test() {
        fill(result, t('start.waiting'));
        await ready(channel.read());
        fill(result, t('start.sending'));

        const {ok, stage, detail} = await change('POST',
            '/troubleshoot/test-log', {category: 'main_channel'});

        fill(result, h('strong', null, STAGES[stage] ?? stage), ' ',
            ok ? h('a', {href: hrefOf('logs', bot)}, t('start.read'))
                : [foreign(detail, {lang: 'en'}), ' ', h('a', {href:
                    hrefOf('troubleshoot', bot)}, t('start.wrong'))]);
        check(bot, true).catch(() => {});
    }


    channel.write(stored.main_channel ?? null);
    channel.input.id ||= newId();
    channel.input.setAttribute('aria-describedby', wrong.id);
    fill(node,
        h('h2', {tabindex: -1}, t('start.title')),
        h('ol', {class: 'steps'},
            h('li', {class: 'card'},
                h('h3', null, h('label', {htmlFor: channel.input.id},
                    t('start.where'))),
                h('p', {class: 'note'}, t('start.whereNote')),
                channel.input, channel.parts, wrong),
            h('li', {class: 'card'},
                h('h3', null, t('start.what')),
                h('div', {class: 'set', role: 'group',
                    'aria-label': t('start.what')},
                logged.map(({node: label}) => label),
                h('label', null, bots, t(plan === 'free'
                    ? 'start.botsFree' : 'start.bots')))),
            h('li', {class: 'card'},
                h('h3', null, t('start.arrives')),
                h('div', {class: 'actions'}, send,
                    h('a', {href: hrefOf('logs', bot)}, t('start.later'))),
                result)));
    node.querySelector('h2')?.focus();
}


export function leave() {}


// Resolves when the webhook of a channel is there, or is not to be had.
async function ready(id) {
    const until = Date.now() + READY;

    while (Date.now() < until) {
        const {channels} = await get('/config/logging/pacing');
        const lane = channels.find(({channelId}) => channelId === id);

        if (lane && lane.state !== 'registering' || lane?.stateReason) {
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, LOOKS));
    }
}
