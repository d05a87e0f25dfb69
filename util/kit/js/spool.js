// Lines on disk, until they are done. A folder of segments: NAME.log has the
// lines, NAME.done which of them are done ("first last", from 0). A segment all
// of whose lines are done is deleted.
//
// Invariant: append() resolves when its lines are on disk. The segments of an
// earlier process are only read; what it had begun to write and not ended is
// left out.

import fs from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';

import {GuildlogError} from './errors.js';

const SEGMENT = 4 * 1024 * 1024;   // bytes, about; less of a small spool
const READY = 20_000;              // lines handed on without being read again


export class Spool {

    // bytes: of all segments
    static async open(folder, bytes) {
        await fs.mkdir(folder, {recursive: true});

        const spool = new Spool();

        spool.folder = folder;
        spool.most = bytes;
        spool.lock = await lock(path.join(folder, 'lock'));
        spool.size = 0;
        spool.segments = [];       // oldest first
        spool.pieces = [];         // what waits to be written
        spool.pending = 0;         // bytes of it
        spool.ready = [];          // what next() hands out without reading
        await spool.#find();
        return spool;
    }


    hasRoomFor(bytes) {
        return this.size + this.pending + bytes <= this.most;
    }


    // Writes the lines; resolves when they are on disk
    append(lines) {
        const text = Buffer.from(lines.map((line) => `${line}\n`).join(''));

        return new Promise((resolve, reject) => {
            this.pieces.push({lines, text, resolve, reject});
            this.pending += text.length;
            this.writing ??= this.#write();
        });
    }


    // Lines that were not handed out yet, in order; each is {text, segment,
    // number}. None: all are
    next() {
        if (this.ready.length) {
            return this.ready.splice(0);
        }

        const segment = this.segments.find(({read, lines}) =>
            read === null || read < lines);

        return segment ? this.#load(segment) : [];
    }


    // These of next() are done
    async done(lines) {
        const numbers = new Map();

        for (const {segment, number} of lines) {
            numbers.set(segment, [...numbers.get(segment) ?? [], number]);
        }
        for (const [segment, those] of numbers) {
            segment.done += those.length;
            if (segment.done < segment.lines
                || segment === this.active && this.writing)
            {
                await this.#mark(segment, those);
            } else if (segment === this.active) {
                await this.#leave();
            } else {
                await this.#remove(segment);
            }
        }
    }


    async close() {
        await this.writing;
        await this.active?.log.close();
        for (const {marks} of this.segments) {
            await marks?.close();
        }
        this.lock.close();
    }


    async #find() {
        const names = (await fs.readdir(this.folder))
            .filter((name) => /^\d+\.log$/.test(name)).sort();

        for (const name of names) {
            const file = path.join(this.folder, name.replace(/\.log$/, ''));
            const {size} = await fs.stat(`${file}.log`);

            // of how many lines is known when it is read
            this.segments.push({file, size, read: null, lines: 0, done: 0});
            this.size += size;
        }
        this.number = names.length ? parseInt(names.at(-1), 10) : 0;
    }


    async #load(segment) {
        const from = segment.read ?? 0;
        let end = segment.lines;   // what is written meanwhile comes next time
        const texts = (await fs.readFile(`${segment.file}.log`, 'utf8'))
            .split('\n').slice(0, -1);
        const isDone = new Set();

        if (segment.read === null) {
            for (const range of (await fs.readFile(`${segment.file}.done`,
                'utf8').catch(() => '')).split('\n').slice(0, -1))
            {
                const [first, last] = range.split(' ').map(Number);

                for (let n = first; n <= last; n++) {
                    isDone.add(n);
                }
            }
            segment.lines = end = texts.length;
            segment.done = isDone.size;
            if (segment.done === segment.lines) {
                await this.#remove(segment);
                return this.next();
            }
        }
        segment.read = end;
        return texts.slice(0, end)
            .map((text, number) => ({text, segment, number}))
            .filter(({number}) => number >= from && !isDone.has(number));
    }


    // Writes what waits, until nothing does: what comes meanwhile shares one
    // fsync
    async #write() {
        while (this.pieces.length) {
            const pieces = this.pieces.splice(0);
            const text = Buffer.concat(pieces.map((piece) => piece.text));

            try {
                if (!this.active || this.active.size
                    >= Math.min(SEGMENT, this.most / 4))
                {
                    await this.#begin();
                }
                const {active} = this;

                this.size += text.length;
                active.size += text.length;
                await active.log.writeFile(text);
                await active.log.datasync();
                this.#written(active, pieces.flatMap(({lines}) => lines));
                pieces.forEach(({resolve}) => resolve());
            } catch (error) {
                // the end of the segment is not known: no line goes behind it
                await this.#leave().catch(() => {});
                pieces.forEach(({reject}) => reject(error));
            } finally {
                this.pending -= text.length;
            }
        }
        this.writing = null;
    }


    // Invariant: what is ready comes before all that has to be read
    #written(segment, texts) {
        if (this.segments.every(({read, lines}) => read === lines)
            && this.ready.length < READY)
        {
            segment.read += texts.length;
            texts.forEach((text, i) => this.ready.push(
                {text, segment, number: segment.lines + i}));
        }
        segment.lines += texts.length;
    }


    async #begin() {
        await this.#leave();

        const file = path.join(this.folder,
            String(++this.number).padStart(12, '0'));
        const log = await fs.open(`${file}.log`, 'ax');
        const folder = await fs.open(this.folder);

        await folder.sync();
        await folder.close();
        this.active = {file, log, size: 0, read: 0, lines: 0, done: 0};
        this.segments.push(this.active);
    }


    async #leave() {
        const {active} = this;

        this.active = null;
        await active?.log.close();
        if (active && active.done === active.lines) {
            await this.#remove(active);
        }
    }


    async #remove(segment) {
        this.segments = this.segments.filter((other) => other !== segment);
        this.size -= segment.size;
        await segment.marks?.close();
        await fs.rm(`${segment.file}.log`, {force: true});
        await fs.rm(`${segment.file}.done`, {force: true});
    }


    async #mark(segment, numbers) {
        let ranges = '';

        for (let i = 0, from = 0; i < numbers.length; i++) {
            if (numbers[i] + 1 !== numbers[i + 1]) {
                ranges += `${numbers[from]} ${numbers[i]}\n`;
                from = i + 1;
            }
        }
        segment.marks ??= await fs.open(`${segment.file}.done`, 'a');
        await segment.marks.writeFile(ranges);
        await segment.marks.datasync();
    }
}


// One process has the folder: it listens on a socket there, which ends with it
async function lock(file) {
    const listen = () => new Promise((resolve, reject) => {
        const server = net.createServer((peer) => peer.destroy());

        server.unref();
        server.once('error', reject);
        server.listen(file, () => resolve(server));
    });

    try {
        return await listen();
    } catch (error) {
        if (error.code !== 'EADDRINUSE') {
            throw error;
        }
    }

    const taken = await new Promise((resolve) => {
        const peer = net.connect(file, () => resolve(true));

        peer.on('error', () => resolve(false));
        peer.on('connect', () => peer.destroy());
    });

    if (taken) {
        throw new GuildlogError(`another process has the spool: ${file}`);
    }
    await fs.rm(file, {force: true});
    return listen();
}
