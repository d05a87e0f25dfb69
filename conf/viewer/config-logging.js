// Where logs go and how they look: channels, settings of all types, settings
// of one.

import {change, part} from './api.js';
import {fill, h} from './dom.js';
import {form} from './form.js';
import {typeOf, typesOf} from './log-types.js';
import {BUTTONS, CATEGORIES, FORMATS, LANGUAGES, ROUTES} from './words.js';

const CHANNELS = '/config/logging/channels';
const SETTINGS = '/config/logging/settings';

const DEFAULTS = {spoilers: 0, proxy_integration: 0, ignore_bot_targets: 1,
    ignore_bot_executors: 1, format_type: 0, buttons: Object.keys(BUTTONS),
    active_ignore: 0};

const FORMAT_NOTE = 'Other formats than the first need the Pro or Pro Lite '
    + 'plan.';


export async function channels() {
    const [values] = await part('serverlogConfigChannels') ?? [{}];

    return form({values, save: (body) => change('PATCH', CHANNELS, body),
        fields: Object.entries(ROUTES).map(([name, label]) => ({
            name, label, kind: 'channel', ...name === 'main_channel'
                ? {none: 'None', note: 'Where everything goes that has no '
                    + 'channel of its own.'}
                : name === 'category_files'
                    ? {none: 'As messages'}
                    : {none: 'Follows the main channel', off: 'Off'},
        }))});
}


export async function settings() {
    const [values] = await part('serverlogConfigOptions') ?? [DEFAULTS];

    return form({values, save: (body) => change('PATCH', SETTINGS, body),
        fields: [
            {name: 'format_type', label: 'Format', kind: 'choice',
                options: FORMATS.map((name, i) => [i, name]),
                note: FORMAT_NOTE},
            {name: 'buttons', label: 'Buttons', kind: 'many',
                options: BUTTONS},
            {name: 'spoilers', label: 'Spoilers', kind: 'yes',
                note: 'Logged message content is hidden behind spoiler '
                    + 'marks.'},
            {name: 'ignore_bot_executors', label: 'Ignore what bots do',
                kind: 'yes'},
            {name: 'ignore_bot_targets', label: 'Ignore what is done to bots',
                kind: 'yes'},
            {name: 'active_ignore', label: 'Active ignore', kind: 'yes',
                note: 'Bots may say what they are about to do, so that it is '
                    + 'not logged. Entries wait three seconds for that.'},
            {name: 'proxy_integration', label: 'Message proxy', kind: 'yes',
                note: 'Deletions by a tool that sends messages again under '
                    + 'another name are not logged.'},
        ]});
}


export async function language(server) {
    const keys = Object.keys(LANGUAGES);
    const stored = await part('settingsConfig');

    return form({
        values: {locale: keys[stored?.[0].locale ?? server.locale]},
        save: (body) => change('PATCH', '/config/settings', body),
        fields: [{name: 'locale', label: 'Language', kind: 'choice',
            options: Object.entries(LANGUAGES)}]});
}


export async function types() {
    let custom = await customised();
    const place = h('div');
    const chooser = h('select', {id: 'type', onchange: show},
        Object.entries(CATEGORIES).map(([category, label]) =>
            h('optgroup', {label}, typesOf(category).map(({id, title}) =>
                h('option', {value: id}, title
                    + (custom.has(id) ? ' · customised' : ''))))));


    function show() {
        const id = Number(chooser.value);
        const path = `${SETTINGS}/${id}`;

        fill(place, form({values: custom.get(id) ?? {}, fields: TYPE_FIELDS,
            label: `Save for “${typeOf(id).title}”`,
            save: async (body) => {
                await change('PATCH', path, body);
                custom = await customised();
            }}));
    }


    chooser.value = custom.keys().next().value ?? 5;
    show();
    return [
        h('div', {class: 'field'}, h('label', {htmlFor: 'type'}, 'Log type'),
            chooser),
        place];
}


async function customised() {
    const rows = await part('serverlogConfigCustomOptions') ?? [];
    return new Map(rows.map((row) => [row.log_type, row]));
}


const TYPE_FIELDS = [
    {name: 'enabled', label: 'Recorded', kind: 'follow',
        note: 'A type that is off is not even stored.'},
    {name: 'log_channel', label: 'Log channel', kind: 'channel',
        none: 'That of its category', off: 'Off'},
    {name: 'format_type', label: 'Format', kind: 'choice', note: FORMAT_NOTE,
        options: [['', 'As the server'],
            ...FORMATS.map((name, i) => [i, name])]},
    {name: 'color', label: 'Colour', kind: 'color'},
    {name: 'ignore_bot_executors', label: 'Ignore what bots do',
        kind: 'follow'},
    {name: 'ignore_bot_targets', label: 'Ignore what is done to bots',
        kind: 'follow'},
    {name: 'active_ignore', label: 'Active ignore', kind: 'follow'},
];
