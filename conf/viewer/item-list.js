// A list of the configuration: its items, each with what can be done to it,
// and a form that adds one.

import {mayOnlyLook} from './api.js';
import {button, confirmed, fill, h, newId, refocus} from './dom.js';
import {form} from './form.js';
import {t} from './texts.js';


// read() gives rows or null; line(row, i) shows one; remove(row), if given,
// takes it out, after the question question(row), if given; edit(row), if
// given, is a form for it; add(body) adds what the fields say. Who may only
// look sees the items alone.
export function itemList({note, empty, read, line, remove, question,
    verb = t('form.remove'), edit, fields, add})
{
    const looking = mayOnlyLook();
    const items = h('ul', {class: 'items'});
    const said = h('p', {class: 'said error', role: 'alert', hidden: true});
    const place = h('div');
    const node = h('section', null, note ? h('p', {class: 'note'}, note) : null,
        h('div', {class: 'card'}, items, said), place);


    // at: the line that the reader was at
    async function show(at) {
        const rows = await read() ?? [];

        fill(items, rows.length ? rows.map(item)
            : h('li', {class: 'note'}, empty));
        if (at !== undefined) {
            refocus(items.children[at], items.lastChild, place,
                document.querySelector('.page h2'));
        }
    }


    function item(row, i) {
        const text = h('div', {id: newId()}, line(row, i));
        const act = (label, f, looks) => {
            const id = newId();
            return button(label, f, {...looks, id,
                'aria-labelledby': `${id} ${text.id}`});
        };
        const node = h('li', null, text,
            edit && !looking && act(t('form.edit'), () => {
                fill(node, edit(row, () => show(i)));
                refocus(node);
            }),
            remove && !looking && act(verb, () => take(row, i),
                {class: 'danger'}));

        return node;
    }


    async function take(row, i) {
        if (question && !await confirmed(question(row), verb)) {
            return;
        }
        await attempt(async () => {
            await remove(row);
            await show(i);
        });
    }


    async function attempt(f) {
        said.hidden = true;
        try {
            await f();
        } catch (refusal) {
            said.hidden = false;
            said.textContent = refusal.message;
        }
    }


    function renew() {
        fill(place, form({fields, label: t('form.add'), all: true,
            save: async (body) => {
                await add(body);
                renew();
                refocus(place);
                await show();
            }}));
    }


    if (fields && !looking) {
        renew();
    }
    attempt(show);
    return node;
}
