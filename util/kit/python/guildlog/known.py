"""What a bot has seen of its servers, as far as entries need it: what things are
called, and what they were like before an event. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .events import AUDIT, Knows, some
from .lru import Lru

THINGS = 1_000                     # of a server: events, rules, webhooks, ...

Data = dict[str, Any]


class Server:

    def __init__(self) -> None:
        self.guild: Data = {}
        self.channels: dict[str, Data] = {}
        self.roles: dict[str, Data] = {}
        self.voices: dict[str, Data] = {}      # by member
        self.things: Lru[Data] = Lru(THINGS)


class Known:

    def __init__(self, messages: int, members: int) -> None:
        """So many messages and members are kept"""
        self.messages: Lru[Data] = Lru(messages)
        self.members: Lru[Data] = Lru(members)         # "server/member"
        self.servers: dict[str, Server] = {}

    def of(self, server: str, t: str, d: Data) -> Knows:
        """What entries_of() asks, for an event of that server"""
        own = self._server(server)
        before: Any

        if t == 'GUILD_UPDATE':
            before = own.guild
        elif t == 'VOICE_STATE_UPDATE':
            before = own.voices.get(d['user_id'], {})
        elif t == 'MESSAGE_DELETE_BULK':
            before = [seen for seen in map(self.messages.get, d['ids']) if seen]
        elif t in ('MESSAGE_UPDATE', 'MESSAGE_DELETE'):
            before = self.messages.get(d['id'])
        else:
            before = self._user(server, (d.get('user') or {}).get('id'))
        return Knows(lambda id: self._user(server, id),
                     lambda id: placed(own.channels, id), own.roles.get,
                     own.things.get, before, own.guild)

    def create(self, guild: Data) -> None:
        """All of a server, as GUILD_CREATE has it"""
        own = self.servers[guild['id']] = Server()

        own.guild = plain(guild)
        own.channels = by_id([*guild.get('channels', []),
                              *guild.get('threads', [])], channel_of)
        own.roles = by_id(guild.get('roles', []), role_of)
        own.voices = {state['user_id']: state
                      for state in guild.get('voice_states', [])}
        for member in guild.get('members', []):
            self._member(guild['id'], member)
        for key in ('guild_scheduled_events', 'stickers', 'soundboard_sounds',
                    'stage_instances'):
            for thing in guild.get(key) or []:
                self._thing(own, thing)

    def see(self, t: str, d: Data) -> None:
        """Takes in an event, behind the making of its entries"""
        server = d.get('guild_id')

        if t == 'GUILD_CREATE':
            if not d.get('unavailable'):
                self.create(d)
            return
        if server is None and t.startswith('GUILD_'):
            server = d.get('id')
        if not server:
            return
        own = self._server(server)

        if t in ('MESSAGE_CREATE', 'MESSAGE_UPDATE'):
            self._message(server, d)
        elif t == 'MESSAGE_DELETE':
            self.messages.delete(d['id'])
        elif t == 'MESSAGE_DELETE_BULK':
            for id in d['ids']:
                self.messages.delete(id)
        elif t == 'GUILD_UPDATE':
            own.guild.update(plain(d))
        elif t == 'GUILD_DELETE':
            if not d.get('unavailable'):
                del self.servers[server]
        elif t in ('GUILD_MEMBER_ADD', 'GUILD_MEMBER_UPDATE'):
            self._member(server, d)
        elif t == 'GUILD_MEMBERS_CHUNK':
            for member in d['members']:
                self._member(server, member)
        elif re.fullmatch('(CHANNEL|THREAD)_(CREATE|UPDATE)', t):
            own.channels[d['id']] = channel_of(d)
        elif t in ('GUILD_ROLE_CREATE', 'GUILD_ROLE_UPDATE'):
            own.roles[d['role']['id']] = role_of(d['role'])
        elif t == 'VOICE_STATE_UPDATE':
            if d.get('channel_id'):
                own.voices[d['user_id']] = d
            else:
                own.voices.pop(d['user_id'], None)
            if d.get('member'):
                self._member(server, d['member'])
        elif t == AUDIT:
            self._named(own, d)
        elif t.endswith(('_CREATE', '_UPDATE')) and d.get('id') \
                and d.get('name'):
            self._thing(own, d)

    def count(self, t: str, d: Data) -> None:
        """An entry says how many members there are behind its event"""
        more = {'GUILD_MEMBER_ADD': 1, 'GUILD_MEMBER_REMOVE': -1}.get(t)

        if more:
            guild = self._server(d['guild_id']).guild
            if 'member_count' in guild:
                guild['member_count'] += more

    def _server(self, id: str) -> Server:
        if id not in self.servers:
            self.create({'id': id})
        return self.servers[id]

    def _user(self, server: str, id: str | None) -> Data | None:
        return self.members.get(f'{server}/{id}')

    def _member(self, server: str, member: Data) -> None:
        user = member.get('user')

        if user:
            self.members.set(f'{server}/{user["id"]}', {
                'name': user['username'], 'bot': bool(user.get('bot')),
                **some(member, 'roles', 'avatar', 'premium_since')})

    def _message(self, server: str, d: Data) -> None:
        before = self.messages.get(d['id'])
        author = d.get('author')

        if author or before:
            seen = {**(before or {}), 'id': d['id'],
                    **some(d, 'content', 'timestamp', 'poll')}
            if author:
                seen['author'] = some(author, 'id', 'username')
            if d.get('attachments') is not None:
                seen['attachments'] = [some(one, 'filename', 'size')
                                       for one in d['attachments']]
            self.messages.set(d['id'], seen)
        if author and d.get('member'):
            self._member(server, {**d['member'], 'user': author})

    def _thing(self, own: Server, d: Data) -> None:
        """An integration has a bot"""
        bot = ((d.get('application') or {}).get('bot') or {}).get('id')

        own.things.set(d['id'], {
            'name': d.get('topic') if d.get('name') is None else d['name'],
            'type': d.get('type'), 'channel_id': d.get('channel_id'),
            'bot': bot})

    def _named(self, own: Server, d: Data) -> None:
        """What the audit log calls a thing that is new, or has another name"""
        new = {one['key']: one.get('new_value')
               for one in reversed(d.get('changes') or [])}

        if d.get('target_id') and new.get('name'):
            own.things.set(d['target_id'], {
                **(own.things.get(d['target_id']) or {}),
                **some(new, 'name', 'type', 'channel_id')})


def channel_of(d: Data) -> Data:
    return {'name': d.get('name'), 'type': d.get('type'),
            'parent': d.get('parent_id')}


def role_of(d: Data) -> Data:
    return {'name': d['name']}


def placed(channels: dict[str, Data], id: str) -> Data | None:
    """With its category: a thread is in a channel, a channel in a category"""
    channel = channels.get(id)

    if not channel:
        return None
    above = channels.get(channel['parent'])
    in_category = above is not None and above['type'] == 4
    return {'name': channel['name'], 'type': channel['type'],
            'parent': channel['parent'] if above and not in_category else None,
            'category': channel['parent'] if in_category
            else above and above['parent']}


def by_id(things: list[Data], what: Callable[[Data], Data]) -> dict[str, Data]:
    return {one['id']: what(one) for one in things}


def plain(guild: Data) -> Data:
    """What is not kept anywhere else, as far as an event tells it"""
    return {key: guild[key] for key in (
        'id', 'name', 'owner_id', 'icon', 'member_count', 'premium_tier',
        'premium_subscription_count') if key in guild}
