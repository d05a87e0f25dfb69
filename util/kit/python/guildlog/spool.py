"""Lines on disk, until they are done. A folder of segments: NAME.log has the
lines, NAME.done which of them are done ("first last", from 0). A segment all
of whose lines are done is deleted. The package for Node.js has the same files.

Invariant: what append() is told about is on disk. The segments of an
earlier process are only read; what it had begun to write and not ended is left
out."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
from asyncio import to_thread
from pathlib import Path

from .errors import GuildlogError

SEGMENT = 4 * 1024 * 1024          # bytes, about; less of a small spool
READY = 20_000                     # lines handed on without being read again


class Segment:

    def __init__(self, file: Path, size: int, read: int | None) -> None:
        self.file = file
        self.size = size
        self.read = read               # lines handed out; None: not looked at
        self.lines = 0
        self.done = 0
        self.log: int | None = None    # descriptors
        self.marks: int | None = None


class Line:

    __slots__ = ('text', 'segment', 'number')

    def __init__(self, text: bytes, segment: Segment, number: int) -> None:
        self.text = text
        self.segment = segment
        self.number = number


class Spool:

    def __init__(self, folder: Path, most: int, lock: Lock) -> None:
        self.folder = folder
        self.most = most               # bytes of all segments
        self.lock = lock
        self.size = 0
        self.segments: list[Segment] = []      # oldest first
        self.active: Segment | None = None
        self.number = 0
        # what waits to be written, and its bytes
        self.pieces: list[tuple[list[bytes], asyncio.Future[None]]] = []
        self.pending = 0
        self.writing: asyncio.Task[None] | None = None
        self.ready: list[Line] = []    # what next() hands out without reading

    @classmethod
    async def open(cls, folder: str, most: int) -> Spool:
        os.makedirs(folder, exist_ok=True)
        spool = cls(Path(folder), most, await Lock.take(f'{folder}/lock'))
        spool._find()
        return spool

    def has_room_for(self, size: int) -> bool:
        return self.size + self.pending + size <= self.most

    def append(self, lines: list[bytes],
               written: asyncio.Future[None]) -> None:
        """Writes the lines; written: done when they are on disk"""
        self.pieces.append((lines, written))
        self.pending += size_of(lines)
        if not self.writing:
            self.writing = asyncio.create_task(self._write())

    async def next(self) -> list[Line]:
        """Lines that were not handed out yet, in order. None: all are"""
        if self.ready:
            ready, self.ready = self.ready, []
            return ready

        for segment in self.segments:
            if segment.read is None or segment.read < segment.lines:
                return await self._load(segment)
        return []

    async def done(self, lines: list[Line]) -> None:
        """These of next() are done"""
        numbers: dict[Segment, list[int]] = {}

        for line in lines:
            numbers.setdefault(line.segment, []).append(line.number)
        for segment, those in numbers.items():
            if segment.done + len(those) < segment.lines \
                    or segment is self.active and self.writing:
                await self._mark(segment, those)
            # Invariant: a segment that is being marked is not removed
            segment.done += len(those)
            if segment.done == segment.lines:
                if segment is not self.active:
                    self._remove(segment)
                elif not self.writing:
                    self._leave()

    async def close(self) -> None:
        if self.writing:
            await self.writing
        for segment in self.segments:
            close(segment.log)
            close(segment.marks)
        self.lock.release()

    def _find(self) -> None:
        for file in sorted(self.folder.glob('*.log')):
            if re.fullmatch(r'\d+', file.stem):
                # of how many lines is known when it is read
                segment = Segment(file.with_suffix(''), file.stat().st_size,
                                  None)
                self.segments.append(segment)
                self.size += segment.size
                self.number = int(file.stem)

    async def _load(self, segment: Segment) -> list[Line]:
        # Race: lines that come meanwhile may be missing in what is read
        start, end = segment.read or 0, segment.lines
        texts = (await to_thread(log_of(segment).read_bytes)).split(b'\n')[:-1]
        done: set[int] = set()

        if segment.read is None:
            marks = done_of(segment)
            if marks.exists():
                for some in (await to_thread(marks.read_text)) \
                        .split('\n')[:-1]:
                    first, last = map(int, some.split(' '))
                    done.update(range(first, last + 1))
            segment.lines = end = len(texts)
            segment.done = len(done)
            if segment.done == segment.lines:
                self._remove(segment)
                return await self.next()
        segment.read = end
        return [Line(texts[number], segment, number)
                for number in range(start, end) if number not in done]

    async def _write(self) -> None:
        """Writes what waits, until nothing does: what comes meanwhile shares
        one fsync"""
        while self.pieces:
            pieces, self.pieces = self.pieces, []
            lines = [line for some, _ in pieces for line in some]
            size = size_of(lines)

            try:
                if not self.active \
                        or self.active.size >= min(SEGMENT, self.most // 4):
                    await self._begin()
                active = self.active
                assert active and active.log is not None
                self.size += size
                active.size += size
                await to_thread(write, active.log,
                                b''.join(line + b'\n' for line in lines))
                self._written(active, lines)
                for _, written in pieces:
                    if not written.done():
                        written.set_result(None)
            except OSError as error:
                # the end of the segment is not known: no line goes behind it
                self._leave()
                for _, written in pieces:
                    if not written.done():
                        written.set_exception(error)
            finally:
                self.pending -= size
        self.writing = None

    def _written(self, segment: Segment, texts: list[bytes]) -> None:
        """Invariant: what is ready comes before all that has to be read"""
        if len(self.ready) < READY and all(
                one.read == one.lines for one in self.segments):
            segment.read = segment.lines + len(texts)
            self.ready += [Line(text, segment, segment.lines + i)
                           for i, text in enumerate(texts)]
        segment.lines += len(texts)

    async def _begin(self) -> None:
        self._leave()
        self.number += 1
        segment = Segment(self.folder / f'{self.number:012}', 0, 0)
        segment.log = await to_thread(create, log_of(segment))
        self.active = segment
        self.segments.append(segment)

    def _leave(self) -> None:
        active, self.active = self.active, None
        if active:
            close(active.log)
            active.log = None
            if active.done == active.lines:
                self._remove(active)

    def _remove(self, segment: Segment) -> None:
        self.segments.remove(segment)
        self.size -= segment.size
        close(segment.marks)
        log_of(segment).unlink(missing_ok=True)
        done_of(segment).unlink(missing_ok=True)

    async def _mark(self, segment: Segment, numbers: list[int]) -> None:
        ranges = ''
        first = numbers[0]

        for number, after in zip(numbers, [*numbers[1:], None]):
            if number + 1 != after:
                ranges += f'{first} {number}\n'
                first = after or 0
        if segment.marks is None:
            segment.marks = os.open(
                done_of(segment), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        await to_thread(write, segment.marks, ranges.encode())


class Lock:
    """One process has the folder: it listens on a socket there, which ends with
    it"""

    def __init__(self, file: str, server: asyncio.Server) -> None:
        self.file = file
        self.server = server

    @classmethod
    async def take(cls, file: str) -> Lock:
        own = socket.socket(socket.AF_UNIX)
        try:
            try:
                own.bind(file)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                if await answers(file):
                    raise GuildlogError(
                        f'another process has the spool: {file}') from None
                os.unlink(file)
                own.bind(file)
            own.listen()
            return cls(file, await asyncio.start_unix_server(
                lambda _, writer: writer.close(), sock=own))
        except BaseException:
            own.close()
            raise

    def release(self) -> None:
        os.unlink(self.file)
        self.server.close()


async def answers(file: str) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(file)
    except OSError:
        return False
    writer.close()
    return True


def log_of(segment: Segment) -> Path:
    return segment.file.with_suffix('.log')


def done_of(segment: Segment) -> Path:
    return segment.file.with_suffix('.done')


def size_of(lines: list[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


def create(file: Path) -> int:
    """A new file, whose name is on disk, too"""
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND,
                  0o666)
    folder = os.open(file.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return log


def write(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text):]
    os.fdatasync(file)


def close(file: int | None) -> None:
    if file is not None:
        os.close(file)
