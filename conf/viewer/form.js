// Forms made of the API's fields. What was changed is sent, and what the API
// says of a field stands beside it.

import {combobox} from './combobox.js';
import {fill, h, newId} from './dom.js';
import {find, nameOf} from './directory.js';
import {typePicker} from './type-picker.js';


// fields: [{name, label, kind, note, ...}], values: {name: value}. save(body)
// sends the changes; with all, everything is sent that has a value. A compact
// form has its fields side by side.
export function form({fields, values = {}, save, label = 'Save', all,
    compact})
{
    const said = h('span', {class: 'said', role: 'status'});
    const controls = fields.map((field) => controlOf(field,
        values[field.name]));
    const node = h('form', {novalidate: true, onsubmit: submit,
        class: compact ? 'card compact' : 'card'},
        controls.map(({node}) => node),
        h('div', {class: 'actions'},
            h('button', {class: 'primary'}, label), said));


    function say(text, bad) {
        said.textContent = text;
        said.classList.toggle('error', Boolean(bad));
    }


    async function submit(event) {
        const body = {};

        event.preventDefault();
        for (const control of controls) {
            control.complain('');
            const value = control.read();
            if (all ? value !== null && value !== '' : JSON.stringify(value)
                !== JSON.stringify(control.saved))
            {
                body[control.name] = value;
            }
        }
        if (!Object.keys(body).length && !all) {
            say('Nothing was changed.');
            return;
        }

        say('…');
        try {
            await save(body);
        } catch (refusal) {
            const control = controls.find(({name}) =>
                name === refusal.field);

            say(control ? '' : refusal.field
                ? `${refusal.field}: ${refusal.message}` : refusal.message,
            true);
            control?.complain(refusal.message);
            return;
        }
        for (const control of controls) {
            control.saved = control.read();
        }
        say('Saved.');
    }


    return node;
}


// {name, node, read(), saved, complain(text)}
function controlOf(field, value) {
    const {name, label, kind, note} = field;
    const {input, read, parts = []} = KINDS[kind](value ?? null, field);
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

    return {
        name, read, saved: read(),
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


const KINDS = {

    text(value, {attributes}) {
        const input = h('input', {type: 'text', value: value ?? '',
            ...attributes});
        return {input, read: () => input.value || null};
    },


    area(value) {
        const input = h('textarea', {value: value ?? '', rows: 4});
        return {input, read: () => input.value || null};
    },


    // one a line
    lines(value) {
        const input = h('textarea', {value: (value ?? []).join('\n'),
            rows: 5});
        return {input, read: () => input.value.split('\n')
            .filter((line) => line !== '')};
    },


    yes(value) {
        const input = h('input', {type: 'checkbox', checked: value === 1});
        return {input, read: () => input.checked};
    },


    // on, off, or as the server has it
    follow(value) {
        return select([['', 'As the server'], ['1', 'On'], ['0', 'Off']],
            value, (text) => text === '' ? null : text === '1');
    },


    // options: [[value, name]]; numbers are read back as numbers
    choice(value, {options}) {
        return select(options, value, (text) => text === '' ? null
            : typeof options.at(-1)[0] === 'number' ? Number(text) : text);
    },


    many(value, {options}) {
        const boxes = Object.entries(options).map(([key, name]) => [key,
            h('input', {type: 'checkbox', id: newId(),
                checked: value.includes(key)}), name]);

        return {
            input: h('div', {class: 'set', role: 'group', tabindex: -1},
                boxes.map(([, box, name]) => h('label', null, box, name))),
            read: () => boxes.filter(([, box]) => box.checked)
                .map(([key]) => key),
        };
    },


    types(value) {
        const picker = typePicker('All types', () => {});

        picker.set(value ?? []);
        return {input: picker.opener, parts: [picker.panel],
            read: () => picker.value.map(Number)};
    },


    color(value) {
        const input = h('input', {type: 'text', maxlength: 7, size: 8,
            placeholder: '#rrggbb, or nothing', value: value === null ? ''
                : '#' + value.toString(16).padStart(6, '0')});

        return {input, read: () => /^#[0-9a-f]{6}$/i.test(input.value)
            ? parseInt(input.value.slice(1), 16) : input.value || null};
    },


    // none: what null is called; off: what "0" is called
    channel(value, {none, off}) {
        return idField('channel', value, [...none ? [{id: '', name: none}]
            : [], ...off ? [{id: '0', name: off}] : []]);
    },


    member(value) {
        return idField('member', value, []);
    },
};


function select(options, value, read) {
    const input = h('select', null, options.map(([key, name]) =>
        h('option', {value: String(key)}, name)));

    if (value !== null) {
        input.value = String(value);
    }
    return {input, read: () => read(input.value)};
}


function idField(kind, value, fixed) {
    const field = combobox({fixed, placeholder: fixed[0]?.name
        ?? 'Name or ID',
        find: (text, signal) => find(kind, text, signal)});
    const named = fixed.find(({id}) => id === (value ?? ''));

    field.set(value ?? '', named && value ? named.name : '');
    if (value && !named) {
        nameOf(kind, value).then((name) => field.value === value && name
            && field.set(value, name), () => {});
    }
    return {input: field.input, parts: [field.list],
        read: () => field.value === fixed[0]?.name ? null
            : field.value || null};
}


// an ID, and its name as soon as that is known
export function named(kind, id) {
    const node = h('span', null, h('bdi'), ' ',
        h('small', {class: 'id'}, id));

    nameOf(kind, id).then((name) => fill(node.firstChild, name), () => {});
    return node;
}
