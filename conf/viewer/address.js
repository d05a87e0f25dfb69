// The page's address holds what it shows, behind the "#", which no server
// ever sees: #/logs?category=categoryModlog&search=raid. Never the token. A
// message in a log channel leads to #/logs?server=ID&entry=ID.

const LISTS = ['category', 'type'];
const SINGLES = ['search', 'after', 'before', 'channel', 'member',
    'memberRole', 'role'];


// {view, bot, server, entry, filters}; server and entry are "" without one
export function readAddress() {
    const [, view, query] = /^#\/([a-z]*)\??(.*)$/.exec(location.hash)
        ?? [null, 'logs', ''];
    const given = new URLSearchParams(query);
    const server = given.get('server');
    const filters = {};

    for (const name of LISTS) {
        filters[name] = given.getAll(name);
    }
    for (const name of SINGLES) {
        filters[name] = given.get(name) ?? '';
    }
    return {view, bot: given.get('bot') === 'pro' ? 'pro' : '',
        server: /^\d+$/.test(server) ? server : '',
        entry: given.get('entry') ?? '', filters};
}


export function hrefOf(view, bot, filters) {
    const query = queryOf(filters);

    if (bot) {
        query.set('bot', bot);
    }
    return `#/${view}${query.size ? '?' + query : ''}`;
}


// a new place in the tab's history, or the same one changed
export function writeAddress(href, same) {
    if (href !== location.hash) {
        history[same ? 'replaceState' : 'pushState'](null, '', href);
    }
}


// filters as the API takes them
export function queryOf(filters = {}) {
    const query = new URLSearchParams();

    for (const name of SINGLES) {
        if (filters[name]) {
            query.set(name, filters[name]);
        }
    }
    for (const name of LISTS) {
        for (const value of filters[name] ?? []) {
            query.append(name, value);
        }
    }
    return query;
}
