"""The client against a real guildlog; python.t starts it."""

import asyncio
import os
import ssl
import time

import guildlog
from tap import equal, fails, ok, order, run

url, token, server = (os.environ[name] for name in ('URL', 'TOKEN', 'SERVER'))
other = os.environ['BASIC']
slow = os.environ['SLOW']


def operator_at(where, **options):
    return guildlog.Operator(where, patience=0, **options)


def context(certified):
    tls = ssl.create_default_context(cafile=f'{os.environ["TLS"]}/cert')
    if certified:
        tls.load_cert_chain(f'{os.environ["TLS"]}/cert',
                            f'{os.environ["TLS"]}/key')
    return tls


async def some(tail, n):
    """The contents of entries of a tail, until there are so many"""
    return [(await anext(tail))['content'] for _ in range(n)]


async def main():
    api = guildlog.Guildlog(url, token)
    operator = guildlog.Operator(f'unix:{os.environ["OPERATOR"]}')

    async def record(*contents):
        answer = await operator.record(guild_id=server, body=[
            {'event_id': f'c-{content}', 'type': 5, 'content': content}
            for content in contents])
        return answer['ids']

    # both planes

    equal(api.server, server, 'the server is that of the token')
    equal((await api.server_get())['name'], 'Kit', 'a call without arguments')
    equal(await api.channels_patch(body={'main_channel': '3000'}), {},
          'a call with a body')
    equal((await api.channels_get())[0]['main_channel'], '3000',
          '... it is read back')
    equal(await api.ignore_add(ignore_type=2, body={'value': '77'}), {},
          'a parameter of the path')
    equal((await api.ignore_get(ignore_type=2))[0]['ignore_value'], '77',
          '... it is read back')
    equal(await api.channels_patch(bot='pro', body={'main_channel': '3001'}),
          {}, 'a parameter of the query')
    equal((await api.config_get())['serverlogConfigChannels'][0]
          ['main_channel'], '3000', '... it was for the other bot')
    equal(len(await api.log_types()), 102, 'a path without a server')
    equal((await operator.server_put(guild_id='300000000000000077',
                                     body={'name': 'Neü'}))['name'], 'Neü',
          'the operator makes a server')
    equal(await operator.members_put(guild_id=server, body=[
        {'id': '200000000000000001', 'name': 'Ann'}]), {}, '... and members')
    equal((await api.search_members(query='an'))[0]['name'], 'Ann',
          '... who are found')

    async with operator_at(os.environ['REMOTE'], tls=context(True)) as known:
        equal((await known.server_put(guild_id=server, body={}))['name'],
              'Kit', 'the operator by TLS, with a certificate')
    async with operator_at(os.environ['REMOTE'], tls=context(False)) as nobody:
        refused = await fails(nobody.server_put(guild_id=server, body={}),
                              guildlog.Invalid, '... and not without')
        equal(refused.status, 400, '... as nginx says')
    async with operator_at(os.environ['REMOTE']) as strict:
        await fails(strict.server_put(guild_id=server, body={}),
                    guildlog.Unavailable,
                    '... nor at somebody whose certificate is unknown')

    # pages and exports

    ids = []
    for n in range(3):
        ids += await record(*(f'p{n * 150 + i}' for i in range(150)))
    equal([entry['id'] async for entry in api.entries(type=5)][::-1], ids,
          'entries of all pages')
    equal([len(page['entries']) async for page
           in api.pages(type=[5, 6], limit=200)], [200, 200, 50],
          'pages; a parameter that is repeated')
    pieces = [piece async for piece
              in await api.logs_export(type=5, format='ndjson')]
    equal(b''.join(pieces).count(b'\n'), 450, 'an export is a stream')
    ok(len(pieces) > 1, '... in pieces')
    async with await api.logs_export(type=5, format='ndjson') as export:
        ok((await export.piece()).startswith(b'{'),
           '... which may be left before its end')
    equal(await api.logs_export(type=100), None,
          '... or None, if there is nothing')

    # errors

    wrong = await fails(api.logs_page(limit=201), guildlog.Invalid,
                        'an error of 400')
    ok('limit' in str(wrong) and wrong.status == 400, '... says the rule')
    basic = guildlog.Guildlog(url, other)
    await fails(basic.logs_page(), guildlog.Forbidden, 'a token that may not')
    await fails(guildlog.Guildlog(url, f'{token}x').logs_page(),
                guildlog.Unauthorized, 'a token that is none')
    await fails(api.logs_one(id='1'), guildlog.NotFound, 'nothing there')
    await fails(operator_at('unix:/nowhere').record_many(body=[]),
                guildlog.Unavailable, 'nobody there')

    # waiting

    paced = guildlog.Guildlog(slow, token)
    before = time.monotonic()
    await asyncio.gather(*(paced.server_get() for _ in range(6)))
    ok(time.monotonic() - before >= 0.9, '429 is obeyed: the sixth call waited')
    hasty = guildlog.Guildlog(slow, token, patience=0)
    limited = await fails(asyncio.gather(*(hasty.server_get()
                                           for _ in range(6))),
                          guildlog.RateLimited, '... or told, without patience')
    ok(limited.retry_after >= 1, '... with the seconds to wait')

    # a tail

    tail = api.tail(type=5)
    first = asyncio.create_task(some(tail, 1))
    n = 0
    while not first.done():
        await record(f't{n}')
        n += 1
    ok((await first)[0].startswith('t'), 'a tail brings what is new')
    await record('u1', 'u2')
    seen = []
    while seen[-1:] != ['u2']:
        seen += await some(tail, 1)
    equal(seen[-2:], ['u1', 'u2'], '... in order')
    await order('restart')
    await record('v1', 'v2')
    equal(await some(tail, 2), ['v1', 'v2'], '... goes on after a restart')
    called = asyncio.create_task(api.server_get())
    await order('restart')
    equal((await called)['id'], server, 'a call outlives a restart')
    last = await operator.record(guild_id=server, body=[
        {'event_id': 'w', 'type': 5, 'content': 'w'}])
    equal(await some(tail, 1), ['w'],
          '... and so does the tail, nothing twice')
    page = await api.logs_page(limit=3, type=5)
    behind = api.tail(type=5, last_event_id=page['entries'][2]['id'])
    equal(await some(behind, 2), ['v2', 'w'], 'a tail behind an entry')
    await order('days')
    gap = api.tail(type=5, last_event_id=ids[440])
    equal((await some(gap, 9))[:2], ['w', 'v2'],
          'what a tail has missed for too long comes from pages')
    waiting = asyncio.create_task(anext(tail))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    ok(waiting.cancelled(), 'a tail ends when it is told to')
    await fails(anext(basic.tail()), guildlog.Forbidden,
                'a tail that may not be is an error')
    equal(last['recorded'], 1, 'all was recorded')

    for it in tail, behind, gap:
        await it.aclose()
    for client in api, operator, basic, paced, hasty:
        await client.close()


run(main)
