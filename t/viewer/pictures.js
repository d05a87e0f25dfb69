// Pictures of people and servers, where the operator lets them in. They come
// from the platform, whose part is played here.

import {enter, giveToken, is, leave, lines, newPage, newServer, operator,
    shoot, soon, violations} from './lib.js';

const {GUILDLOG_VIEWER: VIEWER} = process.env;
const PLATFORM = 'https://cdn.discordapp.com';
const ANN = {id: '201', name: 'Ann', avatar: 'a1'};
const BOB = {id: '202', name: 'Bob'};
const CAT = {id: '203', name: 'Cat', avatar: 'c0ffee'};
const ALL = '#/logs?category=categoryText&category=categoryModlog'
    + '&category=categoryMembers';
const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA'
    + 'DUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');


export default async function pictures() {
    const server = await newServer({name: 'Pictures'});

    await operator('PUT', `/servers/${server.id}/members`, [ANN, BOB, CAT]);
    await server.record(
        {type: 7, executor: {id: '204', name: 'Gone'}, content: 'a'},
        {type: 7, executor: CAT, content: 'b'},
        {type: 39, executor: ANN, target: BOB},
        {type: 2, target: BOB});
    await shown(server);
    await none(server);
}


// as with "guildlog_viewer_images on"; Cat's picture is not to be had
async function letIn(page) {
    await page.route(VIEWER, async (route) => {
        const response = await route.fetch();
        const headers = response.headers();

        await route.fulfill({response, headers: {...headers,
            'server-timing': `images;desc="${PLATFORM}"`,
            'content-security-policy': headers['content-security-policy']
                .replace("img-src 'self'", `img-src 'self' ${PLATFORM}`)}});
    });
    await page.route(`${PLATFORM}/**`, (route) =>
        route.request().url().includes(CAT.avatar)
            ? route.fulfill({status: 404})
            : route.fulfill({contentType: 'image/png', body: PICTURE}));
}


// letters, or the picture instead of them
function faces(place) {
    return place.locator('.avatar').evaluateAll((all) => all.map((node) =>
        [node.textContent, node.querySelector('img')?.getAttribute('src')
            .replace('https://cdn.discordapp.com', '') ?? '']));
}


async function shown(server) {
    const asked = [];
    const page = await enter(server, ALL, {beside: PLATFORM,
        prepare(one) {
            one.expected = /404/;
            one.on('request', (request) => asked.push(request.url()));
            return letIn(one);
        }});

    await lines(page).nth(3).waitFor();
    await soon(() => faces(page.locator('.rows')), [
        ['B', ''],
        ['', '/avatars/201/a1.png?size=64'],
        ['C', ''],
        ['G', '']], 'who has a picture is seen, others have initials');
    is(asked.filter((url) => url.includes('/search/members')).length, 1,
        'all are asked for together');
    is(asked.filter((url) => url.startsWith(PLATFORM)).length, 2,
        'the platform is asked once for each picture that there is');
    await shoot(page, 'pictures');
    await page.goto(`${VIEWER}#/member?member=${ANN.id}`);
    await soon(() => faces(page.locator('.whose')),
        [['', '/avatars/201/a1.png?size=128']], 'a person has a larger one');
    await page.locator('.plot[aria-valuenow]').waitFor();
    is(await violations(page), [], 'axe finds nothing');
    await leave(page, 'pictures');
}


async function none(server) {
    const page = await newPage();
    const away = [];

    page.on('request', (request) => request.url().includes('cdn')
        && away.push(request.url()));
    await page.goto(VIEWER + ALL);
    await giveToken(page, server.token);
    await lines(page).nth(3).waitFor();
    is(await faces(page.locator('.rows')),
        [['B', ''], ['A', ''], ['C', ''], ['G', '']],
        'without the directive all have initials');
    is(away, [], '... and the platform is not asked');
    await leave(page, 'no pictures');
}
