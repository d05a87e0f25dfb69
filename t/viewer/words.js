// What the page knows of the service by itself is what the service says.

import {readFileSync} from 'node:fs';
import {is, ok} from './lib.js';

const conf = (name) => readFileSync(new URL(`../../conf/${name}`,
    import.meta.url), 'utf8');

// no package.json there tells Node.js that these are modules
const load = (name) => import(`data:text/javascript,${
    encodeURIComponent(conf(`viewer/${name}`))}`);

const {typeOf, typesOf} = await load('log-types.js');
const {BUTTONS, CATEGORIES, FILTERS, LANGUAGES, ROUTES, STAGES,
    deliveryInWords} = await load('words.js');


// the values of an enumeration of the API's description
function values(api, schema, list = 'enum') {
    const [, text] = new RegExp(`^    ${schema}:\\n((?:     .*\\n|\\n)*)`, 'm')
        .exec(api);
    const [, inline, block] = new RegExp(`${list}:(?: \\[([^\\]]*)\\]|\\n`
        + '((?: +- .*\\n)+))').exec(text);

    return (inline ? inline.split(/,\s*/)
        : block.match(/\S+$/gm)).map((value) => value.trim());
}


export default function words() {
    const api = conf('openapi.yaml');
    const rows = conf('log-types.tsv').trim().split('\n').slice(1)
        .map((line) => line.split('\t'));

    is(rows.map(([id]) => typeOf(Number(id))), rows.map((row) => (
        {id: Number(row[0]), category: row[2], title: row[6],
            sentence: row[10]})),
    'the log types are those of log-types.tsv');
    is(Object.keys(CATEGORIES).flatMap(typesOf).length, rows.length,
        'each in a category');

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

    const [, reasons] = /Not final: ([\s\S]*?)\n\s+channelId:/.exec(api);
    for (const reason of reasons.replace(/(unknown|final):/g, '')
        .match(/[a-z_0-9]+/g))
    {
        const {why} = deliveryInWords({status: 'not_delivered', reason});
        ok(why !== reason, `${reason} is told in words`);
    }
}
