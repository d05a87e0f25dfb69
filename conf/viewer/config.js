// The configuration: a list of its parts, and the one that is shown.

import {hrefOf} from './address.js';
import {fill, h} from './dom.js';
import {access, tags, tokens} from './config-lists.js';
import {channels, language, settings, types} from './config-logging.js';
import {filters, ignore} from './config-hidden.js';
import {notifications} from './config-notifications.js';
import {troubleshoot} from './config-troubleshoot.js';

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

export const node = h('div', {class: 'config'}, side, page);

let shown = 0;     // tells late answers from those waited for


export async function show({view, bot}, server) {
    const part = Object.hasOwn(PARTS, view) ? view : 'channels';
    const [title, ...sections] = PARTS[part];
    const mine = ++shown;
    const heading = h('h2', {tabindex: -1}, title);

    fill(side, Object.entries(PARTS).map(([name, [label]]) =>
        h('a', {href: hrefOf(name, bot), 'aria-current': name === part
            && 'page'}, label)));
    fill(page, heading, h('p', {class: 'note'}, 'Loading …'));
    heading.focus();

    try {
        const nodes = [];

        for (const section of sections) {
            nodes.push(await section(server));
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
}
