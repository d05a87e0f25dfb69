// Why logs do not arrive, what can be done about it, and how full the log
// channels are.

import {change, get} from './api.js';
import {hrefOf} from './address.js';
import {badge, button, fill, foreign, h} from './dom.js';
import {form, named} from './form.js';
import {check} from './health.js';
import {shortTime} from './time.js';
import {ROUTES, STAGES, count} from './words.js';

const FIXES = {
    initialise_guild: 'Set up with defaults',
    register_webhook: 'Register the webhook',
    clear_log_channel: 'Clear the log channel',
    enable_log_type: 'Switch the type on',
    remove_ignore: 'Take it off the ignore list',
    disable_bot_ignore: 'Log what bots do',
};

// where what was found can be changed
const PLACES = {
    NEVER_INITIALISED: ['start', 'Set it up'],
    NO_LOG_CHANNEL: ['start', 'Choose a channel'],
    CHANNEL_GONE: ['channels', 'Choose another channel'],
    WEBHOOK_LIMIT: ['channels', 'Choose another channel'],
    MISSING_PERMISSION: ['channels', 'Choose another channel'],
    CHANNEL_OVER_LIMIT: ['channels', 'Spread over more channels'],
    CATEGORY_OFF: ['channels', 'See the log channels'],
    LOG_TYPE_OFF: ['types', 'See the log types'],
    IGNORE_HIDES_ALL: ['ignore', 'See the ignore lists'],
    BOTS_IGNORED: ['settings', 'See the settings'],
};

const MOODS = {healthy: 'good', active: 'good', degraded: 'open',
    paused: 'open', registering: 'open', broken: 'bad', blocking: 'bad'};


export async function troubleshoot(server, bot) {
    const report = h('div', {class: 'card', 'aria-live': 'polite'});
    const said = h('p', {class: 'said', role: 'status'});


    async function ask(live) {
        const found = await get('/troubleshoot',
            new URLSearchParams({live: live ? 1 : 0}));

        fill(report,
            h('header', null, badge(found.status, MOODS[found.status]),
                h('span', {class: 'note'},
                    `as of ${shortTime(found.generatedAt)}`),
                button('Ask the platform, too', () => attempt(() =>
                    ask(true)))),
            found.findings.length
                ? h('ul', {class: 'items'}, found.findings.map(finding))
                : h('p', null, 'Nothing is wrong.'),
            found.summary.incomplete.length ? h('p', {class: 'note'},
                'Not asked: ', found.summary.incomplete.join('; ')) : null,
            said);
    }


    function finding({id, severity, title, detail, scope, fix}) {
        const [view, label] = PLACES[id] ?? [];

        return h('li', null,
            h('div', null,
                badge(severity, MOODS[severity]), ' ',
                h('strong', null, title), h('p', null, scope.channelId
                    ? [named('channel', scope.channelId), ' ',
                        foreign(detail.replace(/^Channel \d+: /, ''))]
                    : foreign(detail))),
            view && h('a', {href: hrefOf(view, bot, id === 'LOG_TYPE_OFF'
                && {type: [scope.logType]})}, label),
            fix ? button(FIXES[fix.kind] ?? fix.kind, () =>
                attempt(() => apply(fix))) : null);
    }


    async function apply(fix) {
        await change('POST', '/troubleshoot/fix', fix);
        await ask(false);
        check(bot, true).catch(() => {});
        said.textContent = 'Done.';
    }


    async function attempt(f) {
        said.textContent = '…';
        said.classList.remove('error');
        try {
            await f();
            said.textContent = said.textContent === '…' ? ''
                : said.textContent;
        } catch (refusal) {
            said.classList.add('error');
            said.textContent = refusal.status === 404
                ? 'There is nothing to fix any more.' : refusal.message;
        }
    }


    await ask(false);
    return [report, tester(), await pacing()];
}


function tester() {
    const result = h('p', {role: 'status'});

    return h('section', null, h('h3', null, 'Send a test message'),
        form({all: true, hasty: true, label: 'Send',
            fields: [{name: 'category', label: 'To the channel of',
                kind: 'choice', options: Object.entries(ROUTES)}],
            save: async (body) => {
                fill(result);
                const {ok, stage, detail, latencyMs} = await change('POST',
                    '/troubleshoot/test-log', body);

                fill(result, badge(stage, ok ? 'good' : 'bad'), ' ',
                    STAGES[stage] ?? '', ' ', foreign(detail),
                    ` (${latencyMs} ms)`);
            }}),
        result);
}


async function pacing() {
    const {channels} = await get('/config/logging/pacing');

    return h('section', null, h('h3', null, 'How full the log channels are'),
        channels.length ? h('div', {class: 'wide', tabindex: 0,
            role: 'region', 'aria-label': 'Log channels'},
        h('table', null,
            h('thead', null, h('tr', null, ['Channel', 'State', 'A minute',
                'Waiting', 'Failed'].map((name) => h('th', {scope: 'col'},
                name)))),
            h('tbody', null, channels.map(row))))
            : h('p', {class: 'note'}, 'There are none.'));
}


function row(channel) {
    return h('tr', null,
        h('td', null, named('channel', channel.channelId)),
        h('td', null, badge(channel.state, MOODS[channel.state]),
            ' ', foreign(channel.stateReason ?? '')),
        h('td', null, `${channel.ratePerMinute} of ${
            channel.ceilingPerMinute}`),
        h('td', null, count(channel.queued)),
        h('td', null, `${Math.round(channel.failureRatio * 100)} %`));
}
