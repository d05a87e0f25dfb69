"""Events of the platform as entries, as conf/events.tsv says: the data of its
gateway and the entries of its audit log, as they come. Pure.

How the columns of that table are read, and what is known from before, is told at
the head of util/kit/js/events.js."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .events_table import EVENTS

AUDIT = 'GUILD_AUDIT_LOG_ENTRY_CREATE'
EPOCH = 1420070400000              # of the ids of the platform, ms
PICTURES = 'https://cdn.discordapp.com/'
MOST = 100                         # messages, roles
THREADS = (10, 11, 12)             # types of channels

# what is told elsewhere, or to nobody
UNTOLD = ('id', 'type', 'flags', 'guild_id', 'application_id')

Entry = dict[str, Any]


@dataclass
class Knows:
    """What the bot has seen: what things are called, by their ids; what there
    was before the event; the server"""

    user: Callable[[Any], Any]
    channel: Callable[[Any], Any]
    role: Callable[[Any], Any]
    thing: Callable[[Any], Any]
    before: Any
    guild: dict[str, Any]


def given(value: Any) -> bool:
    return value not in (None, False, 0, '', '0') and value != []


def same(a: Any, b: Any) -> bool:
    return json.dumps(a) == json.dumps(b)


VERBS: dict[str, Callable[[Any, Any], bool]] = {
    'comes': lambda old, now: not given(old) and given(now),
    'goes': lambda old, now: given(old) and not given(now),
    'differs': lambda old, now: not same(old, now),
    'stays': lambda old, now: given(now) and same(old, now),
    'shrinks': lambda old, now: len(old or '') > len(now)
    if now is not None else False,
}


def entries_of(t: str, d: dict[str, Any], knows: Knows, id: str,
               at: int) -> list[Entry]:
    """The entries of a packet; an entry of the audit log is that of
    GUILD_AUDIT_LOG_ENTRY_CREATE and has an id and a time by itself"""
    audit = t == AUDIT
    if audit:
        id, at = d['id'], time_of(d['id'])
    event = Event(d, audit, knows)
    entries: list[Entry] = []
    rows = EVENTS.get(f'audit {d["action_type"]}' if audit else f'gateway {t}')

    for when, number, fields in rows or []:
        if event.take(when):
            entries.append({
                'event_id': f'{id}.{len(entries)}' if entries else id,
                'type': number, 'timestamp': at,
                **(event.fields('executor=user_id') if audit else {}),
                **(event.fields('reason=reason') if audit else {}),
                **event.fields(fields)})
    return entries


def time_of(id: str) -> int:
    """ms of an id of the platform"""
    return (int(id) >> 22) + EPOCH


class Event:

    def __init__(self, data: dict[str, Any], audit: bool, knows: Knows) -> None:
        self.data = data
        self.knows = knows
        self.changes: list[dict[str, Any]] | None = \
            (data.get('changes') or []) if audit else None
        self.taken: set[str] = set()   # the keys that a row was for
        self.mine: list[str] = []      # those that this row is for
        self.told: set[str] = set()    # those that a field has
        self.rows = 0

    def take(self, when: str) -> bool:
        """Is the row for it?"""
        first, *more = when.split(' and ')
        key, _, verb = first.partition(' ')
        change = key if verb in VERBS else ''

        if first == 'otherwise':
            self.mine = [one['key'] for one in self.left()]
            if self.rows and ('' in self.taken or not self.mine):
                return False
        elif change in self.taken or first and not all(
                map(self.true, [first, *more])):
            return False
        else:
            self.taken.add(change)
            self.mine = [change] if change \
                else [one['key'] for one in self.left()]
        self.rows += 1
        return True

    def left(self) -> list[dict[str, Any]]:
        """The changes that no row was for, of those that people want to be
        told"""
        return [one for one in self.changes or []
                if one['key'] not in self.taken and one['key'] not in UNTOLD
                and all(map(plain, values(one)))
                and any(map(given, values(one)))]

    def true(self, condition: str) -> bool:
        path, verb, *rest = condition.split(' ')

        if path == 'thread':
            channel = self.knows.channel(self.at(verb))
            return bool(channel) and channel.get('type') in THREADS
        if verb == 'given':
            return given(self.at(path))
        if verb == 'is':
            return text(self.at(path)) == ' '.join(rest)
        if self.changes is None:
            seen = self.knows.before is not None
        else:
            seen = any(one['key'] == path for one in self.changes)
        return seen and VERBS[verb](*self.pair(path))

    def pair(self, path: str) -> tuple[Any, Any]:
        if self.changes is None:
            return reach(self.knows.before, path), reach(self.data, path)
        for one in self.changes:
            if one['key'] == path:
                return values(one)
        return None, None

    def at(self, path: str) -> Any:
        if path.startswith('change.'):
            key = path.removeprefix('change.')
            old, now = self.pair(key)
            self.told.add(key)
            return old if now is None else now
        if path.startswith('was.'):
            return reach(self.knows.before, path.removeprefix('was.'))
        if path.startswith('guild.'):
            return reach(self.knows.guild, path.removeprefix('guild.'))
        if path.startswith('@'):
            key, _, more = path[1:].partition('.')
            return reach(self.knows.thing(self.data.get(key)), more)
        if path.startswith('#'):
            return reach(self.knows.channel(self.at(path[1:])), 'name')
        if path.startswith("'"):
            return path[1:-1]
        if path == 'was':
            return self.knows.before
        return self.data if path == 'now' else reach(self.data, path)

    def fields(self, table: str) -> Entry:
        entry: Entry = {}

        self.told = set()
        for one in table.split('; '):
            name, _, paths = one.partition('=')
            field, _, part = name.partition('.')

            if field == 'messages':
                entry['messages'] = [{'id': self.at(paths)}] if part \
                    else self.messages(paths.split(', '))
            elif field == 'changes':
                entry['changes'] = self.roles(part, self.at(paths)) if part \
                    else self.mine_told(paths)
            elif field == 'image':
                entry['image'] = self.image(paths)
            else:
                value = next((found for found in map(self.at, paths.split(', '))
                              if found is not None), None)
                self.put(entry, field, part, value)
        return {name: value for name, value in entry.items()
                if value is not None and value != '' and value != []}

    def put(self, entry: Entry, field: str, part: str, value: Any) -> None:
        if part:
            if given(value):
                known = entry.setdefault(field, {})
                known[part] = known.get(part) or value
            return
        if value is None:
            return

        if field in ('executor', 'target'):
            entry[field] = {'id': value, **some(self.knows.user(value),
                                                'name', 'bot', 'roles')}
        elif field == 'channel':
            entry['channel'] = {'id': value, **some(
                self.knows.channel(value), 'name', 'parent', 'category')}
        elif field == 'role_id':
            entry['role_id'] = value
            if entry.get('role') is None:
                entry['role'] = reach(self.knows.role(value), 'name')
        elif field == 'role':
            # one of the roles that came or went, or a name
            if not isinstance(value, list):
                entry['role'] = value
            elif len(value) == 1:
                entry['role'] = value[0]['name']
                entry['role_id'] = value[0]['id']
            else:
                self.told.clear()
        elif field == 'emoji':
            entry['emoji'] = {key: value[key] for key in
                              ('id', 'name', 'animated') if value.get(key)}
        elif field == 'count':
            entry['count'] = len(value) if isinstance(value, list) \
                else int(value)
        elif field == 'until':
            entry['until'] = ms_of(value)
        else:
            entry[field] = text(value)

    def mine_told(self, keys: str) -> list[dict[str, Any]]:
        """Those of the row, but for what another field tells of a thing that is
        new or gone"""
        return [one for one in self.changes or [] if one['key'] in self.mine
                and (not keys or one['key'] in keys.split(', '))
                and not (one['key'] in self.told
                         and not all(map(given, values(one))))]

    def messages(self, paths: list[str]) -> list[dict[str, Any]]:
        found = [self.at(path) for path in paths]
        return [message(one) for some in found if some is not None
                for one in (some if isinstance(some, list) else [some])][:MOST]

    def roles(self, key: str, ids: list[str] | None) -> list[dict[str, Any]]:
        return [{'key': key, 'new': [
            {'id': id, 'name': reach(self.knows.role(id), 'name') or id}
            for id in ids[:MOST]]}] if ids else []

    def image(self, path: str) -> dict[str, str] | None:
        """The last of its places is what changed"""
        key = path[path.rindex('{') + 1:-1]

        def url(hash: Any) -> str | None:
            return PICTURES + re.sub(
                r'\{([^}]*)\}', lambda place: text(
                    hash if place[1] == key
                    else reach(self.data, str(place[1]))),
                path) + '.png' if given(hash) else None

        before, after = map(url, self.pair(key))
        return some({'before': before, 'after': after}, 'before', 'after') \
            or None


def values(change: dict[str, Any]) -> tuple[Any, Any]:
    return change.get('old_value'), change.get('new_value')


def reach(thing: Any, path: str) -> Any:
    for name in path.split('.'):
        thing = thing.get(name) if isinstance(thing, dict) else None
    return thing


def plain(value: Any) -> bool:
    """Does it say something to people? Objects do not, roles do"""
    return all(not isinstance(one, (dict, list)) or isinstance(one, dict)
               and one.get('name') and one.keys() <= {'id', 'name'}
               for one in (value if isinstance(value, list) else [value]))


def some(thing: dict[str, Any] | None, *names: str) -> dict[str, Any]:
    """Of a thing, what is there under these names"""
    return {name: thing[name] for name in names
            if thing and thing.get(name) is not None}


def text(value: Any) -> str:
    """As JSON has it, but strings as they are"""
    return value if isinstance(value, str) else json.dumps(value)


def message(said: dict[str, Any]) -> dict[str, Any]:
    at = said.get('timestamp')
    return {
        'id': said['id'],
        **({'content': said['content']} if said.get('content') else {}),
        **({'authorId': said['author']['id']} if said.get('author') else {}),
        **({'timestamp': ms_of(at)} if at else {}),
        'attachments': [{'name': one['filename'], 'size': one['size']}
                        for one in said.get('attachments') or []],
    }


def ms_of(iso: str) -> int:
    return (datetime.fromisoformat(iso)
            - datetime.fromtimestamp(0, timezone.utc)) // timedelta(
                milliseconds=1)
