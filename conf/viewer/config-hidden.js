// What is kept out of the logs: ignore lists, and filters of content.

import {change, get, part} from './api.js';
import {button, fill, foreign, h} from './dom.js';
import {form, named} from './form.js';
import {itemList} from './item-list.js';
import {FILTERS, FOUND, IGNORE_LISTS} from './words.js';

const NAMED = 100;     // names looked up in a list


export function ignore() {
    const place = h('div');
    const tabs = IGNORE_LISTS.map(([label], list) =>
        button(label, () => show(list), {class: 'chip'}));


    function show(list) {
        const [, kind, note] = IGNORE_LISTS[list];
        const path = `/config/logging/ignore/${list}`;

        tabs.forEach((tab, i) => {
            tab.ariaPressed = String(i === list);
        });
        fill(place, itemList({
            note, empty: 'Nothing is ignored by this list.',
            read: async () => (await part('serverlogConfigIgnoreStandard')
                ?? []).filter((row) => row.ignore_type === list),
            line: ({ignore_value: value}, i) => kind === 'text' || i >= NAMED
                ? foreign(value) : named(kind, value),
            remove: ({ignore_value: value}) =>
                change('DELETE', path, {value}),
            fields: [{name: 'value', label: 'Add', kind}],
            add: (body) => change('POST', path, body),
        }));
    }


    show(0);
    return [h('div', {class: 'tabs', role: 'group',
        'aria-label': 'Ignore list'}, tabs), place];
}


export async function filters() {
    const stored = await get('/filters');

    return [
        h('p', {class: 'note'}, 'What a filter finds is masked before an '
            + 'entry is stored: it reaches neither the log nor the chat.'),
        stored.map((filter) => h('section', {'aria-label':
            FILTERS[filter.filter_id]},
            h('h3', null, FILTERS[filter.filter_id]),
            filterForm(filter))),
    ];
}


function filterForm(filter) {
    const {filter_id: id} = filter;
    const example = h('p', {class: 'example'});
    const show = (values) => fill(example, exampleOf(id, values));

    show(filter);
    return [form({compact: true, values: filter, fields: fieldsOf(filter),
        changed: show,
        save: (body) => change('PATCH', `/filters/${id}`, body)}), example];
}


// what it does to a text
function exampleOf(id, {enabled, action, words}) {
    const [usual, mask] = FOUND[id];
    const found = usual || words?.[0];

    return !found ? null : [
        h('small', null, 'For example '),
        h('q', null, foreign(found)), ' ',
        h('small', null, !enabled ? 'is logged as it is.'
            : action === 'drop' ? 'keeps the whole entry out of the log.'
                : ['is logged as ', h('q', null, mask), '.'])];
}


function fieldsOf({filter_id: id}) {
    return [
        {name: 'enabled', label: 'On', kind: 'yes'},
        {name: 'action', label: 'What is found', kind: 'choice', options: [
            ['mask', 'is masked'], ['drop', 'drops the whole entry']]},
        {name: 'log_types', label: 'Works on', kind: 'types'},
        ...id === 'words' ? [{name: 'words', label: 'Words', kind: 'lines',
            note: 'One a line.'}] : [],
    ];
}
