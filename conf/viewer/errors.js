// @ts-check
// What the API refuses, in people's words: those of its code, and of what the
// rule allows. Without words here it is shown as the API says it.

import {has, t} from './texts.js';

// what a person does about these is the same
/** @type {Record<string, string>} */
const LIKE = {not_utf8: 'has_nul', wrong_type: 'required'};


// of the body of an answer
/** @param {import('./api.js').Schemas['Error']} body */
export function inWords({error, code, min, max}) {
    const bounds = max === undefined ? '' : min === undefined ? '.most'
        : '.between';
    const key = `${LIKE[code ?? ''] ?? code}${bounds}`;

    return has(`error.${key}`) ? t(`error.${key}`, {least: min, most: max})
        : error ?? '';
}
