// @ts-check
// What a search found: marked, and shown with a piece of the text around it.

import {h} from './dom.js';

const LEAD = 24;     // characters before the first hit
const LETTER = '[\\p{L}\\p{N}_]';


// What finds the hits of a search, or null: its words as they stand alone, and
// all of it as a part of something.
export function finder(search) {
    const text = search.trim();
    const escaped = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const words = text.split(/[^\p{L}\p{N}\p{M}_]+/u).filter(Boolean)
        .map((word) => `(?<!${LETTER})${escaped(word)}(?!${LETTER})`);

    return text === '' ? null
        : new RegExp([escaped(text), ...words].join('|'), 'giu');
}


// Text of bounded length, from before its first hit on.
export function piece(text, most, hits) {
    const at = hits ? text.search(hits) : -1;
    const from = at > LEAD ? at - LEAD : 0;

    return (from ? '…' : '') + (text.length - from > most
        ? text.slice(from, from + most) + '…' : text.slice(from));
}


// Marks the hits in all text of a node.
export function mark(node, hits) {
    const walker = hits && document.createTreeWalker(node,
        NodeFilter.SHOW_TEXT);
    const texts = [];

    while (walker?.nextNode()) {
        texts.push(walker.currentNode);
    }
    for (const text of texts) {
        const parts = [];
        let last = 0;

        for (const {0: hit, index} of text.data.matchAll(hits)) {
            parts.push(text.data.slice(last, index), h('mark', null, hit));
            last = index + hit.length;
        }
        if (last) {
            text.replaceWith(...parts, text.data.slice(last));
        }
    }
}
