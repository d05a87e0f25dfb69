// @ts-check
// What can be done with an entry: first its link, whose it is, and that no more
// like it are logged; then what filters the view, and all of it as JSON.

import {change, mayOnlyLook, part, session} from './api.js';
import {hrefOf, hrefTo} from './address.js';
import {copier} from './copy.js';
import {button, fill, h, isolated, newId, refocus} from './dom.js';
import {revertOf} from './revert.js';
import {t} from './texts.js';
import {MINUTE} from './time.js';
import {typeOf} from './log-types.js';

const AROUND = 5 * MINUTE;
const LOGGING = '/config/logging';


// narrow({name: value}) filters the list by this alone, leaveOut() by all other
// types
export function entryTools(entry, narrow, leaveOut) {
    const json = JSON.stringify(entry, null, 2);
    const link = hrefTo(session.server, session.bot, entry.id);
    const legend = newId();

    return h('section', {class: 'tools-of'},
        h('div', {class: 'actions'},
            copier(t('entry.copyLink'), () =>
                new URL(link, location.href).href)
                ?? h('a', {href: link}, t('entry.link')),
            about(entry.executor, entry.target),
            !mayOnlyLook() && [taker(entry), silencers(entry)]),
        h('div', {class: 'actions', role: 'group', 'aria-labelledby': legend},
            h('span', {class: 'note', id: legend}, t('entry.view')),
            button(t('entry.around'), () => narrow({
                after: String(entry.timestamp - AROUND),
                before: String(entry.timestamp + AROUND)}), {class: 'link'}),
            button(t('entry.leaveOut'), leaveOut, {class: 'link'})),
        h('details', null, h('summary', null, 'JSON'),
            copier(t('entry.copyJson'), () => json),
            h('pre', {tabindex: 0}, json)));
}


// who did it; else whom it was done to
function about(...people) {
    const one = people.find((person) => person && person.id !== '0');

    return one && h('a', {class: 'button',
        href: hrefOf('member', session.bot, {member: one.id})},
    t('entry.about', {name: isolated(one.name || one.id)}));
}


// takes back a change of the configuration
function taker(entry) {
    const revert = revertOf(entry);

    return revert && doer(t('entry.revert'), revert, () => t('trouble.done'));
}


// Keeps out of the log what this one does, or all of this type. What the
// service itself tells is not silenced here.
function silencers({type, executor}) {
    if (typeOf(type).category === 'categoryService') {
        return null;
    }

    const name = executor && isolated(executor.name || executor.id);

    return [
        executor && executor.id !== '0' && stopper(t('entry.silence', {name}),
            t('entry.silenced', {name}), () => ignore(executor.id)),
        stopper(t('entry.stop'), t('entry.stopped'), () => switchOff(type)),
    ];
}


// These resolve to what puts back what was, null where it was so before.
async function ignore(value) {
    const path = `${LOGGING}/ignore/2`;
    const before = await part('serverlogConfigIgnoreStandard') ?? [];

    if (before.some((row) => row.ignore_type === 2
        && row.ignore_value === value))
    {
        return null;
    }
    await change('POST', path, {value});
    return () => change('DELETE', path, {value});
}


async function switchOff(type) {
    const path = `${LOGGING}/settings/${type}`;
    const before = (await part('serverlogConfigCustomOptions') ?? [])
        .find((row) => row.log_type === type)?.enabled;

    if (before === 0) {
        return null;
    }
    await change('PATCH', path, {enabled: false});
    return () => change('PATCH', path, {enabled: before ? true : null});
}


function stopper(label, done, act) {
    return doer(label, act, (back) => [done, back && [' ',
        doer(t('types.undo'), back, () => t('trouble.done'))]]);
}


// a button, and what became of it
function doer(label, act, done) {
    const said = h('span', {role: 'status', class: 'said'});
    const node = button(label, async () => {
        node.disabled = true;
        said.classList.remove('error');
        said.textContent = '…';
        try {
            fill(said, done(await act()));
        } catch (refusal) {
            node.disabled = false;
            said.classList.add('error');
            said.textContent = refusal.message;
        }
        refocus(said, node, node.closest('.entry')?.querySelector('h2'));
    });

    return [node, said];
}
