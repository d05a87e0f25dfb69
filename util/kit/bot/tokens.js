// The bot's own Admin tokens of guildlog, one a server in which somebody used a
// command. They are kept in a file, so that a restart makes no new ones: a server
// has at most 5. If the file is lost, the next token takes the place of the lost
// one: what has the bot as its creator is revoked.

import {Conflict, Guildlog, GuildlogError, NotFound, Unauthorized}
    from 'guildlog';

import {read, write} from './state.js';

const EARLY = 7 * 86_400_000;      // ms before its end a token is replaced
const PATIENCE = 10_000;           // ms; who asks is waiting


export class Tokens {

    // user: the bot's own id; api: the base URL; introduce: makes a server known
    // to guildlog
    constructor({file, operator, api, user, introduce}) {
        Object.assign(this, {file, operator, api, user, introduce});
        this.tokens = read(file) ?? {};    // server: {token, id, expires}
        this.making = new Map();
    }


    // What act(client of the API) gives. A token that was revoked is replaced
    async use(server, act) {
        try {
            return await this.#with(await this.#of(server), act);
        } catch (error) {
            if (!(error instanceof Unauthorized)) {
                throw error;
            }
            delete this.tokens[server];
            return this.#with(await this.#of(server), act);
        }
    }


    async #with({token}, act) {
        const client = new Guildlog({url: this.api, token,
            patience: PATIENCE});

        try {
            return await act(client);
        } finally {
            client.close();
        }
    }


    // two commands at once make one token
    #of(server) {
        const known = this.tokens[server];

        if (known && known.expires > Date.now() + EARLY) {
            return known;
        }
        if (!this.making.has(server)) {
            this.making.set(server, this.#make(server, known).finally(() =>
                this.making.delete(server)));
        }
        return this.making.get(server);
    }


    async #make(server, old) {
        if (old) {
            await this.#with(old, (client) => client.tokenRevoke(
                {tokenId: old.id})).catch(() => {});
        }
        const made = await this.#mint(server);

        this.tokens[server] = made;
        write(this.file, JSON.stringify(this.tokens));
        await this.#with(made, async (client) => {
            for (const {unique_id: lost, creator} of await client.tokenList()) {
                if (creator === this.user && lost !== made.id) {
                    await client.tokenRevoke({tokenId: lost});
                }
            }
        });
        return made;
    }


    async #mint(server, again = true) {
        try {
            const {token, unique_id: id, expires_at: expires} =
                await this.operator.tokenCreate({guild_id: server,
                    body: {permissions: 1, creator: this.user}});

            return {token, id, expires};
        } catch (error) {
            if (error instanceof NotFound && again) {
                await this.introduce(server);
                return this.#mint(server, false);
            }
            throw error instanceof Conflict ? new GuildlogError('guildlog has 5'
                + ' tokens of this server, which is all it may have. Revoke one'
                + ' of them; then this works.') : error;
        }
    }
}
