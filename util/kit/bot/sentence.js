// An entry as a line of an answer. Texts of others are shown, not obeyed.

import {escapeMarkdown} from 'discord.js';

const PLACES = /\{(\w+)\}/g;
const BRACKETS = /\[([^\]]*)\]/g;
const QUOTED = 120;                // characters of what was written


// {sentence, title} is what GET /log-types says of its type
export function said(entry, {sentence, title} = {title: `type ${entry.type}`}) {
    const {content, contentAfter, reason} = entry;
    const texts = [content, contentAfter].filter(Boolean).map((text) =>
        `“${plain(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text)}”`);

    return [`<t:${Math.floor(entry.timestamp / 1000)}:f>`,
        happened(entry, sentence) ?? title, texts.join(' → '),
        reason && `(${plain(reason)})`].filter(Boolean).join(' ');
}


// The first alternative whose places the entry has; what is in brackets is left
// out where a place in it is empty. One person is named once
function happened(entry, sentence = '') {
    const {executor, target} = entry;

    for (const without of executor && executor.id === target?.id
        ? ['target', 'executor'] : [''])
    {
        const word = (place) => place === without ? undefined
            : wordOf(entry, place);
        const full = (part) => [...part.matchAll(PLACES)].every(([, place]) =>
            word(place));
        const one = sentence.split(' | ').find((it) =>
            full(it.replace(BRACKETS, '')));

        if (one) {
            return one.replace(BRACKETS, (_, part) => full(part) ? part : '')
                .replace(PLACES, (_, place) => word(place));
        }
    }
    return undefined;
}


// the dashboard is nobody
function wordOf(entry, place) {
    const value = entry[place];

    if (value === null || value === undefined || value === ''
        || place === 'executor' && value.id === '0')
    {
        return undefined;
    }
    if (place === 'until') {
        return `<t:${Math.floor(value / 1000)}:f>`;
    }
    if (typeof value === 'object') {
        const name = plain(value.name || value.id);

        return place === 'channel' ? `#${name}` : place === 'emoji'
            ? `:${name}:` : `**${name}**`;
    }
    return plain(String(value));
}


// no mark of the platform's, no link to something else, on one line
function plain(text) {
    return escapeMarkdown(text.replace(/\s+/g, ' '), {maskedLink: true,
        heading: true, bulletedList: true, numberedList: true})
        .replaceAll('<', '\\<');
}
