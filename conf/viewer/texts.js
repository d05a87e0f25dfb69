// @ts-check
// What the page says, in one language: a file of languages/. What is like
// another language has only what differs from it.

import {looks} from './looks.js';

// Tables that the module reads, too, known in every language: lines of fields,
// with tabs between them. Asked for at once.
export const types = rowsOf('log-types.tsv');
export const changeKeys = rowsOf('change-keys.tsv');

// what they are called, by their keys in the API, in the order of their numbers
export const LANGUAGES = {
    'en-US': 'English (US)', 'en-GB': 'English (UK)', tr: 'Türkçe',
    vi: 'Tiếng Việt', 'en-PR': 'English (Pirate)', pl: 'Polski',
    nl: 'Nederlands', 'es-ES': 'Español', it: 'Italiano', de: 'Deutsch',
    fr: 'Français', ru: 'Русский', el: 'Ελληνικά', zh_Hant: '繁體中文',
    ko: '한국어', sl: 'Slovenščina', ar: 'العربية', hu: 'Magyar', ja: '日本語',
};

const KEYS = Object.keys(LANGUAGES);
const RIGHT_TO_LEFT = ['ar'];

// the key of what is shown
export const language = wanted();

export const direction = RIGHT_TO_LEFT.includes(language) ? 'rtl' : 'ltr';

// what dates and numbers follow: the browser's region, where it speaks so
export const locale = navigator.languages.find((tag) =>
    keyOf(tag) === language) ?? tagOf(language);

const texts = await textsIn(language);
const plural = new Intl.PluralRules(locale);
const number = new Intl.NumberFormat(locale);


// The reader's own choice, that of the server, or what the browser says.
export function wanted() {
    const {language: own, served} = looks();

    return [own, served, ...navigator.languages.map(keyOf)]
        .find((key) => KEYS.includes(key)) ?? KEYS[0];
}


// the key of what the browser speaks, if we do: the same, or the same written
// in the same script
function keyOf(tag) {
    const same = (one, other) => one.language === other.language
        && one.script === other.script;

    return KEYS.find((key) => tagOf(key) === tag) ?? KEYS.find((key) =>
        same(whole(tagOf(key)), whole(tag)));
}


function tagOf(key) {
    return key.replace('_', '-');
}


function whole(tag) {
    return new Intl.Locale(tag).maximize();
}


// the fields of each line that is no comment
async function linesOf(file) {
    const answer = await fetch(new URL(file, import.meta.url));

    if (!answer.ok) {
        throw new Error(`${file}: ${answer.status}`);
    }

    return (await answer.text()).split('\n')
        .filter((line) => line && !line.startsWith('#'))
        .map((line) => line.split('\t'));
}


// objects, by the names of the first line
async function rowsOf(file) {
    const [names, ...lines] = await linesOf(file);

    return lines.map((line) => Object.fromEntries(line.map((field, i) =>
        [names[i], field])));
}


// by their keys; of log types and changes, the English ones stand elsewhere
async function textsIn(name) {
    const lines = await linesOf(`languages/${name}.tsv`);
    const [, like] = lines.find(([key]) => key === 'like') ?? [];
    const own = lines.flatMap(([key, text, sentence]) =>
        [[key.replace(/^viewer\./, ''), text],
            ...sentence ? [[`${key}.sentence`, sentence]] : []]);

    return {...like ? await textsIn(like) : await english(),
        ...Object.fromEntries(own)};
}


async function english() {
    return Object.fromEntries([
        ...(await types).flatMap(({key, title, sentence}) =>
            [[key, title], [`${key}.sentence`, sentence]]),
        ...(await changeKeys).map(({key, label}) => [`change.${key}`, label]),
    ]);
}


// A text, with what its places {name} hold; without any, as it is. {count}
// chooses the form of it.
export function t(key, places) {
    return places ? parts(key, places).join('') : textOf(key);
}


// The same as a list of strings and of the nodes that are in its places.
export function parts(key, places) {
    return textOf(key, places.count).split(/\{(\w+)\}/).map((part, i) =>
        i % 2 === 0 ? part : typeof places[part] === 'number'
            ? number.format(places[part]) : places[part]);
}


function textOf(key, count) {
    return texts[key] ?? texts[`${key}.${plural.select(count)}`]
        ?? texts[`${key}.other`] ?? key;
}


// an object of texts, by the names that their keys end with
export function textsOf(section, names) {
    return Object.fromEntries(names.map((name) =>
        [name, t(`${section}.${name}`)]));
}


export function has(key) {
    return key in texts;
}


// Turns the document to the language, and says what index.html leaves open.
export function translate(root) {
    root.lang = locale;
    root.dir = direction;
    for (const node of root.querySelectorAll('[data-text]')) {
        node.textContent = t(node.dataset.text);
    }
    for (const node of root.querySelectorAll('[data-label]')) {
        node.ariaLabel = t(node.dataset.label);
    }
}
