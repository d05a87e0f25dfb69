// The platform's other calls, as far as the kit makes them: what leads to the
// gateway, commands and their answers.

export const BOT = {id: '200000000000000099', username: 'Watcher',
    discriminator: '0', avatar: null, bot: true, global_name: null};
const EPOCH = 1420070400000n;      // of the ids of the platform, ms
const HEARD = 3_000;               // ms in which a command has to be answered
const NAME = /^[-_'\p{L}\p{N}]{1,32}$/u;
let next = BigInt(Date.now());


// an id of the platform that was made now, or at that time
export function idOf(ms) {
    return String((ms ? BigInt(ms) : next++) - EPOCH << 22n);
}


// what comes of an event of t/viewer/events.json, [t, d] each, as if it were now:
// what was there before, and the event
export function packetsOf(event, server) {
    const first = BigInt(idOf());
    const {t, d, was = []} = JSON.parse(JSON.stringify(event)
        .replace(/"1229011223344556(\d+)"/g, (_, n) => `"${first + BigInt(n)}"`)
        .replace(/"2030-05-01T[^"]*"/g, `"${new Date().toISOString()}"`));
    const before = /^MESSAGE_/.test(t) ? 'MESSAGE_CREATE'
        : t === 'GUILD_MEMBER_REMOVE' ? 'GUILD_MEMBER_UPDATE' : t;
    const of = t === 'GUILD_UPDATE' ? {id: server} : {guild_id: server,
        ...t === 'GUILD_AUDIT_LOG_ENTRY_CREATE' && {id: idOf()}};

    return [...[was].flat().map((it) => [before, {...it, ...of}]),
        [t, {...d, ...of}]];
}


export class Rest {

    constructor(gateway) {
        this.gateway = gateway;
        this.commands = null;          // what PUT has made known
        this.asked = new Map();        // token: {at, answer, resolve}
    }


    // Somebody uses a command; resolves with what they see in the end, null if
    // nobody heard of it in time
    use(guild, options, {permissions = '32', resolved} = {}) {
        const id = idOf();
        const token = `interaction-${id}`;

        return new Promise((resolve) => {
            this.asked.set(token, {at: Date.now(), resolve});
            this.gateway.send('INTERACTION_CREATE', {
                id, application_id: BOT.id, type: 2, token, version: 1,
                guild_id: guild, channel_id: guild, locale: 'en-US',
                app_permissions: '0', entitlements: [],
                member: {permissions, roles: [], user: {id: '1',
                    username: 'ann'}},
                data: {id: '1', name: 'logs', type: 1, resolved, options},
            });
        });
    }


    async answer(request, answer) {
        const body = await textOf(request);
        const {pathname} = new URL(request.url, 'http://x');
        const what = `${request.method} ${decodeURIComponent(pathname)
            .replace(/^\/api\/v10/, '')}`;
        const [route, act] = this.#routes().find(([it]) => it.test(what)) ?? [];
        const open = /^(POST \/interactions|PATCH \/webhooks)/.test(what);
        const known = open || request.headers.authorization
            === `Bot ${this.gateway.token}`;
        const [status, value] = !known
            ? [401, {message: '401: Unauthorized', code: 0}]
            : !route ? [404, {message: '404: Not Found', code: 0}]
                : act(route.exec(what).slice(1), body && JSON.parse(body));

        answer.writeHead(status, value && {'content-type': 'application/json'});
        answer.end(value && JSON.stringify(value));
    }


    #routes() {
        return [
            [/^GET \/gateway\/bot$/, () => [200, {
                url: `ws://127.0.0.1:${this.gateway.port}`,
                shards: this.gateway.shards,
                session_start_limit: {total: 1000, remaining: 1000,
                    reset_after: 0, max_concurrency: 16}}]],
            [/^GET \/users\/@me$/, () => [200, BOT]],
            [/^GET \/applications\/@me$/, () => [200, {id: BOT.id,
                name: 'Watcher'}]],
            [/^PUT \/applications\/(\d+)\/commands$/, ([id], body) =>
                this.#define(id, body)],
            [/^POST \/interactions\/(\d+)\/([^/]+)\/callback$/,
                ([, token], body) => this.#heard(token, body)],
            [/^PATCH \/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/,
                ([, token], body) => this.#said(token, body)],
        ];
    }


    #define(id, commands) {
        const wrong = id !== BOT.id ? 'application' : commands.map(faultOf)
            .find(Boolean);

        if (wrong) {
            return [400, {message: `Invalid Form Body: ${wrong}`, code: 50035}];
        }
        this.commands = commands;
        return [200, commands];
    }


    #heard(token, {type, data}) {
        const asked = this.asked.get(token);

        if (!asked || Date.now() - asked.at > HEARD) {
            asked?.resolve(null);
            return [404, {message: 'Unknown interaction', code: 10062}];
        }
        if (asked.heard) {
            return [400, {message: 'Interaction has already been acknowledged.',
                code: 40060}];
        }
        asked.heard = {type, flags: data?.flags};
        return [204];
    }


    #said(token, {content, allowed_mentions: mentions}) {
        const asked = this.asked.get(token);

        if (!asked?.heard) {
            return [404, {message: 'Unknown Webhook', code: 10015}];
        }
        if (!content || content.length > 2000) {
            return [400, {message: 'Invalid Form Body', code: 50035}];
        }
        asked.resolve({...asked.heard, content, mentions});
        return [200, {id: '1'}];
    }
}


// what the platform would refuse in a command, or an option of one
function faultOf({name, description, options = [], choices = [], type = 1,
    default_member_permissions: permissions = null})
{
    return !NAME.test(name ?? '') ? `name ${name}`
        : !(description?.length <= 100) ? `description of ${name}`
            : options.length > 25 ? `options of ${name}`
                : choices.length > 25 || !choices.every((choice) =>
                    choice.name.length <= 100) ? `choices of ${name}`
                    : permissions !== null && !/^\d+$/.test(permissions)
                        ? `permissions of ${name}`
                        : ![1, 3, 5, 6, 7, 8].includes(type) ? `type of ${name}`
                            : options.map(faultOf).find(Boolean);
}


async function textOf(request) {
    let text = '';

    for await (const piece of request) {
        text += piece;
    }
    return text;
}
