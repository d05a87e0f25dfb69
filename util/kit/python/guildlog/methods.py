"""What the methods of operations.py have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import quote

from .connection import Connection

# values of a parameter
One = str | int | None
Many = One | Sequence[str | int]


class Methods:

    connection: Connection
    server: str                    # that of the token

    async def close(self) -> None:
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, method: str, path: str, body: Any = None,
                    **parameters: Many) -> Any:
        filled = re.sub(r'\{(\w+)\}', lambda place: quote(
            str(parameters.pop(place[1])), safe=''), path)

        return await self.connection.call(method, filled, query=parameters,
                                          body=body)
