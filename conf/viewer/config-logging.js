// @ts-check
// Where logs go and how they look: channels, and what is set for all types.

import {change, part} from './api.js';
import {h} from './dom.js';
import {form} from './form.js';
import {check} from './health.js';
import {keepLook} from './looks.js';
import {preview} from './preview.js';
import {LANGUAGES, t} from './texts.js';
import {BUTTONS, FORMATS, FORMAT_NOTE, ROUTES} from './words.js';

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
                ? {none: t('channels.none'), note: t('channels.main')}
                : name === 'category_files'
                    ? {none: t('channels.asMessages')}
                    : {none: t('channels.follows'), off: t('channels.off')},
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
            {name: 'format_type', label: t('settings.format'), kind: 'choice',
                options: FORMATS.map((name, i) => [i, name]),
                note: FORMAT_NOTE},
            {name: 'buttons', label: t('settings.buttons'), kind: 'many',
                options: BUTTONS},
            {name: 'spoilers', label: t('settings.spoilers'), kind: 'yes',
                note: t('settings.spoilersNote')},
            {name: 'ignore_bot_executors', label: t('settings.botsDo'),
                kind: 'yes'},
            {name: 'ignore_bot_targets', label: t('settings.botsSuffer'),
                kind: 'yes'},
            {name: 'active_ignore', label: t('settings.active'), kind: 'yes',
                note: t('settings.activeNote')},
            {name: 'proxy_integration', label: t('settings.proxy'), kind: 'yes',
                note: t('settings.proxyNote')},
        ]}), h('div', {class: 'previews'}, places)];
}


export async function language(server) {
    const keys = Object.keys(LANGUAGES);
    const stored = await part('settingsConfig');

    return form({
        values: {locale: keys[stored?.[0].locale ?? server.locale]},
        save: async (body) => {
            await change('PATCH', '/config/settings', body);
            keepLook('served', body.locale);
        },
        fields: [{name: 'locale', label: t('settings.language'), kind: 'choice',
            options: Object.entries(LANGUAGES)}]});
}
