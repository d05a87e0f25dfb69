// What a call can end with.

// Any of them. No answer came where "status" is absent.
export class GuildlogError extends Error {

    constructor(message, {status, body, retryAfter, cause} = {}) {
        super(message, {cause});
        this.name = new.target.name;
        this.status = status;
        this.body = body;
        this.code = body?.code;           // a word that does not change
        this.retryAfter = retryAfter;      // seconds
    }
}

export class Invalid extends GuildlogError {}          // 400, 413, 415
export class Unauthorized extends GuildlogError {}     // 401
export class LimitReached extends GuildlogError {}     // 402
export class Forbidden extends GuildlogError {}        // 403
export class NotFound extends GuildlogError {}         // 404
export class Conflict extends GuildlogError {}         // 409
export class RateLimited extends GuildlogError {}      // 429
export class Failed extends GuildlogError {}           // 500
export class Unavailable extends GuildlogError {}      // 503, or no answer

// Entries cannot be taken: the spool has no room
export class Full extends GuildlogError {}

const CLASSES = {400: Invalid, 401: Unauthorized, 402: LimitReached,
    403: Forbidden, 404: NotFound, 409: Conflict, 413: Invalid, 415: Invalid,
    429: RateLimited, 500: Failed, 503: Unavailable};


// The error of an answer
export function errorOf(what, status, body, retryAfter) {
    const Class = CLASSES[status] ?? GuildlogError;

    return new Class(`${what}: ${status}${body?.error ? ` ${body.error}` : ''}`,
        {status, body, retryAfter});
}
