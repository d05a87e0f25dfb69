// The page: who is signed in, which view is shown, and how it looks.

import {canSignIn, get, openServer, resume, session, signIn, signInThere,
    signOut, whenEnded, whoSignedIn} from './api.js';
import {hrefOf, readAddress, writeAddress} from './address.js';
import {forget} from './directory.js';
import {badge, button, fill, foreign, h, popover} from './dom.js';
import * as health from './health.js';
import * as logs from './logs.js';

const PLANS = {free: 'Free', pro_lite: 'Pro Lite', pro: 'Pro'};
const ENDED = {
    401: 'The token has ended: it expired, was revoked, or is not one of '
        + 'this service.',
    403: 'This token may not read logs: it is a Basic token, or one of '
        + 'another server.',
};
const LOOK = 'guildlog.look';
const WANTED = 'guildlog.wanted';     // the address, while people sign in
const OPENED = 'guildlog.opened';     // a person's server

// those that are neither the log nor the configuration
const VIEWS = {start: './start.js', member: './member.js'};

const [main, nav, where, me, form, field, wanted, ended, there, or] = ['main',
    'nav', 'where', 'me', 'sign-in', 'token', 'wanted', 'ended', 'there',
    'or'].map((id) => document.getElementById(id));

let server;         // what GET of the server will answer
let shown;          // the view
let place;          // its address
let person = null;  // who signed in


async function route() {
    const address = readAddress();

    if (person && !session && !openOne(address.server)) {
        choose();
        return;
    }
    if (!session) {
        ask();
        return;
    }
    if (location.hash !== place && await shown?.mayLeave?.() === false) {
        writeAddress(place);
        return;
    }
    place = location.hash;
    if (address.server && address.server !== session.server) {
        shut();
        if (person ? !openOne(address.server) : !resume(address.server)) {
            (person ? choose : ask)();
            return;
        }
    }
    if (session.bot !== address.bot || !server) {
        session.bot = address.bot;
        forget();
        health.forget();
        server = get('');
    }
    diagnose(address.bot);

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
        shown = await import(VIEWS[address.view] ?? './config.js');
        fill(main, shown.node);
        shown.show(address, await server);
    }
}


// A server that has no log channel opens on the steps to one.
async function diagnose(bot) {
    const bare = location.hash.length < 3;

    try {
        if (await health.check(bot) && bare && location.hash.length < 3) {
            writeAddress(hrefOf('start', bot), true);
            await go();
        }
    } catch {
        // what is wrong shows elsewhere, too
    }
}


function head({view, bot, filters}, {name, plan}) {
    const inLogs = view === 'logs';
    const link = (to, label, here) => h('a', {href: hrefOf(to, bot),
        'aria-current': here && 'page'}, label);
    const bots = h('select', {'aria-label': 'Bot',
        onchange: () => location.assign(hrefOf(view, bots.value,
            view === 'member' ? filters : {}))},
        h('option', {value: ''}, 'Main bot'),
        h('option', {value: 'pro'}, 'Pro bot'));

    bots.value = bot;
    fill(where, person ? servers() : h('strong', null, foreign(name)), ' ',
        badge(PLANS[plan]), ' ', bots, ' ', health.node);
    fill(nav, link('logs', 'Logs', inLogs),
        link('channels', 'Configuration', !(inLogs || view in VIEWS)));
    where.hidden = nav.hidden = false;
    document.title = `${name} · guildlog`;
}


function servers() {
    const select = h('select', {'aria-label': 'Server',
        onchange: () => location.assign(`#/logs?server=${select.value}`)},
        person.servers.map(({id, name}) =>
            h('option', {value: id}, foreign(name))));

    select.value = session.server;
    return select;
}


// That server of the person's; or the one of before, or the only one. False if
// there is none.
function openOne(wanted) {
    const {servers} = person;
    const id = wanted || sessionStorage.getItem(OPENED);
    const one = servers.find((server) => server.id === id)
        ?? (!wanted && servers.length === 1 ? servers[0] : null);

    if (one) {
        sessionStorage.setItem(OPENED, one.id);
        openServer(person, one);
    }
    return Boolean(one);
}


function choose() {
    where.hidden = nav.hidden = true;
    fill(main, h('section', {id: 'servers'}, h('h2', null, 'Your servers'),
        person.servers.length ? h('ul', {class: 'items'},
            person.servers.map(({id, name, level}) => h('li', null,
                h('a', {href: `#/logs?server=${id}`}, foreign(name)), ' ',
                badge(level === 'manage' ? 'Manage' : 'View'))))
            : h('p', {class: 'note'}, 'There is no server here that you '
                + 'manage, or that lets you in.')));
    main.focus();
}


function start() {
    form.remove();
    fill(me, look(), person ? h('span', {class: 'note'}, foreign(person.name))
        : null, button('Sign out', async () =>
        await shown?.mayLeave?.() !== false && leave(), {class: 'quiet'}));
    go();
}


// who comes back from the platform goes on where the way there began
async function begin() {
    if (resume(readAddress().server)) {
        start();
        return;
    }

    person = await whoSignedIn();
    const address = sessionStorage.getItem(WANTED);

    sessionStorage.removeItem(WANTED);
    if (person && address && !location.hash) {
        history.replaceState(null, '', address);
    }
    if (person) {
        start();
    } else {
        fill(me, look());
        ask();
    }
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


// what ended the token that was used; without it nobody stays signed in
function leave(why) {
    shut();
    signOut(!why);
    sessionStorage.removeItem(OPENED);
    person = null;
    fill(me, look());
    field.value = '';
    ask(why);
}


// what is of one server
function shut() {
    shown?.leave();
    server = shown = undefined;
    document.title = 'guildlog';
    where.hidden = nav.hidden = true;
}


// a right that a person has not is told where it was wanted
function lose(status) {
    if (status === 401) {
        leave('You are signed out: your session has ended.');
    }
}


function ask(why) {
    const {server: id} = readAddress();

    ended.hidden = !why;
    ended.textContent = why ?? '';

    wanted.hidden = !id;
    wanted.textContent = id && `This link leads to the server ${id}. It opens `
        + 'with an Admin token of that server.';
    form.classList.add('ready');
    fill(main, form);
    field.focus();
    canSignIn().then((can) => {
        there.hidden = or.hidden = !can;
    });
}


there.firstChild.addEventListener('click', () => {
    sessionStorage.setItem(WANTED, location.hash);
    signInThere();
});


form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!signIn(field.value)) {
        ask('That is not a token.');
        return;
    }

    const {server: id} = readAddress();

    field.value = '';
    if (id && id !== session.server) {
        ask('The token is of another server.');
    } else {
        start();
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
whenEnded((status) => person ? lose(status) : leave(ENDED[status]));
addEventListener('popstate', go);

begin();
