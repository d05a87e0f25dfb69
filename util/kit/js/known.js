// What a bot has seen of its servers, as far as entries need it: what things are
// called, and what they were like before an event. Pure.

import {Lru} from './lru.js';

const THINGS = 1_000;              // of a server: events, rules, webhooks, ...


export class Known {

    // so many messages and members are kept
    constructor({messages, members}) {
        this.messages = new Lru(messages);
        this.members = new Lru(members);       // "server/member"
        this.servers = new Map();
    }


    // All of it, of which JSON can be made
    get state() {
        return {
            servers: [...this.servers].map(([id, of]) => [id,
                Object.fromEntries(Object.entries(of).map(([name, it]) =>
                    [name, it instanceof Map ? [...it] : it]))]),
            members: [...this.members],
            messages: [...this.messages],
        };
    }


    set state({servers, members, messages}) {
        for (const [id, {guild, channels, roles, voices, things}] of servers) {
            this.create({id});
            Object.assign(this.servers.get(id), {guild,
                channels: new Map(channels), roles: new Map(roles),
                voices: new Map(voices)});
            things.forEach(([key, thing]) =>
                this.servers.get(id).things.set(key, thing));
        }
        members.forEach(([key, member]) => this.members.set(key, member));
        messages.forEach(([key, message]) => this.messages.set(key, message));
    }


    // What entriesOf() asks, for an event of that server
    of(server, {t, d}) {
        const {guild, channels, roles, things, voices} = this.#server(server);

        return {
            guild,
            user: (id) => this.members.get(`${server}/${id}`),
            channel: (id) => placed(channels, id),
            role: (id) => roles.get(id),
            thing: (id) => things.get(id),
            before: t === 'GUILD_UPDATE' ? guild
                : t === 'VOICE_STATE_UPDATE' ? voices.get(d.user_id) ?? {}
                    : t === 'MESSAGE_DELETE_BULK' ? d.ids.map((id) =>
                        this.messages.get(id)).filter(Boolean)
                        : /^MESSAGE_(UPDATE|DELETE)$/.test(t)
                            ? this.messages.get(d.id)
                            : this.members.get(`${server}/${d.user?.id}`),
        };
    }


    // All of a server, as GUILD_CREATE has it
    create(guild) {
        const {id, channels = [], threads = [], roles = [], members = [],
            voice_states: voices = []} = guild;

        this.servers.set(id, {
            guild: plain(guild),
            channels: byId([...channels, ...threads], channelOf),
            roles: byId(roles, ({name}) => ({name})),
            voices: new Map(voices.map((state) => [state.user_id, state])),
            things: new Lru(THINGS),
        });
        members.forEach((member) => this.#member(id, member));
        for (const key of ['guild_scheduled_events', 'stickers',
            'soundboard_sounds', 'stage_instances'])
        {
            guild[key]?.forEach((thing) => this.#thing(id, thing));
        }
    }


    // Takes in an event, behind the making of its entries
    see({t, d}) {
        const server = t.startsWith('GUILD_') && d.guild_id === undefined
            ? d.id : d.guild_id;

        if (t === 'GUILD_CREATE') {
            if (!d.unavailable) {
                this.create(d);
            }
            return;
        }
        if (!server) {
            return;
        }
        const {guild, channels, roles, voices} = this.#server(server);

        if (/^MESSAGE_(CREATE|UPDATE)$/.test(t)) {
            this.#message(server, d);
        } else if (t === 'MESSAGE_DELETE') {
            this.messages.delete(d.id);
        } else if (t === 'MESSAGE_DELETE_BULK') {
            d.ids.forEach((id) => this.messages.delete(id));
        } else if (t === 'GUILD_UPDATE') {
            Object.assign(guild, plain(d));
        } else if (t === 'GUILD_DELETE') {
            if (!d.unavailable) {
                this.servers.delete(server);
            }
        } else if (/^GUILD_MEMBER_(ADD|UPDATE)$/.test(t)) {
            this.#member(server, d);
        } else if (t === 'GUILD_MEMBERS_CHUNK') {
            d.members.forEach((member) => this.#member(server, member));
        } else if (/^(CHANNEL|THREAD)_(CREATE|UPDATE)$/.test(t)) {
            channels.set(d.id, channelOf(d));
        } else if (/^GUILD_ROLE_(CREATE|UPDATE)$/.test(t)) {
            roles.set(d.role.id, {name: d.role.name});
        } else if (t === 'VOICE_STATE_UPDATE') {
            if (d.channel_id) {
                voices.set(d.user_id, d);
            } else {
                voices.delete(d.user_id);
            }
            if (d.member) {
                this.#member(server, d.member);
            }
        } else if (/_(CREATE|UPDATE)$/.test(t) && d.id && d.name) {
            this.#thing(server, d);
        } else if (t === 'GUILD_AUDIT_LOG_ENTRY_CREATE') {
            this.#named(server, d);
        }
    }


    // An entry says how many members there are behind its event
    count({t, d}) {
        const more = {GUILD_MEMBER_ADD: 1, GUILD_MEMBER_REMOVE: -1}[t];

        if (more) {
            this.#server(d.guild_id).guild.member_count += more;
        }
    }


    #server(id) {
        if (!this.servers.has(id)) {
            this.create({id});
        }
        return this.servers.get(id);
    }


    #member(server, {user, roles, avatar, premium_since: since}) {
        if (user) {
            this.members.set(`${server}/${user.id}`, {name: user.username,
                bot: Boolean(user.bot), roles, avatar, premium_since: since});
        }
    }


    #message(server, {id, content, author, timestamp, attachments, poll, member})
    {
        const before = this.messages.get(id);

        if (author ?? before) {
            this.messages.set(id, {...before, id, author: author
                ? {id: author.id, username: author.username} : before.author,
            ...content !== undefined && {content},
            ...timestamp && {timestamp}, ...poll && {poll},
            ...attachments && {attachments: attachments.map(
                ({filename, size}) => ({filename, size}))}});
        }
        if (author && member) {
            this.#member(server, {...member, user: author});
        }
    }


    // an integration has a bot
    #thing(server, {id, name, topic, type, channel_id: channel, application}) {
        this.#server(server).things.set(id, {name: name ?? topic, type,
            channel_id: channel, bot: application?.bot?.id});
    }


    // what the audit log calls a thing that is new, or has another name
    #named(server, {target_id: id, changes = []}) {
        const value = (key) => changes.find((one) => one.key === key)
            ?.new_value;

        if (id && value('name')) {
            const {things} = this.#server(server);

            things.set(id, {...things.get(id), name: value('name'),
                ...value('type') !== undefined && {type: value('type')},
                ...value('channel_id') && {channel_id: value('channel_id')}});
        }
    }
}


function channelOf({name, type, parent_id: parent}) {
    return {name, type, parent};
}


// with its category: a thread is in a channel, a channel in a category
function placed(channels, id) {
    const channel = channels.get(id);
    const above = channels.get(channel?.parent);

    return channel && {name: channel.name, type: channel.type,
        ...above && above.type !== 4 && {parent: channel.parent},
        ...(above?.type === 4 ? {category: channel.parent}
            : above?.parent && {category: above.parent})};
}


function byId(list, what) {
    return new Map(list.map((one) => [one.id, what(one)]));
}


// what is not kept anywhere else, as far as an event tells it
function plain(guild) {
    return Object.fromEntries(['id', 'name', 'owner_id', 'icon', 'member_count',
        'premium_tier', 'premium_subscription_count'].map((key) =>
        [key, guild[key]]).filter(([, value]) => value !== undefined));
}
