"""What becomes of packets: the lines of a spool, what guildlog is sent, and
what its answers do. guildlog is played here; python.t starts it."""

import asyncio
import json
import os
import time
from pathlib import Path

import guildlog.discord
from guildlog import Full, Operator
from guildlog.discord import attach
from tap import equal, fails, ok, run, until

folder = Path(os.environ['DIR'])
A, B = '100000000000000001', '100000000000000002'
spools = 0
ENTRY = {'event_id': 'e1', 'timestamp': 5, 'type': 5}


class Played:
    """guildlog: it answers each request as the next of "answers" says, and the
    others well"""

    def __init__(self):
        self.requests = []             # (path, body), those that were answered
        self.answers = []
        self.away = False

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.meet, '127.0.0.1', 0)
        port = self.server.sockets[0].getsockname()[1]
        self.operator = Operator(f'http://127.0.0.1:{port}')
        return self

    async def __aexit__(self, *_):
        await self.operator.close()
        self.server.close()

    async def meet(self, reader, writer):
        while head := await self.head(reader):
            length = int(head.lower().split('content-length: ')[1]
                         .split('\r\n')[0])
            body = json.loads(await reader.readexactly(length))
            status, answer = 200, {'recorded': len(body), 'duplicates': 0,
                                   'dropped': {}, 'errors': []}
            if self.away:
                status = 503
            else:
                self.requests.append((head.split(' ')[1], body))
                if self.answers:
                    said = self.answers.pop(0)
                    status = said.pop('status', 200)
                    answer.update(said)
            text = json.dumps(answer).encode()
            writer.write(b'HTTP/1.1 %d x\r\nContent-Type: application/json\r\n'
                         b'Content-Length: %d\r\n\r\n%b'
                         % (status, len(text), text))
        writer.close()

    async def head(self, reader):
        try:
            return (await reader.readuntil(b'\r\n\r\n')).decode()
        except EOFError:
            return ''

    @property
    def bodies(self):
        return [body for _, body in self.requests]


def told(n, server=A, **more):
    return {'t': 'MESSAGE_DELETE', 'd': {'guild_id': server, 'id': str(n),
                                         **more}, 'at': n}


def line(n, server=A):
    """It in a body"""
    return {'server': server, 'at': n, 't': 'MESSAGE_DELETE',
            'd': {'guild_id': server, 'id': str(n)}}


def now_ms():
    return int(time.time() * 1000)


def quiet(error):
    pass


async def lines(name, act):
    """What a recorder writes that reaches nobody"""
    operator = Operator(f'unix:{folder}/nowhere')
    recorder = await operator.recorder(str(folder / name), trouble=quiet)
    await act(recorder)
    await recorder.close()
    return b''.join(log.read_bytes() for log in
                    (folder / name).glob('*.log')).decode().split('\n')[:-1]


async def test_lines():
    async def act(recorder):
        await recorder.forward(
            told(7, text='\xeb \u2028 \U0001f600 "\\ \ud83d'))
        await recorder.forward({**told(8), 'at': 8.7}, bot='pro')
        await recorder.forward({'op': 0, 's': 3, **told(9)}, bot='main')
        await recorder.record(A, ENTRY)
        await recorder.record(A, ENTRY, bot='pro')
        for t in 'GUILD_CREATE', 'GUILD_UPDATE', 'GUILD_DELETE':
            await recorder.forward({'t': t, 'd': {'id': B}, 'at': 1})

    head = f'{{"server":"{A}","at":'
    equal(await lines('lines', act), [
        f'{head}7,"t":"MESSAGE_DELETE","d":{{"guild_id":"{A}","id":"7",'
        '"text":"\xeb \u2028 \U0001f600 \\"\\\\ \\ud83d"}}'] + [
        f'{head}8,"bot":"pro","t":"MESSAGE_DELETE",'
        f'"d":{{"guild_id":"{A}","id":"8"}}}}',
        f'{head}9,"t":"MESSAGE_DELETE","d":{{"guild_id":"{A}","id":"9"}}}}',
        f'{{"server":"{A}","timestamp":5,"event_id":"e1","type":5}}',
        f'{{"server":"{A}","bot":"pro","timestamp":5,"event_id":"e1",'
        '"type":5}'] + [
        f'{{"server":"{B}","at":1,"t":"GUILD_{what}","d":{{"id":"{B}"}}}}'
        for what in ('CREATE', 'UPDATE', 'DELETE')],
        'the lines of packets and entries are those of both packages')

    async def act_now(recorder):
        await recorder.forward({'t': 'X', 'd': {'guild_id': A}})
        for packet in ({'t': 'READY', 'd': {'id': '1'}},
                       {'t': 'RESUMED', 'd': None}, {'t': 'X', 'd': []},
                       {'t': 'X', 'd': {'guild_id': None}},
                       {'t': 'USER_UPDATE', 'd': {'id': A}}):
            await recorder.forward(packet)
        equal(recorder.counters['taken'], 1,
              'a packet that is about no server is not taken')

    begun = now_ms()
    one, = await lines('now', act_now)
    ok(begun <= json.loads(one)['at'] <= now_ms(),
       '... and one without a time is of now')


async def test_kinds(played):
    """What is left of another process, of both kinds and for both bots"""
    async def act(recorder):
        for n in range(3):
            await recorder.forward(told(n))
        await recorder.forward(told(3, B))
        await recorder.forward(told(4), bot='pro')
        await recorder.record(A, ENTRY)
        await recorder.record(B, ENTRY, bot='pro')
        await recorder.forward(told(5))

    left = [json.loads(one) for one in await lines('kinds', act)]
    begun = now_ms()
    recorder = await played.operator.recorder(str(folder / 'kinds'))
    await recorder.flush()
    paths = [path.partition('sent=') for path, _ in played.requests]
    equal([path for path, _, _ in paths],
          ['/events?', '/events?', '/logs', '/events?'],
          'a batch has lines of one kind')
    equal([behind.partition('&')[2] for _, _, behind in paths],
          ['', 'bot=pro', '', ''], '... of one bot, if they are packets')
    ok(all(begun <= int(behind.partition('&')[0]) <= now_ms()
           for _, sent, behind in paths if sent), '... and says when it goes')
    equal(sum(played.bodies, []), left, '... and their order stays')
    equal([recorder.counters[name] for name in ('recorded', 'unknown')],
          [8, {}], '... all of them are answered for')
    await recorder.close()
    equal(os.listdir(folder / 'kinds'), [], '... and nothing is left')


async def sent(played, packets, *answers, **options):
    """What becomes of packets that an earlier process left; [counters, refused]
    """
    async def act(recorder):
        for packet in packets:
            await recorder.forward(packet)

    global spools
    spools += 1
    name = f'sent-{spools}'
    refused = []
    played.requests.clear()
    played.answers += answers
    await lines(name, act)
    recorder = await played.operator.recorder(
        str(folder / name), refused=lambda *args: refused.append(args),
        **options)
    await recorder.flush()
    await recorder.close()
    return recorder.counters, refused


async def test_answers(played):
    count, _ = await sent(
        played, [told(1), told(2), told(3)],
        {'recorded': 0, 'duplicates': 2, 'dropped': {'filter': 2},
         'unknown': {'NEW': 1, 'audit 250': 2}},
        {'recorded': 1, 'dropped': {'filter': 1}, 'unknown': {'NEW': 1}},
        batch=2)
    equal([count[name] for name in
           ('recorded', 'duplicates', 'dropped', 'unknown')],
          [1, 2, {'filter': 3}, {'NEW': 2, 'audit 250': 2}],
          'what becomes of packets is counted')

    wanted = []
    await sent(played, [
        told(4, author={'id': '51'}), told(5, B, ids=['52', '51']),
        told(6, B, text='52 \\"53\\"')], {'wanted': ['51', '52', '53', '5']},
        wanted=lambda *args: wanted.append(args))
    equal(wanted, [(A, ['51']), (B, ['51', '52', '5'])],
          'who is wanted is of the servers that named them')

    count, refused = await sent(played, [told(7), told(8)], {
        'errors': [{'index': 1, 'error': 't: bad'}]})
    equal(refused, [(line(8), 't: bad')],
          'a packet that is refused is told with the reason')
    equal(count['refused'], 1, '... and counted')

    await sent(played, [told(10), told(11, B), told(12), told(13, B)], {
        'errors': [{'index': n, 'error': 'is to be sent again', 'retry': True}
                   for n in (0, 2)]})
    equal(played.bodies, [[line(10), line(11, B), line(12), line(13, B)],
                          [line(10), line(12)]],
          'what is to be sent again is, in its order, and nothing else')

    asked = []

    async def unknown(server):
        asked.append(server)

    _, refused = await sent(played, [told(14)], {
        'errors': [{'index': 0, 'error': 'server: unknown'}]}, unknown=unknown)
    equal([asked, played.bodies, refused], [[A], [[line(14)]] * 2, []],
          'who makes servers known is asked, for packets, too')

    _, refused = await sent(
        played, map(told, range(4)), {'status': 413}, {}, {'status': 413},
        {'status': 400})
    equal(played.bodies, [[line(n) for n in those] for those in
                          ([0, 1, 2, 3], [0, 1], [2, 3], [2], [3])],
          'what is too large for one request is halved')
    equal([one for one, _ in refused], [line(2)],
          '... and what is bad is found')


async def test_full(played):
    """The same as with entries"""
    trouble = []
    recorder = await played.operator.recorder(
        str(folder / 'full'), bytes=300, batch=2, trouble=trouble.append)
    played.away = True
    await fails(recorder.forward(told(7, text='x' * 300)), Full,
                'a packet that is larger than the spool')
    tasks = [asyncio.create_task(recorder.forward(told(n))) for n in range(6)]
    await asyncio.sleep(0)
    await fails(tasks[-1], Full, '... and one behind too many that wait')

    async def tried():
        return trouble

    await until(tried, 'guildlog is away')
    ok(trouble[0].status == 503, 'an attempt that failed is told')
    ok(recorder.counters['spool_bytes'] <= 300, 'the spool is bounded')
    played.away = False
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    await recorder.flush()
    equal(sum(played.bodies, []), [
        line(n) for n, end in enumerate(ends) if not end],
        'what waited for room comes in its order')
    equal(ends.count(None), 4, '... two were written, and two waited')
    await recorder.close()
    await fails(recorder.forward(told(1)), Full, 'a recorder that is closed')


class Guild:

    def __init__(self, questions):
        self.questions = questions

    async def query_members(self, *, user_ids, limit, cache):
        self.questions.append(user_ids)
        if user_ids == [666]:
            raise TimeoutError


class Client:
    """What attach() uses of a client of discord.py"""

    def __init__(self):
        self.questions = []

    def get_guild(self, id):
        return Guild(self.questions) if id == int(A) else None

    async def hear(self, t, d, **more):
        await self.on_socket_raw_receive(json.dumps({'t': t, 'd': d, 'op': 0,
                                                     's': 1, **more}))


async def answered(adapter):
    """What was heard is with guildlog"""
    await asyncio.gather(*adapter.writing)
    await adapter.recorder.flush()


async def test_attach(played):
    client, trouble, refused = Client(), [], []
    adapter = await attach(client, played.operator, str(folder / 'attach'),
                           bot='pro', trouble=trouble.append,
                           refused=lambda *args: refused.append(args))
    guild = {'id': A, 'name': 'A', 'members': [{'user': {'id': '5'}}]}
    lax = {'guild_id': A, 'id': '5', 'x': [1.5, None, True, {}],
           'presences': []}

    await client.hear('READY', {'user': {'id': '1'}})
    await client.hear(None, None, op=11)
    await client.hear('GUILD_CREATE', {**guild, 'presences': [{'x': 1}]})
    for t in 'INTERACTION_CREATE', 'PRESENCE_UPDATE', 'TYPING_START':
        await client.hear(t, {'guild_id': A})
    await client.hear('NEW_EVENT', lax)
    await answered(adapter)
    equal([(one['t'], one['d']) for one in sum(played.bodies, [])],
          [('GUILD_CREATE', guild), ('NEW_EVENT', lax)],
          'packets are forwarded as they are, but what nobody logs')
    ok(all(path.endswith('&bot=pro') for path, _ in played.requests),
       '... by that bot')

    # a server that was forgotten

    async def refuse(error, t='MESSAGE_DELETE'):
        played.answers.append({'errors': [{'index': 0, 'error': error}]})
        await client.hear(t, {'guild_id': A, 'id': A})
        await answered(adapter)

    await refuse('t: bad')
    equal([len(refused), len(trouble)], [1, 0], 'what is bad is refused')
    for error in 'server: is being forgotten', 'server: unknown':
        await refuse(error)
    equal([len(refused), [f'the server {A} is' in str(one) for one in trouble]],
          [1, [True]], 'a server that was forgotten is told once')
    equal(adapter.counters['refused'], 3, '... and what is lost is counted')
    await client.hear('GUILD_CREATE', guild)
    await refuse('server: unknown')
    equal(len(trouble), 2, '... and once more when it has come back')

    # names

    trouble.clear()
    guildlog.discord.PAUSE = 3600
    many = [str(n) for n in range(1000, 1250)]
    played.answers.append({'wanted': many})
    await client.hear('X', {'guild_id': A, 'ids': many})
    await answered(adapter)
    adapter.want(A, ['1000', '7'])
    adapter.want(B, ['7'])
    await asyncio.wait([adapter.asking], timeout=0)
    equal(client.questions, [[*range(1000, 1100)]],
          'the platform is asked for names: of 100 people, once a while')

    async def asked(*people):
        client.questions.clear()
        adapter.want(A, [*people])
        await asyncio.wait([adapter.asking])
        return client.questions

    adapter.asking.cancel()
    await asyncio.wait([adapter.asking])
    guildlog.discord.PAUSE = 0
    equal(await asked('8', '1000'), [
        [*range(1100, 1200)], [*range(1200, 1250), 7, 8]],
        '... then of the others, of nobody twice')
    guildlog.discord.REMEMBERED = 3
    equal([*await asked('7', '8'), *await asked('7', '9')], [[7, 8], [9]],
          '... but when more are remembered than may be')
    guildlog.discord.AGAIN = 0
    await asked('5')
    equal(await asked('5'), [[5]], '... or after an hour')
    await asked('666')
    ok(len(trouble) == 1 and A in str(trouble[0])
       and 'TimeoutError' in str(trouble[0]),
       'a question without an answer is told')
    guildlog.discord.PAUSE = 3600
    await asyncio.wait([adapter.asking])
    for n in '12345':
        adapter.want(A, [n])
    equal(adapter.wanted, {A: ['5']}, 'who waits for too long is forgotten')

    # the end

    played.away = True
    trouble.clear()
    hearing = asyncio.create_task(client.hear('X', {'guild_id': A, 'n': 1}))
    await adapter.close()
    await hearing
    await client.hear('X', {'guild_id': A, 'n': 2})
    left = b''.join(log.read_bytes() for log in
                    (folder / 'attach').glob('*.log'))
    equal([json.loads(one)['d'] for one in left.splitlines()],
          [{'guild_id': A, 'n': 1}], 'what was just heard is in the spool')
    await asyncio.gather(*adapter.writing)
    equal(adapter.counters['lost'], 0, '... and nothing is lost')
    played.away = False


async def test_lost(played):
    client, trouble = Client(), []
    adapter = await attach(client, played.operator, str(folder / 'lost'),
                           bytes=10, trouble=trouble.append)
    for _ in range(3):
        await client.hear('X', {'guild_id': A})
    await adapter.close()
    equal([adapter.counters['lost'], [type(one) for one in trouble]],
          [3, [Full]],
          'packets for which there is no room are counted, and told of once')


async def main():
    folder.mkdir(exist_ok=True)
    await test_lines()
    for test in (test_kinds, test_answers, test_full, test_attach, test_lost):
        async with Played() as played:
            await test(played)


run(main)
