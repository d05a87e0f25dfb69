// What the interface calls things, and what the reader is told of them.

export const CATEGORIES = {
    categoryMembers: 'Members',
    categoryText: 'Messages',
    categoryVoice: 'Voice',
    categoryServer: 'Server',
    categoryRoles: 'Roles',
    categoryChannels: 'Channels',
    categoryService: 'Service',
    categoryActions: 'Actions',
    categoryModlog: 'Moderation',
};

// fields of the log channels
export const ROUTES = {
    main_channel: 'Main channel',
    category_modlog: 'Moderation',
    category_members: 'Members',
    category_actions: 'Actions',
    category_text: 'Messages',
    category_files: 'Deleted attachments',
    category_voice: 'Voice',
    category_server: 'Server',
    category_roles: 'Roles',
    category_channels: 'Channels',
    category_service: 'Service',
};

const STATUSES = {
    delivered: 'Delivered',
    not_delivered: 'Not delivered',
    unknown: 'Not known',
};

const REASONS = {
    queued: 'It waits for its turn; nothing was sent yet.',
    held: 'It is held for three seconds, in which active ignore may still '
        + 'leave it out.',
    retrying: 'The platform did not take it for now; it is tried again.',
    in_flight: 'It is being sent.',
    unconfirmed: 'It was sent, but whether it arrived could not be proved.',
    off: 'Its category or type is switched off in the log channels.',
    no_channel: 'No log channel is set for it.',
    webhook_404: 'The channel’s webhook was deleted at the platform, twice '
        + 'within an hour.',
    forbidden: 'The bot lacked a permission in the channel for an hour.',
    channel_gone: 'The log channel does not exist any more.',
    foreign_channel: 'The log channel belongs to another server.',
    rejected: 'The platform refused this message.',
    expired: 'It could not be delivered within 24 hours.',
};

const OPEN = ['queued', 'held', 'retrying', 'in_flight', 'unconfirmed'];
const UNSENT = ['off', 'no_channel'];

export const FORMATS = ['Embed', 'Compact embed', 'Plain text',
    'Compact plain text'];

export const FORMAT_NOTE = 'Other formats than the first need the Pro or Pro '
    + 'Lite plan.';

// what the fields of entries are called in messages, which may hold something
// else than what they are named after
export const LABELS = {
    executor: 'Executor', target: 'Target', channel: 'Channel', role: 'Role',
    name: 'Name', reason: 'Reason', count: 'Count', emoji: 'Emoji',
    action: 'Action', value: 'Value', before: 'Before', after: 'After',
    messages: 'Messages', dashboard: 'Dashboard or API', author: 'Author',
    invite: 'Invite', members: 'Members', until: 'Until', member: 'Member',
    moderator: 'Moderator', thread: 'Thread', from: 'From', via: 'Through',
    uses: 'Uses', topic: 'Topic', event: 'Event', place: 'Place',
    status: 'Status', level: 'Level', rule: 'Rule', sound: 'Sound',
    sticker: 'Sticker', webhook: 'Webhook', tag: 'Tag', token: 'Token',
    type: 'Log type', list: 'List', boosts: 'Boosts', found: 'Found',
    access: 'Access',
};

export const BUTTONS = {
    userID: 'User ID',
    supportServer: 'Support server',
    customise: 'Customise',
};

export const IGNORE_LISTS = [
    ['Channels', 'channel', 'Nothing that happens in these channels is '
        + 'logged; a forum covers its posts, a channel its threads.'],
    ['Channel categories', 'channel', 'Nothing that happens in the channels '
        + 'of these categories is logged.'],
    ['Executors', 'member', 'Nothing these users do is logged.'],
    ['Targets', 'member', 'Nothing that is done to these users is logged.'],
    ['Message content', 'text', 'Deleted messages with exactly this content '
        + 'are not logged.'],
    ['Executor roles', 'text', 'Nothing done by users with these roles (by '
        + 'ID) is logged.'],
    ['Target roles', 'text', 'Nothing done to users with these roles (by ID) '
        + 'is logged.'],
];

export const FILTERS = {
    invites: 'Invites to other servers',
    links: 'Links',
    emails: 'E-mail addresses',
    phones: 'Phone numbers',
    addresses: 'IP addresses',
    secrets: 'Tokens and private keys',
    cards: 'Payment cards',
    words: 'The words of your own list',
};

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

export const LANGUAGES = {
    'en-US': 'English (US)', 'en-GB': 'English (UK)', tr: 'Türkçe',
    vi: 'Tiếng Việt', 'en-PR': 'English (Pirate)', pl: 'Polski',
    nl: 'Nederlands', 'es-ES': 'Español', it: 'Italiano', de: 'Deutsch',
    fr: 'Français', ru: 'Русский', el: 'Ελληνικά', zh_Hant: '繁體中文',
    ko: '한국어', sl: 'Slovenščina', ar: 'العربية', hu: 'Magyar', ja: '日本語',
};

export const STAGES = {
    delivered: 'The test message arrived.',
    no_channel: 'No channel is set for it.',
    webhook_404: 'The channel’s webhook is gone.',
    channel_parked: 'The channel is paused after failures.',
    local_rate_limit: 'It would have been sent too soon after the last one.',
    forbidden: 'The bot lacks a permission in the channel.',
    rate_limited: 'The platform limits the bot for now.',
    request_timeout_or_network: 'The platform did not answer.',
    unknown: 'What became of it is not known.',
};

const number = new Intl.NumberFormat();


export function count(n, noun) {
    const digits = number.format(n);
    return noun ? `${digits} ${n === 1 ? noun[0] : noun[1]}` : digits;
}


export const ENTRIES = ['entry', 'entries'];


// {status, why, mood: good, bad, open, or none where nothing was to be sent}
export function deliveryInWords({status, reason}) {
    return {
        status: STATUSES[status] ?? status,
        why: status === 'delivered' ? 'It stands in its log channel.'
            : REASONS[reason] ?? reason ?? '',
        mood: status === 'delivered' ? 'good'
            : OPEN.includes(reason) ? 'open'
                : UNSENT.includes(reason) ? 'none' : 'bad',
    };
}


export function size(bytes) {
    const units = ['B', 'kB', 'MB', 'GB'];
    let unit = 0;

    while (bytes >= 1000 && unit < units.length - 1) {
        bytes /= 1000;
        unit++;
    }
    return `${number.format(Math.round(bytes * 10) / 10)} ${units[unit]}`;
}
