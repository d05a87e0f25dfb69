// @ts-check
// What is copied at a press, where browsers let pages do so: where nobody can
// listen.

import {button, foreign} from './dom.js';
import {icon, turnIcon} from './icons.js';
import {t} from './texts.js';

const TOLD = 1500;     // ms for which it is told that it was copied


export function copier(label, text) {
    const node = button(label, async () => {
        try {
            await navigator.clipboard.writeText(text());
            node.textContent = t('entry.copied');
        } catch {
            node.textContent = t('entry.notCopied');
        }
        setTimeout(() => {
            node.textContent = label;
        }, TOLD);
    });

    return navigator.clipboard ? node : null;
}


// An ID behind a picture, which few want to see.
export function copyId(id) {
    const picture = icon('copy');
    const tell = (text, name) => {
        node.title = node.ariaLabel = text;
        turnIcon(picture, name);
    };
    const usual = t('entry.copyId', {id});
    const node = button(picture, async () => {
        try {
            await navigator.clipboard.writeText(id);
            tell(t('entry.copied'), 'copied');
        } catch {
            tell(t('entry.notCopied'), 'copy');
        }
        setTimeout(tell, TOLD, usual, 'copy');
    }, {class: 'quiet copy'});

    tell(usual, 'copy');
    return navigator.clipboard ? node : foreign(id, {class: 'id'});
}
