// @ts-check
// Deliveries that were not decided when their entries were read are looked at
// again: {delivery} of an entry is all that ever changes of it.

import {deliveryInWords} from './words.js';


// True if one of these entries, which stand together in the list, has changed.
export async function refresh(entries, filters, read) {
    const open = entries.filter(({delivery}) =>
        deliveryInWords(delivery).mood === 'open');
    const times = open.map(({timestamp}) => timestamp);

    if (!open.length) {
        return false;
    }

    const query = new URLSearchParams(filters);

    query.set('after', String(Math.min(...times) - 1));
    query.set('before', String(Math.max(...times) + 1));
    query.set('limit', '200');

    const now = new Map((await read(query)).entries.map((entry) =>
        [entry.id, entry.delivery]));
    const changed = open.filter(({id, delivery}) => now.has(id)
        && now.get(id).reason !== delivery.reason);

    for (const entry of changed) {
        entry.delivery = now.get(entry.id);
    }
    return changed.length > 0;
}
