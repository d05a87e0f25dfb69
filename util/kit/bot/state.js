// What the bot keeps in its folder, for the process after it:
//
//     spool          entries that are not handed in yet
//     sessions.json  where the bot is in the events of each shard
//     known.json     what it knows of its servers, and what messages said
//     tokens.json    its tokens of guildlog
//
// Nobody else may read it.

import fs from 'node:fs';
import path from 'node:path';

const SESSIONS = 1_000;            // ms between two times that they are kept
const KNOWN = 300_000;
const FIRST = 10_000;              // ms until the servers have come


export class State {

    constructor(folder) {
        fs.mkdirSync(folder, {recursive: true, mode: 0o700});
        this.folder = folder;
        this.spool = path.join(folder, 'spool');
        this.tokens = path.join(folder, 'tokens.json');
        this.sessions = new Map(); // shard: what discord.js resumes with
        this.shards = {};
        for (const [shard, {session, ...of}] of Object.entries(
            read(this.#file('sessions')) ?? {}))
        {
            this.sessions.set(Number(shard), {...session, sequence: of.safe});
            this.shards[shard] = of;
        }
    }


    // Puts in what was kept, and keeps it from now on
    keep({adapter, rights}) {
        const known = read(this.#file('known'));

        this.adapter = adapter;
        this.rights = rights;
        if (known) {
            adapter.state = {shards: this.shards, known: known.known};
            rights.state = known.rights;
        } else {
            // without names: rather all of it anew
            this.sessions.clear();
        }
        this.timers = [
            setInterval(() => this.#keepSessions(), SESSIONS),
            setInterval(() => this.#keepKnown(), KNOWN),
            setTimeout(() => this.#keepKnown(), FIRST),
        ];
    }


    end() {
        this.timers.forEach(clearInterval);
        this.#keepSessions();
        this.#keepKnown();
    }


    #file(name) {
        return path.join(this.folder, `${name}.json`);
    }


    #keepSessions() {
        const {shards} = this.adapter.state;
        const text = JSON.stringify(Object.fromEntries(
            Object.entries(shards).flatMap(([shard, of]) => {
                const session = this.sessions.get(Number(shard));

                return session ? [[shard, {session, ...of}]] : [];
            })));

        if (text !== this.kept) {
            write(this.#file('sessions'), text);
            this.kept = text;
        }
    }


    #keepKnown() {
        write(this.#file('known'), JSON.stringify({
            known: this.adapter.state.known, rights: this.rights.state}));
    }
}


// what is in a file of JSON; null: nothing
export function read(file) {
    try {
        return JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch (error) {
        if (error.code !== 'ENOENT' && !(error instanceof SyntaxError)) {
            throw error;
        }
        return null;
    }
}


// whole, or not at all
export function write(file, text) {
    fs.writeFileSync(`${file}.new`, text, {mode: 0o600});
    fs.renameSync(`${file}.new`, file);
}
