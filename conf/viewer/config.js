// The configuration: a list of its parts, and the one that is shown.

import {hrefOf} from './address.js';
import {fill, h} from './dom.js';
import {access, tags, tokens} from './config-lists.js';
import {channels, language, settings} from './config-logging.js';
import {filters, ignore} from './config-hidden.js';
import {notifications} from './config-notifications.js';
import {troubleshoot} from './config-troubleshoot.js';
import {types} from './config-types.js';
import {bar, forget, mayLeave} from './unsaved.js';

const PARTS = {
    channels: ['Log channels', channels],
    settings: ['Settings', settings, language],
    types: ['Log types', types],
    ignore: ['Ignore lists', ignore],
    filters: ['Filters', filters],
    tags: ['Tags', tags],
    access: ['Access', access],
    tokens: ['Tokens', tokens],
    notifications: ['Notifications', notifications],
    troubleshoot: ['Troubleshooter', troubleshoot],
};

const side = h('nav', {class: 'side', 'aria-label': 'Configuration'});
const page = h('div', {class: 'page'});

export const node = h('div', {class: 'config'}, side,
    h('div', {class: 'pages'}, page, bar));
export {mayLeave};

let shown = 0;     // tells late answers from those waited for


export async function show({view, bot, filters: given}, server) {
    const part = Object.hasOwn(PARTS, view) ? view : 'channels';
    const [title, ...sections] = PARTS[part];
    const mine = ++shown;
    const heading = h('h2', {tabindex: -1}, title);

    forget();
    fill(side, Object.entries(PARTS).map(([name, [label]]) =>
        h('a', {href: hrefOf(name, bot), 'aria-current': name === part
            && 'page'}, label)));
    fill(page, heading, h('p', {class: 'note'}, 'Loading …'));
    heading.focus();

    try {
        const nodes = [];

        for (const section of sections) {
            nodes.push(await section(server, bot, given));
        }
        if (mine === shown) {
            fill(page, heading, nodes);
        }
    } catch (error) {
        if (mine === shown) {
            fill(page, heading, h('p', {class: 'error', role: 'alert'},
                `This could not be read: ${error.message}`));
        }
    }
}


export function leave() {
    shown++;
    forget();
}
