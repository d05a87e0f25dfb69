// The platform of one bot, for t/chaos/tutorial.t: it prints its port; what a line of
// its input says is written in the server's channel, and deleted.

import fs from 'node:fs';
import readline from 'node:readline';

import {Gateway, guildOf} from './gateway.js';
import {packetsOf} from './rest.js';

const [token, server, channel] = process.argv.slice(2);
const {known, events} = JSON.parse(fs.readFileSync(
    new URL('../viewer/events.json', import.meta.url)));
const event = events.find(({t}) => t === 'MESSAGE_DELETE');
const gateway = await new Gateway({token, guilds: [guildOf(server, {
    users: known.users, channels: {[channel]: {name: 'log', type: 0}}})]}).listen();

console.log(gateway.port);
for await (const content of readline.createInterface({input: process.stdin})) {
    packetsOf({...event, was: {...event.was, content}}, server)
        .forEach((packet) => gateway.send(...packet));
}
gateway.close();
