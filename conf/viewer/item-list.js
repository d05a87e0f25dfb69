// @ts-check
// A list of the configuration: its items, each with what can be done to it,
// and a form that adds one.

import {mayOnlyLook} from './api.js';
import {button, confirmed, fill, fillRows, h, newId, refocus} from './dom.js';
import {form} from './form.js';
import {t} from './texts.js';
import {saved} from './unsaved.js';


// read() gives rows or null; line(row, i) shows one; remove(row), if given,
// takes it out, after the question question(row), if given, and resolves to
// false if it stays; again(row), if given, is the body that adds it anew;
// edit(row), if given, is a form for it; turn(row, on), if given, switches it;
// add(body) adds what the fields say, which begin with the values fresh, and
// with those of a preset, [name, values], if the reader wants that. Who may
// only look sees the items alone.
/**
 * @param {{note?: string | null, empty: string, read: () => Promise<any>,
 *     line: (row: any, i: number) => any, remove?: (row: any) => any,
 *     question?: (row: any) => string, verb?: string,
 *     again?: (row: any) => any,
 *     edit?: (row: any, done: () => void) => HTMLElement,
 *     turn?: (row: any, on: boolean) => any,
 *     fields?: import('./form.js').Field[] | false, title?: string | false,
 *     fresh?: Record<string, any>, presets?: [string, Record<string, any>][],
 *     add?: (body: any) => any}} of
 */
export function itemList({note, empty, read, line, remove, question, again,
    verb = t('form.remove'), edit, turn, fields, title, fresh,
    presets = [], add})
{
    const looking = mayOnlyLook();
    const items = h('ul', {class: 'items'});
    const said = h('p', {class: 'said error', role: 'alert', hidden: true});
    const place = h('div');
    const chips = presets.map(([name, values]) => button(name, () =>
        renew(values), {class: 'chip'}));
    const node = h('section', null, note ? h('p', {class: 'note'}, note) : null,
        h('div', {class: 'card'}, items, said),
        title && !looking && h('h3', null, title),
        chips.length > 0 && !looking && h('div', {class: 'tabs', role: 'group',
            'aria-label': title}, chips), place);


    // here: the line that the reader was at, which is made anew
    async function show(here) {
        const rows = await read() ?? [];
        const at = [...items.children].indexOf(here);

        fillRows(items, rows, item, here);
        if (!rows.length) {
            fill(items, h('li', {class: 'note'}, empty));
        }
        if (here) {
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
        const on = turn && h('input', {type: 'checkbox', role: 'switch',
            class: 'switch', checked: Boolean(row.enabled), disabled: looking,
            'aria-labelledby': text.id, onchange: () => attempt(async () => {
                const box = /** @type {HTMLInputElement} */ (on);
                const put = async (now) => {
                    await turn(row, now);
                    row.enabled = box.checked = now;
                    tell(() => put(!now));
                };
                const now = box.checked;

                box.checked = !now;
                await put(now);
            })});
        const node = h('li', null, text, on,
            edit && !looking && act(t('form.edit'), () => {
                fill(node, edit(row, () => show(node)));
                refocus(node);
            }),
            remove && !looking && act(verb, () => take(row, node),
                {class: 'danger'}));

        return node;
    }


    async function take(row, node) {
        if (question && !await confirmed(question(row), verb)) {
            return;
        }
        await attempt(async () => {
            if (await remove?.(row) === false) {
                return;
            }
            await show(node);
            tell(again && (async () => {
                await add?.(again(row));
                await show();
                tell(null);
            }));
        });
    }


    // What was done is told, unless the reader is elsewhere by now.
    function tell(back) {
        if (node.isConnected) {
            saved(back && (() => attempt(back)));
        }
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


    function renew(values = {}) {
        chips.forEach((chip, i) => {
            chip.ariaPressed = String(presets[i][1] === values);
        });
        fill(place, form({fields: fields || [], values: {...fresh, ...values},
            label: t('form.add'), all: true, save: async (body) => {
                await add?.(body);
                renew();
                refocus(place);
                await show();
                tell(null);
            }}));
    }


    if (fields && !looking) {
        renew();
    }
    attempt(show);
    return node;
}
