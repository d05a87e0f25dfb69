"""A client of the API, for one server: that of its token."""

from __future__ import annotations

import asyncio
import json
import math
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from typing import Any

from .connection import Connection, pause_after, pause_of
from .errors import GuildlogError, Unavailable
from .http import Answer, said
from .operations import ApiOperations

SILENCE = 45.0                     # s: three heartbeats of a tail

Entry = dict[str, Any]


class Guildlog(ApiOperations):

    def __init__(self, url: str, token: str, **options: Any) -> None:
        """options: those of Connection"""
        self.server = json.loads(urlsafe_b64decode(
            token.split('.')[1] + '=='))['sub']
        self.connection = Connection(url, token=token, **options)

    async def pages(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """Pages to the end, newest first"""
        while True:
            page = await self.logs_page(**filters)
            yield page
            if not page['cursor']:
                return
            filters['cursor'] = page['cursor']

    async def entries(self, **filters: Any) -> AsyncIterator[Entry]:
        """The entries of all pages"""
        async for page in self.pages(**filters):
            for entry in page['entries']:
                yield entry

    async def tail(self, *, last_event_id: str | None = None,
                   **filters: Any) -> AsyncIterator[Entry]:
        """New entries, as they come, each once. It goes on behind
        last_event_id, and behind the last entry after a connection is lost.
        What it has missed for longer than a tail can resume comes from pages,
        newest first. It ends with an error that waiting does not mend"""
        failures = 0

        while True:
            try:
                answer = await self.connection.open(
                    'GET', f'/servers/{self.server}/logs/stream',
                    query=filters, patience=math.inf,
                    headers={'last-event-id': last_event_id}
                    if last_event_id else {})
                async for kind, number, data in events(answer):
                    failures = 0
                    if kind == 'reset':
                        async for entry in self.entries(
                                **{**filters, **json.loads(data)}):
                            yield entry
                        last_event_id = number
                    else:
                        last_event_id = number
                        yield json.loads(data)
            except GuildlogError as error:
                if pause_of(error, failures, True) is None:
                    raise
            await asyncio.sleep(pause_after(failures))
            failures += 1


async def events(answer: Answer) -> AsyncIterator[tuple[str, str, str]]:
    """Server-sent events of an answer, to its end: type, id, data"""
    rest = b''
    event: dict[str, str] = {}

    answer.timeout = SILENCE
    try:
        async for piece in answer:
            *lines, rest = (rest + piece).split(b'\n')
            for line in lines:
                name, _, value = line.decode().partition(':')
                if name:
                    event[name] = value.removeprefix(' ')
                elif not line and 'data' in event:
                    yield (event.get('event', ''), event.get('id', ''),
                           event['data'])
                    event = {}
    except OSError as error:
        raise Unavailable(f'the tail was cut: {said(error)}') from error
    finally:
        answer.drop()
