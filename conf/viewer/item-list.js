// A list of the configuration: its items, each with what can be done to it,
// and a form that adds one.

import {mayOnlyLook} from './api.js';
import {button, confirmed, fill, h, newId} from './dom.js';
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
    const node = h('section', null, note ? h('p', {class: 'note'}, note) : null,
        h('div', {class: 'card'}, items, said), adder());


    async function show() {
        const rows = await read() ?? [];

        fill(items, rows.length ? rows.map(item)
            : h('li', {class: 'note'}, empty));
    }


    function item(row, i) {
        const text = h('div', {id: newId()}, line(row, i));
        const act = (label, f, looks) => {
            const id = newId();
            return button(label, f, {...looks, id,
                'aria-labelledby': `${id} ${text.id}`});
        };
        const node = h('li', null, text,
            edit && !looking && act(t('form.edit'), () =>
                fill(node, edit(row, show))),
            remove && !looking && act(verb, () => take(row),
                {class: 'danger'}));

        return node;
    }


    async function take(row) {
        if (question && !await confirmed(question(row), verb)) {
            return;
        }
        await attempt(async () => {
            await remove(row);
            await show();
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


    function adder() {
        const place = h('div');
        const renew = () => fill(place, form({fields, label: t('form.add'),
            all: true, save: async (body) => {
                await add(body);
                renew();
                await show();
            }}));

        if (fields && !looking) {
            renew();
        }
        return place;
    }


    attempt(show);
    return node;
}
