// A message is drawn as it stands in the channel: the same entry, looked at in
// both places.

import {enter, is, leave, newServer, ok, operator, shoot, soon}
    from './lib.js';

const ANN = {id: '201', name: 'Ann'};
const BOB = {id: '202', name: 'Bob'};
const FORMATS = ['embed', 'compact embed', 'plain', 'compact plain'];

let server;
let channel;


export default async function preview() {
    server = await newServer({name: 'Preview'});
    channel = String(BigInt(server.id) + 7n);

    const hall = {id: channel, name: 'hall'};
    const entries = [
        {type: 5, executor: BOB, target: ANN, channel: hall, content: 'hello'},
        {type: 7, executor: ANN, channel: hall, content: 'one',
            contentAfter: 'two'},
        {type: 39, executor: ANN, target: BOB, reason: 'raid'},
        {type: 51, executor: ANN, target: BOB, channel: hall,
            emoji: {name: 'wave'}},
        {type: 23, executor: ANN, channel: hall, name: 'abc', count: 3}];

    await operator('PUT', `/servers/${server.id}/channels`,
        [{...hall, type: 0}]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});
    await server.ask('PATCH', '/config/logging/settings',
        {buttons: ['userID']});

    const page = await enter(server, '#/types');

    for (const format of [0, 2]) {
        await server.ask('PATCH', '/config/logging/settings',
            {format_type: format});

        const ids = await server.record(...entries);

        for (const [i, {type}] of entries.entries()) {
            await compare(page, type, ids[i], format);
        }
    }
    await leave(page, 'previews');
}


async function compare(page, type, id, format) {
    const what = `type ${type}, ${FORMATS[format]}`;
    let sent;

    await soon(async () => {
        sent = await messageOf(id);
        return sent !== undefined;
    }, true, `${what}: it is in the channel`);

    await page.goto('about:blank');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/types?type=${type}`);
    await page.locator('.message').waitFor();

    const drawn = page.locator('.message');
    const text = (place) => drawn.locator(place).allInnerTexts();

    if (format === 0) {
        is(await text('.title'), [sent.title], `${what}: the title`);
        is(await text('dt'), sent.fields.map(({name}) => name),
            `${what}: the fields`);
        is(await drawn.locator('.embed').evaluate((node) =>
            getComputedStyle(node).borderInlineStartColor.match(/\d+/g)
                .reduce((sum, part) => sum * 256 + Number(part), 0)),
        sent.color, `${what}: the colour`);
        await shoot(page, `preview-${type}`);
    }
    is(plain((await text('.embed > p, .text > p')).filter((line) =>
        !line.includes(id) && line !== sent.title)),
    plain(sent.lines), `${what}: what it says`);
    ok((await text('.footer')).join().includes(id), `${what}: its id`);
}


// a message as the platform has it: {title, lines, fields, color}
async function messageOf(id) {
    const {origin} = new URL(process.env.GUILDLOG_PLATFORM);
    const {messages} = await (await fetch(
        `${origin}/_control/state?channel=${channel}`)).json();

    for (const {embeds = [], content = ''} of messages) {
        const embed = embeds.find(({footer}) => footer.text === id);
        const part = content.split(/\n?-# (\d+)[^\n]*\n?/);
        const at = part.indexOf(id);

        if (embed) {
            return {...embed, lines: embed.description.split('\n')};
        }
        if (at >= 0) {
            const [title, ...lines] = part[at - 1].split('\n');
            return {title: plain([title])[0], lines};
        }
    }
    return undefined;
}


// without what the platform makes of it
function plain(lines) {
    return lines.map((line) => line.replace(/\*\*|`|^> |[()]/g, '')
        .replaceAll(`<#${channel}>`, '#hall').replaceAll('<@201>', '@Ann')
        .replaceAll('<@202>', '@Bob').replaceAll('\\', '').trim());
}
