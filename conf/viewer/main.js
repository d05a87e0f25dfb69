// @ts-check
// The page: who is signed in, which view is shown, and how it looks.

import {canSignIn, get, mayOnlyLook, openServer, part, resume, session, signIn,
    signInBeside, signInThere, signOut, whenEnded, whoSignedIn} from './api.js';
import {hrefOf, readAddress, writeAddress} from './address.js';
import {load} from './connection.js';
import {forget} from './directory.js';
import {badge, button, fill, foreign, h, newId, popover} from './dom.js';
import * as health from './health.js';
import {labeled} from './icons.js';
import {keepLook, looks} from './looks.js';
import * as logs from './logs.js';
import {LANGUAGES, language, t, translate, wanted as wantedLanguage}
    from './texts.js';
import {look as unsaved} from './unsaved.js';

const PLANS = {free: t('page.free'), pro_lite: 'Pro Lite', pro: 'Pro'};
const CHECKING = 60_000;              // ms between looks at whether logs arrive
const ENDED = {401: t('sign.tokenEnded'), 403: t('sign.tokenBasic')};
const WANTED = 'guildlog.wanted';     // the address, while people sign in
const OPENED = 'guildlog.opened';     // a person's server, of this tab
const LAST = 'guildlog.last';         // ... of all tabs

// those that are neither the log nor the configuration
const VIEWS = {start: () => import('./start.js'),
    member: () => import('./member.js')};

const [main, nav, where, me, form, wanted, ended, there] = ['main', 'nav',
    'where', 'me', 'sign-in', 'wanted', 'ended', 'there'].map(
    (id) => /** @type {HTMLElement} */ (document.getElementById(id)));
const or = /** @type {HTMLDetailsElement} */ (document.getElementById('or'));
const field = /** @type {HTMLInputElement} */ (
    document.getElementById('token'));

// what a token that only reads can see
const READS = ['logs', 'member'];

let server;         // what GET of the server will answer
let shown;          // the view
let place;          // its address
let person = null;  // who signed in
let kept = null;    // a question over a view whose changes are not saved


async function route() {
    const address = readAddress();

    if (person && !session && !openOne(address.server)) {
        await choose();
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
    if (server && wantedLanguage() !== language) {
        location.reload();
        return;
    }
    place = location.hash;
    if (address.server && address.server !== session.server) {
        shut();
        if (person ? !openOne(address.server) : !resume(address.server)) {
            await (person ? choose : ask)();
            return;
        }
    }
    if (session.reads && !READS.includes(address.view)) {
        writeAddress(hrefOf('logs', address.bot), true);
        await route();
        return;
    }
    if (session.bot !== address.bot || !server) {
        session.bot = address.bot;
        forget();
        health.forget();
        server = get('');
        server.then(speak).catch(() => {});
    }
    diagnose(address.bot);

    const its = server;

    if (address.view !== 'logs' || shown !== logs) {
        shown?.leave();
    }
    if (address.view === 'logs') {
        if (shown !== logs) {
            fill(main, logs.node);
            main.focus();
        }
        shown = logs;
        logs.show(address, its);

        const of = await its;

        if (server === its) {
            head(address, of);
        }
    } else {
        const next = await load(VIEWS[address.view]
            ?? (() => import('./config.js')));
        const of = await its;

        // who signs out meanwhile is asked to sign in
        if (server !== its) {
            return;
        }
        head(address, of);
        shown = next;
        fill(main, shown.node);
        await next.show(address, of).catch((error) => {
            if (shown === next) {
                throw error;
            }
        });
    }
}


// A server that has no log channel opens on the steps to one.
async function diagnose(bot) {
    const bare = location.hash.length < 3;

    try {
        if (await health.check(bot) && bare && location.hash.length < 3
            && !mayOnlyLook())
        {
            writeAddress(hrefOf('start', bot), true);
            await go();
        }
    } catch {
        // what is wrong shows elsewhere, too
    }
}


function head({view, bot, filters}, {name, plan}) {
    const inLogs = view === 'logs';
    const link = (to, picture, label, here) => h('a', {href: hrefOf(to, bot),
        'aria-current': here && 'page'}, labeled(picture, label));
    const bots = h('select', {'aria-label': t('page.bot'),
        onchange: () => location.assign(hrefOf(view, bots.value,
            view === 'member' ? filters : {}))},
        h('option', {value: ''}, t('page.mainBot')),
        h('option', {value: 'pro'}, t('page.proBot')));

    bots.value = bot;
    bots.hidden = plan !== 'pro' && !bot;
    fill(where, person ? servers() : h('strong', null, foreign(name)),
        badge(PLANS[plan]), bots, health.node);
    fill(nav, link('logs', 'list', t('page.logs'), inLogs),
        session.reads ? null : link('channels', 'settings',
            t('config.title'), !(inLogs || view in VIEWS)));
    where.hidden = nav.hidden = false;
    document.title = t('page.title', {server: name});
}


function servers() {
    const select = h('select', {'aria-label': t('page.server'),
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
        localStorage.setItem(LAST, one.id);
        openServer(person, one);
    }
    return Boolean(one);
}


async function choose() {
    where.hidden = nav.hidden = true;

    const {serversNode} = await load(() => import('./servers.js'));

    if (person) {
        fill(main, serversNode(person.servers, localStorage.getItem(LAST)));
        main.focus();
    }
}


function start() {
    form.remove();
    fill(me, look(), person && button(labeled('member', foreign(person.name)),
        sessions, {class: 'quiet', title: t('sessions.title')}),
        button(labeled('door', t('sign.out')), async () =>
        await shown?.mayLeave?.() !== false && leave(), {class: 'quiet'}));
    go();
}


async function sessions() {
    const {showSessions} = await load(() => import('./sessions.js'));

    showSessions(() => leave());
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
async function leave(why) {
    shut();
    const over = signOut(!why, person);

    sessionStorage.removeItem(OPENED);
    person = null;
    fill(me, look());
    field.value = '';
    ask(why);
    if (!await over && !session) {
        ask(t('sign.still'));
    }
}


// what is of one server
function shut() {
    shown?.leave();
    server = shown = undefined;
    document.title = 'guildlog';
    where.hidden = nav.hidden = true;
}


// A right that a person has not is told where it was wanted. The first refusal
// of several is the end. What is not saved is not lost.
function lose(status) {
    if (!session || person && status !== 401) {
        return;
    }

    const why = person ? t('sign.ended') : ENDED[status];

    if (unsaved()) {
        keepView(why);
    } else {
        leave(why);
    }
}


// Asks to sign in again, over the view.
function keepView(why) {
    if (kept) {
        return;
    }

    const title = newId();

    wanted.hidden = ended.hidden = true;
    offer(false, true);
    form.hidden = false;
    kept = h('dialog', {'aria-labelledby': title, onclose: () => {
        form.remove();
        kept.remove();
        kept = null;
    }},
        h('p', {id: title}, why, ' ', t('sign.kept')),
        person ? null : form,
        h('form', {method: 'dialog', class: 'actions'},
            h('button', null, t('page.close')),
            person && button(t('sign.there'), () => {
                signInBeside();
                kept.close();
            }, {class: 'primary'})));
    document.body.append(kept);
    kept.showModal();
}


// a new token for the view that was kept
function signInAgain() {
    const {server: id, bot} = session;
    const valid = signIn(field.value);

    if (valid && session.server === id) {
        field.value = '';
        kept.close();
    } else {
        ended.hidden = false;
        ended.textContent = t(valid ? 'sign.otherServer' : 'sign.noToken');
        resume(id);
    }
    session.bot = bot;
}


function ask(why) {
    const {server: id} = readAddress();

    ended.hidden = !why;
    ended.textContent = why ?? '';

    wanted.hidden = !id;
    wanted.textContent = id && t('sign.wanted', {server: id});
    form.hidden = false;
    offer(false, or.open);
    fill(main, form);
    canSignIn().then((can) => {
        offer(can, !can || or.open);
        (or.open ? field : there.querySelector('button'))?.focus();
    });
}


// platform: whether people can sign in there; token: whether its field is open
function offer(platform, token) {
    there.hidden = !platform;
    or.querySelector('summary')?.toggleAttribute('hidden', !platform);
    or.classList.toggle('only', !platform);
    or.open = token;
}


there.firstChild?.addEventListener('click', () => {
    sessionStorage.setItem(WANTED, location.hash);
    signInThere();
});


form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (kept) {
        signInAgain();
        return;
    }
    if (!signIn(field.value)) {
        ask(t('sign.noToken'));
        return;
    }

    const {server: id} = readAddress();

    field.value = '';
    if (id && id !== session.server) {
        ask(t('sign.otherServer'));
    } else {
        start();
    }
});


// how the page looks

function look() {
    const {panel, opener} = popover(t('look.title'), {class: 'quiet'},
        choice('theme', t('look.colors'), [['', t('look.system')],
            ['light', t('look.light')], ['dark', t('look.dark')]], applyTheme),
        choice('language', t('look.language'), [['', t('look.served')],
            ...Object.entries(LANGUAGES)], anew),
        choice('clock', t('look.clock'), [['', t('look.asLanguage')],
            ['h12', t('look.hours', {count: 12})],
            ['h23', t('look.hours', {count: 24})]], anew));

    fill(opener, labeled('contrast', t('look.title')));
    return [opener, panel];
}


function choice(name, label, options, changed) {
    const select = h('select', {onchange: () => {
        keepLook(name, select.value);
        changed();
    }}, options.map(([value, text]) => h('option', {value}, text)));

    select.value = looks()[name] ?? '';
    return h('label', null, label, select);
}


function applyTheme() {
    document.documentElement.dataset.theme = looks().theme || '';
}


// A page has one language and one clock: it is loaded again.
async function anew() {
    if (await shown?.mayLeave?.() !== false) {
        location.reload();
    }
}


// The page speaks the server's language. A server that never chose one is left
// to the browser, and so is which English it is.
async function speak({locale}) {
    const key = Object.keys(LANGUAGES)[locale];
    const chosen = key !== 'en-US' || !/^en\b/.test(navigator.language)
        && !session.reads && await part('settingsConfig');

    keepLook('served', chosen ? key : '');
    if (wantedLanguage() !== language) {
        anew();
    }
}


translate(document.documentElement);
applyTheme();
setInterval(() => server && !document.hidden
    && health.check(session.bot, true).catch(() => {}), CHECKING);
whenEnded(lose);
addEventListener('popstate', go);

begin();
