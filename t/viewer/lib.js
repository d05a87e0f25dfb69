// What the suites share: TAP, the running stack, and pages of a browser that
// note everything they should not do.

import {mkdirSync} from 'node:fs';
import http from 'node:http';
import {createRequire} from 'node:module';
import {isDeepStrictEqual} from 'node:util';

const require = createRequire(`${process.env.GUILDLOG_VIEWER_PACKAGES}/`);
const {chromium} = require('playwright-core');

const axeSource = require('axe-core').source;

const {GUILDLOG_URL: API, GUILDLOG_OPERATOR: OPERATOR,
    GUILDLOG_PLATFORM: PLATFORM, GUILDLOG_VIEWER: VIEWER,
    GUILDLOG_VIEWER_SHOTS: SHOTS} = process.env;
const PATIENCE = 60_000;
const WIDE = {width: 1400, height: 900};

let tests = 0;
let failed = 0;
let guild = BigInt(Date.now()) * 100_000n;
let event = 0;
let browser;


export function ok(pass, what, ...notes) {
    tests++;
    console.log(`${pass ? 'ok' : 'not ok'} ${tests} - ${
        what.replaceAll('#', '\\#')}`);
    if (!pass) {
        failed++;
        console.error(`# Failed test ${tests} - ${what}`);
        for (const line of notes.join('\n').split('\n')) {
            console.error(`# ${line}`);
        }
    }
    return pass;
}


export function is(got, wanted, what) {
    return ok(isDeepStrictEqual(got, wanted), what,
        `   got: ${JSON.stringify(got)}`,
        `wanted: ${JSON.stringify(wanted)}`);
}


// what f gives, as soon as it is what is wanted
export async function soon(f, wanted, what) {
    const deadline = Date.now() + PATIENCE;
    let got;

    do {
        got = await f();
        if (isDeepStrictEqual(got, wanted)) {
            break;
        }
        await new Promise((resolve) => setTimeout(resolve, 30));
    } while (Date.now() < deadline);

    return is(got, wanted, what);
}


export function done() {
    console.log(`1..${tests}`);
    return failed;
}


// the stack

function ask(options, body) {
    return new Promise((resolve, reject) => {
        const request = http.request(options, (response) => {
            const parts = [];

            response.on('data', (part) => parts.push(part));
            response.on('end', () => resolve({status: response.statusCode,
                text: Buffer.concat(parts).toString()}));
        });

        request.on('error', reject);
        request.end(body && JSON.stringify(body));
    });
}


// OPERATOR is unix:/path/of.sock:/uri
export async function operator(method, path, body) {
    const [, socketPath] = /^unix:(.*):\/$/.exec(OPERATOR);
    const {status, text} = await ask({socketPath, method, path,
        headers: {'Content-Type': 'application/json', Host: 'localhost'}},
    body);

    if (status >= 300) {
        throw new Error(`${method} ${path}: ${status} ${text}`);
    }
    return JSON.parse(text);
}


// While f runs, who signs in at the platform is this person, who has no server
// there. One suite alone may do so: all browsers meet the same person.
export async function signedIn(id, name, f) {
    const owner = '200000000000000001';

    await platform(id, {[id]: {guilds: [],
        user: {id, username: name, global_name: name, avatar: null}}});
    try {
        await f();
    } finally {
        await platform(owner, {});
    }
}


function platform(person, people) {
    return control('login', {client: 'none', secret: '', redirects: [],
        people, person});
}


// What the platform does not do: {gone: [channels that are no more]}. What one
// suite sets, others have, too.
export function spoil(config) {
    return control('config', config);
}


function control(what, body) {
    return ask({...urlOptions(new URL(`/_control/${what}`, PLATFORM).href),
        method: 'POST'}, body);
}


// {id, token, get(path), change(method, path, body), record(entries)}
export async function newServer({name = 'Test', plan = 'pro'} = {}) {
    const id = String(guild += 10n);    // the ids between are its channels'

    await operator('PUT', `/servers/${id}`,
        {name, plan, owner_id: '200000000000000001'});

    const server = {
        id,

        async newToken(permissions = 1) {
            const {token} = await operator('POST', `/servers/${id}/tokens`,
                {permissions, creator: '200000000000000001'});
            return token;
        },

        async ask(method, path, body) {
            const {status, text} = await server.send(method, path, body);
            return {status, body: text && JSON.parse(text)};
        },

        send(method, path, body) {
            return ask({
                ...urlOptions(`${API}/servers/${id}${path}`), method,
                headers: {Authorization: `Bearer ${server.token}`,
                    'Content-Type': 'application/json'}}, body);
        },

        async text(path) {
            return (await server.send('GET', path)).text;
        },

        async get(path) {
            return (await server.ask('GET', path)).body;
        },

        async record(...entries) {
            const answer = await operator('POST', `/servers/${id}/logs`,
                entries.map((entry) => ({event_id: `e${++event}`,
                    ...entry})));

            if (answer.errors.length) {
                throw new Error(JSON.stringify(answer.errors));
            }
            return answer.ids;
        },
    };

    server.token = await server.newToken();
    return server;
}


function urlOptions(address) {
    const {hostname, port, pathname, search} = new URL(address);
    return {hostname, port, path: pathname + search};
}


// pages

export async function startBrowser() {
    browser = await chromium.launch({executablePath: '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
            '--no-first-run', '--disable-background-networking',
            '--disable-component-update', '--disable-sync']});
    return browser;
}


// A page of a new reader. Its problems are what nothing may do: errors, asks
// of other origins but "beside", breaches of its policy, the token in an
// address. "now" is the time there, which stands still.
export async function newPage({now, beside, ...options} = {}) {
    const context = await browser.newContext({viewport: WIDE,
        locale: 'en-GB', timezoneId: 'Africa/Lagos', acceptDownloads: true,
        reducedMotion: 'reduce',
        ...options});
    const page = await context.newPage();
    const {origin} = new URL(VIEWER);

    if (now) {
        await page.clock.setFixedTime(now);
    }
    page.setDefaultTimeout(PATIENCE);
    page.problems = [];
    page.expected = /^(?!)/;    // texts of errors that belong to the test
    page.on('console', (message) => {
        const text = message.text();

        if (['error', 'warning'].includes(message.type())
            && !page.expected.test(text))
        {
            page.problems.push(text);
        }
    });
    page.on('pageerror', (error) => page.problems.push(error.stack));
    page.on('dialog', (dialog) => {
        page.problems.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    page.on('request', (request) => {
        const url = request.url();

        // where the sign-in leads: the page looks, and only people go there
        const there = request.redirectedFrom()?.url() === `${origin}/login`;

        if (![origin, beside].includes(new URL(url).origin) && !there
            && !url.startsWith('blob:') || url.includes('eyJ'))
        {
            page.problems.push(`asked for ${url}`);
        }
    });
    page.on('framenavigated', (frame) => frame.url().includes('eyJ')
        && page.problems.push(`went to ${frame.url()}`));
    return page;
}


// as somebody who has one, where one could sign in with the platform, too
export async function giveToken(page, token) {
    await page.locator('#or[open], #or > summary:not([hidden])').first()
        .waitFor();
    if (!await page.locator('#or[open]').count()) {
        await page.locator('#or > summary').click();
    }
    await page.locator('#token').fill(token);
    await page.locator('#token').press('Enter');
}


// signed in, at this place, with its first answer there; prepare(page) comes
// before it is loaded
export async function enter(server, place = '#/logs', {prepare, ...options}
    = {})
{
    const page = await newPage(options);

    await prepare?.(page);
    await page.goto(VIEWER + place);
    await giveToken(page, server.token);
    await page.locator('.logs[aria-busy=false], .page > :nth-child(2):not('
        + '.note:only-of-type)').first().waitFor();
    return page;
}


// a part of the configuration, as soon as it is there
export async function openPart(page, part) {
    await page.evaluate((to) => {
        location.hash = `#/${to}`;
    }, part);
    await page.locator(`.side a[href="#/${part}"][aria-current]`).waitFor();
    await page.getByText('Loading …').waitFor({state: 'detached'});
}


export async function leave(page, what) {
    is(page.problems, [], `${what}: nothing went wrong unseen`);
    await page.context().close();
}


export async function shoot(page, name) {
    mkdirSync(SHOTS, {recursive: true});
    await page.evaluate(() => Promise.all(document.getAnimations()
        .filter(({effect}) => effect.getTiming().iterations !== Infinity)
        .map(({finished}) => finished)));
    await page.screenshot({path: `${SHOTS}/${name}.png`});
}


// how many entries the page says there are
export async function shownTotal(page) {
    const text = await page.locator('.bar strong').textContent();
    return Number(text.replace(/\D/g, ''));
}


// what sticks out of the window
export function outside(page) {
    return page.evaluate(() => [
        document.documentElement.scrollWidth > innerWidth && 'the page',
        ...[...document.querySelectorAll('button, input, select, h2, h3, dd')]
            .filter((node) => node.checkVisibility()
                && !node.closest('.chips, .side, .row'))
            .filter((node) => {
                const box = node.getBoundingClientRect();
                return box.left < -1 || box.right > innerWidth + 1;
            }).map((node) => node.outerHTML.slice(0, 80)),
    ].filter(Boolean));
}


// what axe finds, by these of its rules or by all
export async function violations(page, rules = null) {
    await page.evaluate(axeSource);
    return page.evaluate(async (runOnly) => {
        const {violations: found} = await axe.run({
            resultTypes: ['violations'], ...runOnly && {runOnly}});

        return found.map(({id, nodes}) => [id, nodes.slice(0, 3).map(
            ({html, any}) => [html.slice(0, 120), any[0]?.message])]);
    }, rules);
}


// scrolls the list, and waits for what is there
export async function scrollTo(page, top) {
    await page.locator('.list').evaluate(async (node, y) => {
        node.scrollTop = y;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
    }, top);
    await page.locator('.rows .row[aria-busy=true]').first()
        .waitFor({state: 'detached'});
}


export function lines(page) {
    return page.locator('.rows .row:not([aria-busy=true])');
}
