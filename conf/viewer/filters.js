// @ts-check
// The filters of the log list: every one that the API has.

import {NOTHING, queryOf} from './address.js';
import {appliedNode} from './applied.js';
import {combobox} from './combobox.js';
import {button, debounce, fill, h, newId, popover} from './dom.js';
import {find, isId, resolve} from './directory.js';
import {HINT, filtersIn, wordsOf} from './operators.js';
import {DAY, HOUR, dayName, daySpan, edge, fromInput, shortTime, spanTime,
    toInput, weekName, weekSpan} from './time.js';
import {savedViews} from './saved-views.js';
import {MOST, partsOf} from './several.js';
import {parts, t} from './texts.js';
import {typePicker} from './type-picker.js';
import {CATEGORIES, count} from './words.js';

const TYPING = 200;

// stretches of time: from when, which is not in it, and before when
const since = (ms) => () => ({after: String(Date.now() - ms), before: ''});
const SPANS = [
    [t('filters.hour'), since(HOUR)],
    [t('filters.day'), since(DAY)],
    [dayName(0), () => daySpan(0)],
    [dayName(-1), () => daySpan(-1)],
    [weekName(0), () => weekSpan(0)],
    [weekName(-1), () => weekSpan(-1)],
    [t('filters.week'), since(7 * DAY)],
    [t('filters.everything'), () => ({after: '', before: ''})],
];


export class Filters {

    // changed(filters, typing) is called with all of them
    constructor(changed) {
        this.changed = changed;
        this.fields = {};      // by the API's name: {input, set(value)}
        this.value = {};

        this.chips = Object.entries(CATEGORIES).map(([category, name]) =>
            this.chip(category, name));
        this.all = button(t('filters.allPlain'), () => this.set({category: []}),
            {class: 'chip'});
        this.error = h('p', {class: 'error', role: 'alert', hidden: true,
            id: newId()});
        this.clearer = button(t('filters.clear'), () => this.clear(),
            {class: 'quiet'});
        this.more = h('div', {class: 'more'}, this.time(), this.member(),
            this.channel(), this.role(), this.types(),
            savedViews(() => this.value, (value) => this.set(value)),
            this.clearer);
        this.applied = h('div', {class: 'chosen'});
        this.sheet = h('div', {class: 'sheet', popover: 'auto', id: newId()},
            this.more,
            h('div', {class: 'chips', role: 'group',
                'aria-label': t('filters.categories')},
            this.all, this.chips.map(({node}) => node)),
            button(t('page.close'), () => this.sheet.hidePopover(),
                {class: 'unfold primary'}));
        this.opener = button(t('filters.title'), null,
            {class: 'unfold', popovertarget: this.sheet.id});
        this.node = h('div', {class: 'filters', role: 'search',
            'aria-label': t('filters.title')},
            this.search(), this.opener, this.sheet, this.error, this.applied);
    }


    // typing: what the reader is at is left alone
    show(value, typing) {
        const used = ['after', 'before', 'member', 'channel', 'role', 'type',
            'category']
            .filter((name) => value[name].length).length;

        this.value = value;
        for (const field of Object.values(this.fields)) {
            field.set(value, typing);
        }
        for (const {category, node} of this.chips) {
            node.ariaPressed = String(value.category.includes(category));
        }
        this.all.ariaPressed = String(!value.category.length);
        this.clearer.hidden = !queryOf(value).size;
        this.opener.textContent = used
            ? t('filters.used', {count: used}) : t('filters.title');
        fill(this.applied, appliedNode(value, (change) => this.set(change)));
        this.complain();
    }


    showCounts(counts) {
        let total = 0;

        for (const {category, node, number} of this.chips) {
            const n = counts[category] ?? 0;

            total += n;
            number.textContent = count(n);
            node.classList.toggle('none', n === 0);
        }
        fill(this.all, parts('filters.all',
            {count: h('b', null, count(total))}));
    }


    // what the API did not like, beside the field
    complain(refusal) {
        for (const {input} of Object.values(this.fields)) {
            input?.removeAttribute('aria-invalid');
            input?.removeAttribute('aria-describedby');
        }

        this.error.hidden = !refusal;
        if (refusal) {
            const {input, label} = this.fields[refusal.field] ?? {};

            this.error.textContent = refusal.field
                ? t('form.refused', {field: label ?? refusal.field,
                    why: refusal.message})
                : refusal.message;
            input?.setAttribute('aria-invalid', 'true');
            input?.setAttribute('aria-describedby', this.error.id);
        }
    }


    set(change, typing) {
        this.changed({...this.value, ...change}, typing);
    }


    clear() {
        this.set(NOTHING);
    }


    chip(category, name) {
        const number = h('b');
        const toggle = () => {
            const {category: chosen} = this.value;

            this.set({category: chosen.includes(category)
                ? chosen.filter((one) => one !== category)
                : [...chosen, category]});
        };

        return {category, number, node: button([h('i', {class: 'dot'}),
            name, ' ', number], toggle,
            {class: 'chip', 'data-category': category})};
    }


    // a text field whose every letter counts
    typed(name, label, attributes) {
        const soon = debounce(TYPING, () => {
            const text = name === 'search' ? wordsOf(input.value)
                : input.value;

            if (text !== this.value[name]) {
                this.set({[name]: text}, true);
            }
        });
        const input = h('input', {type: 'search', placeholder: label,
            'aria-label': label, oninput: soon, ...attributes});

        this.fields[name] = {input, label, set: (value, typing) => {
            if (!typing) {
                input.value = value[name];
            }
        }};
        return input;
    }


    search() {
        return this.typed('search', t('filters.searchFor'),
            {class: 'search', maxlength: 200, title: HINT,
                onchange: ({target}) => this.operate(target.value)});
    }


    // what is written as from:ann becomes a filter
    async operate(text) {
        try {
            const value = await filtersIn(text, this.value);

            if (value) {
                this.set(value);
            }
        } catch (error) {
            this.complain({field: 'search', message: error.message});
        }
    }


    role() {
        return this.typed('role', t('filters.role'), {maxlength: 100});
    }


    // a field for IDs that are found by name; those that were picked are chips
    picked(name, label, kind) {
        const field = combobox({kind, placeholder: label, 'aria-label': label,
            find: (text, signal) => find(kind, text, signal),
            changed: (text) => text && this.pick(name, kind, text)});

        this.fields[name] = {input: field.input, label,
            set: () => field.set('', '')};
        return [field.input, field.list];
    }


    // an ID, or a name that was typed and not picked
    async pick(name, kind, text) {
        const {id, wrong} = isId(text) ? {id: text}
            : await resolve(kind, text);
        const values = this.value[name].filter((one) => isId(one)
            && one !== id);
        const change = {[name]: [...values, id]};

        if (wrong) {
            this.complain({field: name, message: wrong});
        } else if (partsOf(queryOf({...this.value, ...change})).length > MOST) {
            this.complain({field: name,
                message: t('filters.most', {count: MOST})});
        } else {
            this.set(change);
        }
    }


    channel() {
        return this.picked('channel', t('filters.channel'), 'channel');
    }


    member() {
        const role = h('select', {'aria-label': t('filters.memberDid'),
            onchange: () => this.set({memberRole: role.value})},
            [['', t('filters.either')], ['executor', t('filters.executor')],
                ['target', t('filters.target')]].map(([value, name]) =>
                h('option', {value}, name)));

        this.fields.memberRole = {input: role, label: t('filters.memberRole'),
            set: (value) => {
                role.value = value.memberRole === 'either' ? ''
                    : value.memberRole;
                role.hidden = !value.member.length;
            }};
        return [...this.picked('member', t('filters.member'), 'member'), role];
    }


    types() {
        const picker = typePicker(t('filters.allTypes'), (type) =>
            this.set({type}));

        this.fields.type = {input: picker.opener, label: t('filters.types'),
            set: (value) => picker.set(value.type)};
        return [picker.opener, picker.panel];
    }


    time() {
        const limit = (name, label) => {
            const input = h('input', {type: 'datetime-local', step: 1,
                onchange: () => this.set({[name]: String(
                    fromInput(input.value) ?? '')})});

            this.fields[name] = {input, label, set: (value) => {
                input.value = toInput(Number(value[name] || NaN));
            }};
            return h('label', null, label, input);
        };
        const {opener, panel} = popover(t('filters.time'), {class: 'time'},
            h('div', {class: 'spans'}, SPANS.map(([name, span]) =>
                button(name, () => {
                    panel.hidePopover();
                    this.set(span());
                }))),
            limit('after', t('filters.after')),
            limit('before', t('filters.before')));

        this.fields.span = {set: ({after, before}) => {
            opener.textContent = after && before
                ? spanTime(edge(after), Number(before))
                : after ? t('filters.since', {time: shortTime(edge(after))})
                    : before ? t('filters.until',
                        {time: shortTime(Number(before))})
                        : t('filters.anyTime');
        }};
        return [opener, panel];
    }
}
