// @ts-check
// What happened, in a sentence. A pattern has alternatives with " | " between
// them: the first one is said all of whose places the entry has. What stands in
// brackets is left out where a place in it is empty.

import {plainTime} from './time.js';

const PLACES = /\{(\w+)\}/;
const BRACKETS = /\[([^\]]*)\]/g;

const WRITE = {
    executor: ({name, id}) => name || id,
    target: ({name, id}) => name || id,
    channel: ({name, id}) => `#${name || id}`,
    emoji: ({name, id}) => (id ? `:${name || id}:` : name),
    until: plainTime,
};


// A part is {word}, or {text} of somebody, and the place it stands for. None:
// the title says all.
export function sentenceOf(entry, pattern) {
    const {executor, target} = entry;
    const same = executor && target && executor.id === target.id;

    // one person once, whichever reads right
    return (same ? say(entry, pattern, 'target')
        ?? say(entry, pattern, 'executor') : say(entry, pattern)) ?? [];
}


function say(entry, pattern = '', without) {
    const has = (part) => part.split(PLACES).every((place, i) => i % 2 === 0
        || place !== without && isThere(entry, place));
    const said = pattern.split(' | ').find((one) =>
        has(one.replace(BRACKETS, '')));

    return said?.replace(BRACKETS, (_, part) => has(part) ? part : '')
        .split(PLACES).map((part, i) => i % 2
            ? {text: (WRITE[part] ?? String)(entry[part]), place: part}
            : {word: part});
}


// the dashboard is nobody
function isThere(entry, place) {
    const value = entry[place];

    return value !== null && value !== undefined && value !== ''
        && !(place === 'executor' && value.id === '0');
}
