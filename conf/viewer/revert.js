// @ts-check
// How a change of the configuration is taken back: from the old values that its
// entry tells.

import {change} from './api.js';
import {filterOf} from './service.js';

const LOGGING = '/config/logging';
const OF_FILTER = ['enabled', 'action', 'log_types'];

// by which key of a change a list is told, in the order of their numbers
const LISTS = ['channels', 'categories', 'executors', 'targets', 'content',
    'executor_roles', 'target_roles'].map((name) => `ignored_${name}`);

// by log type: the requests, [[method, path, body]]
const WAYS = {
    68: ({changes}) => [['PATCH', `${LOGGING}/channels`, oldOf(changes)]],
    69: listBack,
    70: ({changes}) => changes[0].old !== null
        && [['PATCH', '/config/settings', oldOf(changes)]],
    76: optionsBack,
    77: typesBack,
    99: accessBack,
};


// Null where an entry does not tell enough; else what takes it back.
export function revertOf(entry) {
    const requests = entry.changes?.length && WAYS[entry.type]?.(entry);

    return requests ? async () => {
        for (const [method, path, body] of requests) {
            await change(method, path, body);
        }
    } : null;
}


function oldOf(changes) {
    return Object.fromEntries(changes.map(({key, old}) => [key,
        ['log_types', 'types'].includes(key) ? old.map(Number) : old]));
}


function listBack({changes: [{key, old, new: now}]}) {
    const list = LISTS.indexOf(key);

    return list >= 0 && [[old === null ? 'DELETE' : 'POST',
        `${LOGGING}/ignore/${list}`, {value: old ?? now}]];
}


// of all types, or of a filter, but not that of words, which are not told; an
// alert that was removed is made again
function optionsBack({action, name, changes}) {
    const filter = filterOf(name);
    const is = filter && filter !== 'words'
        && changes.every(({key}) => OF_FILTER.includes(key));

    if (action === 'remove') {
        return [['POST', '/alerts', {name, ...oldOf(changes)}]];
    }
    return name === null
        ? [['PATCH', `${LOGGING}/settings`, oldOf(changes)]]
        : is && [['PATCH', `/filters/${filter}`, oldOf(changes)]];
}


// Of several types that were not alike, each has its own.
function typesBack({changes}) {
    const types = changes.find(({key}) => key === 'log_types')?.new.map(Number);
    const rest = changes.filter(({key}) => key !== 'log_types');

    if (!types?.length) {
        return null;
    }
    return rest.some(({old}) => Array.isArray(old))
        ? types.map((id, i) => ['PATCH', `${LOGGING}/settings/${id}`,
            Object.fromEntries(rest.map(({key, old}) => [key,
                Array.isArray(old) ? valueOf(key, old[i]) : old]))])
        : [['PATCH', `${LOGGING}/settings/types`, {types, set: oldOf(rest)}]];
}


// these are texts: null, true, 1, or the ID of a channel
function valueOf(key, text) {
    return text === 'null' || key !== 'log_channel' ? JSON.parse(text) : text;
}


// of who was forgotten nobody knows whose it was
function accessBack({target, changes: [{old}]}) {
    const path = `/config/access/${target?.id}`;

    return target
        && [old === null ? ['DELETE', path] : ['PUT', path, {level: old}]];
}
