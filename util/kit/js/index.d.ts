// Types of what the operations take and answer come from the OpenAPI documents:
// "npm run types" makes them.

import type {EventEmitter} from 'node:events';
import type {ConnectionOptions} from 'node:tls';
import type {Readable} from 'node:stream';
import type * as api from './types/api.js';
import type * as operator from './types/operator.js';

type Camel<S extends string> = S extends `${infer A}_${infer B}`
    ? `${A}${Capitalize<Camel<B>>}` : S;
type Json<C> = C extends {'application/json': infer T} ? T : Readable;
type Answer<R, S extends number = 200 | 201 | 202 | 204> =
    S extends keyof R ? S extends 204 ? null
        : R[S] extends {content: infer C} ? Json<C> : never : never;
type Parameters_<O> = O extends {parameters: infer P}
    ? (P extends {query?: infer Q} ? Q extends object ? Q : {} : {})
        & (P extends {path: infer Q} ? Q : {})
    : {};
type Body<O> = O extends {requestBody: {content: {'application/json': infer B}}}
    ? {body: B} : {};
type Args<O, Given extends string> = Omit<Parameters_<O>, Given>
    & {[K in Given & keyof Parameters_<O>]?: Parameters_<O>[K]} & Body<O>;
type Method<O, Given extends string> = {} extends Args<O, Given>
    ? (args?: Args<O, Given>, options?: CallOptions) => Promise<Answer<
        O extends {responses: infer R} ? R : never>>
    : (args: Args<O, Given>, options?: CallOptions) => Promise<Answer<
        O extends {responses: infer R} ? R : never>>;
type Name<K> = K extends `operator_${infer N}` ? Camel<N>
    : K extends string ? Camel<K> : never;
type Methods<Operations, Given extends string> = {
    [K in keyof Operations as Name<K>]: Method<Operations[K], Given>;
};

export type LogEntry = api.components['schemas']['LogEntry'];
export type LogPage = api.components['schemas']['LogPage'];
export type Entry = Omit<operator.components['schemas']['Entry'], 'event_id'>
    & {event_id?: string};
export type Filters = Omit<Parameters_<api.operations['logs_page']>,
    'guild_id' | 'cursor'>;

export interface CallOptions {
    signal?: AbortSignal;
}

export interface Options {
    /** of the API, or "unix:/path/of.sock" */
    url: string;
    /** https only: ca, cert, key, ... */
    tls?: ConnectionOptions;
    /** ms for which a call tries again after 429, 503, a lost connection: 30,000 */
    patience?: number;
    /** ms for an answer: 60,000 */
    timeout?: number;
}

export interface Guildlog extends Methods<api.operations, 'guild_id'> {}
export class Guildlog {
    constructor(options: Options & {token: string});
    /** the id of the server: that of the token */
    readonly server: string;
    pages(filters?: Filters, options?: CallOptions): AsyncGenerator<LogPage>;
    entries(filters?: Filters, options?: CallOptions): AsyncGenerator<LogEntry>;
    tail(filters?: Omit<Filters, 'limit'> & {lastEventId?: string},
        options?: CallOptions): AsyncGenerator<LogEntry>;
    close(): void;
}

export interface Operator extends Methods<operator.operations, never> {}
export class Operator {
    constructor(options: Options);
    recorder(options: RecorderOptions): Promise<Recorder>;
    close(): void;
}

export interface RecorderOptions {
    /** a folder of this process alone */
    spool: string;
    /** the most that the spool may have: 256 MiB */
    bytes?: number;
    /** packets or entries at once, up to 1,000: 500 */
    batch?: number;
    /** ms in which a batch gathers: 50 */
    linger?: number;
    /** called for a server that guildlog does not know, to make it known */
    unknown?: (server: string) => Promise<unknown>;
}

export interface Counters {
    taken: number;
    recorded: number;
    duplicates: number;
    refused: number;
    dropped: Record<string, number>;
    /** packets that guildlog does not understand, by what they are */
    unknown: Record<string, number>;
    batches: number;
    failures: number;
    spoolBytes: number;
}

/** as the platform's gateway sends it; "at": when it was heard, ms */
export interface Packet {
    t: string;
    d: unknown;
    at?: number;
}
/** an entry or a packet, with its server */
export type Refused = Partial<Entry> & Partial<Packet> & {server: string};

export interface Recorder {
    on(event: 'refused',
        listener: (what: Refused, error: string, code?: string) =>
            void): this;
    on(event: 'trouble', listener: (error: Error) => void): this;
    on(event: 'wanted',
        listener: (server: string, ids: string[]) => void): this;
}
export class Recorder extends EventEmitter {
    private constructor();
    /** resolves when the entries are on disk */
    record(server: string, entries: Entry | Entry[],
        options?: {bot?: 'pro'}): Promise<void>;
    /** the same for a packet; one of no server is left out */
    forward(packet: Packet, options?: {bot?: 'pro'}): Promise<void>;
    /** resolves when guildlog has answered for all of them */
    flush(): Promise<void>;
    close(): Promise<void>;
    readonly counters: Counters;
}

export class GuildlogError extends Error {
    status?: number;
    body?: {error?: string, code?: string, field?: string,
        min?: number, max?: number};
    /** a word that does not change; see API.md */
    code?: string;
    retryAfter?: number;
}
export class Invalid extends GuildlogError {}
export class Unauthorized extends GuildlogError {}
export class LimitReached extends GuildlogError {}
export class Forbidden extends GuildlogError {}
export class NotFound extends GuildlogError {}
export class Conflict extends GuildlogError {}
export class RateLimited extends GuildlogError {}
export class Failed extends GuildlogError {}
export class Unavailable extends GuildlogError {}
export class Full extends GuildlogError {}
