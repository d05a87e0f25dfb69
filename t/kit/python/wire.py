"""Answers that a proxy in front of guildlog may give, in whatever form HTTP/1.1
allows, and connections that end; python.t starts it."""

import asyncio
import time

from guildlog import Guildlog, RateLimited, Unavailable
from tap import equal, fails, ok, run

TOKEN = 'x.eyJzdWIiOiIxIn0.x'      # of the server 1
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
WHOLE = HEAD + b'Content-Length: 2\r\n\r\n{}'


class Peer:
    """Each connection gets the answers of one list, and ends behind the last"""

    def __init__(self, *connections):
        self.connections = [*connections]
        self.requests = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.meet, '127.0.0.1', 0)
        port = self.server.sockets[0].getsockname()[1]
        self.api = Guildlog(f'http://127.0.0.1:{port}/api', TOKEN, patience=5)
        return self

    async def __aexit__(self, *_):
        await self.api.close()
        self.server.close()

    async def meet(self, reader, writer):
        answers = self.connections.pop(0)
        for answer in answers:
            try:
                head = await reader.readuntil(b'\r\n\r\n')
            except EOFError:
                break
            self.requests.append(head.partition(b'\r\n')[0].decode())
            for piece in [answer] if isinstance(answer, bytes) else answer:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()


async def main():
    chunked = b'HTTP/1.1 100 Continue\r\n\r\n' + HEAD \
        + b'Transfer-Encoding: chunked\r\n\r\n' \
        + b'5;of=two\r\n{"id"\r\n1\r\n:\r\n0000000A\r\n"chunked"}\r\n0\r\n' \
        + b'Trailer: x\r\n\r\n'
    pieces = [chunked[i:i + 1] for i in range(len(chunked))]

    async with Peer([pieces, pieces, WHOLE]) as peer:
        equal([await peer.api.server_get(), await peer.api.server_get(),
               await peer.api.server_get()], [{'id': 'chunked'}] * 2 + [{}],
              'an answer that comes byte by byte, in chunks')
        equal(peer.connections, [], '... all by one connection')
        equal(peer.requests[0], 'GET /api/servers/1 HTTP/1.1', '... as asked')

    until_end = b'HTTP/1.0 200 OK\r\ncontent-type:application/json\r\n\r\n{"a":1}'
    async with Peer([until_end], [WHOLE]) as peer:
        equal([await peer.api.server_get(), await peer.api.server_get()],
              [{'a': 1}, {}], 'an answer that ends with its connection')

    closing = HEAD + b'Connection: close\r\nContent-Length: 2\r\n\r\n{}'
    async with Peer([closing, b'nothing more'], [WHOLE]) as peer:
        equal([await peer.api.server_get(), await peer.api.server_get()],
              [{}, {}], 'an answer that says that its connection ends')

    for what, answer in (
            ('in a chunk', HEAD + b'Transfer-Encoding: chunked\r\n\r\n9\r\n{'),
            ('between chunks', HEAD
             + b'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'),
            ('in its body', HEAD + b'Content-Length: 9\r\n\r\n{'),
            ('by a chunk of no size', HEAD
             + b'Transfer-Encoding: chunked\r\n\r\nno\r\n')):
        async with Peer([answer]) as peer:
            await fails(peer.api.server_get(), Unavailable,
                        f'an answer that is cut {what}')
    for what, answer in (('nothing', b''), ('half a head', HEAD),
                         ('another protocol', b'SSH-2.0-x\r\n\r\n'),
                         ('no end', HEAD + b'X: ' + b'x' * 100_000)):
        async with Peer([answer], [WHOLE]) as peer:
            equal(await peer.api.server_get(), {},
                  f'{what} in place of an answer: it is asked again')
        async with Peer([answer]) as peer:
            await fails(peer.api.token_create(body={}), Unavailable,
                        '... but a POST is not')
            equal(peer.requests, ['POST /api/servers/1/auth HTTP/1.1'],
                  '... even once')

    async with Peer([WHOLE], [WHOLE]) as peer:
        equal([await peer.api.server_get(), await peer.api.server_get()],
              [{}, {}], 'a kept connection may end')

    away = b'HTTP/1.1 503 Away\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n'
    async with Peer([away, WHOLE]) as peer:
        begun = time.monotonic()
        equal(await peer.api.server_get(), {}, '503 is waited for')
        ok(time.monotonic() - begun >= 1, '... as Retry-After says')
    limited = away.replace(b'503', b'429').replace(b'After: 1', b'After: 9')
    async with Peer([limited]) as peer:
        error = await fails(peer.api.server_get(), RateLimited,
                            'what is longer than the patience is an error')
        equal(error.retry_after, 9, '... that tells it')


run(main)
