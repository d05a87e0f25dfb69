// @ts-check
// The page's address holds what it shows, behind the "#", which no server
// ever sees: #/logs?category=categoryModlog&search=raid. Never the token. A
// message in a log channel leads to #/logs?server=ID&entry=ID.

// no filter at all: of a list any number may be set
export const NOTHING = {search: '', after: '', before: '', channel: [],
    member: [], memberRole: '', role: '', category: [], type: []};


// {view, bot, server, entry, filters}; server and entry are "" without one
export function readAddress() {
    const [, view, query] = /^#\/([a-z]*)\??(.*)$/.exec(location.hash)
        ?? [null, 'logs', ''];
    const given = new URLSearchParams(query);
    const server = given.get('server');

    return {view, bot: given.get('bot') === 'pro' ? 'pro' : '',
        server: /^\d+$/.test(server ?? '') ? server : '',
        entry: given.get('entry') ?? '', filters: filtersOf(given)};
}


// the reverse of queryOf
export function filtersOf(query) {
    return Object.fromEntries(Object.entries(NOTHING).map(([name, none]) =>
        [name, Array.isArray(none) ? query.getAll(name)
            : query.get(name) ?? none]));
}


export function hrefOf(view, bot, filters, entry) {
    const query = queryOf(filters);

    if (bot) {
        query.set('bot', bot);
    }
    if (entry) {
        query.set('entry', entry);
    }
    return `#/${view}${query.size ? '?' + query : ''}`;
}


// the link to an entry, for whoever may read it
export function hrefTo(server, bot, entry) {
    const query = new URLSearchParams({server});

    if (bot) {
        query.set('bot', bot);
    }
    query.set('entry', entry);
    return `#/logs?${query}`;
}


// a new place in the tab's history, or the same one changed
export function writeAddress(href, same, state = null) {
    if (href !== location.hash) {
        history[same ? 'replaceState' : 'pushState'](state, '', href);
    }
}


// filters as the API takes them, but for several members or channels
export function queryOf(filters = {}) {
    const query = new URLSearchParams();

    for (const name of Object.keys(NOTHING)) {
        for (const value of [filters[name] ?? []].flat()) {
            if (value) {
                query.append(name, value);
            }
        }
    }
    return query;
}
