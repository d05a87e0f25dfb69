// @ts-check
// Tags, dashboard access, and tokens.

import {change, get, mayOnlyLook, part, session} from './api.js';
import {find} from './directory.js';
import {asked, badge, foreign, h, shown} from './dom.js';
import {form} from './form.js';
import {itemList} from './item-list.js';
import {named} from './named.js';
import {parts, t} from './texts.js';
import {relativeTime, timeNode} from './time.js';

const SEEN = 8;      // people who are offered without being searched for

/** @type {[string, string][]} */
const LEVELS = [['view', t('access.view')], ['manage', t('access.manage')]];
const KINDS = {1: t('tokens.admin'), 2: t('tokens.basic'),
    3: t('tokens.read')};

const TAG_FIELDS = [
    {name: 'tag_name', label: t('tags.name'), kind: 'text',
        attributes: {maxlength: 31}},
    {name: 'content', label: t('tags.content'), kind: 'area'},
    {name: 'image', label: t('tags.image'), kind: 'text',
        attributes: {type: 'url', dir: 'ltr', placeholder: 'https://…'}},
    {name: 'color', label: t('form.color'), kind: 'color'},
];


export function tags() {
    return itemList({
        note: t('tags.note'),
        empty: t('tags.empty'),
        read: () => part('tags'),
        line: (tag) => [h('strong', null, foreign(tag.tag_name)), ' ',
            h('span', {class: 'note'}, foreign(
                (tag.content ?? tag.image ?? '').slice(0, 120)))],
        remove: ({tag_id: id}) => change('DELETE', `/tags/${id}`),
        question: (tag) => parts('tags.question',
            {name: foreign(tag.tag_name)}),
        verb: t('tags.delete'),
        edit: (tag, done) => form({fields: TAG_FIELDS, values: tag,
            save: async (body) => {
                await change('PATCH', `/tags/${tag.tag_id}`, body);
                await done();
            }}),
        fields: TAG_FIELDS,
        add: (body) => change('POST', '/tags', body),
    });
}


export async function access() {
    const [seen, given] = mayOnlyLook() ? [[], []] : await Promise.all([
        find('member', '').catch(() => []), part('access')]);
    const others = seen.filter(({id, name}) => name && id !== '0'
        && !given?.some((row) => row.user_id === id));
    const path = (user) => `/config/access/${encodeURIComponent(user)}`;
    const put = (user, level) => change('PUT', path(user), {level});

    return itemList({
        note: t('access.note'),
        empty: t('access.empty'),
        read: () => part('access'),
        line: (row) => [named('member', row.user_id), ' ',
            badge(new Map(LEVELS).get(row.level))],
        edit: (row, done) => form({values: row,
            fields: [{name: 'level', label: t('access.level'), kind: 'choice',
                options: LEVELS}],
            save: async ({level}) => {
                await put(row.user_id, level);
                await done();
            }}),
        remove: ({user_id: user}) => takeAccess(user, path(user)),
        fields: [
            {name: 'user_id', label: t('access.user'), kind: 'member'},
            {name: 'level', label: t('access.level'), kind: 'choice',
                options: LEVELS}],
        title: t('form.add'),
        presets: others.slice(0, SEEN).map(({id, name}) => [foreign(name),
            {user_id: id, level: LEVELS[0][0]}]),
        add: ({user_id: user, level}) => put(user, level),
    });
}


// Whose tokens go on, unless they are revoked as well; false: access stays.
async function takeAccess(user, path) {
    const made = (await get('/auth') ?? [])
        .filter(({creator}) => creator === user).length;
    const answer = await asked(t('access.question', {id: user}), [
        ['no', t('page.cancel')],
        ['one', t('form.remove'), 'danger'],
        ...made ? [['all', t('access.revoke', {count: String(made)}),
            'danger']] : []]);

    return answer !== 'no' && change('DELETE', path, undefined,
        answer === 'all' ? {revoke: 1} : {});
}


export function tokens() {
    return itemList({
        note: t(session.person ? 'tokens.note' : 'tokens.noteSignIn'),
        ...session.person && {
            fields: [
                {name: 'name', label: t('tokens.name'), kind: 'text',
                    attributes: {maxlength: 64}},
                {name: 'permissions', label: t('tokens.kind'), kind: 'choice',
                    options: [[2, t('tokens.basicFor')],
                        [3, t('tokens.readFor')],
                        [1, t('tokens.adminFor')]]}],
            add: async (body) => showOnce(await change('POST', '/auth', body)),
        },
        empty: t('tokens.empty'),
        read: () => get('/auth'),
        line: tokenLine,
        remove: ({unique_id: tokenId}) => change('DELETE', '/auth', undefined,
            {tokenId}),
        question: ({unique_id: id}) => id === session.tokenId
            ? t('tokens.questionOwn') : t('tokens.question', {id}),
        verb: t('tokens.revoke'),
    });
}


// the only time that it is seen
function showOnce({token}) {
    const field = h('input', {readonly: true, value: token,
        'aria-label': t('tokens.new'), onfocus: () => field.select()});

    return shown(h('p', null, t('tokens.copy')), field);
}


function tokenLine({unique_id: id, permissions, creator, created_at: created,
    expires_at: expires, name})
{
    return [
        badge(KINDS[permissions]),
        ' ', name ? h('strong', null, foreign(name), ' ') : null,
        h('span', {class: 'id'}, id),
        id === session.tokenId && h('strong', null, ' ', t('tokens.yours')),
        h('p', {class: 'note'}, parts('tokens.made', {
            time: timeNode(created), person: named('member', creator),
            ends: relativeTime(expires)}))];
}
