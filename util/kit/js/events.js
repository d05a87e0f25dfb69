// Events of the platform as entries, as conf/events.tsv says: the data of its
// gateway and the entries of its audit log, as they come. Pure.
//
// A row of the table is for one event, or action of the audit log. Its "when"
// says of which of these:
//
//     nick differs       the value changed
//     mute comes, goes   it was not there, it is not any more
//     channel_id stays   it is there, as before
//     attachments shrinks
//     was.poll given, change.type is 2, thread channel_id
//     otherwise          no row before was for it
//
// with " and " between several. Its "entry" says what the fields hold:
//
//     target_id          what the event has under that name
//     was.content        what was known of it before
//     change.name        the new value of a change in the audit log, or the old
//     guild.member_count, @rule_id.name, #channel_id
//                        of the server, of what has that ID, a channel's name
//     'onboarding'       these words
//
// and the first one that is there, where there are several. "changes" are those
// that the row is for, or those named; "was, now" is the object itself. Instead
// of fields, "audit" and "gateway" say who tells it better; "several" that it is
// made of several events.
//
// What is known from before is the message of MESSAGE_UPDATE and MESSAGE_DELETE,
// the list of them of MESSAGE_DELETE_BULK, the member of GUILD_MEMBER_UPDATE and
// GUILD_MEMBER_REMOVE, the voice state of VOICE_STATE_UPDATE ({} without one),
// the server of GUILD_UPDATE. Without it no row fits that asks for a change.
//
// Of a message that a moderator deleted both tell: the gateway what was said,
// the audit log who did it. Of a kick, too: GUILD_MEMBER_REMOVE has the same
// member leave.

import {EVENTS} from './events-table.js';

const EPOCH = 1420070400000n;      // of the ids of the platform, ms
const PICTURES = 'https://cdn.discordapp.com/';
const MOST = 100;                  // messages, roles
const THREADS = [10, 11, 12];      // types of channels

// what is told elsewhere, or to nobody
const UNTOLD = ['id', 'type', 'flags', 'guild_id', 'application_id'];

const given = (value) => ![undefined, null, false, 0, '', '0'].includes(value)
    && value?.length !== 0;
const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

const VERBS = {
    comes: ([old, now]) => !given(old) && given(now),
    goes: ([old, now]) => given(old) && !given(now),
    differs: ([old, now]) => !same(old, now),
    stays: ([old, now]) => given(now) && same(old, now),
    shrinks: ([old, now]) => old?.length > now?.length,
};


// The entries of a packet {t, d, id, at}; an entry of the audit log is that of
// GUILD_AUDIT_LOG_ENTRY_CREATE and has an id and a time by itself. knows: what
// the bot has seen, {user(id), channel(id), role(id), thing(id), before, guild}.
export function entriesOf({t, d, id = d.id, at = timeOf(d.id)}, knows) {
    const audit = t === 'GUILD_AUDIT_LOG_ENTRY_CREATE';
    const event = new Event(d, audit, knows);
    const entries = [];

    for (const [when, type, fields] of
        EVENTS[audit ? `audit ${d.action_type}` : `gateway ${t}`] ?? [])
    {
        if (event.take(when)) {
            entries.push({
                event_id: entries.length ? `${id}.${entries.length}` : id,
                type, timestamp: at,
                ...audit && event.own('user_id', 'executor'),
                ...audit && event.own('reason', 'reason'),
                ...event.fields(fields),
            });
        }
    }
    return entries;
}


// ms of an id of the platform
export function timeOf(id) {
    return id && Number((BigInt(id) >> 22n) + EPOCH);
}


// The first id that the platform could have made at that time
export function idAt(ms) {
    return String(BigInt(ms) - EPOCH << 22n);
}


class Event {

    constructor(data, audit, knows) {
        this.data = data;
        this.knows = knows;
        this.changes = audit ? data.changes ?? [] : null;
        this.taken = new Set();    // the keys that a row was for
        this.rows = 0;
    }


    // is the row for it?
    take(when) {
        const [first, ...more] = when.split(' and ');
        const [key, verb] = first.split(' ');
        const change = verb in VERBS ? key : '';

        if (first === 'otherwise') {
            this.mine = this.left().map((one) => one.key);
            if (this.rows && (this.taken.has('') || !this.mine.length)) {
                return false;
            }
        } else if (this.taken.has(change)
            || first && ![first, ...more].every((one) => this.is(one)))
        {
            return false;
        } else {
            this.taken.add(change);
            this.mine = change ? [change]
                : this.left().map((one) => one.key);
            this.change = change;
        }
        this.rows++;
        return true;
    }


    // the changes that no row was for, of those that people want to be told
    left() {
        return (this.changes ?? []).filter(({key, old_value: old,
            new_value: now}) => !this.taken.has(key) && !UNTOLD.includes(key)
            && plain(old) && plain(now) && (given(old) || given(now)));
    }


    is(condition) {
        const [path, verb, ...rest] = condition.split(' ');

        if (path === 'thread') {
            return THREADS.includes(
                this.knows.channel?.(this.at(verb))?.type);
        }
        if (verb === 'given') {
            return given(this.at(path));
        }
        if (verb === 'is') {
            return String(this.at(path)) === rest.join(' ');
        }
        return (this.changes ? this.changes.some(({key}) => key === path)
            : this.knows.before) ? VERBS[verb](this.pair(path)) : false;
    }


    pair(path) {
        const change = this.changes?.find(({key}) => key === path);

        return this.changes ? [change?.old_value, change?.new_value]
            : [reach(this.knows.before, path), reach(this.data, path)];
    }


    at(path) {
        const {data, knows} = this;
        const [, sign, rest] = /^(change\.|was\.|guild\.|[@#'])(.*)/.exec(path)
            ?? [];

        switch (sign) {
        case 'change.': {
            const [old, now] = this.pair(rest);

            this.told?.add(rest);
            return now ?? old;
        }
        case 'was.':
            return reach(knows.before, rest);
        case 'guild.':
            return reach(knows.guild, rest);
        case '@': {
            const [, id, more] = /^(\w+)\.(.*)/.exec(rest);

            return reach(knows.thing?.(data[id]), more);
        }
        case '#':
            return knows.channel?.(this.at(rest))?.name;
        case '\'':
            return rest.slice(0, -1);
        default:
            return path === 'was' ? knows.before
                : path === 'now' ? data : reach(data, path);
        }
    }


    own(path, field) {
        return this.fields(`${field}=${path}`);
    }


    fields(text) {
        const entry = {};

        this.told = new Set();     // the keys that a field has
        for (const one of text.split('; ')) {
            const [name, paths = ''] = one.split('=');
            const [field, part] = name.split('.');

            if (field === 'messages') {
                entry.messages = part ? [{id: this.at(paths)}]
                    : paths.split(', ').flatMap((path) => this.at(path) ?? [])
                        .slice(0, MOST).map(message);
            } else if (field === 'changes') {
                entry.changes = part ? this.roles(part, this.at(paths))
                    : this.mineTold(paths);
            } else if (field === 'image') {
                entry.image = this.image(paths);
            } else {
                const value = paths.split(', ').map((path) => this.at(path))
                    .find((found) => found !== undefined && found !== null);

                this.put(entry, field, part, value);
            }
        }
        return Object.fromEntries(Object.entries(entry).filter(([, value]) =>
            value !== undefined && value !== null && value !== ''
            && value.length !== 0));
    }


    put(entry, field, part, value) {
        const {knows} = this;

        if (part) {
            if (given(value)) {
                entry[field] = {...entry[field],
                    [part]: entry[field]?.[part] || value};
            }
            return;
        }
        if (value === undefined || value === null) {
            return;
        }

        switch (field) {
        case 'executor':
        case 'target':
            entry[field] = {id: value, ...named(knows.user?.(value))};
            break;
        case 'channel':
            entry.channel = {id: value, ...placed(knows.channel?.(value))};
            break;
        case 'role_id':
            entry.role_id = value;
            entry.role ??= knows.role?.(value)?.name;
            break;
        case 'role':
            // one of the roles that came or went, or a name
            if (!Array.isArray(value)) {
                entry.role = value;
            } else if (value.length === 1) {
                entry.role = value[0].name;
                entry.role_id = value[0].id;
            } else {
                this.told.clear();
            }
            break;
        case 'emoji':
            entry.emoji = emoji(value);
            break;
        case 'count':
            entry.count = Number(value.length && Array.isArray(value)
                ? value.length : value);
            break;
        case 'until':
            entry.until = Date.parse(value);
            break;
        default:
            entry[field] = String(value);
        }
    }


    // those of the row, but for what another field tells of a thing that is
    // new or gone
    mineTold(keys) {
        return this.changes.filter(({key, old_value: old, new_value: now}) =>
            this.mine.includes(key)
            && (!keys || keys.split(', ').includes(key))
            && !(this.told.has(key) && (!given(old) || !given(now))));
    }


    roles(key, ids) {
        return ids?.length ? [{key, new: ids.slice(0, MOST).map((id) =>
            ({id, name: this.knows.role?.(id)?.name || id}))}] : [];
    }


    // the last of its places is what changed
    image(path) {
        const [, key] = /\{([^}]*)\}$/.exec(path);
        const url = (hash) => given(hash) ? PICTURES + path.replace(
            /\{([^}]*)\}/g, (_, place) => place === key ? hash
                : reach(this.data, place)) + '.png' : undefined;
        const [before, after] = this.pair(key).map(url);

        return before || after ? {before, after} : undefined;
    }
}


function reach(object, path) {
    return path.split('.').reduce((at, name) => at?.[name], object);
}


// does it say something to people? objects do not, roles do
function plain(value) {
    return [value].flat().every((one) => typeof one !== 'object' || one === null
        || one.name && Object.keys(one).every((key) =>
            ['id', 'name'].includes(key)));
}


function named(user) {
    return user && {name: user.name, bot: user.bot, roles: user.roles};
}


function placed(channel) {
    return channel && {name: channel.name, parent: channel.parent,
        category: channel.category};
}


function emoji({id, name, animated}) {
    return {...id && {id}, ...name && {name}, ...animated && {animated}};
}


function message({id, content, author, timestamp, attachments = []}) {
    return {id, content: content || undefined, authorId: author?.id,
        timestamp: timestamp && Date.parse(timestamp),
        attachments: attachments.map(({filename, size}) =>
            ({name: filename, size}))};
}
