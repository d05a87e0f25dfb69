// /logs, for who manages a server: where its logs go, what is ignored, a search,
// and the way to the log viewer. Only who asks sees the answer.

import {Routes} from 'discord.js';
import {GuildlogError, NotFound, Unavailable} from 'guildlog';

import {said} from './sentence.js';

const MANAGE = 1n << 5n;
const ENOUGH = MANAGE | 1n << 3n;  // an administrator may everything
const LONGEST = 2_000;             // characters of an answer
const FOUND = 10;                  // entries of a search
const ONLY_ME = 64;                // flags of an answer
const CATEGORY = 4;                // type of channels
const TEXT = [0, 5];

const SUBCOMMAND = 1;
const STRING = 3;
const BOOLEAN = 5;
const USER = 6;
const CHANNEL = 7;
const ROLE = 8;

// what has a log channel, and the category of entries that goes there
const CATEGORIES = [
    ['Moderation', 'category_modlog', 'categoryModlog'],
    ['Members', 'category_members', 'categoryMembers'],
    ['Actions', 'category_actions', 'categoryActions'],
    ['Messages', 'category_text', 'categoryText'],
    ['Voice', 'category_voice', 'categoryVoice'],
    ['Files', 'category_files'],
    ['Server', 'category_server', 'categoryServer'],
    ['Roles', 'category_roles', 'categoryRoles'],
    ['Channels', 'category_channels', 'categoryChannels'],
    ['The log itself', 'category_service', 'categoryService'],
];

// ignore lists by their numbers: what they hold, how it is mentioned
const LISTS = [
    [0, 'Channels', (id) => `<#${id}>`],
    [1, 'Channel categories', (id) => `<#${id}>`],
    [2, 'What these people do', (id) => `<@${id}>`],
    [3, 'What is done to these people', (id) => `<@${id}>`],
    [4, 'Deleted messages that say', (text) => `\`${text.replaceAll('`', '')}\``],
    [5, 'What people with these roles do', (id) => `<@&${id}>`],
    [6, 'What is done to people with these roles', (id) => `<@&${id}>`],
];


export class Commands {

    constructor({rest, tokens, viewer}) {
        Object.assign(this, {rest, tokens, viewer});
        this.acts = {channel, ignore, search, ...viewer && {dashboard}};
        this.types = null;
    }


    // What the platform is told that there is
    get list() {
        return [{
            name: 'logs', description: 'The logs of this server',
            default_member_permissions: String(MANAGE), contexts: [0],
            options: OPTIONS.filter(({name}) => this.acts[name]),
        }];
    }


    // The platform wants to hear of it within 3 s: first that the answer comes,
    // then the answer
    async answer(interaction) {
        const {id, application_id: application, token, data} = interaction;

        if (data?.name !== 'logs') {
            return;
        }
        try {
            await this.rest.post(Routes.interactionCallback(id, token),
                {auth: false, body: {type: 5, data: {flags: ONLY_ME}}});
            const content = await this.#content(interaction);

            await this.rest.patch(Routes.webhookMessage(application, token),
                {auth: false, body: {content: content.slice(0, LONGEST),
                    allowed_mentions: {parse: []}}});
        } catch (error) {
            console.error(`an answer to /logs did not arrive: ${
                error.message}`);
        }
    }


    async #content({guild_id: server, member, data}) {
        const {name, options = []} = data.options?.[0] ?? {};
        const given = Object.fromEntries(options.map((option) =>
            [option.name, option.value]));

        if (!server || !(BigInt(member?.permissions ?? 0) & ENOUGH)) {
            return 'Only who has the permission Manage Server may do this.';
        }
        try {
            return await this.tokens.use(server, (api) => this.acts[name](given,
                {api, server, viewer: this.viewer,
                    resolved: data.resolved ?? {},
                    types: () => this.#types(api)}));
        } catch (error) {
            console.error(`/logs ${name} of ${server}: ${error.message}`);
            return error instanceof Unavailable
                ? 'The log does not answer now. Try again later.'
                : error.body?.error ? `That does not work: ${error.body.error}.`
                    : error instanceof GuildlogError && !error.status
                        ? error.message : 'That did not work.';
        }
    }


    async #types(api) {
        this.types ??= new Map((await api.logTypes()).map((type) =>
            [type.id, type]));
        return this.types;
    }
}


async function channel({category = 'main_channel', channel: id, set}, {api}) {
    const [title = 'All logs'] = CATEGORIES.find(([, field]) => field === category)
        ?? [];

    if (!id && !set) {
        const [row] = await orNone(api.channelsGet());

        return row ? [['All logs', 'main_channel'], ...CATEGORIES]
            .flatMap(([what, field]) => row[field] ? [`${what}: ${
                row[field] === '0' ? 'off' : `<#${row[field]}>`}`] : [])
            .join('\n') || 'No channel is set.' : 'No channel is set.';
    }
    const main = category === 'main_channel';

    await api.channelsPatch({body: {[category]: id
        ?? (set === 'off' && !main ? '0' : null)}});
    return `${title}: ${id ? `they go to <#${id}>. guildlog's bot needs`
        + ' the permission Manage Webhooks there.'
        : main || set === 'off' ? 'they go to no channel.'
            : 'they go where all others go.'}`;
}


async function ignore({channel: id, member, role, as = 'executor', remove},
    {api, resolved})
{
    const doing = as === 'executor';
    const [list, value] = id ? [resolved.channels?.[id]?.type === CATEGORY
        ? 1 : 0, id] : member ? [doing ? 2 : 3, member]
        : role ? [doing ? 5 : 6, role] : [];

    if (!value) {
        const rows = (await api.configGet()).serverlogConfigIgnoreStandard
            ?? [];

        return LISTS.flatMap(([number, title, mention]) => {
            const those = rows.filter((row) => row.ignore_type === number);

            return those.length ? [`${title}: ${those.map((row) =>
                mention(row.ignore_value)).join(' ')}`] : [];
        }).join('\n') || 'Nothing is ignored.';
    }
    const [, title, mention] = LISTS[list];

    await api[remove ? 'ignoreRemove' : 'ignoreAdd']({ignore_type: list,
        body: {value}});
    return `${remove ? 'Not ignored any more' : 'Ignored'}. ${title}: ${
        mention(value)}`;
}


async function search({words, member, channel: id, category},
    {api, server, viewer, types})
{
    const filters = {search: words, member, channel: id, category};
    const {entries, total} = await api.logsPage({...filters, limit: FOUND});
    const known = await types();
    const lines = entries.map((entry) => said(entry, known.get(entry.type)));
    const end = [`${entries.length} of ${total}`, ...viewer
        ? [linkTo(viewer, {server, ...filters})] : []].join(', ');

    if (!lines.length) {
        return 'Nothing is found. How far back the log reaches depends on the'
            + ' plan.';
    }
    // the newest ones, as many as there is room for
    while ([...lines, end].join('\n').length > LONGEST) {
        lines.pop();
    }
    return [...lines, end].join('\n');
}


async function dashboard(_, {server, viewer}) {
    return linkTo(viewer, {server});
}


function linkTo(viewer, query) {
    return `${viewer.replace(/\/?$/, '/')}#/logs?${new URLSearchParams(
        Object.entries(query).filter(([, value]) => value))}`;
}


// rows; none where nothing is stored
async function orNone(rows) {
    try {
        return await rows;
    } catch (error) {
        if (error instanceof NotFound) {
            return [];
        }
        throw error;
    }
}


const option = (type, name, description, more) =>
    ({type, name, description, ...more});
const choices = (...list) => ({choices: list.map(([name, value]) =>
    ({name, value}))});

const OPTIONS = [
    option(SUBCOMMAND, 'channel', 'The channel that logs go to', {options: [
        option(CHANNEL, 'channel', 'The channel; without it you see what is set',
            {channel_types: TEXT}),
        option(STRING, 'category', 'Only logs of this category',
            choices(...CATEGORIES)),
        option(STRING, 'set', 'Instead of a channel',
            choices(['to no channel', 'off'], ['where all others go', 'main'])),
    ]}),
    option(SUBCOMMAND, 'ignore', 'What is left out of the logs', {options: [
        option(CHANNEL, 'channel', 'A channel, or a category of channels'),
        option(USER, 'member', 'A member'),
        option(ROLE, 'role', 'Everybody who has this role'),
        option(STRING, 'as', 'What they do (it is that if you do not say), or'
            + ' what is done to them', choices(['what they do', 'executor'],
            ['what is done to them', 'target'])),
        option(BOOLEAN, 'remove', 'Do not ignore it any more'),
    ]}),
    option(SUBCOMMAND, 'search', 'Looks for logs', {options: [
        option(STRING, 'words', 'All of these words', {max_length: 200}),
        option(USER, 'member', 'Whom it concerns'),
        option(CHANNEL, 'channel', 'Where it was'),
        option(STRING, 'category', 'Only logs of this category',
            choices(...CATEGORIES.flatMap(([name, , value]) =>
                value ? [[name, value]] : []))),
    ]}),
    option(SUBCOMMAND, 'dashboard', 'The way to the log viewer'),
];
