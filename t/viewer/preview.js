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
        {type: 5, executor: BOB, target: ANN, channel: hall,
            messages: [{id: '700', content: 'hello **you**\n||a|| [b](c)'}]},
        {type: 7, executor: ANN, channel: hall, content: 'one',
            contentAfter: 'two'},
        {type: 39, executor: ANN, target: BOB, reason: 'raid'},
        {type: 51, executor: ANN, target: BOB, channel: hall,
            emoji: {name: 'wave'}},
        {type: 23, executor: ANN, channel: hall, name: 'abc', count: 3},
        {type: 27, executor: ANN, channel: hall,
            changes: [{key: 'type', new: 0}]}];

    await operator('PUT', `/servers/${server.id}/channels`,
        [{...hall, type: 0}]);
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: channel});
    await server.ask('PATCH', '/config/logging/settings',
        {buttons: ['userID']});

    const page = await enter(server, '#/types');

    for (const format of FORMATS.keys()) {
        await server.ask('PATCH', '/config/logging/settings',
            {format_type: format});

        const ids = await server.record(...entries);

        for (const [i, {type}] of entries.entries()) {
            await compare(page, type, ids[i], format);
        }
    }
    await unsaved(page);
    await leave(page, 'previews');
}


// what is chosen is shown before it is saved
async function unsaved(page) {
    const stored = async () => (await server.get('/config/logging/settings'))
        [0].format_type;

    await page.goto('about:blank');
    await page.goto(`${process.env.GUILDLOG_VIEWER}#/settings`);
    await page.locator('.message .text').first().waitFor();
    ok(await page.locator('.message .embed').count() === 0, 'text is stored');
    await page.getByLabel('Format').selectOption('0');
    await page.locator('.message .embed').first().waitFor();
    is(await stored(), 3, 'an embed is shown, and nothing is stored');
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

    if (sent.footer) {
        is(await text('.title'), sent.title ? [sent.title] : [],
            `${what}: the title`);
        is(await text('.person'), sent.author ? [sent.author.name] : [],
            `${what}: the person`);
        is(await text('dt'), (sent.fields ?? []).map(({name}) => name),
            `${what}: the fields`);
        is(await text('dd'), plain((sent.fields ?? []).map(({value}) =>
            value)), `${what}: what they hold`);
        is(await drawn.locator('.embed').evaluate((node) =>
            getComputedStyle(node).borderInlineStartColor.match(/\d+/g)
                .reduce((sum, part) => sum * 256 + Number(part), 0)),
        sent.color, `${what}: the colour`);
        await shoot(page, `preview-${type}`);
    }
    is((await text(':is(.embed, .text) > p:not(.title, .person, .footer)'))
        .flatMap((block) => block.split('\n')).map((line) => line.trim()),
    plain(sent.lines), `${what}: what it says`);
}


// a message as the platform has it: {title, lines, fields, color}
async function messageOf(id) {
    const {origin} = new URL(process.env.GUILDLOG_PLATFORM);
    const {messages} = await (await fetch(
        `${origin}/_control/state?channel=${channel}`)).json();

    for (const {embeds = [], content = ''} of messages) {
        const embed = embeds.find(({footer}) => footer.text === id);
        const part = content.split(/\n-# (\d+)[^\n]*(?:\n\n)?/);
        const at = part.indexOf(id);

        if (embed) {
            return {...embed, lines: embed.description.split('\n')};
        }
        if (at >= 0) {
            return {lines: part[at - 1].split('\n')};
        }
    }
    return undefined;
}


// without what the platform makes of it
function plain(lines) {
    return lines.map((line) => line.replace(/(?<!\\)\*\*|`|^> /g, '')
        .replace(/\[([^\]]+)\]\(<[^>]*>\)/g, '$1')
        .replaceAll(`<#${channel}>`, '#hall').replaceAll('<@201>', '@Ann')
        .replaceAll('<@202>', '@Bob').replaceAll('\\', '').trim());
}
