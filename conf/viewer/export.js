// @ts-check
// The export of what is seen, or of a stretch of it, as a file.

import {open} from './api.js';
import {button, h} from './dom.js';
import {LANGUAGES, language, t} from './texts.js';
import {dayName, daySpan, weekName, weekSpan} from './time.js';

const SPANS = [[t('export.shown'), () => ({})],
    [dayName(-1), () => daySpan(-1)], [weekName(-1), () => weekSpan(-1)]];
const FORMATS = {csv: 'CSV', ndjson: 'NDJSON'};


// What is chosen before a file comes. chosen({format, locale}, span) is called
// when the reader wants it; span: limits of time that take the place of those
// that are set. total: what is shown, in words
export function exportNodes(chosen, total) {
    const locale = h('select', null, Object.entries(LANGUAGES).map(
        ([value, name]) => h('option', {value, lang: value.replace('_', '-')},
            name)));
    const chips = SPANS.map(([name], i) => button(i || !total ? name
        : `${name} · ${total}`, () => choose(i), {class: 'chip'}));
    let span;

    function choose(at) {
        [, span] = SPANS[at];
        chips.forEach((chip, i) => {
            chip.ariaPressed = String(i === at);
        });
    }

    locale.value = language;
    choose(0);
    return [
        h('div', {class: 'spans', role: 'group', 'aria-label':
            t('export.which')}, chips),
        h('label', null, t('look.language'), locale),
        h('div', {class: 'actions'}, Object.entries(FORMATS).map(
            ([format, name]) => button(name, () =>
                chosen({format, locale: locale.value}, span()),
            {class: 'primary'})))];
}


// False if there is nothing to save.
export async function save(query) {
    const response = await open('/logs/export', query);

    if (response.status === 204) {
        return false;
    }

    const url = URL.createObjectURL(await response.blob());
    const name = /filename="([^"]+)"/.exec(
        response.headers.get('Content-Disposition'))?.[1];

    h('a', {href: url, download: name ?? 'log.csv'}).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    return true;
}
