// @ts-check
// What the interface calls things, and what the reader is told of them.

import {has, locale, t, textsOf} from './texts.js';

export const CATEGORIES = Object.fromEntries(['categoryMembers',
    'categoryText', 'categoryVoice', 'categoryServer', 'categoryRoles',
    'categoryChannels', 'categoryService', 'categoryActions',
    'categoryModlog'].map((category) => [category,
    t(`category.${category.replace('category', '').toLowerCase()}`)]));

// fields of the log channels
export const ROUTES = Object.fromEntries(['main_channel', 'category_modlog',
    'category_members', 'category_actions', 'category_text', 'category_files',
    'category_voice', 'category_server', 'category_roles',
    'category_channels', 'category_service'].map((field) => [field,
    t(`category.${field.replace('category_', '')}`)]));

export const PLANS = {free: t('page.free'), pro_lite: 'Pro Lite', pro: 'Pro'};

const OPEN = ['queued', 'held', 'retrying', 'in_flight', 'unconfirmed'];
const UNSENT = ['off', 'no_channel'];

export const FORMATS = Object.values(textsOf('format', ['embed', 'compact',
    'text', 'compactText']));

export const FORMAT_NOTE = t('format.note');

// what the fields of entries are called in messages, which may hold something
// else than what they are named after
export const LABELS = Object.fromEntries(['executor', 'target', 'channel',
    'role', 'name', 'reason', 'count', 'emoji', 'action', 'value', 'before',
    'after', 'messages', 'dashboard', 'author', 'invite', 'members', 'until',
    'member', 'moderator', 'thread', 'from', 'via', 'uses', 'topic', 'event',
    'place', 'status', 'level', 'rule', 'sound', 'sticker', 'webhook', 'tag',
    'token', 'type', 'list', 'boosts', 'found', 'access', 'open']
    .map((name) => [name, t(name)]));

export const BUTTONS = {
    userID: t('button.userID'),
    supportServer: t('support'),
    customise: t('customise'),
};

// by their numbers: what they are called, what they hold, what they do
export const IGNORE_LISTS = [['channels', 'anyChannel'],
    ['categories', 'category'], ['executors', 'member'],
    ['targets', 'member'], ['content', 'text'], ['executorRoles', 'role'],
    ['targetRoles', 'role']].map(([name, kind]) =>
    [t(`ignore.${name}`), kind, t(`ignored.${name}`)]);

export const FILTERS = textsOf('mask', ['invites', 'links', 'emails',
    'phones', 'addresses', 'secrets', 'cards', 'words']);

// what each finds, and leaves in its place
export const FOUND = {
    invites: ['discord.gg/abc123', '[invite]'],
    links: ['https://example.com/page', '[link]'],
    emails: ['ann@example.com', '[email]'],
    phones: ['+44 20 7946 0958', '[phone]'],
    addresses: ['203.0.113.7', '[address]'],
    secrets: ['AKIAIOSFODNN7EXAMPLE', '[secret]'],
    cards: ['4111 1111 1111 1111', '[card]'],
    words: ['', '[word]'],
};

// what comes of a test message
export const STAGES = textsOf('stage', ['delivered', 'no_channel',
    'webhook_404', 'channel_parked', 'local_rate_limit', 'forbidden',
    'rate_limited', 'request_timeout_or_network', 'unknown']);

const number = new Intl.NumberFormat(locale);
const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte'].map((unit) =>
    new Intl.NumberFormat(locale, {style: 'unit', unit,
        unitDisplay: unit === 'byte' ? 'long' : 'short',
        maximumFractionDigits: 1}));


export function count(n) {
    return number.format(n);
}


export function hexOf(color) {
    return '#' + color.toString(16).padStart(6, '0');
}


// {status, why, mood: good, bad, open, or none where nothing was to be sent}
export function deliveryInWords({status, reason}) {
    return {
        status: known('status', status),
        why: status === 'delivered' ? t('reason.delivered')
            : known('reason', reason ?? ''),
        mood: status === 'delivered' ? 'good'
            : OPEN.includes(reason) ? 'open'
                : UNSENT.includes(reason) ? 'none' : 'bad',
    };
}


// what the troubleshooter found
export function titleOf({id, title}) {
    return has(`finding.${id}`) ? t(`finding.${id}`) : title;
}


// a word of the API, as it is where it has no text
export function known(section, word) {
    return has(`${section}.${word}`) ? t(`${section}.${word}`) : word;
}


export function size(bytes) {
    let unit = 0;

    while (bytes >= 1000 && unit < sizes.length - 1) {
        bytes /= 1000;
        unit++;
    }
    return sizes[unit].format(bytes);
}
