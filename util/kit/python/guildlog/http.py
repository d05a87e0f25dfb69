"""HTTP/1.1 over the streams of asyncio, as far as guildlog speaks it. What goes
wrong on the way is an OSError."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Self
from urllib.parse import urlsplit

MOST = 64 * 1024                   # bytes of a head, of a line, of a piece


class Unreached(OSError):
    """Nothing was sent: any request may be made again"""


class Origin:
    """One place that answers requests, and the connections kept to it"""

    def __init__(self, url: str, tls: ssl.SSLContext | None,
                 timeout: float) -> None:
        self.timeout = timeout
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.socket = ''
        if url.startswith('unix:'):
            self.socket, _, prefix = url.removeprefix('unix:').partition(':')
            self.host = 'localhost'
        else:
            at = urlsplit(url)
            if at.scheme not in ('http', 'https') or not at.hostname:
                raise ValueError(f'not a URL of http, https or unix: {url}')
            prefix, self.host, self.name = at.path, at.netloc, at.hostname
            self.port = at.port or (443 if at.scheme == 'https' else 80)
            self.tls = None if at.scheme == 'http' \
                else tls or ssl.create_default_context()
        self.prefix = prefix.removesuffix('/')

    async def send(self, method: str, path: str, headers: Mapping[str, str],
                   body: bytes | None, keep: bool) -> Answer:
        """An answer whose body is not read yet. keep: over a connection that
        was kept, which may end just when it is used"""
        head = {'host': self.host, **headers}
        if body is not None:
            head['content-length'] = str(len(body))
        if not keep:
            head['connection'] = 'close'
        lines = [f'{method} {self.prefix}{path} HTTP/1.1',
                 *(f'{name}: {value}' for name, value in head.items()), '', '']
        answer = Answer(self, *await self._streams(keep))

        try:
            async with asyncio.timeout(self.timeout):
                await answer.begin('\r\n'.join(lines).encode() + (body or b''))
        except BaseException:
            answer.drop()
            raise
        return answer

    async def close(self) -> None:
        while self.idle:
            _, writer = self.idle.pop()
            writer.transport.abort()
            await writer.wait_closed()

    async def _streams(self, keep: bool) -> tuple[
            asyncio.StreamReader, asyncio.StreamWriter]:
        while keep and self.idle:
            reader, writer = self.idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.transport.abort()
        try:
            async with asyncio.timeout(self.timeout):
                if self.socket:
                    return await asyncio.open_unix_connection(
                        self.socket, limit=MOST)
                return await asyncio.open_connection(
                    self.name, self.port, ssl=self.tls, limit=MOST)
        except OSError as error:
            raise Unreached(said(error)) from error


class Answer:
    """A status, headers by their names in lower case, and a body: bytes in
    pieces. Who does not read it to the end drops it"""

    def __init__(self, origin: Origin, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter) -> None:
        self.origin = origin
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.timeout = origin.timeout
        self.ended = False

    async def begin(self, request: bytes) -> None:
        self.writer.write(request)
        try:
            await self.writer.drain()
        except ConnectionError:
            pass               # the answer may be there: it was too large
        while self.status < 200:
            first, *lines = (await self._until(b'\r\n\r\n')).split('\r\n')
            version, _, rest = first.partition(' ')
            if version not in ('HTTP/1.0', 'HTTP/1.1') \
                    or not rest[:3].isdecimal():
                raise ConnectionError('the answer is not HTTP')
            self.status = int(rest[:3])
            self.headers = {name.lower(): value.strip() for name, _, value in
                            (line.partition(':') for line in lines)}

        length = self.headers.get('content-length')
        self.chunked = 'transfer-encoding' in self.headers
        # bytes of the body, or of the chunk; None: as many as come
        self.left = 0 if self.chunked or self.status == 204 \
            else int(length) if length and length.isdecimal() else None
        self.keeps = version == 'HTTP/1.1' and self.left is not None \
            and self.headers.get('connection', '').lower() != 'close'

    async def piece(self) -> bytes:
        """Some of the body; nothing behind its end"""
        if self.ended:
            return b''
        try:
            async with asyncio.timeout(self.timeout):
                return await self._piece()
        except BaseException:
            self.drop()
            raise

    async def read(self) -> bytes:
        return b''.join([piece async for piece in self])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while piece := await self.piece():
                yield piece
        finally:
            self.drop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        if not self.ended:
            self.ended = True
            self.writer.transport.abort()

    async def _piece(self) -> bytes:
        if self.chunked and not self.left:
            size = (await self._until(b'\r\n')).partition(';')[0]
            try:
                self.left = int(size, 16)
            except ValueError:
                raise ConnectionError('a chunk without a size') from None
            while not self.left and await self._until(b'\r\n'):
                pass
        if self.left == 0:
            self._end()
            return b''

        piece = await self.reader.read(MOST if self.left is None
                                       else min(MOST, self.left))
        if self.left is None:
            if not piece:
                self._end()
        elif not piece:
            raise ConnectionError('the connection ended')
        else:
            self.left -= len(piece)
            if self.chunked and not self.left:
                await self._until(b'\r\n')
        return piece

    async def _until(self, mark: bytes) -> str:
        try:
            text = await self.reader.readuntil(mark)
        except EOFError:
            raise ConnectionError('the connection ended') from None
        except asyncio.LimitOverrunError:
            raise ConnectionError('a head that is too large') from None
        return text[:-len(mark)].decode('latin-1')

    def _end(self) -> None:
        if self.keeps:
            self.origin.idle.append((self.reader, self.writer))
        else:
            self.writer.transport.abort()
        self.ended = True


def said(error: BaseException) -> str:
    """What an error says; some say nothing"""
    return str(error) or type(error).__name__
