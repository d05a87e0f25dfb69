"""What belongs together, though the platform tells it in two events: what
happened (the gateway), and who did it (the audit log). The first one waits for
the other.

    waits      the other      what becomes of both
    deletion   deletion       one entry: the text and who deleted it
    leaving    kick, ban      the kick or the ban
    switching  moving         who moved whom
    hanging up disconnecting  who disconnected whom

Both together have the event_id of the audit log: who reads that log finds the
same entry there.

Invariant: each entry that is given is either handed on, alone or joined to one
other, or is the leaving of a member who was kicked or banned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from .events import some
from .log_types import TYPES

Entry = dict[str, Any]


class Rule(NamedTuple):
    """Types of the audit log, types of the gateway, does it fit, what they are
    together"""

    who: list[int]
    what: list[int]
    fits: Callable[[Entry, Entry], bool]
    joined: Callable[[Entry, Entry], Entry]


class Held:
    """An entry that waits for the other one"""

    def __init__(self, entry: Entry, audit: bool) -> None:
        self.entry = entry
        self.audit = audit
        self.timer: asyncio.TimerHandle


class Join:

    def __init__(self, hand: Callable[[str, Entry], None],
                 wait: float) -> None:
        """hand: takes a server and an entry; wait: seconds, for the other
        one"""
        self.hand = hand
        self.wait = wait
        self.held: dict[str, list[Held]] = {}      # by server, oldest first

    def give(self, server: str, entry: Entry, audit: bool) -> None:
        """An entry of the audit log, or of the gateway"""
        rules = [rule for rule in RULES
                 if entry['type'] in (rule.who if audit else rule.what)]

        if not rules:
            self.hand(server, entry)
            return
        for rule in rules:
            for held in self.held.get(server, []):
                pair = (entry, held.entry) if audit else (held.entry, entry)
                others = rule.what if audit else rule.who
                if held.audit != audit and held.entry['type'] in others \
                        and rule.fits(*pair):
                    self._drop(server, held)
                    self.hand(server, rule.joined(*pair))
                    return
        held = Held(entry, audit)
        held.timer = asyncio.get_running_loop().call_later(
            self.wait, self._alone, server, held)
        self.held.setdefault(server, []).append(held)

    def end(self) -> None:
        """Nothing waits any longer"""
        for server, all_held in [*self.held.items()]:
            for held in [*all_held]:
                self._alone(server, held)

    def _alone(self, server: str, held: Held) -> None:
        self._drop(server, held)
        self.hand(server, held.entry)

    def _drop(self, server: str, held: Held) -> None:
        held.timer.cancel()
        self.held[server].remove(held)
        if not self.held[server]:
            del self.held[server]


def same(field: str) -> Callable[[Entry, Entry], bool]:
    """Both have the same thing there, or none"""
    return lambda audit, seen: bool(audit.get(field, {}).get('id')
                                    == seen.get(field, {}).get('id'))


def but(entry: Entry, field: str) -> Entry:
    return {name: value for name, value in entry.items() if name != field}


def did(audit: Entry) -> Entry:
    return some(audit, 'event_id', 'executor', 'reason')


def fits_deletion(audit: Entry, seen: Entry) -> bool:
    """A message that the bot has not seen has no author to compare"""
    return same('channel')(audit, seen) \
        and ('target' not in seen or same('target')(audit, seen))


RULES = [
    Rule([TYPES['messageDelete'], TYPES['threadMessageDelete']],
         [TYPES['messageDelete'], TYPES['threadMessageDelete'],
          TYPES['pollDelete']],
         fits_deletion,
         lambda audit, seen: {**some(audit, 'target'), **seen, **did(audit)}),
    Rule([TYPES['messageDeleteBulk']], [TYPES['messageDeleteBulk']],
         same('channel'),
         lambda audit, seen: {**seen, **did(audit)}),
    Rule([TYPES['kick'], TYPES['ban']], [TYPES['memberLeave']], same('target'),
         lambda audit, seen: audit),
    Rule([TYPES['voiceMoved']], [TYPES['voiceSwitch']], same('channel'),
         lambda audit, seen: {**but(audit, 'count'),
                              'target': seen['executor'], **some(seen, 'name')}),
    Rule([TYPES['voiceDisconnected']], [TYPES['voiceLeave']],
         lambda audit, seen: True,
         lambda audit, seen: {**but(audit, 'count'),
                              'target': seen['executor'],
                              **some(seen, 'channel')}),
]
