// Recent changes to the configuration.

import {change, get, mayOnlyLook} from './api.js';
import {button, fill, foreign, h, refocus} from './dom.js';
import {t} from './texts.js';
import {timeNode} from './time.js';


export async function notifications() {
    const node = h('div', {class: 'card'});
    const looking = mayOnlyLook();


    async function show() {
        const rows = await get('/notifications');
        const unread = rows.filter((row) => !row.acknowledged);

        fill(node,
            h('div', {class: 'actions'},
                h('strong', {role: 'status'}, unread.length
                    ? t('notifications.unread', {count: unread.length})
                    : t('notifications.none')),
                unread.length && !looking ? button(t('notifications.all'), () =>
                    acknowledge('/notifications/acknowledge')) : null),
            h('ul', {class: 'items'}, rows.map(item)));
    }


    function item({id, created, notificationData: data, acknowledged}) {
        return h('li', null,
            h('div', null,
                h(acknowledged ? 'span' : 'strong', {lang: 'en'}, data.title),
                ' ', timeNode(Date.parse(created)),
                h('p', {class: 'note'},
                    foreign(data.description, {lang: 'en'}))),
            acknowledged || looking ? null
                : button(t('notifications.acknowledge'), () =>
                    acknowledge(`/notifications/${id}/acknowledge`),
                {'aria-label': t('notifications.label',
                    {title: data.title})}));
    }


    async function acknowledge(path) {
        try {
            await change('POST', path);
            await show();
            refocus(node, document.querySelector('.page h2'));
        } catch (refusal) {
            node.prepend(h('p', {class: 'error', role: 'alert'},
                refusal.message));
        }
    }


    await show();
    return node;
}
