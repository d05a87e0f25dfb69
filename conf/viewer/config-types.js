// @ts-check
// All log types as one table, by category, and beside it what is set for those
// that are chosen: one of them, several, or a whole category.

import {change, get, mayOnlyLook, part} from './api.js';
import {knownName, nameOf} from './directory.js';
import {button, fill, h, isolated, newId} from './dom.js';
import {idField, shut} from './form.js';
import {channelOf, typeOf, typesOf} from './log-types.js';
import {preview} from './preview.js';
import {t} from './texts.js';
import {look, saved, watch} from './unsaved.js';
import {CATEGORIES, FORMATS, FORMAT_NOTE, ROUTES, hexOf} from './words.js';

const SETTINGS = '/config/logging/settings';

const FIELDS = ['enabled', 'log_channel', 'format_type', 'color',
    'ignore_bot_executors', 'ignore_bot_targets', 'active_ignore'];

const FOLLOW = [['null', t('types.asServer')], ['true', t('types.on')],
    ['false', t('types.off')]];

// what most servers want to know of, and what each preset leaves on besides the
// changes of the service itself
const ESSENTIAL = ['categoryModlog', 'categoryRoles', 'categoryChannels',
    'categoryServer'];
const ALSO = [1, 2, 3, 5, 7, 57];
const PRESETS = [
    [t('types.essential'), ({id, category}) => ESSENTIAL.includes(category)
        || ALSO.includes(id)],
    [CATEGORIES.categoryModlog, ({category}) => category === 'categoryModlog'],
    [t('filters.allTypes'), () => true],
];

const SHOWN = {
    all: [t('types.all'), () => true],
    off: [t('types.allOff'), (set) => set.enabled === false
        || set.log_channel === '0'],
    custom: [t('types.custom'), (set) => FIELDS.some((name) =>
        set[name] !== null)],
};


export async function types(server, bot, {type: named}) {
    const config = await get('/config');
    const grid = new TypeGrid(config.serverlogConfigChannels?.[0] ?? {},
        config.serverlogConfigOptions?.[0] ?? {});

    grid.store(config.serverlogConfigCustomOptions ?? []);
    grid.choose(named.map(Number).filter((id) => grid.rows.has(id)), true);
    return grid.node;
}


class TypeGrid {

    constructor(channels, options) {
        this.channels = channels;
        this.options = options;
        this.stored = new Map();      // by type
        this.draft = new Map();       // what is different from it, by type
        this.past = [];               // drafts, for undoing
        this.chosen = new Set();
        this.rows = new Map();
        this.folded = new Set();      // categories
        this.part = 'all';

        this.search = h('input', {type: 'search', 'aria-label': t('types.find'),
            placeholder: t('types.find'), oninput: () => this.draw()});
        this.parts = Object.entries(SHOWN).map(([name, [label]]) =>
            button(label, () => {
                this.part = name;
                this.draw();
            }, {class: 'chip', 'data-part': name}));
        this.looking = mayOnlyLook();
        this.presets = h('div', {class: 'tabs', role: 'group', 'aria-label':
            t('types.presets'), hidden: this.looking}, t('types.presets'),
        PRESETS.map(([label, has]) => button(label, () =>
            this.set([...this.rows.keys()], (id) => ({enabled:
                has(typeOf(id)) || typeOf(id).category === 'categoryService'
                    ? null : false})), {class: 'chip'})));
        this.back = button(t('types.undo'), () => this.undoOne(),
            {disabled: true, hidden: this.looking});
        this.said = h('p', {class: 'said error', role: 'alert',
            hidden: true});
        this.everything = box(t('types.chooseShown'), () =>
            this.choose(this.shown(), this.everything.checked));
        this.bodies = Object.keys(CATEGORIES).map((category) =>
            this.group(category));
        this.editor = new Editor(this);
        this.table = h('table', {class: 'types-grid', onkeydown: (event) =>
            this.key(event), onfocusin: (event) => this.focus(event)},
            h('thead', null, h('tr', null,
                h('td', null, this.looking ? null : this.everything),
                ['types.type', 'types.on', 'types.channel', 'settings.format',
                    'form.color', 'types.bots'].map((key) =>
                    h('th', {scope: 'col'}, t(key))))),
            this.bodies.map(({node}) => node));
        this.node = h('div', {class: 'split'},
            h('div', {class: 'split-main'},
                h('div', {class: 'tabs'}, this.search,
                    h('span', {role: 'group', class: 'tabs',
                        'aria-label': t('types.show')}, this.parts),
                    h('span', {class: 'gap'}), this.back),
                this.presets, this.said, this.table),
            this.editor.node);

        watch({node: this.node, changes: () => this.draft.size,
            save: () => this.save(), undo: () => this.undoAll()});
    }


    store(rows) {
        this.stored = new Map(rows.map((row) => [row.log_type, {
            ...row,
            enabled: flag(row.enabled),
            ignore_bot_executors: flag(row.ignore_bot_executors),
            ignore_bot_targets: flag(row.ignore_bot_targets),
            active_ignore: flag(row.active_ignore),
        }]));
        this.draw();
        this.editor.show();
    }


    // what is set for a type, as it would be saved
    of(id) {
        const set = {...this.stored.get(id), ...this.draft.get(id)};
        return Object.fromEntries(FIELDS.map((name) =>
            [name, set[name] ?? null]));
    }


    // ids: of types; set: {field: value}, or what gives it for an id
    set(ids, set) {
        this.past.push(this.draft);
        this.draft = new Map(this.draft);
        for (const id of ids) {
            const stored = this.stored.get(id) ?? {};
            const all = {...this.draft.get(id),
                ...typeof set === 'function' ? set(id) : set};
            const left = Object.entries(all).filter(([name, value]) =>
                value !== (stored[name] ?? null));

            this.draft.delete(id);
            if (left.length) {
                this.draft.set(id, Object.fromEntries(left));
            }
        }
        this.changed();
    }


    undoOne() {
        this.draft = this.past.pop();
        this.changed();
    }


    undoAll() {
        this.past = [];
        this.draft = new Map();
        this.changed();
    }


    changed() {
        this.said.hidden = true;
        this.draw();
        this.editor.show();
        look();
    }


    // What is to be set alike is one request: what is refused stays unsaved.
    async save() {
        const before = new Map([...this.draft].map(([id, set]) => [id,
            Object.fromEntries(Object.keys(set).map((name) =>
                [name, this.stored.get(id)?.[name] ?? null]))]));

        this.past = [];
        try {
            for (const [types, set] of this.alike()) {
                await change('PATCH', `${SETTINGS}/types`, {types, set})
                    .catch((refusal) => {
                        throw new Error(t('form.refused', {
                            field: typeOf(types[0]).title,
                            why: refusal.message}));
                    });
                for (const id of types) {
                    this.stored.set(id, {...this.stored.get(id), ...set});
                    this.draft.delete(id);
                }
            }
            this.store(await part('serverlogConfigCustomOptions') ?? []);
            saved(() => {
                this.set([...before.keys()], (id) => before.get(id));
                return this.save();
            });
        } catch (refusal) {
            this.draw();
            this.said.hidden = false;
            this.said.textContent = refusal.message;
        }
        this.back.disabled = true;
    }


    // the types of which the same is to be set, with it
    alike() {
        const found = new Map();

        for (const [id, set] of this.draft) {
            const key = JSON.stringify(Object.entries(set).sort());
            const [types] = found.get(key) ?? [[]];

            found.set(key, [[...types, id], set]);
        }
        return [...found.values()];
    }


    // the table

    group(category) {
        const name = CATEGORIES[category];
        const all = typesOf(category).map(({id}) => id);
        const pick = box(t('types.chooseAll', {name}), () =>
            this.choose(all.filter((id) => !this.rows.get(id).node.hidden),
                pick.checked));
        const on = toggle(t('types.logAll', {name}), () =>
            this.set(all, {enabled: on.checked ? null : false}),
        this.looking);
        const number = h('span', {class: 'note'});
        const folder = button([h('i', {class: 'dot'}), name], () => {
            if (!this.folded.delete(category)) {
                this.folded.add(category);
            }
            this.draw();
        }, {class: 'link fold'});
        const head = h('tr', {class: 'group', 'data-category': category},
            h('td', null, this.looking ? null : pick),
            h('th', {scope: 'rowgroup'}, folder),
            h('td', null, on),
            h('td', {colspan: 4}, number));

        return {all, pick, on, number, head, folder,
            node: h('tbody', null, head, all.map((id) => this.row(id)))};
    }


    row(id) {
        const {title} = typeOf(id);
        const pick = box(t('types.choose', {name: title}), () =>
            this.choose([id], pick.checked));
        const on = toggle(t('types.log', {name: title}), () =>
            this.set([id], {enabled: on.checked ? null : false}),
        this.looking);
        const name = button(title, () => {
            this.chosen.clear();
            this.choose([id], true);
            this.editor.open();
        }, {class: 'link'});
        const cells = ['where', 'how', 'color', 'bots'].map((place) =>
            h('td', {class: place}));

        const node = h('tr', null, h('td', null, this.looking ? null : pick),
            h('td', null, name), h('td', null, on), cells);

        this.rows.set(id, {node, pick, on, name, cells});
        return node;
    }


    shown() {
        return [...this.rows].filter(([, {node}]) => !node.hidden)
            .map(([id]) => id);
    }


    choose(ids, on) {
        for (const id of ids) {
            if (on) {
                this.chosen.add(id);
            } else {
                this.chosen.delete(id);
            }
        }
        this.draw();
        this.editor.show();
    }


    draw() {
        const text = this.search.value.trim().toLowerCase();
        const fits = SHOWN[this.part][1];

        for (const button of this.parts) {
            button.ariaPressed = String(button.dataset.part === this.part);
        }
        for (const [id, row] of this.rows) {
            const set = this.of(id);

            row.fits = fits(set)
                && typeOf(id).title.toLowerCase().includes(text);
            row.node.hidden = !row.fits || !text
                && this.folded.has(typeOf(id).category);
            row.node.classList.toggle('unsure', this.draft.has(id));
            row.node.ariaSelected = String(this.chosen.has(id));
            row.pick.checked = this.chosen.has(id);
            row.on.checked = set.enabled !== false;
            this.tell(id, set, row.cells);
        }
        for (const group of this.bodies) {
            this.drawGroup(group);
        }
        mark(this.everything, this.shown().map((id) => this.chosen.has(id)));
        if (!this.past.length && document.activeElement === this.back) {
            this.search.focus();
        }
        this.back.disabled = !this.past.length;
        this.reach();
    }


    drawGroup({all, pick, on, number, head, folder}) {
        const shown = all.filter((id) => !this.rows.get(id).node.hidden);
        const states = all.map((id) => this.of(id).enabled !== false);
        const n = states.filter(Boolean).length;

        head.hidden = !all.some((id) => this.rows.get(id).fits);
        folder.ariaExpanded = String(shown.length > 0);
        mark(pick, shown.map((id) => this.chosen.has(id)));
        mark(on, states);
        number.textContent = n === all.length ? t('types.everyOn')
            : n ? t('types.someOn', {count: n, all: all.length})
                : t('types.everyOff');
    }


    tell(id, set, [where, how, color, bots]) {
        const own = set.log_channel;
        const {channel, from} = own === null
            ? channelOf(id, this.channels) : {channel: own};

        place(where, channel, from);
        where.classList.toggle('own', own !== null);
        // what is as for all types is not repeated on each line
        how.textContent = FORMATS[set.format_type] ?? '';
        fill(color, set.color !== null
            && [swatch(set.color), hexOf(set.color)]);
        bots.textContent = botsInWords(set);
    }


    // the keyboard: one line is in the order of the tabs, arrows go to others

    reach() {
        /** @type {NodeListOf<HTMLElement>} */
        const lines = this.table.querySelectorAll('tbody tr');
        const nodes = [...lines]
            .filter((node) => !node.hidden && controlsOf(node).length);
        const here = nodes.includes(this.line) ? this.line : nodes[0];

        this.line = here;
        for (const node of nodes) {
            for (const control of controlsOf(node)) {
                control.tabIndex = node === here ? 0 : -1;
            }
        }
        return nodes;
    }


    focus({target}) {
        const line = target.closest('tbody tr');

        if (line && line !== this.line) {
            this.line = line;
            this.reach();
        }
    }


    key(event) {
        const line = event.target.closest('tbody tr');
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10,
            Home: -1e3, End: 1e3}[event.key];

        if (!line || !step) {
            return;
        }

        const nodes = this.reach();
        const to = nodes[Math.max(0, Math.min(nodes.length - 1,
            nodes.indexOf(line) + step))];
        const column = controlsOf(line).indexOf(event.target);
        const controls = controlsOf(to);

        event.preventDefault();
        controls[Math.min(column, controls.length - 1)].focus();
    }
}


// What is set for the types that are chosen, and a message of the first one.
class Editor {
    choices = /** @type {any[]} */ ([]);
    usual = /** @type {HTMLButtonElement} */ (/** @type {any} */ (null));

    constructor(grid) {
        this.grid = grid;
        this.title = h('h3', {tabindex: -1});
        this.fields = h('div', {class: 'fields'});
        this.looks = h('div');
        this.node = h('aside', {class: 'editor', 'aria-label':
            t('types.chosen'), onkeydown: (event) =>
            event.key === 'Escape' && !event.defaultPrevented
                && this.close()},
            h('header', null, this.title, h('span', {class: 'gap'}),
                grid.looking ? null : button(t('types.change'), () =>
                    this.open(), {class: 'unfold'}),
                button('✕', () => this.close(), {class: 'quiet',
                    'aria-label': t('types.none')})),
            this.fields, this.looks);
        this.channel = idField('logChannel', [
            {id: '', name: t('types.ofCategory')},
            {id: '0', name: t('channels.off')}]);
        this.channel.input.addEventListener('change', () =>
            this.setChannel());
        this.wrong = h('p', {class: 'error', role: 'alert', id: newId(),
            hidden: true});
        this.channel.input.setAttribute('aria-describedby', this.wrong.id);
        this.build();
    }


    build() {
        const flags = (name, label) => this.choice(name, label, FOLLOW);

        this.picker = h('input', {type: 'color', 'aria-label':
            t('types.pick'), onchange: () => this.set({color:
                parseInt(this.picker.value.slice(1), 16)})});
        this.usual = button(t('types.usualOne'), () => this.set({color: null}));
        this.choices = [
            this.choice('enabled', t('types.recorded'), [
                ['null', t('types.on')], ['false', t('types.off')]]),
            this.choice('format_type', t('settings.format'), [
                ['null', t('types.asServer')],
                ...FORMATS.map((name, i) => [String(i), name])]),
            flags('ignore_bot_executors', t('settings.botsDo')),
            flags('ignore_bot_targets', t('settings.botsSuffer')),
            flags('active_ignore', t('settings.active'))];
        this.channel.input.id ||= newId();

        const [on, format, ...rest] = this.choices;

        fill(this.fields, on.node,
            h('div', {class: 'field'}, h('label', {htmlFor:
                this.channel.input.id}, t('types.channel')), this.channel.input,
            this.channel.parts, this.wrong),
            format.node,
            h('div', {class: 'field'}, h('span', {class: 'legend'},
                t('form.color')), h('span', {class: 'swatch'}, this.picker,
                this.usual)),
            rest.map(({node}) => node),
            h('p', {class: 'note'}, FORMAT_NOTE),
            this.grid.looking ? null : button(t('types.reset'), () => this.set(
                Object.fromEntries(FIELDS.map((name) => [name, null])))));
        if (this.grid.looking) {
            this.usual.remove();
            shut(this.fields);
        }
    }


    choice(name, label, options) {
        const select = h('select', {id: newId(), onchange: () =>
            this.set({[name]: JSON.parse(select.value)})});

        return {name, options, select, node: h('div', {class: 'field'},
            h('label', {htmlFor: select.id}, label), select)};
    }


    set(set) {
        this.grid.set([...this.grid.chosen], set);
    }


    async setChannel() {
        const wrong = await this.channel.check();

        this.complain(wrong);
        if (!wrong) {
            this.set({log_channel: this.channel.read()});
        }
    }


    complain(text) {
        this.wrong.textContent = text;
        this.wrong.hidden = !text;
    }


    open() {
        this.node.classList.add('open');
        this.title.focus();
    }


    close() {
        this.node.classList.remove('open');
        this.grid.chosen.clear();
        this.grid.draw();
        this.show();
        this.grid.reach();
        (this.grid.line.querySelector('button')
            ?? controlsOf(this.grid.line).at(-1)).focus();
    }


    show() {
        const ids = [...this.grid.chosen];
        const sets = ids.map((id) => this.grid.of(id));
        // undefined where they differ
        /** @param {string} name @returns {any} */
        const same = (name) => sets.every((set) =>
            set[name] === sets[0][name]) ? sets[0][name] : undefined;

        this.node.classList.toggle('none', !ids.length);
        this.title.textContent = ids.length === 1 ? typeOf(ids[0]).title
            : ids.length ? t('types.number', {count: ids.length})
                : t('types.hint');
        this.fields.hidden = this.looks.hidden = !ids.length;
        this.node.hidden = this.grid.looking && !ids.length;
        if (!ids.length) {
            return;
        }

        for (const {name, options, select} of this.choices) {
            const value = name === 'enabled' && same(name) === true ? null
                : same(name);

            fill(select, value === undefined
                && h('option', {value: '', disabled: true},
                    t('types.different')),
            options.map(([key, label]) => h('option', {value: key}, label)));
            select.value = value === undefined ? '' : String(value);
        }
        this.complain('');
        this.channel.write(same('log_channel') ?? null);
        if (same('log_channel') === undefined) {
            this.channel.input.placeholder = t('types.different');
        } else {
            this.channel.input.placeholder = t('types.ofCategory');
        }
        this.picker.value = hexOf(same('color') ?? typeOf(ids[0]).color);
        if (same('color') === null && document.activeElement === this.usual) {
            this.picker.focus();
        }
        this.usual.disabled = same('color') === null;
        preview(this.looks, ids[0], {...this.grid.options,
            ...Object.fromEntries(['format_type', 'color'].map((name) =>
                [name, sets[0][name] ?? this.grid.options[name] ?? null]))});
    }
}


function flag(value) {
    return value === null || value === undefined ? null : value === 1;
}


function box(label, onchange) {
    return h('input', {type: 'checkbox', 'aria-label': label, onchange});
}


function toggle(label, onchange, disabled) {
    return h('input', {type: 'checkbox', role: 'switch', class: 'switch',
        'aria-label': label, onchange, disabled});
}


// all, some, or none of them
function mark(box, states) {
    box.checked = states.length > 0 && states.every(Boolean);
    box.indeterminate = !box.checked && states.some(Boolean);
}


function controlsOf(line) {
    return [...line.querySelectorAll(':is(input, button):enabled')];
}


function swatch(color) {
    const node = h('i', {class: 'sample'});

    node.style.background = hexOf(color);
    return node;
}


// a channel by its name, and whose it is
function place(cell, channel, from) {
    const show = (text) => {
        cell.textContent = from ? t('types.whose',
            {channel: text, route: ROUTES[from]}) : text;
    };

    cell.dataset.channel = channel ?? '';
    if (channel === '0' || !channel) {
        show(t(channel === '0' ? 'types.switchedOff' : 'types.nowhere'));
        return;
    }

    const called = (name) => show(name ? isolated(`#${name}`)
        : channel);

    called(knownName('channel', channel));
    nameOf('channel', channel).then((name) => cell.dataset.channel
        === channel && called(name), () => {});
}


function botsInWords({ignore_bot_executors: executors,
    ignore_bot_targets: targets})
{
    if (executors === null && targets === null) {
        return '';
    }
    return t(executors && targets ? 'types.botsIgnored'
        : executors ? 'types.botsNotDo'
            : targets ? 'types.botsNotSuffer' : 'types.botsLogged');
}
