"""One way to guildlog: a URL, or a unix socket. It tries again where that is
safe: after 429 and 503 as the answer says, after a lost connection where the
request may be made twice."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .errors import GuildlogError, Unavailable, error_of
from .http import Answer, Origin, Unreached, said

FIRST_PAUSE = 0.25                 # s, doubled from time to time
LONGEST_PAUSE = 5.0                # s


class Connection:

    def __init__(self, url: str, *, token: str | None = None,
                 tls: ssl.SSLContext | None = None, patience: float = 30.0,
                 timeout: float = 60.0) -> None:
        """patience: for so long a call tries again; timeout: of an answer;
        both in seconds"""
        self.origin = Origin(url, tls, timeout)
        self.patience = patience
        self.headers = {'authorization': f'Bearer {token}'} if token else {}

    async def open(self, method: str, path: str, *,
                   query: Mapping[str, Any] = {}, body: Any = None,
                   headers: Mapping[str, str] = {}, again: bool | None = None,
                   patience: float | None = None) -> Answer:
        """An answer of 2xx, whose body is not read yet. again: the request may
        be made twice; body is a value, or bytes that are JSON"""
        if again is None:
            again = method != 'POST'
        until = time.monotonic() \
            + (self.patience if patience is None else patience)
        n = 0

        while True:
            try:
                return await self._once(method, path + query_of(query), body,
                                        headers, again)
            except GuildlogError as error:
                pause = pause_of(error, n, again)
                if pause is None or time.monotonic() + pause > until:
                    raise
            await asyncio.sleep(pause)
            n += 1

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """What is in the answer: a value where it is JSON, else a stream of
        bytes, None where there is nothing"""
        answer = await self.open(method, path, **options)

        if is_json(answer):
            return json.loads(await text_of(answer))
        if answer.status != 204:
            return answer
        await text_of(answer)
        return None

    async def close(self) -> None:
        await self.origin.close()

    async def _once(self, method: str, path: str, body: Any,
                    headers: Mapping[str, str], again: bool) -> Answer:
        what = f'{method} {path.partition("?")[0]}'
        head = {**self.headers, **headers}

        if body is not None:
            head['content-type'] = 'application/json'
            if not isinstance(body, bytes):
                body = json_of(body)
        try:
            answer = await self.origin.send(method, path, head, body, again)
        except OSError as error:
            raise Unavailable(f'{what}: {said(error)}') from error
        if answer.status < 300:
            return answer

        text = await text_of(answer)
        after = answer.headers.get('retry-after', '')
        raise error_of(what, answer.status,
                       json.loads(text) if is_json(answer) else {},
                       int(after) if after.isdecimal() else None)


def pause_of(error: GuildlogError, n: int, again: bool) -> float | None:
    """Seconds to wait before another attempt; None: there is none"""
    if error.status not in (429, 503) if error.status \
            else not again and not isinstance(error.__cause__, Unreached):
        return None
    return error.retry_after or pause_after(n)


def pause_after(n: int) -> float:
    """Seconds after so many failures"""
    return min(FIRST_PAUSE * 2.0 ** min(n, 16), LONGEST_PAUSE)


async def text_of(answer: Answer) -> bytes:
    try:
        return await answer.read()
    except OSError as error:
        raise Unavailable(f'the answer was cut: {said(error)}') from error


def json_of(value: Any) -> bytes:
    """As JSON.stringify writes it, half characters, too"""
    return json.dumps(value, ensure_ascii=False, separators=(',', ':')) \
        .encode('utf-8', 'backslashreplace')


def is_json(answer: Answer) -> bool:
    return answer.headers.get('content-type', '').startswith('application/json')


def query_of(query: Mapping[str, Any]) -> str:
    """Lists are parameters that are repeated"""
    text = '&'.join(
        f'{name}={quote(str(one), safe="")}'
        for name, value in query.items()
        for one in (value if isinstance(value, (list, tuple)) else [value])
        if one is not None)

    return text and f'?{text}'
