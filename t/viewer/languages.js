// The page in other languages than English: which one it speaks, that all it
// says is of that one, that nothing is cut, and plurals, dates and the clock.

import {readFileSync, readdirSync} from 'node:fs';
import {enter, giveToken, is, leave, lines, newPage, newServer, ok, operator,
    outside, shoot, soon, violations} from './lib.js';

const VIEWER = process.env.GUILDLOG_VIEWER;
const FOLDER = new URL('../../conf/viewer/languages/', import.meta.url);
const ALL = readdirSync(FOLDER).map((name) => name.replace('.tsv', ''));

const PARTS = ['channels', 'settings', 'types', 'ignore', 'filters', 'alerts',
    'tags', 'access', 'tokens', 'notifications', 'troubleshoot'];

// the languages to look at, and what axe looks for on a phone
const LOOKED_AT = ['de', 'ar', 'ja'];
const SCREENS = {
    desk: {viewport: {width: 1440, height: 900}},
    phone: {viewport: {width: 360, height: 740}, colorScheme: 'dark'},
};
const RULES = {phone: ['scrollable-region-focusable',
    'aria-required-children']};

// what stays as it is: names, the words of formats, what the API says itself
const KEPT = new RegExp(['guildlog', 'APP', 'CSV', '(?:ND)?JSON', 'Pro', 'Lite',
    'ID', 'UTC', 'GMT', '#[0-9a-f]{6}', '[0-9a-f-]{36}', '\\S+@\\S+',
    'https?:\\S+', '\\[\\w+\\]', 'discord\\.gg\\S*', 'AKIA\\w+', 'Ann',
    'Bob', 'kB', '-?\\b(?:from|to|in|type|after|before):[-\\w]*']
    .join('|'), 'gi');
// without those of the service, which the API words
const LOG = '#/logs?category=categoryText&category=categoryMembers'
    + '&category=categoryModlog&category=categoryRoles';

const SHOWN_AS_IT_IS = 'pre, [data-own], .countdown, .message';

let server;


export default async function languages() {
    server = await newServer({name: '①②③'});
    await fill();

    await forms();
    await chosen();
    await served();
    await everyWord();
    await times();
    for (const language of LOOKED_AT) {
        for (const [screen, options] of Object.entries(SCREENS)) {
            await looked(language, screen, options);
        }
    }
}


// nothing that people wrote has a letter of English
async function fill() {
    const now = Date.now();
    const ann = {id: '201', name: 'Άννα'};
    const bob = {id: '202', name: 'بوب'};
    const hall = {id: '301', name: 'αυλή'};
    const kinds = [
        {type: 7, executor: ann, channel: hall, content: '今日は',
            contentAfter: '今日はみなさん'},
        {type: 39, executor: ann, target: bob, reason: 'λόγος'},
        {type: 5, target: bob, channel: hall, content: 'مرحبا بالعالم'},
        {type: 25, executor: bob, target: ann, changes: [
            {key: 'nick', old: 'بوب', new: 'Άννα ②'}]},
        {type: 40, executor: ann, target: bob, until: now + 3_600_000},
        {type: 33, executor: ann, role: '③', role_id: '401', changes: [
            {key: 'permissions', old: '8', new: '2048'},
            {key: 'color', old: 0, new: 3447003},
            {key: 'hoist', old: false, new: true}]},
        {type: 3, executor: ann, channel: hall, messages: [
            {id: '1', content: '一', authorId: '201', timestamp: now,
                attachments: [{name: '①', size: 120_000}]},
            {id: '2', content: '二', authorId: '202', attachments: []}]},
    ];

    await operator('PUT', `/servers/${server.id}/channels`, [hall]);
    await operator('PUT', `/servers/${server.id}/members`, [ann, bob]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: '301'});
    await server.record(...Array.from({length: 120}, (_, i) => (
        {...kinds[i % kinds.length], timestamp: now - i * 1_300_000 - 1000})));
    await server.ask('POST', '/config/logging/ignore/0', {value: '301'});
    await server.ask('POST', '/tags', {tag_name: '①', content: '②'});
    await server.ask('POST', '/alerts', {name: '①', types: [39, 41], count: 5,
        seconds: 90, by: 'executor', channel: '301'});
    await server.ask('PUT', '/config/access/201', {level: 'view'});
}


// what depends on a number has a form for each
async function forms() {
    for (const language of ALL) {
        const texts = textsOf(language);
        const rules = new Intl.PluralRules(language.replace('_', '-'));
        const bases = new Set(Object.keys(texts).map((key) =>
            /^(.*)\.other$|^(.*)\.many$/.exec(key)).filter(Boolean)
            .map(([, base, other]) => base ?? other));
        const wanted = new Set(Array.from({length: 1001}, (_, n) =>
            rules.select(n)));
        const missing = [...bases].flatMap((base) => [...wanted].filter(
            (form) => !(`${base}.${form}` in texts)).map((form) =>
            `${base}.${form}`));

        ok(bases.size > 5, `${language} has plurals`);
        is(missing, [], `${language} has a form for each number`);
    }
}


// as the page has them: what it is like, and what differs
function textsOf(language) {
    const own = linesOf(`languages/${language}.tsv`);
    const [, like] = own.find(([key]) => key === 'like') ?? [];
    const texts = like ? textsOf(like) : {};

    if (language === 'en-US') {
        for (const [, key, , , , , title, , , , sentence]
            of linesOf('log-types.tsv').slice(1))
        {
            Object.assign(texts, {[key]: title, [`${key}.sentence`]: sentence});
        }
        for (const [key, , label] of linesOf('change-keys.tsv').slice(1)) {
            texts[`change.${key}`] = label;
        }
    }
    for (const [key, text, sentence] of own) {
        texts[key.replace(/^viewer\./, '')] = text;
        if (sentence) {
            texts[`${key}.sentence`] = sentence;
        }
    }
    return texts;
}


function linesOf(file) {
    return readFileSync(new URL(`../${file}`, FOLDER), 'utf8').split('\n')
        .filter((line) => line && !line.startsWith('#'))
        .map((line) => line.split('\t'));
}


// the browser's languages, and the reader's own choice
async function chosen() {
    for (const [browser, language] of [['de-AT', 'de'], ['zh-TW', 'zh_Hant'],
        ['zh-CN', 'en-US'], ['sv-SE', 'en-US'], ['ar-EG', 'ar'],
        ['en-AU', 'en-US'], ['en-GB', 'en-GB']])
    {
        const page = await newPage({locale: browser});
        const asked = [];

        page.on('request', (request) => {
            const [, name] = /languages\/(.*)\.tsv$/.exec(request.url()) ?? [];

            asked.push(...name ? [name] : []);
        });
        await page.goto(VIEWER);
        await page.locator('#sign-in').waitFor();
        is(asked, language === 'en-GB' ? ['en-GB', 'en-US'] : [language],
            `${browser}: one language is loaded, and what it is like`);
        is(await page.evaluate(() => document.documentElement.dir),
            language === 'ar' ? 'rtl' : 'ltr', '... in its direction');
        await leave(page, browser);
    }

    const page = await enter(server, '#/settings', {locale: 'de-DE'});
    const choose = async (language) => {
        await page.locator('#me .quiet').first().click();
        await page.locator('#me select').nth(1).selectOption(language);
    };

    await soon(() => heading(page), 'Einstellungen', 'in German, as the '
        + 'browser is');
    await choose('hu');
    await soon(() => heading(page), 'Általános',
        'the reader’s own choice wins');
    await page.reload();
    await soon(() => heading(page), 'Általános', '... and is remembered');
    is(await page.evaluate(() => document.documentElement.lang), 'hu',
        '... and told to who reads it out');

    await page.locator('[name=spoilers]').check();
    await choose('fr');
    await page.locator('dialog button').first().click();
    is(await page.locator('[name=spoilers]').isChecked(), true,
        'nothing is lost that is not saved');
    await page.locator('.unsaved button').first().click();
    await choose('');
    await soon(() => heading(page), 'Einstellungen', 'no choice any more');
    await leave(page, 'a choice');
}


function heading(page) {
    return page.locator('.page h2').textContent({timeout: 1000})
        .catch(() => '');
}


// a server that chose a language, also the one that others have by default
async function served() {
    const other = await newServer({name: 'Served'});
    const page = await enter(other, '#/settings', {locale: 'de-DE'});

    await soon(() => heading(page), 'Einstellungen',
        'a server that never chose one is read in the browser’s');
    for (const [locale, title] of [['fr', 'Paramètres'],
        ['en-US', 'Settings']])
    {
        await other.ask('PATCH', '/config/settings', {locale});
        await page.reload();
        await soon(() => heading(page), title,
            `a server in ${locale} is read in it`);
    }
    await page.locator('[name=locale]').selectOption('it');
    await page.locator('form').nth(1).locator('button').click();
    await page.locator('form').nth(1).getByText('Saved.').waitFor();
    await page.locator('.side a').nth(2).click();
    await soon(() => heading(page), 'Tipi di log',
        'a new language is that of the next view');
    await leave(page, 'the language of a server');
}


// Every text is drawn in letters that English has not: a word in English
// letters was not taken from the texts.
async function everyWord() {
    const texts = textsOf('en-US');
    const drawn = Object.entries(texts).map(([key, text]) => [key,
        text.replace(/\{\w+\}|[A-Za-z]/g, (part) => part.length > 1 ? part
            : String.fromCodePoint(0x1D5BA + (part.toLowerCase()
                .charCodeAt(0) - 97)))]);
    const page = await newPage({locale: 'el-GR', timezoneId: 'UTC'});
    const unread = (what) => findUndrawn(page).then((found) =>
        is(found, [], `${what}: every word is of the texts`));

    await page.route('**/languages/el.tsv', (route) => route.fulfill({
        contentType: 'text/plain',
        body: drawn.map((line) => line.join('\t')).join('\n')}));

    await page.goto(`${VIEWER}#/logs?server=123456789012345678`);
    await giveToken(page, 'no token');
    await page.locator('#ended').waitFor();
    await unread('signing in');

    await page.goto(`${VIEWER}#/logs`);
    await page.reload();
    await giveToken(page, server.token);
    await walk(page, unread);

    await page.evaluate(() => {
        location.hash = '#/logs?search=λλλ';
    });
    await page.locator('.empty button').waitFor();
    await page.locator('.more > button').nth(0).click();
    await unread('no entry');

    page.expected = /status of 404/;
    await page.evaluate((log) => {
        location.hash = `${log}&entry=5`;
    }, LOG);
    await page.locator('.entry h2').waitFor();
    await unread('no such entry');

    const other = await newServer({name: '④'});
    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${VIEWER}#/troubleshoot`);
    await page.reload();
    await giveToken(page, other.token);
    await page.locator('.items .badge').first().waitFor();
    await unread('what is broken');
    await leave(page, 'every word');
}


function findUndrawn(page) {
    return page.evaluate(([kept, own]) => {
        const rest = (text) => text.replace(new RegExp(kept, 'gi'), '');
        const english = (text) => /[A-Za-z]{2}/.test(rest(text ?? ''));
        const walker = document.createTreeWalker(document.body,
            NodeFilter.SHOW_TEXT);
        const found = english(document.title) ? [document.title] : [];

        while (walker.nextNode()) {
            const {data, parentElement: parent} = walker.currentNode;

            if (english(data) && !parent.closest(
                `script, noscript, #me option, [name=locale], ${own}`)
                && !parent.closest('[lang]:not(html)'))
            {
                found.push(`${parent.outerHTML.slice(0, 90)}: ${data}`);
            }
        }
        for (const node of document.querySelectorAll('[aria-label], [title],'
            + '[placeholder]'))
        {
            for (const name of ['aria-label', 'title', 'placeholder']) {
                const text = node.getAttribute(name);

                if (english(text)
                    && !node.closest('li')?.querySelector('[lang]'))
                {
                    found.push(`${name}: ${text}`);
                }
            }
        }
        return found;
    }, [KEPT.source, SHOWN_AS_IT_IS]);
}


// every view, with what opens in it; seen(what) is called at each
async function walk(page, seen) {
    const go = (to) => page.evaluate((hash) => {
        location.hash = hash;
    }, to);

    await page.locator('.logs[aria-busy=false]').waitFor();
    await go(LOG);
    await soon(async () => await page.locator('.plot rect').count() > 0, true,
        'the chart is drawn');
    await soon(() => page.locator('.row[data-category=categoryService]')
        .count(), 0, 'the list is that of people’s entries');
    await seen('logs');
    await go('#/logs?search=Άννα&after=1&member=201&channel=301&role=x'
        + '&type=7&category=categoryText');
    await page.locator('.applied li').nth(4).waitFor();
    await page.locator('.logs[aria-busy=false]').waitFor();
    await seen('filters');
    await go(LOG);
    await page.locator('.applied li').first().waitFor({state: 'detached'});
    await page.locator('.logs[aria-busy=false]').waitFor();
    for (let line = 0; line < 7; line++) {
        await lines(page).nth(line).click();
        await page.locator('.entry h2').waitFor();
        await seen(`entry-${line}`);
        await page.locator('.entry .tools button').last().click();
    }

    for (const part of PARTS) {
        await go(`#/${part}`);
        await page.locator(`.side a[href="#/${part}"][aria-current]`)
            .waitFor();
        await page.locator('.page > :nth-child(2):not(.note), '
            + '.page > :nth-child(3)').first().waitFor();
        await page.waitForLoadState('networkidle');
        await seen(part);
        if (part === 'types') {
            await page.locator('.types-grid .link').nth(4).click();
            await page.locator('.message').waitFor();
            await page.locator('.editor [type=text]').fill('③④⑤');
            await page.locator('.editor [type=text]').press('Tab');
            await page.locator('.editor .error').waitFor();
            await seen('type');
        }
    }
    await go('#/start');
    await page.locator('.steps').waitFor();
    await seen('start');
    await go('#/member?member=201');
    await page.locator('.member .card').nth(3).waitFor();
    await seen('member');
    await go('#/logs');
    await page.locator('.logs[aria-busy=false]').waitFor();
}


// no time is cut, in any language, with either clock
async function times() {
    const page = await enter(server, '#/logs', {locale: 'de-DE',
        viewport: SCREENS.desk.viewport});

    for (const language of ALL) {
        for (const clock of ['h12', 'h23']) {
            await page.evaluate((look) => localStorage.setItem('guildlog.look',
                JSON.stringify(look)), {language, clock});
            await page.reload();
            await lines(page).first().waitFor();
            is(await page.locator('.rows .time').evaluateAll((cells) => cells
                .filter((cell) => cell.scrollWidth > cell.clientWidth)
                .map((cell) => cell.textContent)), [],
            `${language}, ${clock}: a time is whole`);
        }
    }
    await leave(page, 'times');
}


async function looked(language, screen, options) {
    const page = await enter(server, '#/logs', {locale: language, ...options});

    await walk(page, async (view) => {
        const name = `${language}-${screen}-${view}`;

        if (/entry-[1-9]/.test(view)) {
            return;
        }
        await shoot(page, name);
        is(await outside(page), [], `${name}: nothing sticks out`);
        is(await cut(page), [], `${name}: no text is cut`);
        is(await turned(page), [], `${name}: names turn nothing around`);
        is(await violations(page, RULES[screen] ?? null), [],
            `${name}: axe finds nothing`);
    });
    await leave(page, `${language} on a ${screen}`);
}


// sentences that do not run as their language does, and marks where something
// was kept from turning the text
function turned(page) {
    return page.evaluate(() => [
        ...[...document.querySelectorAll('.row .what span, .sentence')]
            .filter((node) => getComputedStyle(node).direction
                !== document.documentElement.dir)
            .map((node) => node.textContent),
        ...document.body.innerText.match(/.*(?:\uFFFD|U\+20).*/g) ?? []]);
}


// what has less room than its text, but for what people wrote
function cut(page) {
    return page.evaluate(() => [...document.querySelectorAll('button, label,'
        + 'h1, h2, h3, th, dt, .badge, .chip, .note, .heading span, .side a,'
        + '#nav, nav a, #me, legend, summary, option, p')]
        .filter((node) => node.checkVisibility() && !node.closest('.row .what')
            && !node.matches('.unseen, .skip')
            && getComputedStyle(node).display !== 'inline'
            && getComputedStyle(node).textIndent === '0px'
            && node.scrollWidth > node.clientWidth + 1)
        .map((node) => `${node.outerHTML.slice(0, 90)} ${node.scrollWidth} > ${
            node.clientWidth}`));
}
