// @ts-check
// Where a person is signed in, and an end to that.

import {endSession, listSessions} from './api.js';
import {badge, button, fill, h, newId, refocus, shown} from './dom.js';
import {parts, t} from './texts.js';
import {relativeTime, timeNode} from './time.js';


// Shows it until it is closed. leave() signs this browser out, too.
export async function showSessions(leave) {
    const title = h('h2', {tabindex: -1, autofocus: true},
        t('sessions.title'));
    const items = h('ul', {class: 'items'});
    const said = h('p', {class: 'said error', role: 'alert', hidden: true});


    async function show() {
        const all = await listSessions();

        tell(all ? null : t('error.failed'));
        fill(items, all?.map(item));
        refocus(items, title);
    }


    function tell(why) {
        said.hidden = !why;
        said.textContent = why;
    }


    function item({id, since, used, current}) {
        const text = h('div', {id: newId()},
            parts('sessions.since', {time: timeNode(since)}),
            h('p', {class: 'note'}, parts('sessions.used',
                {time: relativeTime(used)})));
        const end = async () => await endSession(id) ? show()
            : tell(t('api.undone'));
        const out = button(t('sign.out'), end, {id: newId()});

        out.setAttribute('aria-labelledby', `${out.id} ${text.id}`);
        return h('li', null, text,
            current ? badge(t('sessions.this'), 'good') : out);
    }


    const everywhere = button(t('sessions.everywhere'), async () => {
        if (await endSession('')) {
            everywhere.closest('dialog')?.close();
            leave();
        } else {
            tell(t('api.undone'));
        }
    }, {class: 'danger'});

    await show();
    return shown(title, items, said,
        h('p', null, everywhere));
}
