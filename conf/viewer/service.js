// @ts-check
// Entries of changes of the configuration, in people's words: the API names
// lists, filters, levels, settings and log types by their keys. Also what
// alerts say.

import {duration} from './changes.js';
import {ALERT, RULE, typeOf, typeOfEntry} from './log-types.js';
import {LANGUAGES, has, t} from './texts.js';
import {BUTTONS, FILTERS, IGNORE_LISTS, known} from './words.js';

// as the API names them, by their numbers
const LISTS = ['channels', 'channel categories', 'executors', 'targets',
    'message content', 'executor roles', 'target roles'];

// what was done; of all else the title tells it
const ACTIONS = {add: t('change.added'), remove: t('change.removed'),
    'active ignore': t('settings.active')};

// what is called otherwise than by its name
const VALUES = {
    level: (level) => known('access', level),
    action: (action) => known('masks', action),
    locale: (key) => LANGUAGES[key] ?? key,
    buttons: (name) => BUTTONS[name] ?? name,
    log_types: (id) => typeOf(Number(id)).title,
    types: (id) => typeOf(Number(id)).title,
    by: (by) => known('alertby', by),
};

// what it means that nothing is set, where this is not "none"
const UNSET = {
    channels: (key) => ({name: t(key === 'main_channel' ? 'channels.none'
        : key === 'category_files' ? 'channels.asMessages'
            : 'channels.follows')}),
    type: (key) => (key === 'enabled' ? true
        : key === 'log_channel' ? {name: t('types.ofCategory')}
            : key === 'color' ? {name: t('types.usual')}
                : {name: t('types.asServer')}),
    alert: (key) => (key === 'channel' ? {name: t('alerts.service')} : null),
};

// by log type: what is told of it, where that is not what it is
const TOLD = {
    68: ({changes}) => ({changes: changesOf(changes, UNSET.channels)}),
    69: ({name, value, changes}) => (changes
        ? {action: null, name: null, value: null}
        : {name: IGNORE_LISTS[LISTS.indexOf(name)]?.[0] ?? titleOf(name),
            value}),
    70: ({changes}) => ({changes: changesOf(changes)}),
    76: ({action, name, changes}) => ({
        name: FILTERS[filterOf(name) ?? ''] ?? name,
        changes: changesOf(action === 'remove' ? changes?.map(wasOf)
            : changes, action === 'update' ? UNSET.alert : undefined)}),
    77: ({name, count, changes}) => ({count: null,
        name: count > 1 ? null : titleOf(name),
        changes: changesOf(typesTold(changes, count > 1), UNSET.type)}),
    99: ({name, changes}) => (changes
        ? {action: null, name: null, changes: changesOf(changes)}
        : {name: known('access', name)}),
};


// an entry as it is shown; most are shown as they are
export function inWords(entry) {
    const {type, action} = entry;

    if (typeOfEntry(entry) === ALERT) {
        return {...entry, executor: null, action: null,
            value: withinOf(entry)};
    }
    return typeOf(type).category === 'categoryService' && type !== RULE
        ? {...entry, action: ACTIONS[action] ?? null, ...TOLD[type]?.(entry)}
        : entry;
}


// how many came within which time, of an alert
function withinOf({value}) {
    const [, count, seconds] = /^(\d+) in (\d+) s$/.exec(value) ?? [];

    return count ? t('alerts.within', {count: Number(count),
        time: duration(Number(seconds))}) : value;
}


// what was, of one that is gone
function wasOf({key, old}) {
    return {key, old: null, new: old};
}


// the filter that an entry with this name is about; undefined: it is none
export function filterOf(name) {
    const [, filter] = /^filter (\w+)$/.exec(name ?? '') ?? [];

    return Object.hasOwn(FILTERS, filter ?? '') ? filter : undefined;
}


function titleOf(key) {
    return key !== null && has(key) ? t(key) : key;
}


// of one type its name is told already; where several were not alike, that
function typesTold(changes, several) {
    const [types, ...rest] = changes ?? [];

    return types?.key !== 'log_types' ? changes
        : [...rest.map(({key, old, new: now}) => ({key, new: now,
            old: Array.isArray(old) ? {name: t('types.different')} : old})),
        ...several ? [types] : []];
}


/** @param {(key: string) => any} unset */
function changesOf(changes, unset = () => null) {
    return changes?.map(({key, old, new: now}) => {
        const told = (value) => (value === null ? unset(key)
            : !VALUES[key] ? value
                : Array.isArray(value) ? value.map(VALUES[key])
                    : VALUES[key](value));

        return {key, old: told(old), new: told(now)};
    }) ?? null;
}
