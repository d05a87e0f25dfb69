// @ts-check
// Why logs do not arrive, what can be done about it, and how full the log
// channels are.

import {change, get, mayOnlyLook} from './api.js';
import {hrefOf} from './address.js';
import {badge, button, confirmed, fill, foreign, h, refocus} from './dom.js';
import {form} from './form.js';
import {check} from './health.js';
import {typeOf} from './log-types.js';
import {named} from './named.js';
import {has, language, parts, t} from './texts.js';
import {shortTime} from './time.js';
import {IGNORE_LISTS, ROUTES, STAGES, count, known, titleOf} from './words.js';

const FIXES = {
    initialise_guild: t('fix.initialise'),
    register_webhook: t('fix.register'),
    clear_log_channel: t('fix.clear'),
    enable_log_type: t('fix.enable'),
    remove_ignore: t('fix.ignore'),
    disable_bot_ignore: t('fix.bots'),
};

// where what was found can be changed
const PLACES = {
    NEVER_INITIALISED: ['start', 'fix.start'],
    NO_LOG_CHANNEL: ['start', 'fix.choose'],
    CHANNEL_GONE: ['channels', 'fix.another'],
    WEBHOOK_LIMIT: ['channels', 'fix.another'],
    MISSING_PERMISSION: ['channels', 'fix.another'],
    CHANNEL_OVER_LIMIT: ['channels', 'fix.spread'],
    CATEGORY_OFF: ['channels', 'fix.channels'],
    LOG_TYPE_OFF: ['types', 'fix.types'],
    IGNORE_HIDES_ALL: ['ignore', 'fix.lists'],
    BOTS_IGNORED: ['settings', 'fix.settings'],
};

// what the API says itself
const ENGLISH = language.startsWith('en');

// findings of which the numbers tell more, which the API's own words have
const NUMBERS = {
    CHANNEL_OVER_LIMIT: ({ratePerMinute, ceilingPerMinute, queued}) =>
        `${t('trouble.minute')}: ${t('trouble.of', {count: ratePerMinute,
            most: ceilingPerMinute})} · ${t('trouble.waiting')}: ${
            count(queued)}`,
    RECENT_FAILURES: ({failureRatio}) => `${t('trouble.failed')}: ${t(
        'unit.percent', {count: Math.round(failureRatio * 100)})}`,
};

// causes that have the words of another one
const SAME = {missing_access: 'stage.forbidden',
    missing_permissions: 'stage.forbidden', thread_locked: 'stage.forbidden',
    rate_limited: 'stage.rate_limited',
    ...Object.fromEntries(['no_answer', 'unreached', 'server_error',
        'refused', 'redirected', 'response_unreadable', 'blocked_address',
        'not_the_platform', 'unknown'].map((code) =>
        [code, 'stage.request_timeout_or_network']))};

const MOODS = {healthy: 'good', active: 'good', degraded: 'open',
    paused: 'open', registering: 'open', broken: 'bad', blocking: 'bad'};


export async function troubleshoot(server, bot) {
    const report = h('div', {class: 'card', 'aria-live': 'polite'});
    const lanes = h('div');
    const said = h('p', {class: 'said', role: 'status'});


    async function ask(live) {
        const [found, {channels}] = await Promise.all([get('/troubleshoot',
            new URLSearchParams({live: live ? '1' : '0'})),
        get('/config/logging/pacing')]);

        fill(lanes, pacing(channels));
        fill(report,
            h('header', null, stateBadge(found.status),
                h('span', {class: 'note'},
                    t('trouble.asOf', {time: shortTime(found.generatedAt)})),
                button(t('trouble.live'), () => attempt(() =>
                    ask(true)))),
            found.findings.length
                ? h('ul', {class: 'items'}, found.findings.map(
                    (one) => finding(one, channels)))
                : h('p', null, t('trouble.nothing')),
            found.summary.incomplete.length ? h('p', {class: 'note'},
                parts('trouble.incomplete', {what: found.summary.incomplete
                    .flatMap((one, i) => [i ? '; ' : '', unchecked(one)])}))
                : null,
            said);
        refocus(report);
    }


    function finding(found, channels) {
        const {id, severity, title, scope, fix} = found;
        const looking = mayOnlyLook();
        const [view, label] = looking ? [] : PLACES[id] ?? [];

        return h('li', null,
            h('div', null,
                stateBadge(severity), ' ',
                h('strong', null, titleOf({id, title})),
                h('p', null, aboutOf(found, channels))),
            view && h('a', {href: hrefOf(view, bot, id === 'LOG_TYPE_OFF'
                && {type: [scope.logType]})}, t(label)),
            fix && !looking ? button(FIXES[fix.kind] ?? fix.kind, () =>
                attempt(() => apply(fix))) : null);
    }


    async function apply(fix) {
        const clears = fix.kind === 'clear_log_channel' && fix.channelId;

        if (clears && !await confirmed(t('fix.clearQuestion'),
            FIXES[fix.kind]))
        {
            return;
        }
        await change('POST', '/troubleshoot/fix', fix);
        await ask(false);
        check(bot, true).catch(() => {});
        said.textContent = t('trouble.done');
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
                ? t('trouble.fixed') : refusal.message;
        }
    }


    await ask(false);
    return [report, mayOnlyLook() ? null : tester(), lanes];
}


function tester() {
    const result = h('p', {role: 'status'});

    return h('section', null, h('h3', null, t('trouble.test')),
        form({all: true, hasty: true, label: t('trouble.send'),
            fields: [{name: 'category', label: t('trouble.to'),
                kind: 'choice', options: Object.entries(ROUTES)}],
            save: async (body) => {
                fill(result);
                const {ok, stage, detail, latencyMs} = await change('POST',
                    '/troubleshoot/test-log', body);

                fill(result, badge(t(ok ? 'status.delivered'
                    : 'status.not_delivered'), ok ? 'good' : 'bad'), ' ',
                STAGES[stage] ?? stage, ' ',
                ENGLISH || !(stage in STAGES) ? [told(detail), ' '] : null,
                t('trouble.latency', {ms: latencyMs}));
            }}),
        result);
}


// What a finding is about, and what its title does not say of it.
function aboutOf({id, detail, scope, fix}, channels) {
    const {kind, category, logType, channelId} = scope;
    const lane = channels.find((one) => one.channelId === channelId);

    if (kind === 'category') {
        return ROUTES[category];
    }
    if (kind === 'logType') {
        return typeOf(logType).title;
    }
    if (kind === 'channel') {
        return [named('channel', channelId), ' ',
            lane && (id in NUMBERS ? !ENGLISH && NUMBERS[id](lane)
                : causeOf(lane.stateReason))
            || ENGLISH && told(detail.split(`${channelId}: `).at(-1))];
    }
    if (ENGLISH) {
        return told(detail);
    }
    if (fix?.kind === 'remove_ignore') {
        const [list, of] = IGNORE_LISTS[fix.ignoreType];

        return [list, ': ', named(of === 'anyChannel' ? 'channel' : of,
            fix.value)];
    }
    return null;
}


// why a channel gets nothing, or what the platform could not be asked
function causeOf(code) {
    const finding = `finding.${code?.toUpperCase()}`;

    return code in SAME ? t(SAME[code])
        : has(`cause.${code}`) ? t(`cause.${code}`)
            : has(finding) && !has(`reason.${code}`) ? t(finding)
                : known('reason', code);
}


// "channel ID: cause", as the report has it
function unchecked(text) {
    const [, id, cause] = /^channel (\d+): (.*)$/.exec(text) ?? [];

    return id ? [named('channel', id), ' ',
        causeOf(cause.replaceAll(' ', '_'))] : told(text);
}


function pacing(channels) {
    return h('section', null, h('h3', null, t('trouble.pacing')),
        channels.length ? h('div', {class: 'wide', tabindex: 0,
            role: 'region', 'aria-label': t('config.channels')},
        h('table', null,
            h('thead', null, h('tr', null, ['channel', 'state', 'minute',
                'waiting', 'failed'].map((name) => h('th', {scope: 'col'},
                t(`trouble.${name}`))))),
            h('tbody', null, channels.map(row))))
            : h('p', {class: 'note'}, t('trouble.noChannels')));
}


function row(channel) {
    return h('tr', null,
        h('td', null, named('channel', channel.channelId)),
        h('td', null, stateBadge(channel.state),
            ' ', causeOf(channel.stateReason)),
        h('td', null, t('trouble.of', {count: channel.ratePerMinute,
            most: channel.ceilingPerMinute})),
        h('td', null, count(channel.queued)),
        h('td', null, t('unit.percent',
            {count: Math.round(channel.failureRatio * 100)})));
}


// what the API says itself is English
function told(detail) {
    return foreign(detail, {lang: 'en'});
}


function stateBadge(state) {
    return badge(known('state', state), MOODS[state]);
}
