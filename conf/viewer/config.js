// @ts-check
// The configuration: a list of its parts, and the one that is shown.

import {get, mayOnlyLook} from './api.js';
import {hrefOf} from './address.js';
import {badge, fill, h} from './dom.js';
import {alerts} from './config-alerts.js';
import {access, tags, tokens} from './config-lists.js';
import {channels, language, settings} from './config-logging.js';
import {filters, ignore} from './config-hidden.js';
import {notifications} from './config-notifications.js';
import {troubleshoot} from './config-troubleshoot.js';
import {types} from './config-types.js';
import {t} from './texts.js';
import {bar, forget, mayLeave, notice} from './unsaved.js';

const PARTS = {
    channels: [channels],
    settings: [settings, language],
    types: [types],
    ignore: [ignore],
    filters: [filters],
    alerts: [alerts],
    tags: [tags],
    access: [access],
    tokens: [tokens],
    notifications: [notifications],
    troubleshoot: [troubleshoot],
};

const side = h('nav', {class: 'side', 'aria-label': t('config.title')});
const page = h('div', {class: 'page'});

export const node = h('div', {class: 'config'}, side,
    h('div', {class: 'pages'}, page, bar, notice));
export {mayLeave};

let shown = 0;     // tells late answers from those waited for


export async function show({view, bot, filters: given}, server) {
    const part = Object.hasOwn(PARTS, view) ? view : 'channels';
    const sections = PARTS[part];
    const mine = ++shown;
    const heading = h('h2', {tabindex: -1}, t(`config.${part}`));

    forget();
    fill(side, Object.keys(PARTS).map((name) =>
        h('a', {href: hrefOf(name, bot), 'aria-current': name === part
            && 'page'}, t(`config.${name}`))));
    tellUnread();
    reach();
    fill(page, heading, h('p', {class: 'note'}, t('page.loading')));
    heading.focus();

    try {
        const nodes = [mayOnlyLook() && h('p', {class: 'note'},
            t('page.mayLook'))];

        for (const section of sections) {
            nodes.push(await section(server, bot, given));
        }
        if (mine === shown) {
            fill(page, heading, nodes);
        }
    } catch (error) {
        if (mine === shown) {
            fill(page, heading, h('p', {class: 'error', role: 'alert'},
                t('page.unread', {why: error.message})));
        }
    }
}


// how many notifications nobody has read; who reads them says how many are left
async function tellUnread() {
    const rows = await get('/notifications').catch(() => []);

    showUnread(rows.filter(({acknowledged}) => !acknowledged).length);
}


function showUnread(count) {
    const link = /** @type {Element} */ (
        side.querySelector('[href^="#/notifications"]'));

    fill(link, t('config.notifications'), count > 0 && badge(String(count)));
    reach();
}


// brings the part that is open into sight
function reach() {
    side.querySelector('[aria-current]')?.scrollIntoView(
        {block: 'nearest', inline: 'center'});
}


page.addEventListener('unread', (event) =>
    showUnread(/** @type {CustomEvent} */ (event).detail));


export function leave() {
    shown++;
    forget();
}
