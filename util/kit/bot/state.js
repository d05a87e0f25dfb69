// What the bot keeps in its folder, for the process after it:
//
//     spool          packets that are not handed in yet
//     sessions.json  where the bot is in the packets of each shard
//     rights.json    what it may in its servers
//     tokens.json    its tokens of guildlog
//
// Nobody else may read it.

import fs from 'node:fs';
import path from 'node:path';

const PAUSE = 1_000;               // ms between two times that it is kept


export class State {

    constructor(folder) {
        fs.mkdirSync(folder, {recursive: true, mode: 0o700});
        this.folder = folder;
        this.spool = path.join(folder, 'spool');
        this.tokens = path.join(folder, 'tokens.json');
        this.sessions = new Map(); // shard: what discord.js resumes with
        for (const [shard, session] of Object.entries(
            read(this.#file('sessions')) ?? {}))
        {
            this.sessions.set(Number(shard), session);
        }
    }


    // Puts in what was kept, and keeps it from now on
    keep({adapter, rights}) {
        const known = read(this.#file('rights'));

        Object.assign(this, {adapter, rights, kept: '', changes: 0});
        if (known) {
            rights.state = known;
            adapter.state = Object.fromEntries([...this.sessions].map(
                ([shard, {sequence}]) => [shard, sequence]));
        } else {
            // rather all of it anew
            this.sessions.clear();
        }
        this.timer = setInterval(() => this.#keep(), PAUSE);
    }


    end() {
        clearInterval(this.timer);
        this.#keep();
    }


    #file(name) {
        return path.join(this.folder, `${name}.json`);
    }


    // the rights first: without them no session is taken up
    #keep() {
        const {adapter: {state}, rights} = this;
        const text = JSON.stringify(Object.fromEntries([...this.sessions]
            .flatMap(([shard, session]) => state[shard] === undefined ? []
                : [[shard, {...session, sequence: state[shard]}]])));

        if (rights.changes !== this.changes) {
            write(this.#file('rights'), JSON.stringify(rights.state));
            this.changes = rights.changes;
        }
        if (text !== this.kept) {
            write(this.#file('sessions'), text);
            this.kept = text;
        }
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
