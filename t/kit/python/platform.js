// The stand-in of the platform, for a program in another language, and the calls
// that discord.py makes before it connects. It prints {gateway, rest}: their
// ports. Each line that it reads is [method, ...arguments] of the Gateway, or
// ["guilds", {id: what guildOf() takes}], or ["sendAll", [t, d], ...], or
// ["people", user, ...]: whom it tells who asks, or ["count"]; it answers with
// what is counted, and what was asked.

import {createServer} from 'node:http';
import readline from 'node:readline';

import {Gateway, guildOf} from '../gateway.js';

const token = process.argv[2];
const gateway = await new Gateway({token, guilds: []}).listen();
const bot = {id: '200000000000000099', username: 'Watcher', discriminator: '0',
    avatar: null, bot: true};
const answers = {
    '/users/@me': bot,
    '/oauth2/applications/@me': {id: bot.id, name: bot.username, icon: null,
        description: '', summary: '', verify_key: '', flags: 0, owner: bot,
        bot_public: true, bot_require_code_grant: false},
};
const rest = createServer((request, answer) => {
    const known = request.headers.authorization === `Bot ${token}`;
    const found = answers[request.url];

    answer.writeHead(!known ? 401 : found ? 200 : 404,
        {'content-type': 'application/json'});
    answer.end(JSON.stringify(!known ? {message: '401: Unauthorized', code: 0}
        : found ?? {message: '404: Not Found', code: 0}));
});

const people = new Map();
const questions = [];              // [server, [id of a person, ...]]

// discord.py gives ids as numbers, of which JavaScript would lose digits
gateway.sockets.on('connection', (socket) => {
    const [take] = socket.listeners('message');

    socket.off('message', take);
    socket.on('message', (text) => {
        const {op, d} = JSON.parse(String(text).replace(
            /([:[,] *)(\d{16,})/g, '$1"$2"'));

        if (op === 8) {
            gateway.send('GUILD_MEMBERS_CHUNK', chunk(d));
        } else {
            take(text);
        }
    });
});


// those people, or all members
function chunk({guild_id: server, user_ids: ids, nonce}) {
    const {members} = gateway.guilds.find(({id}) => id === server);

    if (ids) {
        questions.push([server, ids]);
    }
    return {guild_id: server, nonce, chunk_index: 0, chunk_count: 1,
        members: !ids ? members : ids.filter((id) => people.has(id))
            .map((id) => ({...members[0], user: people.get(id)})),
        not_found: (ids ?? []).filter((id) => !people.has(id))};
}


await new Promise((resolve) => rest.listen(0, '127.0.0.1', resolve));
console.log(JSON.stringify({gateway: gateway.port, rest: rest.address().port}));
for await (const line of readline.createInterface({input: process.stdin})) {
    const [method, ...args] = JSON.parse(line);

    if (method === 'guilds') {
        gateway.guilds = Object.entries(args[0]).map(([id, guild]) =>
            guildOf(id, guild));
        // discord.py needs them
        gateway.guilds.flatMap(({channels, threads}) =>
            [...channels, ...threads]).forEach((channel) =>
            Object.assign(channel, {bitrate: 64_000, user_limit: 0,
                owner_id: bot.id, message_count: 0, member_count: 1}));
    } else if (method === 'sendAll') {
        args.forEach((packet) => gateway.send(...packet));
    } else if (method === 'people') {
        args.forEach((user) => people.set(user.id, user));
    } else if (method !== 'count') {
        gateway[method](...args);
    }
    console.log(JSON.stringify({...gateway.count, questions}));
}
rest.close();
rest.closeAllConnections();
gateway.close();
