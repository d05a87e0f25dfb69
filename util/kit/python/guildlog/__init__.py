"""The package: a client of the API, one of the operator location, and what
hands in entries."""

from .api import Guildlog
from .errors import (Conflict, Failed, Forbidden, Full, GuildlogError, Invalid,
                     LimitReached, NotFound, RateLimited, Unauthorized,
                     Unavailable)
from .operator import Operator
from .recorder import Recorder

__all__ = ['Conflict', 'Failed', 'Forbidden', 'Full', 'Guildlog',
           'GuildlogError', 'Invalid', 'LimitReached', 'NotFound', 'Operator',
           'RateLimited', 'Recorder', 'Unauthorized', 'Unavailable']
