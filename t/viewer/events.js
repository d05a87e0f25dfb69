// Events of the platform as a person would tell them. events.json has them as
// packets, and the entries that are made of them (t/events proves that). What
// stands in the channel, in the viewer and in exports is in events.txt, to be
// read by eye.
// With GUILDLOG_EVENTS=write in the environment that file is written.

import {readFileSync, writeFileSync} from 'node:fs';
import {enter, is, leave, lines, newServer, operator, shoot, soon}
    from './lib.js';

const HERE = new URL('.', import.meta.url);
const {known, events} = JSON.parse(readFileSync(
    new URL('events.json', HERE)));
const LANGUAGES = {'en-US': 'en', de: 'de', ja: 'ja'};
const CHANGING = ['id', 'timestamp', 'delivery'];

let told;          // [lines] by event


export default async function main() {
    told = events.map(({what}, i) => [`==== ${i + 1} ${what}`]);

    for (const [locale, language] of Object.entries(LANGUAGES)) {
        await inChannel(locale, language);
    }

    const text = told.map((one) => `${one.join('\n')}\n`).join('\n');
    const table = new URL('events.txt', HERE);

    if (process.env.GUILDLOG_EVENTS === 'write') {
        writeFileSync(table, text);
    }
    const wanted = readFileSync(table, 'utf8').split(/\n(?===== )/);
    text.split(/\n(?===== )/).forEach((one, i) =>
        is(one.trim(), wanted[i]?.trim(), one.split('\n')[0].slice(5)));
}


// a server that reads it in its own language
async function inChannel(locale, language) {
    const server = await newServer({name: 'Events'});
    const channel = String(BigInt(server.id) + 1n);
    const now = Date.now() - 600_000;
    const entries = events.map(({entry}, i) => ({...entry,
        event_id: `event-${i}`, timestamp: now + i * 1000}));

    await operator('PUT', `/servers/${server.id}/channels`,
        [{id: channel, name: 'log'}]);
    await operator('PUT', `/servers/${server.id}/members`,
        Object.entries(known.users).map(([id, user]) => ({id, ...user})));
    await server.ask('PATCH', '/config/settings', {locale});
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});

    const ids = await server.record(...entries);

    let shown;

    await soon(async () => {
        shown = await messages(channel);
        return ids.every((id) => shown[id]);
    }, true, `${language}: all of them are in the channel`);

    ids.forEach((id, i) => told[i].push('', `---- channel, ${language}`,
        drawn(shown[id])));

    if (language === 'en') {
        await inViewer(server, ids);
        await inLines(server, ids);
    }
    await inCells(server, ids, language);
}


// the embeds of the channel, by the entry that the footer names
async function messages(channel) {
    const {origin} = new URL(process.env.GUILDLOG_PLATFORM);
    const answer = await fetch(`${origin}/_control/state?channel=${channel}`);
    const {messages: all} = await answer.json();

    return Object.fromEntries(all.flatMap(({embeds}) => embeds.map((embed) =>
        [/\d{15,}/.exec(embed.footer.text)[0], embed])));
}


// as the platform draws it, but for letters that are bold and pictures
function drawn({author, title, description, fields = [], image, thumbnail}) {
    const {users, channels, roles} = known;
    const text = [author && `(${author.name})`, title && `**${title}**`,
        description,
        ...fields.map(({name, value}) => `**${name}:** ${value}`),
        image && `(picture ${image.url})`,
        thumbnail && `(small picture ${thumbnail.url})`].filter(Boolean)
        .join('\n');

    return text.replace(/<(@&|@|#)(\d+)>/g, (all, sign, id) => {
        const found = {'@&': roles, '@': users, '#': channels}[sign][id];
        return found ? sign[0] + found.name : all;
    }).replace(/(?<=channels\/)\d+/g, 'SERVER');
}


async function inViewer(server, ids) {
    const page = await enter(server);

    await soon(() => lines(page).count().then((n) => n > 10), true,
        'the viewer has them');
    for (const [i, id] of ids.entries()) {
        await page.evaluate((to) => {
            location.hash = `#/logs?entry=${to}`;
        }, id);
        await page.locator('.entry .tools-of pre', {hasText: `"${id}"`})
            .waitFor({state: 'attached'});
        told[i].push('', '---- viewer', await panelText(page));
        if (process.env.GUILDLOG_EVENTS) {
            await shoot(page, `event-${i + 1}`);
        }
    }
    await page.evaluate(() => {
        location.hash = '#/logs';
    });
    await page.locator('.entry').waitFor({state: 'hidden'});
    await shoot(page, 'events');
    await leave(page, 'events');
}


// what the panel says, but for times and delivery, which differ each time
function panelText(page) {
    return page.locator('.entry article').evaluate((node) => {
        const copy = node.cloneNode(true);

        copy.querySelectorAll('.when, .outcome, .away, button, .avatar')
            .forEach((one) => one.remove());
        copy.querySelectorAll('dd .id').forEach((one) =>
            one.closest('div').remove());
        node.after(copy);

        const text = copy.innerText.replace(/\n+/g, '\n').trim();

        copy.remove();
        return text;
    });
}


async function inLines(server, ids) {
    const text = await server.text('/logs/export?format=ndjson');
    const all = text.trim().split('\n').map((line) => JSON.parse(line));

    ids.forEach((one, i) => {
        const entry = all.find(({id}) => id === one);

        for (const [name, value] of Object.entries(entry)) {
            if (CHANGING.includes(name) || value === null
                || value.length === 0)
            {
                delete entry[name];
            }
        }
        told[i].push('', '---- NDJSON', JSON.stringify(entry));
    });
}


// the summary and what changed, as the columns of the CSV have them
async function inCells(server, ids, language) {
    const text = await server.text(`/logs/export?locale=${language}`);
    const [head, ...rows] = rowsOf(text);

    ids.forEach((id, i) => {
        const row = rows.find((one) => one[head.indexOf('log_id')] === id);

        told[i].push('', `---- CSV, ${language}`, ['summary', 'changes']
            .map((name) => row[head.indexOf(name)]).filter(Boolean)
            .join(' | '));
    });
}


// CSV, by RFC 4180
function rowsOf(text) {
    const rows = [[]];

    for (const [, cell, end] of text.matchAll(
        /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g))
    {
        rows.at(-1).push(cell.replace(/^"(.*)"$/s, '$1')
            .replaceAll('""', '"'));
        if (end !== ',') {
            rows.push([]);
        }
    }
    rows.pop();
    return rows;
}
