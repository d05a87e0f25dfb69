// The events of each shard by their numbers: which were taken, and up to which
// all that was made of them is on disk. Pure.
//
// The platform numbers the events of a session from 1. Who resumes a session
// gets those behind a number again, with the same numbers: so the names of the
// events, of which event_id are made, are the same then.

export class Sequence {

    constructor() {
        this.shards = new Map();   // shard: {begun, last, open}
    }


    // The packet {id, open} of an event; null: it was taken before. "first": it
    // begins a session
    take(shard, s, first) {
        if (first || !this.shards.has(shard)) {
            this.shards.set(shard, {begun: Date.now(), last: 0,
                open: new Map()});
        }
        const of = this.shards.get(shard);

        if (s <= of.last) {
            return null;
        }
        of.last = s;
        // s is padded: ids that grow as bytes are looked up fastest
        const packet = {id: `${of.begun}.${shard}.${String(s).padStart(9, '0')}`,
            of, s, open: 1};

        of.open.set(s, packet);
        return packet;
    }


    // One of what a packet was made into is on disk, or nothing was made of it
    done(packet) {
        if (--packet.open === 0) {
            packet.of.open.delete(packet.s);
        }
    }


    // {shard: {begun, safe}}: all up to "safe" is on disk
    get state() {
        return Object.fromEntries([...this.shards].map(
            ([shard, {begun, last, open}]) => [shard, {begun,
                safe: open.size ? open.keys().next().value - 1 : last}]));
    }


    set state(state) {
        for (const [shard, {begun, safe}] of Object.entries(state)) {
            this.shards.set(Number(shard), {begun, last: safe,
                open: new Map()});
        }
    }
}
