import type {EventEmitter} from 'node:events';
import type {Counters, Entry, Operator, RecorderOptions} from './index.js';

export interface DiscordOptions extends Omit<RecorderOptions, 'unknown'> {
    /** ms for which what happened waits for who did it: 1,500 */
    wait?: number;
    /** so many messages are remembered, for what they said: 10,000; 0: none */
    messages?: number;
    /** so many members are remembered: 100,000 */
    members?: number;
    bot?: 'pro';
}

export interface Adapter extends EventEmitter {
    /** what will not come, as the client has not the intents for it */
    readonly missing: string[];
    /** lost: entries for which the spool had no room */
    readonly counters: Counters & {lost: number};
    /** what another process needs to go on with the client's sessions */
    state: {shards: Record<string, {begun: number, safe: number}>,
        known: unknown};
    /** hands in what waits, and stops */
    close(): Promise<void>;
    on(event: 'refused',
        listener: (entry: Entry & {server: string}, error: string) => void): this;
    on(event: 'trouble', listener: (error: Error) => void): this;
}

/** client: of discord.js 14, before its login */
export function attach(
    client: {on(event: 'raw', listener: (...args: any[]) => void): unknown},
    operator: Operator, options: DiscordOptions): Promise<Adapter>;
