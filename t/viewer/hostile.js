// What others wrote is text: no script of theirs runs, nothing of theirs is
// asked for, and it does not get out of its place.

import {enter, is, leave, lines, newServer, ok, openPart, operator, scrollTo,
    shoot, shownTotal, soon} from './lib.js';

const RLO = '\u202E';

const PAYLOADS = [
    '<script>window.struck = 1</script>',
    '<img src=x onerror="window.struck=1">',
    '<svg onload=window.struck=1>',
    '"><img src=//evil.example/x onerror=window.struck=1>',
    '<iframe srcdoc="<script>parent.struck=1</script>">',
    'javascript:window.struck=1',
    '<a href="javascript:window.struck=1">click</a>',
    '<style>*{display:none}</style>',
    '<base href="https://evil.example/">',
    '<meta http-equiv=refresh content="0;url=https://evil.example/">',
    '{{constructor.constructor("window.struck=1")()}}',
    '${window.struck=1}',
    '</title></textarea></script><script>window.struck=1</script>',
    `report${RLO}gpj.exe`,
    `\u2066\u2067${RLO}abc\u202C\u2069`,
    '\u0645\u0631\u062D\u0628\u0627 <b>\u0628</b> 123',
    'Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334'.repeat(40),
    'x'.repeat(4000),
    '\u{1F469}\u200D\u{1F469}\u200D\u{1F467}'.repeat(200),
    'a\nb\r\nc\td\u0001\u001B[31m\u2028e',
    '__proto__', 'constructor', '%00%0d%0a', '\'; drop table x; --',
];


export default async function hostile() {
    const server = await newServer({name: '<img src=x onerror=struck=1>'});

    await fill(server);

    const page = await enter(server, '#/logs?category=categoryText'
        + '&category=categoryModlog&category=categoryMembers');

    await page.evaluate(() => {
        window.breaches = [];
        document.addEventListener('securitypolicyviolation', (event) =>
            window.breaches.push(event.violatedDirective));
    });
    await soon(() => shownTotal(page), 500, '500 of them');
    await shoot(page, 'hostile');

    for (let top = 0; top < 500 * 40; top += 700) {
        await scrollTo(page, top);
    }
    const spread = await page.evaluate(() => [...document.querySelectorAll(
        '.rows .row')].filter((row) => row.scrollHeight > row.clientHeight + 1
        && getComputedStyle(row).overflow === 'visible').length);
    is(spread, 0, 'each stays on its line');

    await scrollTo(page, 0);
    await lines(page).first().click();
    for (let i = 0; i < 2 * PAYLOADS.length; i++) {
        const wide = await page.locator('.entry').evaluate((node) =>
            node.scrollWidth - node.clientWidth);
        if (wide > 1) {
            is(wide, 0, `entry ${i} keeps to its width`);
        }
        if (i === 17) {
            await shoot(page, 'hostile-entry');
        }
        await page.getByRole('button', {name: 'Older entry'}).click();
    }
    ok(await page.locator('.entry h2').isVisible(),
        'every kind of them opens');

    for (const part of ['tags', 'ignore', 'access', 'notifications',
        'troubleshoot'])
    {
        await openPart(page, part);
        await shoot(page, `hostile-${part}`);
    }

    is(await page.evaluate(() => [window.struck, window.breaches,
        document.querySelectorAll('main script, main iframe, main img, '
            + 'main style, main base, main meta, main object, main a[href^='
            + 'javascript]').length, document.title]),
    [undefined, [], 0, '<img src=x onerror=struck=1> · guildlog'],
    'no script of theirs ran, and no element of theirs was made');
    await leave(page, 'hostile entries');
    await direction(server);
}


async function fill(server) {
    const now = Date.now();
    const name = (i) => cut(PAYLOADS[i % PAYLOADS.length], 100);
    const kinds = [
        (i, text) => ({type: 7, content: text, contentAfter: text
            .toUpperCase()}),
        (i, text) => ({type: 39, reason: cut(text, 512)}),
        (i) => ({type: 44, role: name(i), name: name(i + 1)}),
        (i, text) => ({type: 3, messages: [{id: '1', content: text,
            authorId: '201', attachments: [{name: name(i), size: 1}]},
        {id: '2', content: text, attachments: []}]}),
        (i) => ({type: 51, action: name(i), value: name(i + 2),
            emoji: {id: '5', name: name(i), animated: true}}),
    ];

    await server.record(...Array.from({length: 500}, (_, i) => ({
        executor: {id: '201', name: name(i)},
        target: {id: '202', name: name(i + 3)},
        channel: {id: '301', name: name(i + 5)},
        timestamp: now - i * 1000 - 1000,
        ...kinds[i % kinds.length](i, PAYLOADS[i % PAYLOADS.length]
            .slice(0, 4000)),
    })));
    await operator('PUT', `/servers/${server.id}/members`,
        [{id: '201', name: name(1)}]);
    await operator('PUT', `/servers/${server.id}/channels`,
        [{id: '301', name: name(0), type: 0}]);
    await server.ask('POST', '/tags', {tag_name: '<b>x</b>',
        content: PAYLOADS[1]});
    await server.ask('POST', '/config/logging/ignore/4',
        {value: PAYLOADS[2]});
    await server.ask('PUT', '/config/access/201', {level: 'view'});
    await server.ask('PATCH', '/config/logging/channels',
        {main_channel: '301'});
}


function cut(text, most) {
    return [...text].slice(0, most).join('');
}


// A name that turns the direction of text does so to nothing but itself, and
// is shown for what it is.
async function direction(server) {
    await server.record({type: 3, executor: {id: '203', name: `${RLO}live`},
        messages: [{id: '1', content: 'x', attachments: [
            {name: `report${RLO}gpj.exe`, size: 5}]}]});

    const page = await enter(server, '#/logs?member=203');

    await lines(page).first().click();
    ok((await page.locator('.files').innerText())
        .includes('reportU+202Egpj.exe'), 'what turns the text is shown');

    const [row, rest] = await Promise.all(['.what', '.details'].map((name) =>
        lines(page).first().locator(name).boundingBox()));
    ok(row.x < rest.x, 'and turns nothing around it');
    await leave(page, 'bidi');
}
