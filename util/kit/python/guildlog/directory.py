"""Keeps guildlog's directory: servers, and what members, channels and roles are
called. What changes is gathered for a moment and put in one call. What cannot be
put now is put later; a newer change of the same thing takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from .connection import pause_after
from .operator import Operator

GATHER = 0.5                       # s
MOST = 1_000                       # of one call

Thing = dict[str, Any]


class Changes:
    """What is to be put of a server; None: is gone"""

    def __init__(self) -> None:
        self.server: Thing | None = None
        self.kinds: dict[str, dict[str, Thing | None]] = {
            'roles': {}, 'channels': {}, 'members': {}}


class Directory:

    def __init__(self, operator: Operator,
                 trouble: Callable[[Exception], object]) -> None:
        self.trouble = trouble
        self.server_put = operator.server_put
        self.put_of = {'roles': operator.roles_put,
                       'channels': operator.channels_put,
                       'members': operator.members_put}
        self.delete_of = {'roles': operator.role_delete,
                          'channels': operator.channel_delete}
        self.servers: dict[str, Changes] = {}
        self.failures = 0
        self.timer: asyncio.TimerHandle | None = None
        self.running: asyncio.Task[None] | None = None
        self.closed = False

    def server(self, id: str, body: Thing) -> None:
        self._of(id).server = body

    def put(self, id: str, kind: str, things: Iterable[Thing]) -> None:
        self._of(id).kinds[kind].update((one['id'], one) for one in things)

    def remove(self, id: str, kind: str, thing: str) -> None:
        """A channel or a role that is gone"""
        self._of(id).kinds[kind][thing] = None

    async def flush(self) -> None:
        """Everything is put, or cannot be now"""
        if self.running:
            await self.running
        await self._start()

    def close(self) -> None:
        self.closed = True
        if self.timer:
            self.timer.cancel()

    def _of(self, id: str) -> Changes:
        self._soon(GATHER)
        return self.servers.setdefault(id, Changes())

    def _soon(self, seconds: float) -> None:
        if not self.closed and not self.running:
            if self.timer:
                self.timer.cancel()
            self.timer = asyncio.get_running_loop().call_later(
                seconds, self._start)

    def _start(self) -> asyncio.Task[None]:
        if self.timer:
            self.timer.cancel()
        self.running = asyncio.create_task(self._run())
        return self.running

    async def _run(self) -> None:
        try:
            for id, changes in [*self.servers.items()]:
                del self.servers[id]
                try:
                    await self._put(id, changes)
                except Exception:
                    self._again(id, changes)
                    raise
            self.failures = 0
        except Exception as error:
            self.failures += 1
            self.trouble(error)
        finally:
            self.running = None
            if self.servers:
                self._soon(GATHER + pause_after(self.failures))

    async def _put(self, id: str, changes: Changes) -> None:
        """What is done is taken out, so that it is not done again"""
        if changes.server is not None:
            await self.server_put(guild_id=id, body=changes.server)
            changes.server = None
        for kind, things in changes.kinds.items():
            there = [thing for thing in things.values() if thing]
            while there:
                body, there = there[:MOST], there[MOST:]
                await self.put_of[kind](guild_id=id, body=body)
                for thing in body:
                    del things[thing['id']]
            for gone in [*things]:
                await self.delete_of[kind](guild_id=id, id=gone)
                del things[gone]

    def _again(self, id: str, changes: Changes) -> None:
        """What has come meanwhile is newer"""
        newer = self.servers.setdefault(id, Changes())

        if newer.server is None:
            newer.server = changes.server
        for kind, things in newer.kinds.items():
            newer.kinds[kind] = {**changes.kinds[kind], **things}
