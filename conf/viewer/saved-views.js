// @ts-check
// Filters that the reader keeps under a name. The browser remembers them, for
// each server.

import {session} from './api.js';
import {queryOf, filtersOf} from './address.js';
import {button, fill, foreign, h, newId, popover, refocus} from './dom.js';
import {t} from './texts.js';

const KEY = 'guildlog.views';
const LONGEST = 60;


// now() gives the filters that are set; chosen(filters) sets those of a view
export function savedViews(now, chosen) {
    const list = h('ul', {class: 'items'});
    const name = h('input', {type: 'text', maxlength: LONGEST, id: newId(),
        placeholder: t('views.name'), required: true});
    const form = h('form', {class: 'actions', onsubmit: (event) => {
        event.preventDefault();
        store({...stored(), [name.value.trim()]: String(queryOf(now()))});
        name.value = '';
        draw();
    }}, h('label', {htmlFor: name.id}, t('views.keepAs')), name,
    h('button', null, t('views.keep')));
    const {opener, panel} = popover(t('views.title'), null, list, form);


    function draw() {
        const views = Object.entries(stored());

        fill(list, views.length ? views.map(([title, query]) =>
            h('li', null,
                button(foreign(title), () => {
                    panel.hidePopover();
                    chosen(filtersOf(new URLSearchParams(query)));
                }, {class: 'link'}),
                button('✕', () => {
                    const {[title]: gone, ...rest} = stored();

                    store(rest);
                    draw();
                    refocus(list, name);
                }, {class: 'quiet', 'aria-label': t('views.forget',
                    {name: title})})))
            : h('li', {class: 'note'}, t('views.empty')));
    }


    panel.addEventListener('beforetoggle', draw);
    return [opener, panel];
}


function all() {
    try {
        return JSON.parse(localStorage.getItem(KEY) ?? '{}');
    } catch {
        return {};
    }
}


function stored() {
    return all()[session.server] ?? {};
}


function store(views) {
    localStorage.setItem(KEY, JSON.stringify({...all(),
        [session.server]: views}));
}
