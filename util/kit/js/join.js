// What belongs together, though the platform tells it in two events: what happened
// (the gateway), and who did it (the audit log). The first one waits for the other.
//
//     waits      the other      what becomes of both
//     deletion   deletion       one entry: the text and who deleted it
//     leaving    kick, ban      the kick or the ban
//     switching  moving         who moved whom
//     hanging up disconnecting  who disconnected whom
//
// Both together have the event_id of the audit log: who reads that log finds the
// same entry there.
//
// Invariant: each entry that is given is either handed on, alone or joined to one
// other, or is the leaving of a member who was kicked or banned.

import {TYPES} from './log-types.js';


export class Join {

    // hand(server, entry, packets): the packets it was made of; wait: ms, for
    // the other one
    constructor(hand, wait) {
        this.hand = hand;
        this.wait = wait;
        // server: [{entry, audit, packet, timer}], oldest first
        this.held = new Map();
    }


    // An entry of the audit log, or of the gateway
    give(server, entry, audit, packet) {
        const held = this.held.get(server) ?? [];
        const side = audit ? 0 : 1;
        const rules = RULES.filter((rule) => rule[side].includes(entry.type));

        if (!rules.length) {
            this.hand(server, entry, [packet]);
            return;
        }
        for (const [who, what, fits, joined] of rules) {
            const pair = (one) => audit ? [entry, one.entry]
                : [one.entry, entry];
            const other = held.find((one) => one.audit !== audit
                && (audit ? what : who).includes(one.entry.type)
                && fits(...pair(one)));

            if (other) {
                this.#drop(server, other);
                this.hand(server, joined(...pair(other)),
                    [other.packet, packet]);
                return;
            }
        }
        const one = {entry, audit, packet, timer: setTimeout(() => {
            this.#drop(server, one);
            this.hand(server, entry, [packet]);
        }, this.wait)};

        this.held.set(server, [...held, one]);
    }


    // Nothing waits any longer
    end() {
        for (const [server, held] of [...this.held]) {
            for (const one of held) {
                this.#drop(server, one);
                this.hand(server, one.entry, [one.packet]);
            }
        }
    }


    #drop(server, one) {
        const left = this.held.get(server).filter((it) => it !== one);

        clearTimeout(one.timer);
        if (left.length) {
            this.held.set(server, left);
        } else {
            this.held.delete(server);
        }
    }
}


const sameTarget = (audit, seen) => audit.target?.id === seen.target?.id;
const sameChannel = (audit, seen) => audit.channel?.id === seen.channel?.id;
const did = ({event_id: id, executor, reason}) => ({event_id: id, executor,
    ...reason && {reason}});

// [types of the audit log, types of the gateway, does it fit, what they are
// together]. A message that the bot has not seen has no author to compare
const RULES = [
    [[TYPES.messageDelete, TYPES.threadMessageDelete],
        [TYPES.messageDelete, TYPES.threadMessageDelete, TYPES.pollDelete],
        (audit, seen) => sameChannel(audit, seen)
            && (!seen.target || sameTarget(audit, seen)),
        (audit, seen) => ({...seen, ...did(audit),
            target: seen.target ?? audit.target})],
    [[TYPES.messageDeleteBulk], [TYPES.messageDeleteBulk], sameChannel,
        (audit, seen) => ({...seen, ...did(audit)})],
    [[TYPES.kick, TYPES.ban], [TYPES.memberLeave], sameTarget,
        (audit) => audit],
    [[TYPES.voiceMoved], [TYPES.voiceSwitch], sameChannel,
        ({count, ...audit}, {executor, name}) => ({...audit, target: executor,
            ...name && {name}})],
    [[TYPES.voiceDisconnected], [TYPES.voiceLeave], () => true,
        ({count, ...audit}, {executor, channel}) => ({...audit,
            target: executor, channel})],
];
