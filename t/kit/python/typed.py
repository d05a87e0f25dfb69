"""Calls as a type checker reads them; python-types.t runs it. A line that is
ignored has to be wrong."""

from guildlog import Guildlog, Operator, RateLimited
from guildlog.discord import attach


async def calls() -> None:
    api = Guildlog('http://localhost/api', 'x', patience=1.5)
    operator = Operator('unix:/run/guildlog/operator.sock')
    name: str = (await api.server_get())['name']
    await api.channels_patch(body={'main_channel': '3000'}, bot='pro')
    await api.channels_patch(bdy={})            # type: ignore[call-arg]
    await api.ignore_get()                      # type: ignore[call-arg]
    await api.ignore_add(ignore_type=2, body={'value': '7'})
    await api.logs_page(limit=[1, 2])           # type: ignore[arg-type]
    async for entry in api.entries(type=[39], limit=200):
        print(entry['reason'], name)
    async for entry in api.tail(last_event_id='1'):
        print(entry['id'])
    async for piece in await api.logs_export(format='ndjson'):
        print(piece)
    await operator.server_put(guild_id='100000000000000001', body={'name': 'A'})
    # the operator has no server of its own
    await operator.token_create(body={})        # type: ignore[call-arg]
    recorder = await operator.recorder('/var/spool/bot', batch=100)
    await recorder.record('100000000000000001', {'type': 5, 'content': 'x'})
    await recorder.record('100000000000000001', 5)      # type: ignore[arg-type]
    await recorder.forward({'t': 'GUILD_DELETE', 'd': {}, 'at': 5}, bot='pro')
    await recorder.forward('GUILD_DELETE')              # type: ignore[arg-type]
    print(recorder.counters['recorded'])
    adapter = await attach(None, operator, '/tmp/bot', bot='pro', batch=100)
    await attach(None, operator, '/tmp/bot', refused=5) # type: ignore[arg-type]
    sentences: list[str] = adapter.missing
    print(sentences, adapter.counters['lost'])


def seconds(error: RateLimited) -> int | None:
    return error.retry_after
