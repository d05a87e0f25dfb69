"""A client of the operator location: over a unix socket, or over TLS with a
certificate of the client's."""

from __future__ import annotations

from typing import Any

from .connection import Connection
from .operations import OperatorOperations
from .recorder import Recorder


class Operator(OperatorOperations):

    def __init__(self, url: str, **options: Any) -> None:
        """options: those of Connection"""
        self.connection = Connection(url, **options)

    async def recorder(self, spool: str, **options: Any) -> Recorder:
        """What hands in entries; options: those of Recorder.open"""
        return await Recorder.open(self.connection, spool, **options)
