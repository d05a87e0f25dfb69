// Tags, dashboard access, and tokens.

import {change, get, part, session} from './api.js';
import {badge, foreign, h, shown} from './dom.js';
import {form, named} from './form.js';
import {itemList} from './item-list.js';
import {relativeTime, timeNode} from './time.js';

const LEVELS = [['view', 'may look'], ['manage', 'may change settings']];

const TAG_FIELDS = [
    {name: 'tag_name', label: 'Name', kind: 'text',
        attributes: {maxlength: 31}},
    {name: 'content', label: 'Content', kind: 'area'},
    {name: 'image', label: 'Image', kind: 'text',
        attributes: {type: 'url', placeholder: 'https://…'}},
    {name: 'color', label: 'Colour', kind: 'color'},
];


export function tags() {
    return itemList({
        note: 'Texts the bot answers with.',
        empty: 'There are no tags.',
        read: () => part('tags'),
        line: (tag) => [h('strong', null, foreign(tag.tag_name)), ' ',
            h('span', {class: 'note'}, foreign(
                (tag.content ?? tag.image ?? '').slice(0, 120)))],
        remove: ({tag_id: id}) => change('DELETE', `/tags/${id}`),
        question: (tag) => ['Delete the tag ', foreign(tag.tag_name), '?'],
        verb: 'Delete',
        edit: (tag, done) => form({fields: TAG_FIELDS, values: tag,
            save: async (body) => {
                await change('PATCH', `/tags/${tag.tag_id}`, body);
                await done();
            }}),
        fields: TAG_FIELDS,
        add: (body) => change('POST', '/tags', body),
    });
}


export function access() {
    const path = (user) => `/config/access/${encodeURIComponent(user)}`;
    const put = (user, level) => change('PUT', path(user), {level});

    return itemList({
        note: 'Who may use the dashboard, besides those who manage the '
            + 'server.',
        empty: 'Nobody else has access.',
        read: () => part('access'),
        line: (row) => [named('member', row.user_id), ' ',
            badge(new Map(LEVELS).get(row.level))],
        edit: (row, done) => form({values: row,
            fields: [{name: 'level', label: 'Level', kind: 'choice',
                options: LEVELS}],
            save: async ({level}) => {
                await put(row.user_id, level);
                await done();
            }}),
        remove: (row) => change('DELETE', path(row.user_id)),
        question: (row) => `Take the access of ${row.user_id} away?`,
        fields: [
            {name: 'user_id', label: 'User', kind: 'member'},
            {name: 'level', label: 'Level', kind: 'choice',
                options: LEVELS}],
        add: ({user_id: user, level}) => put(user, level),
    });
}


export function tokens() {
    return itemList({
        note: session.person
            ? 'A token is shown once, when it is made. A revoked one stops '
                + 'working at once.'
            : 'Sign in with the platform to make tokens. A revoked one stops '
                + 'working at once.',
        ...session.person && session.level === 'manage' && {
            fields: [
                {name: 'name', label: 'Name', kind: 'text',
                    attributes: {maxlength: 64}},
                {name: 'permissions', label: 'Kind', kind: 'choice',
                    options: [[2, 'Basic: for active ignore'],
                        [1, 'Admin: for everything']]}],
            add: async (body) => showOnce(await change('POST', '/auth', body)),
        },
        empty: 'There are no tokens of this bot.',
        read: () => get('/auth'),
        line: tokenLine,
        remove: ({unique_id: tokenId}) => change('DELETE', '/auth', undefined,
            {tokenId}),
        question: ({unique_id: id}) => id === session.tokenId
            ? 'This is the token you are using: revoking it signs you out.'
            : `Revoke the token ${id}? Whatever uses it stops working.`,
        verb: 'Revoke',
    });
}


// the only time that it is seen
function showOnce({token}) {
    const field = h('input', {readonly: true, value: token,
        'aria-label': 'Your new token', onfocus: () => field.select()});

    return shown(h('p', null, 'This is your new token. Copy it now: it is '
        + 'shown this once, and stored nowhere.'), field);
}


function tokenLine({unique_id: id, permissions, creator, created_at: created,
    expires_at: expires, name})
{
    return [
        badge(permissions === 1 ? 'Admin' : 'Basic'),
        ' ', name ? h('strong', null, foreign(name), ' ') : null,
        h('span', {class: 'id'}, id),
        id === session.tokenId ? h('strong', null, ' (yours)') : null,
        h('p', {class: 'note'}, 'made ', timeNode(created), ' by ',
            named('member', creator), `, ends ${relativeTime(expires)}`)];
}
