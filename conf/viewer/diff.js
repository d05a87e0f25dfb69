// @ts-check
// What changed between two texts, word by word.

import {locale} from './texts.js';

const MOST = 6e6;    // cells of the table

const words = new Intl.Segmenter(locale, {granularity: 'word'});


// [before, after], each a list of [text, changed]
export function difference(before, after) {
    const a = wordsOf(before);
    const b = wordsOf(after);
    let head = 0;
    let tail = 0;

    while (head < a.length && head < b.length && a[head] === b[head]) {
        head++;
    }
    while (tail < a.length - head && tail < b.length - head
        && a.at(-1 - tail) === b.at(-1 - tail))
    {
        tail++;
    }

    const [common, other] = middle(a.slice(head, a.length - tail),
        b.slice(head, b.length - tail));

    return [marked(a, head, tail, common), marked(b, head, tail, other)];
}


// which words of each belong to a longest common sequence
function middle(a, b) {
    const inA = new Uint8Array(a.length);
    const inB = new Uint8Array(b.length);
    const width = b.length + 1;

    if ((a.length + 1) * width > MOST) {
        return [inA, inB];
    }

    const longest = new Uint16Array((a.length + 1) * width);

    for (let i = a.length - 1; i >= 0; i--) {
        for (let j = b.length - 1; j >= 0; j--) {
            longest[i * width + j] = a[i] === b[j]
                ? longest[(i + 1) * width + j + 1] + 1
                : Math.max(longest[(i + 1) * width + j],
                    longest[i * width + j + 1]);
        }
    }

    for (let i = 0, j = 0; i < a.length && j < b.length;) {
        if (a[i] === b[j]) {
            inA[i++] = inB[j++] = 1;
        } else if (longest[(i + 1) * width + j]
            >= longest[i * width + j + 1])
        {
            i++;
        } else {
            j++;
        }
    }
    return [inA, inB];
}


function marked(list, head, tail, common) {
    const runs = [];

    list.forEach((word, i) => {
        const changed = i >= head && i < list.length - tail
            && !common[i - head];

        if (runs.at(-1)?.[1] === changed) {
            runs.at(-1)[0] += word;
        } else {
            runs.push([word, changed]);
        }
    });
    return runs;
}


function wordsOf(text) {
    return Array.from(words.segment(text), ({segment}) => segment);
}
