// Where logs go and how they look: channels, and what is set for all types.

import {change, part} from './api.js';
import {h} from './dom.js';
import {form} from './form.js';
import {check} from './health.js';
import {preview} from './preview.js';
import {BUTTONS, FORMATS, FORMAT_NOTE, LANGUAGES, ROUTES} from './words.js';

const CHANNELS = '/config/logging/channels';
const SETTINGS = '/config/logging/settings';

const DEFAULTS = {spoilers: 0, proxy_integration: 0, ignore_bot_targets: 1,
    ignore_bot_executors: 1, format_type: 0, buttons: Object.keys(BUTTONS),
    active_ignore: 0};

// of these types, a message is shown beside the settings
const SHOWN = [5, 39];


export async function channels(server, bot) {
    const [values] = await part('serverlogConfigChannels') ?? [{}];

    return form({values, save: async (body) => {
        await change('PATCH', CHANNELS, body);
        check(bot, true).catch(() => {});
    },
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

    const places = SHOWN.map(() => h('div'));
    const show = (settings) => places.forEach((place, i) =>
        preview(place, SHOWN[i], settings));

    show(values);
    return [form({values, changed: show,
        save: (body) => change('PATCH', SETTINGS, body),
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
        ]}), h('div', {class: 'previews'}, places)];
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
