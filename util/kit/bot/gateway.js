// The bot's connections to the platform's gateway, by the part of discord.js that
// makes them. A Client of discord.js would keep servers and people in memory, which
// nobody here needs, and could not go on with the sessions of an earlier process.

import {EventEmitter} from 'node:events';
import {setTimeout as sleep} from 'node:timers/promises';

import {WebSocketManager, WebSocketShardEvents} from '@discordjs/ws';
import {GatewayIntentBits as Intents} from 'discord.js';

const INTENTS = Intents.Guilds | Intents.GuildMembers
    | Intents.GuildModeration | Intents.GuildVoiceStates
    | Intents.GuildMessages | Intents.GuildMessageReactions
    | Intents.MessageContent | Intents.AutoModerationExecution;

// Codes of closing behind which there is no other connection: [what it means,
// whether only people can mend it]
const OVER = {
    4004: ['the token is wrong', true],
    4010: ['there is no such shard', false],
    4011: ['the bot is in too many servers for its shards', false],
    4012: ['this version of the gateway is no more', true],
    4013: ['there are no such intents', true],
    4014: ['the bot may not have its intents: switch on "Server Members" and'
        + ' "Message Content" in the developer portal', true],
};

// ... and those behind which there is one
const AGAIN = {
    1000: 'it closed the connection',
    1001: 'it goes away',
    1006: 'the connection was lost',
    4000: 'something went wrong there',
    4001: 'it did not know what it was sent',
    4002: 'it could not read what it was sent',
    4003: 'something was sent too early',
    4005: 'the session had begun already',
    4007: 'the session cannot be resumed from there',
    4008: 'too much was sent',
    4009: 'the session timed out',
    4200: 'it asked for a new connection, or did not answer',
};
const RESUMABLE = 4000;            // any but 1000 and 1001 keeps the sessions
const GONE = 2_000;                // ms in which a connection is closed


// Emits, as a Client of discord.js: "raw" (packet, shard). And "said" (sentence),
// "over" (sentence, mends): it is no use to go on; only people mend it
export class Gateway extends EventEmitter {

    // sessions: what the shards resume, by their numbers
    constructor({rest, token, sessions}) {
        super();
        this.options = {intents: {bitfield: INTENTS}};
        this.sessions = sessions;
        this.shards = 0;
        this.manager = new WebSocketManager({
            rest, token, intents: INTENTS,
            retrieveSessionInfo: (shard) => sessions.get(shard) ?? null,
            updateSessionInfo: (shard, session) => this.#keep(shard, session),
        });
        this.manager.on(WebSocketShardEvents.Dispatch, ({data, shardId}) =>
            this.emit('raw', data, shardId));
        this.manager.on(WebSocketShardEvents.Closed, ({code, shardId}) =>
            this.#closed(code, shardId));
        this.manager.on(WebSocketShardEvents.Resumed, ({shardId}) =>
            this.emit('said', `shard ${shardId} goes on where it was`));
        this.manager.on(WebSocketShardEvents.Error, ({error, shardId}) =>
            this.ended || this.emit('said', `shard ${shardId}: ${
                error.message}`));
    }


    // Resolves when all shards are there
    async connect() {
        this.shards = await this.manager.getShardCount();
        await this.manager.connect();
    }


    // A payload to the platform
    ask(shard, payload) {
        this.manager.send(shard, payload).catch((error) =>
            this.emit('said', `shard ${shard}: ${error.message}`));
    }


    // The sessions can be resumed for a while. Race: destroy() waits for ever for a
    // shard that was waiting to be greeted
    async end() {
        this.ended = true;
        await Promise.race([this.manager.destroy({code: RESUMABLE}),
            sleep(GONE)]);
    }


    #keep(shard, session) {
        if (this.ended) {
            return;
        }
        if (session) {
            this.sessions.set(shard, session);
        } else {
            this.sessions.delete(shard);
        }
    }


    #closed(code, shard) {
        const [sentence, mends] = OVER[code] ?? [];

        if (this.ended) {
            return;
        }
        if (sentence) {
            this.emit('over', `${sentence} (${code})`, mends);
        } else {
            this.emit('said', `${AGAIN[code] ?? 'the connection ended'
            } (${code}): shard ${shard} connects again`);
        }
    }
}
