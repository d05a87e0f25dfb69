// @ts-check
// A choice of log types, by category.

import {button, fill, h, newId, popover} from './dom.js';
import {othersThan, typesOf} from './log-types.js';
import {t} from './texts.js';
import {CATEGORIES} from './words.js';


// {opener, panel, value: [numbers as text], set(value)}
export function typePicker(none, changed) {
    const search = h('input', {type: 'search', placeholder: t('types.find'),
        'aria-label': t('types.find'), oninput: narrow});
    const list = h('div', {class: 'types'});
    const {opener, panel} = popover(t('config.types'), null,
        h('div', {class: 'actions'}, search, button(t('types.others'), () =>
            chosen(othersThan(picker.value)))), list);
    /** @type {HTMLInputElement[]} */
    const boxes = [];

    panel.addEventListener('beforetoggle', () => {
        if (!boxes.length) {
            build();
        }
        update();
    });


    function build() {
        fill(list, Object.entries(CATEGORIES).map(([category, name]) =>
            h('fieldset', {'data-category': category},
                h('legend', null, h('i', {class: 'dot'}), name),
                typesOf(category).map(({id, title}) => {
                    const box = h('input', {type: 'checkbox', id: newId(),
                        value: String(id), onchange: choose});

                    boxes.push(box);
                    return h('label', {htmlFor: box.id}, box, title);
                }))));
    }


    function choose() {
        chosen(boxes.filter((box) => box.checked).map((box) => box.value));
    }


    function chosen(value) {
        picker.set(value);
        changed(picker.value);
    }


    function update() {
        for (const box of boxes) {
            box.checked = picker.value.includes(box.value);
        }
    }


    function narrow() {
        const part = search.value.toLowerCase();

        for (const box of boxes) {
            const label = /** @type {HTMLElement} */ (box.parentElement);

            label.hidden = !label.textContent?.toLowerCase().includes(part);
        }
    }


    const picker = {
        opener, panel, value: /** @type {string[]} */ ([]),
        set(value) {
            picker.value = value.map(String);
            opener.textContent = value.length
                ? t('filters.typesChosen', {count: value.length}) : none;
            update();
        },
    };

    picker.set([]);
    return picker;
}
