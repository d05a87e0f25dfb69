// What the package for Node.js makes of events: each line that it reads is
// {guild, packets: [{t, d}]}, of which it prints the entries as a line of JSON.
// entries.py does the same.

import readline from 'node:readline';

import {entriesOf} from '../../../util/kit/js/events.js';
import {Known} from '../../../util/kit/js/known.js';

for await (const line of readline.createInterface({input: process.stdin})) {
    const {guild, packets} = JSON.parse(line);
    const known = new Known({messages: 10, members: 10});

    known.create(guild);
    console.log(JSON.stringify(packets.flatMap(({t, d}, n) => {
        const knows = known.of(guild.id, {t, d});
        const entries = entriesOf({t, d: t === 'MESSAGE_UPDATE'
            ? {...knows.before, ...d} : d,
        ...t !== 'GUILD_AUDIT_LOG_ENTRY_CREATE' && {id: String(n), at: n}},
        knows);

        known.see({t, d});
        return entries;
    })));
}
