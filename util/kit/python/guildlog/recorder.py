"""What hands in entries and packets: they are lines of a spool on disk first,
and stay there until guildlog has answered for them. One batch is under way at a
time, so those of a server arrive in the order in which they were given.

Nothing twice: what was sent and not answered is sent again, and guildlog takes
the same event_id, and the same packet, once in 24 hours.

A line of a packet begins with {"server":"ID","at":TIME, and behind it may stand
"bot":"pro"; every other line is an entry. The package for Node.js has the
same."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from .connection import Connection, json_of, pause_after
from .errors import Full, GuildlogError
from .spool import Line, Spool, size_of

BATCH_BYTES = 4 * 1024 * 1024
LOADED = 20_000                    # lines in memory, and those of one segment
PATIENCE = 3_600.0                 # s: for so long "retry" is obeyed
CLOCK = 1_000                      # ms: one that goes back further was set

ENTRIES = '/logs'
PACKETS = '/events?sent={}'
PRO = f'{PACKETS}&bot=pro'
HEAD = re.compile(rb'\{"server":"[^"]*","at":[^,]*,("bot":"pro",)?')
ID = re.compile(rb'"(\d+)"')
OWN = ('GUILD_CREATE', 'GUILD_UPDATE', 'GUILD_DELETE')     # d is the server

Entry = Mapping[str, Any]
Packet = Mapping[str, Any]
Refused = Callable[[dict[str, Any], str], object]
Trouble = Callable[[Exception], object]
Unknown = Callable[[str], Awaitable[object]]
Wanted = Callable[[str, list[str]], object]

log = logging.getLogger('guildlog')


def log_refused(line: dict[str, Any], error: str) -> None:
    log.error('guildlog refused this: %s: %.1000s', error, line)


def log_trouble(error: Exception) -> None:
    log.warning('%s', error)


class Rest:
    """A server whose lines wait for a moment; times of the monotonic clock"""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.until = 0.0
        self.times = 0


class Call(NamedTuple):
    """A call of record() or forward() that waits for room"""

    lines: list[bytes]
    size: int
    written: asyncio.Future[None]


class Recorder:

    def __init__(self, connection: Connection, spool: Spool, batch: int,
                 linger: float, unknown: Unknown | None,
                 wanted: Wanted | None, refused: Refused,
                 trouble: Trouble) -> None:
        self.connection = connection
        self.spool = spool
        self.batch = self.most = batch
        self.linger = linger
        self.unknown = unknown
        self.wanted = wanted
        self.refused = refused
        self.trouble = trouble
        self.lines: list[Line] = []            # of the spool, in order
        self.rests: dict[str, Rest] = {}       # by server
        self.waiting: list[Call] = []
        self.waiting_size = 0
        self.idle: list[asyncio.Future[None]] = []     # for all to be done
        self.at = 0                            # of the last packet
        self.heard: set[bytes] = set()         # all that came at that time
        self.fresh = asyncio.Event()
        self.stop = asyncio.Event()
        self.call: asyncio.Task[Any] | None = None
        self.count: dict[str, int] = dict.fromkeys((
            'taken', 'recorded', 'duplicates', 'refused', 'batches',
            'failures'), 0)
        self.dropped: dict[str, int] = {}      # by rule
        self.strange: dict[str, int] = {}      # by event: what nobody knows
        self.running = asyncio.create_task(self._run())

    @classmethod
    async def open(cls, connection: Connection, spool: str, *,
                   bytes: int = 256 * 1024 * 1024, batch: int = 500,
                   linger: float = 0.05, unknown: Unknown | None = None,
                   wanted: Wanted | None = None,
                   refused: Refused = log_refused,
                   trouble: Trouble = log_trouble) -> Recorder:
        """spool: the folder, of this process alone; bytes: the most it may
        have; batch: lines at once, up to 1,000; linger: seconds in which a
        batch gathers; unknown: called with the id of a server that guildlog
        does not know, to PUT it; wanted: with a server and the ids of people
        there whose names guildlog does not know; refused: with each entry or
        packet that is refused for good, and why; trouble: with the error of
        each attempt that failed as a whole"""
        return cls(connection, await Spool.open(spool, bytes), batch, linger,
                   unknown, wanted, refused, trouble)

    async def record(self, server: str, entries: Entry | Sequence[Entry], *,
                     bot: str | None = None) -> None:
        """Returns when the entries are on disk. Waits while the spool is full;
        fails with Full if as many calls as a batch has entries already wait"""
        await self._take([
            json_of({'server': server, **({'bot': bot} if bot else {}),
                     **identified(server, bot, entry)})
            for entry in ([entries] if isinstance(entries, Mapping)
                          else entries)])

    async def forward(self, packet: Packet, *, bot: str | None = None) -> None:
        """packet: "t" and "d" as the gateway sends them, and perhaps "at", when
        it was heard (ms; now). Returns when it is on disk; waits and fails as
        record() does. One that is about no server is not taken"""
        t, d = packet['t'], packet['d']
        server = None if not isinstance(d, Mapping) \
            else d.get('id' if t in OWN else 'guild_id')

        if isinstance(server, str):
            rest = json_of({**({'bot': 'pro'} if bot == 'pro' else {}),
                            't': t, 'd': d})[1:]
            at = int(packet['at']) if 'at' in packet \
                else self._moment(server.encode() + rest)
            await self._take([b'{"server":%b,"at":%d,%b' % (json_of(server), at,
                                                            rest)])

    def _moment(self, packet: bytes) -> int:
        """Now. The same packet once more in a ms is another act, of who came back
        to where they were; guildlog tells it by its time from one that is sent
        again"""
        now = now_ms()

        if not 0 <= self.at - now < CLOCK:
            self.at = now
            self.heard.clear()
        elif packet in self.heard:
            self.at += 1
            self.heard.clear()
        self.heard.add(packet)
        return self.at

    async def flush(self) -> None:
        """Returns when guildlog has answered for all that was taken so far"""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        self.idle.append(done)
        self.fresh.set()
        await done

    async def close(self) -> None:
        """Ends it; what is not done stays in the spool"""
        self.stop.set()
        self.fresh.set()
        if self.call:
            self.call.cancel()
        for call in self.waiting:
            if not call.written.done():
                call.written.set_exception(Full('the recorder was closed'))
        self.waiting.clear()
        try:
            await self.running
        finally:
            await self.spool.close()

    @property
    def counters(self) -> dict[str, Any]:
        """Since the start; spool_bytes: of what is on disk now"""
        return {**self.count, 'dropped': {**self.dropped},
                'unknown': {**self.strange}, 'spool_bytes': self.spool.size}

    async def _take(self, lines: list[bytes]) -> None:
        size = size_of(lines)

        if self.stop.is_set():
            raise Full('the recorder was closed')
        if size > self.spool.most or len(self.waiting) >= self.batch \
                and not self.spool.has_room_for(self.waiting_size + size):
            raise Full('the spool has no room')
        call = Call(lines, size, asyncio.get_running_loop().create_future())
        self.waiting.append(call)
        self.waiting_size += size
        self._enter()
        await call.written
        self.count['taken'] += len(lines)
        self.fresh.set()

    def _enter(self) -> None:
        """Calls enter in their order: who waits for room keeps the others
        back"""
        while self.waiting and (
                self.waiting[0].written.cancelled()
                or self.spool.has_room_for(self.waiting[0].size)):
            call = self.waiting.pop(0)
            self.waiting_size -= call.size
            if not call.written.cancelled():
                self.spool.append(call.lines, call.written)

    async def _run(self) -> None:
        failures = 0

        while not self.stop.is_set():
            try:
                batch = await self._next()
                if batch:
                    await self._send(batch)
                failures = 0
            except asyncio.CancelledError:
                if not self.stop.is_set():
                    raise
            except Exception as error:
                self.count['failures'] += 1
                self.trouble(error)
                await self._pause(getattr(error, 'retry_after', None)
                                  or pause_after(failures), self.stop)
                failures += 1

    async def _next(self) -> list[Line]:
        """Lines to send, all of one kind; waits for some, or for the end of a
        rest"""
        # Race: what comes while they are looked for is not slept over
        self.fresh.clear()
        if len(self.lines) < LOADED:
            self.lines += await self.spool.next()

        now = time.monotonic()
        batch: list[Line] = []
        size = 0
        for line in self.lines:
            rest = self.rests.get(server_of(line))
            if rest and rest.until > now:
                continue
            size += len(line.text)
            if batch and (size > BATCH_BYTES or len(batch) >= self.most
                          or place_of(line) != place_of(batch[0])):
                break
            batch.append(line)

        if not self.lines:
            for done in self.idle:
                if not done.done():
                    done.set_result(None)
            self.idle.clear()
        if not batch:
            await self._pause(min((rest.until - now for rest in
                                   self.rests.values()), default=PATIENCE),
                              self.fresh)
            await self._pause(self.linger, self.stop)
        return batch

    async def _pause(self, seconds: float, event: asyncio.Event) -> None:
        """At most until the event"""
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass

    async def _send(self, batch: list[Line]) -> None:
        self.count['batches'] += 1
        self.call = asyncio.create_task(self.connection.call(
            'POST', place_of(batch[0]).format(now_ms()), again=True, patience=0,
            body=b'[' + b','.join(line.text for line in batch) + b']'))
        try:
            answer = await self.call
        except GuildlogError as error:
            if error.status not in (400, 413):
                raise
            # one of them, or all together
            if len(batch) > 1:
                self.most = (len(batch) + 1) // 2
                return
            answer = {'recorded': 0, 'duplicates': 0, 'dropped': {},
                      'errors': [{'index': 0, 'error': str(error)}]}
        finally:
            self.call = None

        self.most = min(self.most * 2, self.batch)
        self.count['recorded'] += answer['recorded']
        self.count['duplicates'] += answer['duplicates']
        add(self.dropped, answer['dropped'])
        add(self.strange, answer.get('unknown', {}))
        await self._done(batch, await self._errors(batch, answer['errors']))
        self._want(batch, answer.get('wanted', []))

    def _want(self, batch: list[Line], ids: list[str]) -> None:
        """An id is of the servers in whose lines it stands"""
        if not self.wanted or not ids:
            return
        named: dict[str, set[str]] = {}

        for line in batch:
            named.setdefault(server_of(line), set()).update(
                id.decode() for id in ID.findall(line.text))
        for server, those in named.items():
            if there := [id for id in ids if id in those]:
                self.wanted(server, there)

    async def _errors(self, batch: list[Line],
                      errors: list[dict[str, Any]]) -> set[Line]:
        """The lines that are sent again"""
        again: set[Line] = set()
        unknown: dict[str, Unknown] = {}

        for error in errors:
            line = batch[error['index']]
            server = server_of(line)
            asks = self.unknown if error['error'] == 'server: unknown' else None
            if (asks or error.get('retry')) and self._rest(server):
                again.add(line)
                if asks:
                    unknown[server] = asks
            else:
                self.count['refused'] += 1
                self.refused(json.loads(line.text), error['error'])
        for server, ask in unknown.items():
            try:
                await ask(server)
            except GuildlogError as trouble:
                self.trouble(trouble)
        return again

    async def _done(self, batch: list[Line], again: set[Line]) -> None:
        done = [line for line in batch if line not in again]
        gone = set(done)
        resting = {server_of(line) for line in again}

        self.lines = [line for line in self.lines if line not in gone]
        for line in done:
            if server_of(line) not in resting:
                self.rests.pop(server_of(line), None)
        await self.spool.done(done)
        self._enter()

    def _rest(self, server: str) -> bool:
        """The server's lines wait for a moment; false: they have for too
        long"""
        now = time.monotonic()
        rest = self.rests.setdefault(server, Rest())

        if rest.until <= now:
            rest.until = now + pause_after(rest.times)
            rest.times += 1
        return now - rest.since < PATIENCE


def server_of(line: Line) -> str:
    """A line begins with {"server":"ID" and no space"""
    return line.text[11:line.text.index(b'"', 11)].decode()


def place_of(line: Line) -> str:
    """Where it is sent"""
    packet = HEAD.match(line.text)

    return ENTRIES if not packet else PRO if packet[1] else PACKETS


def add(sums: dict[str, int], more: dict[str, int]) -> None:
    for name, n in more.items():
        sums[name] = sums.get(name, 0) + n


def now_ms() -> int:
    return int(time.time() * 1000)


def identified(server: str, bot: str | None, entry: Entry) -> dict[str, Any]:
    """With an event_id and a time. The same entry with the same time is the
    same event, for the package for Node.js, too; the ids grow with time"""
    now = now_ms()
    if entry.get('event_id') is not None:
        return {'timestamp': now, **entry}

    rest = {key: value for key, value in entry.items()
            if key not in ('timestamp', 'event_id')}
    at = entry.get('timestamp')
    of = str(uuid4()).encode() if at is None \
        else json_of([server, bot, pairs(rest)])
    at = now if at is None else at
    digest = urlsafe_b64encode(sha256(of).digest())[:22].decode()
    return {**rest, 'timestamp': at, 'event_id': f'{at:0>14}{digest}'}


def pairs(value: Any) -> Any:
    """Without an order of keys"""
    if isinstance(value, Mapping):
        return [[key, pairs(value[key])] for key in sorted(value)]
    return [*map(pairs, value)] if isinstance(value, (list, tuple)) else value
