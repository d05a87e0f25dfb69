// @ts-check
// Forms made of the API's fields. What was changed is sent, and what the API
// says of a field stands beside it.

import {mayOnlyLook} from './api.js';
import {combobox} from './combobox.js';
import {h, newId} from './dom.js';
import {find, isId, nameOf, resolve} from './directory.js';
import {t} from './texts.js';
import {typePicker} from './type-picker.js';
import {look, saved, watch} from './unsaved.js';
import {hexOf} from './words.js';


const HEX = /^#[0-9a-f]{6}$/i;


// fields: [{name, label, kind, note, ...}], values: {name: value}. save(body)
// sends the changes; with all, everything is sent that has a value. A compact
// form has its fields side by side, and is saved by the bar of all changes.
// below is a node beneath them. changed(values) is told of each change. A form
// with hasty is none whose content would be missed. Who may only look sees the
// fields, and no form.
/**
 * @typedef {{name: string, label: string, kind: string, [more: string]: any
 *     }} Field
 * @param {{fields: Field[], values?: Record<string, any>,
 *     save: (body: any) => any, label?: string, all?: boolean,
 *     compact?: boolean, hasty?: boolean,
 *     below?: Node | null, changed?: (values: Record<string, any>) => void}} of
 */
export function form({fields, values = {}, save, label = t('form.save'), all,
    compact, below, hasty, changed = () => {}})
{
    const said = h('span', {class: 'said', role: 'status'});
    const controls = fields.map((field) => controlOf(field,
        values[field.name]));
    const looks = {class: compact ? 'card compact' : 'card'};

    if (mayOnlyLook()) {
        return shut(h('div', looks, controls.map(({node}) => node), below));
    }

    const node = h('form', {novalidate: true, onsubmit: (event) => {
        event.preventDefault();
        submit();
    }, oninput: note, onchange: note, ...looks},
        controls.map(({node}) => node), below,
        h('div', {class: 'actions'}, compact ? null
            : h('button', {class: 'primary'}, label), said));


    function isChanged({read, saved}) {
        return JSON.stringify(read()) !== JSON.stringify(saved);
    }


    function note() {
        look();
        show();
    }


    function show() {
        changed(Object.fromEntries(controls.map(({name, read}) =>
            [name, read()])));
    }


    function say(text, bad = false) {
        said.textContent = text;
        said.classList.toggle('error', bad);
    }


    function undo() {
        for (const control of controls) {
            control.complain('');
            control.write(control.saved);
        }
        say('');
        note();
    }


    // back: to what was there, also where the form itself is gone by now
    async function submit(back = false) {
        const body = {};

        for (const control of controls) {
            control.complain('');
            const wrong = await control.check();
            if (wrong) {
                say('');
                control.complain(wrong);
                return;
            }
            const value = control.read();
            if (all ? value !== null && value !== '' : isChanged(control)) {
                body[control.name] = value;
            }
        }
        if (!Object.keys(body).length && !all) {
            say(t('form.unchanged'));
            return;
        }

        const before = controls.map((control) => control.saved);

        say('…');
        try {
            await save(body);
        } catch (refusal) {
            if (back && !node.isConnected) {
                throw refusal;
            }

            const control = controls.find(({name}) =>
                name === refusal.field);

            say(control ? '' : refusal.field
                ? t('form.refused', {field: refusal.field,
                    why: refusal.message})
                : refusal.message,
            true);
            control?.complain(refusal.message);
            return;
        }
        for (const control of controls) {
            control.saved = control.read();
        }
        say(t('form.saved'));
        if (all) {
            look();
            return;
        }
        saved(() => {
            controls.forEach(({write}, i) => write(before[i]));
            show();
            return submit(true);
        });
    }


    if (!hasty) {
        watch({node, save: () => submit(), undo,
            changes: () => controls.filter(isChanged).length});
    }
    return node;
}


// What is in it can be read, not changed.
export function shut(node) {
    for (const control of node.querySelectorAll(
        'input, select, textarea, button'))
    {
        control.disabled = true;
    }
    return node;
}


// {name, node, read(), write(value), check(), saved, complain(text)}; check()
// resolves to what is wrong
function controlOf(field, value) {
    const {name, label, kind, note} = field;
    const {input, read, write, check = () => '', parts = []}
        = KINDS[kind](field);
    const about = note ? h('p', {class: 'note', id: newId()}, note) : null;
    const error = h('p', {class: 'error', role: 'alert', id: newId(),
        hidden: true});
    const group = kind === 'many';

    input.id ||= newId();
    input.setAttribute('name', name);
    input.setAttribute('aria-describedby',
        [about?.id, error.id].filter(Boolean).join(' '));
    if (group) {
        input.setAttribute('aria-label', label);
    }
    write(value ?? null);

    return {
        name, read, write, check, saved: read(),
        node: h('div', {class: 'field'},
            group || kind === 'types' ? h('span', {class: 'legend'}, label)
                : h('label', {htmlFor: input.id}, label),
            input, parts, about, error),
        complain(text) {
            error.textContent = text;
            error.hidden = !text;
            if (text) {
                input.setAttribute('aria-invalid', 'true');
                input.focus();
            } else {
                input.removeAttribute('aria-invalid');
            }
        },
    };
}


// write() takes what the API says, and what read() gives
const KINDS = {

    text({attributes}) {
        return typed(h('input', {type: 'text', ...attributes}));
    },


    number({attributes}) {
        const input = h('input', {type: 'number', step: 1, ...attributes});

        return {...typed(input), read: () => input.value === '' ? null
            : Number(input.value)};
    },


    area() {
        return typed(h('textarea', {rows: 4}));
    },


    // one a line
    lines() {
        const input = h('textarea', {rows: 5});

        return {input, write: (value) => {
            input.value = (value ?? []).join('\n');
        }, read: () => input.value.split('\n').filter((line) => line !== '')};
    },


    yes() {
        const input = h('input', {type: 'checkbox', role: 'switch',
            class: 'switch'});

        return {input, read: () => input.checked, write: (value) => {
            input.checked = Boolean(value);
        }};
    },


    // options: [[value, name]]; numbers are read back as numbers
    choice({options}) {
        const input = h('select', null, options.map(([key, name]) =>
            h('option', {value: String(key)}, name)));

        return {
            input,
            read: () => input.value === '' ? null
                : typeof options.at(-1)[0] === 'number' ? Number(input.value)
                    : input.value,
            write(value) {
                input.value = String(value ?? options[0][0]);
            },
        };
    },


    many({options}) {
        const boxes = Object.entries(options).map(([key, name]) => [key,
            h('input', {type: 'checkbox', id: newId()}), name]);

        return {
            input: h('div', {class: 'set', role: 'group', tabindex: -1},
                boxes.map(([, box, name]) => h('label', null, box, name))),
            read: () => boxes.filter(([, box]) => box.checked)
                .map(([key]) => key),
            write: (value) => boxes.forEach(([key, box]) => {
                box.checked = value?.includes(key);
            }),
        };
    },


    // none: what no type at all is called
    types({none = t('filters.allTypes')}) {
        const picker = typePicker(none, () => picker.opener
            .dispatchEvent(new Event('change', {bubbles: true})));

        return {input: picker.opener, parts: [picker.panel],
            read: () => picker.value.map(Number),
            write: (value) => picker.set(value ?? [])};
    },


    color() {
        const input = h('input', {type: 'text', maxlength: 7, size: 8,
            dir: 'ltr', placeholder: t('form.colorHint')});
        const check = () => input.value === '' || HEX.test(input.value) ? ''
            : t('form.noColor');

        return {
            input, check,
            read: () => HEX.test(input.value)
                ? parseInt(input.value.slice(1), 16) : input.value || null,
            write(value) {
                input.value = typeof value === 'number' ? hexOf(value)
                    : value ?? '';
            },
        };
    },


    // none: what null is called; off: what "0" is called
    channel({none, off}) {
        return idField('logChannel', [...none ? [{id: '', name: none}]
            : [], ...off ? [{id: '0', name: off}] : []]);
    },


    anyChannel() {
        return idField('channel', []);
    },


    category() {
        return idField('category', []);
    },


    member() {
        return idField('member', []);
    },


    role() {
        return idField('role', []);
    },
};


function typed(input) {
    return {input, read: () => input.value || null, write: (value) => {
        input.value = value ?? '';
    }};
}


// A name that is typed and not picked is looked for when it is checked.
export function idField(kind, fixed) {
    const field = combobox({kind, fixed, placeholder: fixed[0]?.name
        ?? t('form.nameOrId'),
        find: (text, signal) => find(kind, text, signal)});

    return {
        input: field.input, parts: [field.list],
        read: () => field.value === fixed[0]?.name ? null
            : field.value || null,

        write(value) {
            const named = fixed.find(({id}) => id === (value ?? ''));

            field.set(value ?? '', named && value ? named.name : '');
            if (value && !named) {
                nameOf(kind, value).then((name) => field.value === value
                    && name && field.set(value, name), () => {});
            }
        },

        async check() {
            const {value} = field;

            if (value === '' || isId(value) || value === fixed[0]?.name) {
                return '';
            }

            const {id, name, wrong} = await resolve(kind, value, fixed);

            if (!wrong) {
                field.set(id, name);
            }
            return wrong ?? '';
        },
    };
}
