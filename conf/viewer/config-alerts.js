// @ts-check
// Alerts: what the people of a server want to be told of at once.

import {change, get} from './api.js';
import {duration} from './changes.js';
import {foreign, h} from './dom.js';
import {form} from './form.js';
import {itemList} from './item-list.js';
import {typeOf} from './log-types.js';
import {named} from './named.js';
import {locale, parts, t, textsOf} from './texts.js';

const BY = textsOf('alertby', ['executor', 'target', 'channel', 'server']);

const FIELDS = [
    {name: 'name', label: t('tags.name'), kind: 'text',
        attributes: {maxlength: 64}},
    {name: 'types', label: t('change.types'), kind: 'types',
        none: t('filters.typesChosen', {count: 0})},
    {name: 'count', label: t('count'), kind: 'number',
        attributes: {min: 1, max: 100}},
    {name: 'seconds', label: t('alerts.seconds'), kind: 'number',
        attributes: {min: 1, max: 3600}},
    {name: 'by', label: t('change.by'), kind: 'choice',
        options: Object.entries(BY)},
    {name: 'channel', label: t('channel'), kind: 'channel',
        none: t('alerts.service')},
    {name: 'role', label: t('alerts.role'), kind: 'role'},
    {name: 'enabled', label: t('types.on'), kind: 'yes'},
];

/** @type {[string, Record<string, any>][]} */
const PRESETS = /** @type {[string, number[], number, number, string?][]} */ ([
    [t('alert.bans'), [39], 5, 30],
    [t('alert.deletions'), [28, 32], 3, 60],
    [t('alert.kicks'), [41], 10, 60],
    [typeOf(57).title, [57], 1, 1],
    [typeOf(79).title, [79], 1, 1],
    [t('alert.messages'), [3, 4, 5], 50, 60, 'server'],
]).map(([name, types, count, seconds, by = 'executor']) =>
    [name, {name, types, count, seconds, by}]);

const either = new Intl.ListFormat(locale, {type: 'disjunction'});


export function alerts() {
    const path = ({alert_id: id}) => `/alerts/${id}`;
    const set = (alert, body) => change('PATCH', path(alert), body);

    return itemList({
        note: t('alerts.note'),
        empty: t('alerts.empty'),
        read: () => get('/alerts'),
        line,
        turn: (alert, enabled) => set(alert, {enabled}),
        remove: (alert) => change('DELETE', path(alert)),
        question: ({name}) => parts('alerts.question',
            {name: foreign(name)}),
        verb: t('tags.delete'),
        edit: (alert, done) => form({fields: FIELDS, values: alert,
            save: async (body) => {
                await set(alert, body);
                await done();
            }}),
        fields: FIELDS,
        title: t('alerts.new'),
        fresh: {enabled: true},
        presets: PRESETS,
        add: (body) => change('POST', '/alerts', body),
    });
}


/** @param {import('./api.js').Schemas['Alert']} alert */
function line({name, channel, role, ...counted}) {
    return [h('strong', null, foreign(name)),
        h('p', {class: 'note'}, sentence(counted)),
        h('p', {class: 'note'}, t('channel'), ': ',
            channel ? named('channel', channel) : t('alerts.service'),
            ' · ', t('alerts.role'), ': ',
            role ? named('role', role) : t('change.none'))];
}


// what it counts
function sentence({types, count, seconds, by}) {
    const titles = either.format(types.map((id) => typeOf(id).title));

    return count === 1 && seconds === 1 ? t('alerts.each', {types: titles})
        : t('alerts.counts', {types: titles, count, by: BY[by],
            time: duration(seconds)});
}
