import type {EventEmitter} from 'node:events';
import type {Counters, Operator, Packet, RecorderOptions} from './index.js';

export interface DiscordOptions extends Omit<RecorderOptions, 'unknown'> {
    bot?: 'pro';
    /** sends it to the gateway, where the client does not as discord.js; false:
        it cannot now */
    ask?: (shard: number, payload: object) => boolean | void;
}

export interface Adapter extends EventEmitter {
    /** what will not come, as the client has not the intents for it */
    readonly missing: string[];
    /** lost: packets for which the spool had no room */
    readonly counters: Counters & {lost: number};
    /** with the client's sessions, what another process goes on with: the number
        of each shard's last packet up to which all is on disk */
    state: Record<string, number>;
    /** stops; what is not handed in stays in the spool */
    close(): Promise<void>;
    on(event: 'refused', listener: (packet: Packet & {server: string},
        error: string) => void): this;
    on(event: 'trouble', listener: (error: Error) => void): this;
}

/** client: of discord.js 14, before its login */
export function attach(
    client: {on(event: 'raw', listener: (...args: any[]) => void): unknown},
    operator: Operator, options: DiscordOptions): Promise<Adapter>;
