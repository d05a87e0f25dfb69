// The page: who is signed in, which view is shown, and how it looks.

import {get, session, signIn, signOut, whenEnded} from './api.js';
import {hrefOf, readAddress} from './address.js';
import {forget} from './directory.js';
import {badge, button, fill, foreign, h, popover} from './dom.js';
import * as logs from './logs.js';

const PLANS = {free: 'Free', pro_lite: 'Pro Lite', pro: 'Pro'};
const ENDED = {
    401: 'The token has ended: it expired, was revoked, or is not one of '
        + 'this service.',
    403: 'This token may not read logs: it is a Basic token, or one of '
        + 'another server.',
};
const LOOK = 'guildlog.look';

const [main, nav, where, me, form, field, wanted, ended] = ['main', 'nav',
    'where', 'me', 'sign-in', 'token', 'wanted', 'ended'].map((id) =>
    document.getElementById(id));

let server;         // what GET of the server will answer
let shown;          // the view


async function route() {
    const address = readAddress();

    if (!session) {
        ask();
        return;
    }
    if (address.server && address.server !== session.server) {
        leave('The token is of another server.');
        return;
    }
    if (session.bot !== address.bot || !server) {
        session.bot = address.bot;
        forget();
        server = get('');
    }

    shown?.leave();
    if (address.view === 'logs') {
        if (shown !== logs) {
            fill(main, logs.node);
            main.focus();
        }
        shown = logs;
        logs.show(address, server);
        head(address, await server);
    } else {
        head(address, await server);
        shown = await import('./config.js');
        fill(main, shown.node);
        shown.show(address, await server);
    }
}


function head({view, bot}, {name, plan}) {
    const inLogs = view === 'logs';
    const link = (to, label, here) => h('a', {href: hrefOf(to, bot),
        'aria-current': here && 'page'}, label);
    const bots = h('select', {'aria-label': 'Bot',
        onchange: () => location.assign(hrefOf(view, bots.value))},
        h('option', {value: ''}, 'Main bot'),
        h('option', {value: 'pro'}, 'Pro bot'));

    bots.value = bot;
    fill(where, h('strong', null, foreign(name)), ' ',
        badge(PLANS[plan]), ' ', bots);
    fill(nav, link('logs', 'Logs', inLogs),
        link('channels', 'Configuration', !inLogs));
    where.hidden = nav.hidden = false;
    document.title = `${name} · guildlog`;
}


function start() {
    form.remove();
    fill(me, look(), button('Sign out', () => leave(), {class: 'quiet'}));
    go();
}


async function go() {
    try {
        await route();
    } catch (error) {
        if (session) {
            fill(main, h('p', {class: 'empty'}, error.message));
        }
    }
}


function leave(why) {
    shown?.leave();
    signOut();
    server = shown = undefined;
    document.title = 'guildlog';
    where.hidden = nav.hidden = true;
    fill(me, look());
    field.value = '';
    ended.hidden = !why;
    ended.textContent = why ?? '';
    ask();
}


function ask() {
    const {server: id} = readAddress();

    wanted.hidden = !id;
    wanted.textContent = id && `This link leads to the server ${id}. It opens `
        + 'with an Admin token of that server.';
    form.classList.add('ready');
    fill(main, form);
    field.focus();
}


form.addEventListener('submit', (event) => {
    event.preventDefault();
    ended.hidden = true;
    if (signIn(field.value)) {
        field.value = '';
        start();
    } else {
        ended.hidden = false;
        ended.textContent = 'That is not a token.';
        field.focus();
    }
});


// how the page looks, which the browser remembers

function look() {
    const {panel, opener} = popover('View', {class: 'quiet'},
        choice('theme', 'Colours', {'': 'As the system', light: 'Light',
            dark: 'Dark'}),
        choice('dir', 'Direction', {'': 'Left to right',
            rtl: 'Right to left'}));

    return [opener, panel];
}


function choice(name, label, options) {
    const select = h('select', {onchange: () => {
        localStorage.setItem(LOOK, JSON.stringify(
            {...looks(), [name]: select.value}));
        applyLook();
    }}, Object.entries(options).map(([value, text]) =>
        h('option', {value}, text)));

    select.value = looks()[name] ?? '';
    return h('label', null, label, select);
}


function looks() {
    try {
        return JSON.parse(localStorage.getItem(LOOK)) ?? {};
    } catch {
        return {};
    }
}


function applyLook() {
    const {theme, dir} = looks();

    document.documentElement.dataset.theme = theme || '';
    document.documentElement.dir = dir || 'ltr';
}


applyLook();
whenEnded((status) => leave(ENDED[status]));
addEventListener('popstate', go);

if (signIn()) {
    start();
} else {
    fill(me, look());
    ask();
}
