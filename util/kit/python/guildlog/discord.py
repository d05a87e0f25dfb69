"""guildlog.discord: a bot with discord.py 2 forwards what the gateway tells it,
as it comes. Nothing is made of it here, and nothing else of the client is
changed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Self

from .errors import GuildlogError
from .log_types import ONLY
from .operator import Operator
from .recorder import Recorder, Refused, Trouble, log_refused, log_trouble

# the intents of the gateway, by their bits
INTENTS = {1: 'members', 2: 'moderation', 7: 'voice_states',
           9: 'guild_messages', 10: 'guild_reactions',
           21: 'auto_moderation_execution'}
CONTENT = 1 << 15
GUILDS = 1
RAW = 'on_socket_raw_receive'
UNTOLD = ('INTERACTION_CREATE', 'PRESENCE_UPDATE', 'TYPING_START')
FORGOTTEN = ('server: unknown', 'server: is being forgotten')

AT_ONCE = 100                      # people in a question
PAUSE = 1.0                        # s between two questions
AGAIN = 3_600.0                    # s: for so long nobody is asked for again
REMEMBERED = 10_000                # people who were asked for


async def attach(client: Any, operator: Operator, spool: str, *,
                 bot: str | None = None, refused: Refused = log_refused,
                 trouble: Trouble = log_trouble, **options: Any) -> Adapter:
    """client: a discord.Client with enable_debug_events, before its start;
    spool: a folder; bot: 'pro'; options, refused and trouble: those of a
    recorder"""
    if not getattr(client, '_enable_debug_events', True):
        raise ValueError('the client needs enable_debug_events=True: without '
                         'it discord.py does not tell what it receives')
    adapter = Adapter(client, bot, refused, trouble)
    adapter.recorder = await operator.recorder(
        spool, refused=adapter.refuse, trouble=trouble, wanted=adapter.want,
        **options)
    adapter.listen()
    return adapter


class Adapter:

    recorder: Recorder

    def __init__(self, client: Any, bot: str | None, refused: Refused,
                 trouble: Trouble) -> None:
        self.client = client
        self.bot = bot
        self.refused = refused
        self.trouble = trouble
        self.writing: set[asyncio.Task[None]] = set()
        self.strangers: set[str] = set()       # servers that were told of
        self.asked: dict[tuple[str, str], float] = {}  # until when, for whom
        self.wanted: dict[str, list[str]] = {}         # by server
        self.asking: asyncio.Task[None] | None = None
        self.lost = 0
        self.losing: str | None = None         # why
        self.closed = False

    @property
    def missing(self) -> list[str]:
        """What will not come, as sentences: intents that the client has not"""
        bits = self.client.intents.value
        sentences = [f'without the intent {name} these types do not come: '
                     f'{", ".join(ONLY[bit])}'
                     for bit, name in INTENTS.items()
                     if not bits & 1 << bit]

        if not bits & GUILDS:
            sentences.insert(0, 'without the intent guilds nothing has a name')
        if not bits & CONTENT:
            sentences.append('without the intent message_content messages have '
                             'no text')
        return sentences

    @property
    def counters(self) -> dict[str, Any]:
        """lost: packets for which the spool had no room"""
        return {**self.recorder.counters, 'lost': self.lost}

    def listen(self) -> None:
        """The client may have a handler of its own"""
        own = getattr(self.client, RAW, None)

        async def hear(message: str) -> None:
            if not self.closed:
                self.take(**json.loads(message))
            if own:
                await own(message)

        setattr(self.client, RAW, hear)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hears nothing more. What guildlog has not answered for stays in the
        spool, for the next process"""
        await asyncio.sleep(0)         # what was just heard is taken
        self.closed = True
        await asyncio.sleep(0)         # ... by the recorder, too
        await self.recorder.close()
        await asyncio.gather(*self.writing)
        if self.asking:
            self.asking.cancel()

    def take(self, t: str | None, d: Any, **_: Any) -> None:
        if t and t not in UNTOLD:
            task = asyncio.create_task(self._forward(t, d))
            self.writing.add(task)
            task.add_done_callback(self.writing.discard)

    async def _forward(self, t: str, d: Any) -> None:
        if t == 'GUILD_CREATE':
            d.pop('presences', None)
        try:
            await self.recorder.forward({'t': t, 'd': d}, bot=self.bot)
        except Exception as error:
            self.lost += 1
            # told once, and not for each of them
            if str(error) != self.losing:
                self.losing = str(error)
                self.trouble(error)
        else:
            self.losing = None
            if t == 'GUILD_CREATE':
                self.strangers.discard(d['id'])

    def refuse(self, line: dict[str, Any], error: str) -> None:
        """A server that was forgotten is told once, not packet by packet"""
        server = line['server']

        if 't' not in line or error not in FORGOTTEN:
            self.refused(line, error)
        elif server not in self.strangers:
            self.strangers.add(server)
            self.trouble(GuildlogError(
                f'nothing that happens in the server {server} is logged '
                f'({error})'))

    def want(self, server: str, ids: list[str]) -> None:
        """Their names come as GUILD_MEMBERS_CHUNK"""
        now = time.monotonic()

        if len(self.asked) >= REMEMBERED:
            self.asked.clear()
            self.wanted.clear()
        for id in ids:
            if self.asked.get((server, id), now) <= now:
                self.asked[server, id] = now + AGAIN
                self.wanted.setdefault(server, []).append(id)
        if self.wanted and (not self.asking or self.asking.done()):
            self.asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        while self.wanted:
            server, ids = next(iter(self.wanted.items()))
            self.wanted[server] = ids[AT_ONCE:]
            if not ids[AT_ONCE:]:
                del self.wanted[server]
            guild = self.client.get_guild(int(server))
            try:
                if guild:
                    await guild.query_members(
                        user_ids=[*map(int, ids[:AT_ONCE])], limit=AT_ONCE,
                        cache=False)
            except Exception as error:
                self.trouble(GuildlogError(
                    f'no names came of the server {server}: {error!r}'))
            await asyncio.sleep(PAUSE)
