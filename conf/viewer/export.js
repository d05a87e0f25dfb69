// The export of what is seen, as a file.

import {open} from './api.js';
import {button, fill, h, popover} from './dom.js';
import {labeled} from './icons.js';
import {t} from './texts.js';

const LOCALES = {en: 'English', de: 'Deutsch', ja: '日本語'};


// chosen(locale) is called when the reader wants one
export function exportMenu(chosen) {
    const {opener, panel} = popover(t('export.title'), null,
        h('p', null, t('export.about')),
        Object.entries(LOCALES).map(([locale, name]) => button(name, () => {
            panel.hidePopover();
            chosen(locale);
        }, {lang: locale})));

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
