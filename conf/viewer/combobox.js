// @ts-check
// A text field that proposes what may be meant. What is picked has an ID;
// what is typed and not picked is taken as the ID itself.

import {isId} from './directory.js';
import {foreign, h, fill, debounce, newId, placeBelow} from './dom.js';
import {faceOf} from './named.js';
import {t} from './texts.js';

const QUIET = 150;


// find(text, signal) gives [{id, name, parent, type, color}] of this kind;
// changed(id) is called when the reader has chosen. The field is {input, list,
// value, set(id, name)}.
/**
 * @param {{kind: string, find: (text: string, signal: AbortSignal) =>
 *     Promise<any[]>, changed?: (id: any) => void, fixed?: any[],
 *     [more: string]: any}} of
 */
export function combobox({kind, find, changed = () => {}, fixed = [],
    ...rest})
{
    const list = h('ul', {role: 'listbox', id: newId(), popover: 'manual',
        class: 'options', 'aria-label': t('form.proposals')});
    const input = h('input', {type: 'text', role: 'combobox',
        autocomplete: 'off', spellcheck: 'false', 'aria-expanded': 'false',
        'aria-autocomplete': 'list', 'aria-controls': list.id, ...rest});
    let options = [];
    let nodes = [];        // of the options, without those between them
    let active = -1;
    let request = new AbortController();
    let field;


    function close() {
        request.abort();
        active = -1;
        if (list.matches(':popover-open')) {
            list.hidePopover();
        }
        input.ariaExpanded = 'false';
        input.removeAttribute('aria-activedescendant');
    }


    function pick(option) {
        field.set(option.id, option.name);
        input.dispatchEvent(new Event('change', {bubbles: true}));
    }


    // what tells apart those of one name; grouped: below that of their category
    function apart({id, name, parent}, grouped) {
        const alike = options.filter((other) => other.name === name
            && other.parent === parent).length > 1;

        return name && (parent || alike) ? h('small',
            {class: grouped && !alike && 'unseen'},
            [parent && foreign(parent), alike && id].filter(Boolean)
                .flatMap((part, i) => i ? [' ', part] : part)) : null;
    }


    function activate(i) {
        active = (i + options.length) % options.length;
        nodes.forEach((node, at) => {
            node.ariaSelected = String(at === active);
        });
        nodes[active].scrollIntoView({block: 'nearest'});
        input.setAttribute('aria-activedescendant', nodes[active].id);
    }


    async function propose() {
        request.abort();
        request = new AbortController();
        const {signal} = request;
        const text = input.value.trim();
        const own = fixed.filter(({name}) => name.toLowerCase()
            .includes(text.toLowerCase()));

        try {
            options = [...own, ...await find(text, signal)];
        } catch {
            options = own;
        }
        if (signal.aborted || document.activeElement !== input) {
            return;
        }

        nodes = options.map((option) => h('li', {role: 'option',
            id: newId(), 'aria-selected': 'false',
            onpointerdown: (event) => event.preventDefault(),
            onclick: () => pick(option)},
            isId(option.id) && option.id !== '0' && faceOf(kind, option),
            h('span', null, foreign(option.name || option.id), ' ',
                apart(option, !text))));
        fill(list, options.map(({parent}, i) => [!text && parent
            && parent !== options[i - 1]?.parent && h('li',
            {role: 'presentation', 'aria-hidden': true, class: 'group'},
            foreign(parent)),
        nodes[i]]));
        if (!options.length) {
            list.append(h('li', {role: 'option', class: 'note',
                'aria-disabled': true, 'aria-selected': 'false'},
            t(text ? 'form.noMatch' : 'form.noNames')));
        }
        active = -1;
        if (!list.matches(':popover-open')) {
            list.showPopover();
        }
        placeBelow(list, input);
        input.ariaExpanded = 'true';
    }


    const soon = debounce(QUIET, propose);

    input.addEventListener('input', () => {
        field.value = input.value.trim();
        soon();
    });
    input.addEventListener('change', () => {
        close();
        changed(field.value);
    });
    input.addEventListener('blur', close);
    input.addEventListener('click', propose);
    input.addEventListener('keydown', (event) => {
        const open = list.matches(':popover-open');

        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            if (open && options.length) {
                activate(active + (event.key === 'ArrowDown' ? 1
                    : active < 0 ? 0 : -1));
            } else {
                propose();
            }
        } else if (event.key === 'Enter' && open && active >= 0) {
            event.preventDefault();
            pick(options[active]);
        } else if (event.key === 'Escape' && open) {
            event.preventDefault();
            close();
        }
    });

    field = {
        input, list, value: '',
        set(id, name) {
            field.value = id;
            input.value = name || id;
        },
    };
    return field;
}
