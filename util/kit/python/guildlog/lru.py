"""A map of so many keys: the one that was not used for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar('V')


class Lru(Generic[V]):

    def __init__(self, most: int) -> None:
        self.most = most
        self.map: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str | None) -> V | None:
        if key is None or key not in self.map:
            return None
        self.map.move_to_end(key)
        return self.map[key]

    def set(self, key: str, value: V) -> None:
        self.map[key] = value
        self.map.move_to_end(key)
        if len(self.map) > self.most:
            self.map.popitem(last=False)

    def delete(self, key: str) -> None:
        if key in self.map:
            del self.map[key]
