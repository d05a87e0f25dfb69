// @ts-check
// What is kept out of the logs: ignore lists, and filters of content.

import {change, get, part} from './api.js';
import {button, fill, foreign, h} from './dom.js';
import {form} from './form.js';
import {itemList} from './item-list.js';
import {named} from './named.js';
import {parts, t} from './texts.js';
import {forget} from './unsaved.js';
import {FILTERS, FOUND, IGNORE_LISTS} from './words.js';

const NAMED = 100;     // names looked up in a list


export function ignore() {
    const place = h('div');
    const tabs = IGNORE_LISTS.map(([label], list) =>
        button(label, () => show(list), {class: 'chip'}));


    function show(list) {
        const [, kind, note] = IGNORE_LISTS[list];
        const path = `/config/logging/ignore/${list}`;

        forget();
        tabs.forEach((tab, i) => {
            tab.ariaPressed = String(i === list);
        });
        fill(place, itemList({
            note, empty: t('ignore.empty'),
            read: async () => (await part('serverlogConfigIgnoreStandard')
                ?? []).filter((row) => row.ignore_type === list),
            line: ({ignore_value: value}, i) => kind === 'text' || i >= NAMED
                ? foreign(value) : named(kind, value),
            remove: ({ignore_value: value}) =>
                change('DELETE', path, {value}),
            again: ({ignore_value: value}) => ({value}),
            fields: [{name: 'value', label: t('form.add'), kind}],
            add: (body) => change('POST', path, body),
        }));
    }


    show(0);
    return [h('div', {class: 'tabs', role: 'group',
        'aria-label': t('ignore.list')}, tabs), place];
}


export async function filters() {
    const stored = await get('/filters');

    return [
        h('p', {class: 'note'}, t('masks.note')),
        stored.map((filter) => h('section', {'aria-label':
            FILTERS[filter.filter_id]}, filterForm(filter))),
    ];
}


function filterForm(filter) {
    const {filter_id: id} = filter;
    const example = h('p', {class: 'example'});
    const show = (values) => fill(example, exampleOf(id, values));

    show(filter);
    return form({compact: true, values: filter, fields: fieldsOf(filter),
        below: example, changed: show,
        save: (body) => change('PATCH', `/filters/${id}`, body)});
}


// what it does to a text
function exampleOf(id, {enabled, action, words}) {
    const [usual, mask] = FOUND[id];
    const found = usual || words?.[0];

    return !found ? null : parts(!enabled ? 'masks.asItIs'
        : action === 'drop' ? 'masks.drops' : 'masks.masked',
    {text: h('q', null, foreign(found)), mask: h('q', null, mask)});
}


function fieldsOf({filter_id: id}) {
    return [
        {name: 'enabled', label: FILTERS[id], kind: 'yes'},
        {name: 'action', label: t('masks.found'), kind: 'choice', options: [
            ['mask', t('masks.mask')], ['drop', t('masks.drop')]]},
        {name: 'log_types', label: t('masks.types'), kind: 'types'},
        ...id === 'words' ? [{name: 'words', label: t('masks.words'),
            kind: 'lines', note: t('masks.lines')}] : [],
    ];
}
