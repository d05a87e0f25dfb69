"""guildlog.discord: what a bot with discord.py 2 hands in. attach() hears the raw
events of the gateway. It changes nothing else of the client."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any, Self

from .directory import Directory
from .events import AUDIT, Entry, entries_of
from .events_table import EVENTS
from .join import Join
from .known import Known
from .log_types import TYPES
from .operator import Operator
from .recorder import Recorder, Trouble, log_trouble

# the intents of the gateway, by their bits, and what each brings
INTENTS = [
    ('members', 1, 'GUILD_MEMBER_.*'),
    ('moderation', 2, AUDIT),
    ('voice_states', 7, 'VOICE_STATE_UPDATE'),
    ('guild_messages', 9, 'MESSAGE_(UPDATE|DELETE|DELETE_BULK)'),
    ('guild_reactions', 10, 'MESSAGE_REACTION_.*'),
    ('auto_moderation_execution', 21, 'AUTO_MODERATION_ACTION_EXECUTION'),
]
CONTENT = 1 << 15
GUILDS = 1
RAW = 'on_socket_raw_receive'

Data = dict[str, Any]


async def attach(client: Any, operator: Operator, spool: str, *,
                 wait: float = 1.5, messages: int = 10_000,
                 members: int = 100_000, bot: str | None = None,
                 trouble: Trouble = log_trouble, **options: Any) -> Adapter:
    """client: a discord.Client with enable_debug_events, before its start;
    spool: a folder; wait: seconds for what belongs together; messages and
    members: how many are remembered; bot: 'pro'; options: those of a
    recorder"""
    if not getattr(client, '_enable_debug_events', True):
        raise ValueError('the client needs enable_debug_events=True: without '
                         'it discord.py does not tell what it receives')
    adapter = Adapter(client, operator, wait, messages, members, bot, trouble)
    adapter.recorder = await operator.recorder(
        spool, trouble=trouble, unknown=adapter.introduce, **options)
    adapter.listen()
    return adapter


class Adapter:

    recorder: Recorder

    def __init__(self, client: Any, operator: Operator, wait: float,
                 messages: int, members: int, bot: str | None,
                 trouble: Trouble) -> None:
        self.client = client
        self.operator = operator
        self.bot = bot
        self.trouble = trouble
        self.known = Known(messages, members)
        self.directory = Directory(operator, trouble)
        self.join = Join(self._record, wait)
        self.writing: set[asyncio.Task[None]] = set()
        self.lost = 0
        self.closed = False

    @property
    def missing(self) -> list[str]:
        """What will not come, as sentences: intents that the client has not"""
        bits = self.client.intents.value
        sentences = [f'without the intent {name} these types do not come: '
                     f'{", ".join(types_of(events))}'
                     for name, bit, events in INTENTS if not bits & 1 << bit]

        if not bits & GUILDS:
            sentences.insert(0, 'without the intent guilds nothing has a name')
        if not bits & CONTENT:
            sentences.append('without the intent message_content messages have '
                             'no text')
        return sentences

    @property
    def counters(self) -> dict[str, Any]:
        """lost: entries for which the spool had no room"""
        return {**self.recorder.counters, 'lost': self.lost}

    async def introduce(self, server: str) -> None:
        """A server that guildlog does not know yet"""
        known = self.known.servers.get(server)

        await self.operator.server_put(
            guild_id=server, body=named(known.guild if known else {}))

    def listen(self) -> None:
        """The client may have a handler of its own"""
        own = getattr(self.client, RAW, None)

        async def hear(message: str) -> None:
            if not self.closed:
                try:
                    self.take(json.loads(message))
                except Exception as error:
                    self.trouble(error)
            if own:
                await own(message)

        setattr(self.client, RAW, hear)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hands in what waits, and stops"""
        self.closed = True
        self.join.end()
        await self.directory.flush()
        self.directory.close()
        await self.recorder.close()
        await asyncio.gather(*self.writing)

    def take(self, packet: Data) -> None:
        t, d = packet.get('t'), packet.get('d')
        if not t or not isinstance(d, dict):
            return

        server = d.get('guild_id')
        audit = t == AUDIT
        self.known.count(t, d)
        if t == 'GUILD_UPDATE' or server and (
                audit or f'gateway {t}' in EVENTS):
            of = server or d['id']
            knows = self.known.of(of, t, d)
            full = {**(knows.before or {}), **d} if t == 'MESSAGE_UPDATE' else d
            at = int(time.time() * 1000)
            shard = (int(of) >> 22) % (self.client.shard_count or 1)
            for entry in entries_of(t, full, knows,
                                    f'{at}.{shard}.{packet["s"]}', at):
                self.join.give(of, entry, audit)
        self.known.see(t, d)
        self._list(t, d)

    def _list(self, t: str, d: Data) -> None:
        """What the directory has to know"""
        directory = self.directory
        server: Any = d.get('guild_id') or d.get('id')

        if t == 'GUILD_CREATE' and not d.get('unavailable'):
            directory.server(server, named(d))
            directory.put(server, 'roles', map(role_of, d.get('roles', [])))
            directory.put(server, 'channels', map(channel_of, [
                *d.get('channels', []), *d.get('threads', [])]))
            directory.put(server, 'members',
                          map(member_of, d.get('members', [])))
        elif t == 'GUILD_UPDATE':
            directory.server(server, named(d))
        elif t in ('GUILD_MEMBER_ADD', 'GUILD_MEMBER_UPDATE'):
            directory.put(server, 'members', [member_of(d)])
        elif t == 'GUILD_MEMBERS_CHUNK':
            directory.put(server, 'members', map(member_of, d['members']))
        elif t in ('GUILD_ROLE_CREATE', 'GUILD_ROLE_UPDATE'):
            directory.put(server, 'roles', [role_of(d['role'])])
        elif t == 'GUILD_ROLE_DELETE':
            directory.remove(server, 'roles', d['role_id'])
        elif t in ('CHANNEL_DELETE', 'THREAD_DELETE'):
            directory.remove(server, 'channels', d['id'])
        elif re.fullmatch('(CHANNEL|THREAD)_(CREATE|UPDATE)', t):
            directory.put(server, 'channels', [channel_of(d)])

    def _record(self, server: str, entry: Entry) -> None:
        task = asyncio.create_task(self._write(server, entry))
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)

    async def _write(self, server: str, entry: Entry) -> None:
        try:
            await self.recorder.record(server, entry, bot=self.bot)
        except Exception as error:
            self.lost += 1
            self.trouble(error)


def named(guild: Data) -> Data:
    return {**({'name': guild['name'][:100]} if guild.get('name') else {}),
            **({'owner_id': guild['owner_id']} if guild.get('owner_id')
               else {})}


def role_of(role: Data) -> Data:
    return {'id': role['id'], 'name': role['name']}


def channel_of(channel: Data) -> Data:
    parent = channel.get('parent_id')
    return {'id': channel['id'], 'name': channel['name'],
            'type': channel['type'], **({'parent': parent} if parent else {})}


def member_of(member: Data) -> Data:
    user = member['user']
    return {'id': user['id'], 'name': user['username'],
            'bot': bool(user.get('bot')), 'roles': member['roles']}


def types_of(events: str) -> list[str]:
    """The types that come from these events alone"""
    gone: set[int] = set()
    left: set[int] = set()

    for event, rows in EVENTS.items():
        origin, name = event.split(' ')
        lost = events == AUDIT if origin == 'audit' \
            else re.fullmatch(events, name)
        (gone if lost else left).update(row[1] for row in rows)
    return [key for key, number in TYPES.items() if number in gone - left]
