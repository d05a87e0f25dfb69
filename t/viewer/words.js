// What the page knows of the service by itself is what the service says.

import {readFileSync} from 'node:fs';
import {is, leave, newPage, newServer} from './lib.js';

const conf = (name) => readFileSync(new URL(`../../conf/${name}`,
    import.meta.url), 'utf8');

// fields that are shown as they are
const NO_LABEL = ['content', 'changes', 'role_id', 'image'];


// the values of an enumeration of the API's description
function values(api, schema, list = 'enum') {
    const [, text] = new RegExp(`^    ${schema}:\\n((?:     .*\\n|\\n)*)`, 'm')
        .exec(api);
    const [, inline, block] = new RegExp(`${list}:(?: \\[([^\\]]*)\\]|\\n`
        + '((?: +- .*\\n)+))').exec(text);

    return (inline ? inline.split(/,\s*/)
        : block.match(/\S+$/gm)).map((value) => value.trim());
}


export default async function words() {
    const api = conf('openapi.yaml');
    const rows = conf('viewer/log-types.tsv').trim().split('\n').slice(1)
        .map((line) => line.split('\t'));

    const page = await newPage({locale: 'en-US'});

    await page.goto(process.env.GUILDLOG_VIEWER);
    const {types, byCategory, BUTTONS, CATEGORIES, FILTERS, FOUND, LABELS,
        LANGUAGES, ROUTES, STAGES, made, whys} = await page.evaluate(inPage,
        [rows.length, reasonsOf(api)]);

    is(types.map(({color, fields, ofChannel, ...type}) => type),
    rows.map((row) => (
        {id: Number(row[0]), category: row[2], title: row[6],
            sentence: row[10], kind: row[7].split(' ')[0], route: row[3]})),
    'the log types are those of log-types.tsv');
    is(byCategory, rows.length, 'each in a category');

    const english = new Map(conf('viewer/languages/en-US.tsv').split('\n')
        .map((line) => line.split('\t')));
    is(LABELS, Object.fromEntries(Object.keys(LABELS).map((name) =>
        [name, english.get(name)])), 'fields are called as in messages');
    is(types.flatMap(({fields}) => Object.values(fields))
        .filter((name) => !(name in LABELS) && !NO_LABEL.includes(name)), [],
    '... all of them');

    is(Object.keys(CATEGORIES), values(api, 'Category'), 'the categories');
    is(Object.keys(LANGUAGES), values(api, 'LocaleKey'),
        'the languages, by their numbers');
    is(Object.keys(FILTERS), values(api, 'FilterId'), 'the filters');
    is(Object.keys(BUTTONS), values(api, 'Button'), 'the buttons');
    is(Object.keys(STAGES), values(api, 'TestResult'),
        'what comes of a test message');
    is(Object.keys(ROUTES).sort(), [...api.matchAll(
        /^        (main_channel|category_\w+): \{.*ChannelOr/gm)]
        .map(([, name]) => name).filter((name, i, all) =>
            all.indexOf(name) === i).sort(), 'the log channels');

    is(made, ['Type: text channel', 'Type: 2'],
        'the type of a channel has a word, that of a webhook none');
    is(whys, [], 'each reason is told in words');
    await leave(page, 'words');

    await masks(FOUND);
}


// what the modules of the page know: they run in a browser alone
async function inPage([types, reasons]) {
    const {changeText} = await import('./changes.js');
    const {typeOf, typesOf} = await import('./log-types.js');
    const {LANGUAGES} = await import('./texts.js');
    const {deliveryInWords, ...words} = await import('./words.js');

    const made = [[0, 27], [2, 79]].map(([kind, type]) =>
        changeText({key: 'type', old: null, new: kind}, typeOf(type)));

    return {...words, made, LANGUAGES,
        types: Array.from({length: types}, (_, id) => typeOf(id)),
        byCategory: Object.keys(words.CATEGORIES)
        .flatMap(typesOf).length, whys: reasons.filter((reason) =>
        deliveryInWords({status: 'not_delivered', reason}).why === reason)};
}


function reasonsOf(api) {
    const [, reasons] = /Not final: ([\s\S]*?)\n\s+channelId:/.exec(api);

    return reasons.replace(/(unknown|final):/g, '').match(/[a-z_0-9]+/g);
}


// what the filters are said to do is what they do
async function masks(FOUND) {
    const server = await newServer({name: 'Words'});
    const [none] = Object.keys(FOUND).slice(-1);

    for (const [id, [text, mask]] of Object.entries(FOUND)) {
        if (id !== none) {
            await server.ask('PATCH', `/filters/${id}`, {enabled: true});
            await server.record({type: 5, content: `so ${text} so`});
            is((await server.get('/logs?limit=1&type=5')).entries[0].content,
                `so ${mask} so`, `the example of ${id}`);
            await server.ask('PATCH', `/filters/${id}`, {enabled: false});
        }
    }
}
