// @ts-check
// The export of what is seen, or of a stretch of it, as a file.

import {open} from './api.js';
import {button, fill, h, popover} from './dom.js';
import {labeled} from './icons.js';
import {LANGUAGES, language, t} from './texts.js';
import {dayName, daySpan, weekName, weekSpan} from './time.js';

const SPANS = [[t('export.shown'), () => ({})],
    [dayName(-1), () => daySpan(-1)], [weekName(-1), () => weekSpan(-1)]];
const FORMATS = {csv: 'CSV', ndjson: 'NDJSON'};


// chosen({format, locale}, span) is called when the reader wants a file; span:
// limits of time that take the place of those that are set
export function exportMenu(chosen) {
    const locale = h('select', null, Object.entries(LANGUAGES).map(
        ([value, name]) => h('option', {value, lang: value.replace('_', '-')},
            name)));
    const chips = SPANS.map(([name], i) => button(name, () => choose(i),
        {class: 'chip'}));
    let span;

    function choose(at) {
        [, span] = SPANS[at];
        chips.forEach((chip, i) => {
            chip.ariaPressed = String(i === at);
        });
    }

    const {opener, panel} = popover(t('export.title'), null,
        h('div', {class: 'spans', role: 'group', 'aria-label':
            t('export.which')}, chips),
        h('label', null, t('look.language'), locale),
        h('div', {class: 'actions'}, Object.entries(FORMATS).map(
            ([format, name]) => button(name, () => {
                panel.hidePopover();
                chosen({format, locale: locale.value}, span());
            }, {class: 'primary'}))));

    locale.value = language;
    choose(0);
    fill(opener, labeled('export', t('export.title')));
    return [opener, panel];
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
