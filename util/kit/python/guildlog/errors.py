"""What a call can end with."""

from __future__ import annotations

from typing import Any


class GuildlogError(Exception):
    """Any of them. No answer came where "status" is None."""

    def __init__(self, message: str, *, status: int | None = None,
                 body: Any = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.code: str | None = (               # a word that does not change
            body.get('code') if isinstance(body, dict) else None)
        self.retry_after = retry_after         # seconds


class Invalid(GuildlogError):
    """400, 413, 415"""


class Unauthorized(GuildlogError):
    """401"""


class LimitReached(GuildlogError):
    """402"""


class Forbidden(GuildlogError):
    """403"""


class NotFound(GuildlogError):
    """404"""


class Conflict(GuildlogError):
    """409"""


class RateLimited(GuildlogError):
    """429"""


class Failed(GuildlogError):
    """500"""


class Unavailable(GuildlogError):
    """503, or no answer"""


class Full(GuildlogError):
    """Entries cannot be taken: the spool has no room"""


CLASSES: dict[int, type[GuildlogError]] = {
    400: Invalid, 401: Unauthorized, 402: LimitReached, 403: Forbidden,
    404: NotFound, 409: Conflict, 413: Invalid, 415: Invalid,
    429: RateLimited, 500: Failed, 503: Unavailable}


def error_of(what: str, status: int, body: Any,
             retry_after: int | None) -> GuildlogError:
    """The error of an answer"""
    said = body.get('error') if isinstance(body, dict) else None

    return CLASSES.get(status, GuildlogError)(
        f'{what}: {status}{f" {said}" if said else ""}',
        status=status, body=body, retry_after=retry_after)
