"""discord.py, as Debian has it, watches a stand-in of the platform and forwards
what it hears; python-discord.t starts it."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from unittest import mock

import discord
import yarl
from discord.ext.commands import Bot

from guildlog import Guildlog, Operator, Unavailable, recorder
from guildlog.discord import attach
from guildlog.log_types import TYPES
from tap import equal, fails, ok, order, run, until

HERE = Path(__file__).parent
# what happens there happens today
FIXTURES = json.loads((HERE / '../../viewer/events.json').read_text().replace(
    '2030-05-01T09:4', time.strftime('%Y-%m-%dT00:0', time.gmtime())))
SERVER, TWIN = '613425648685547541', '613425648685547542'
TOKEN = 'MjAw.a.bot'
CROWD = [str(700000000000000000 + n) for n in range(20)]
EPOCH = 1420070400000              # of the platform's ids, ms

known = FIXTURES['known']
spools = os.environ['DIR']
ANN, BOB, CHIA = [*known['users']][:3]
GENERAL = [*known['channels']][0]
EVE = '200000000000000005'
last_id = int(time.time() * 1000)


class Platform:
    """The stand-in: platform.js"""

    @classmethod
    async def start(cls):
        self = cls()
        self.program = await asyncio.create_subprocess_exec(
            'node', HERE / 'platform.js', TOKEN, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE)
        ports = json.loads(await self.program.stdout.readline())
        discord.http.Route.BASE = f'http://127.0.0.1:{ports["rest"]}'
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(
            f'ws://127.0.0.1:{ports["gateway"]}')
        self.ports = ports
        return self

    async def do(self, *order):
        """Returns what it counts"""
        self.program.stdin.write(json.dumps(order).encode() + b'\n')
        return json.loads(await self.program.stdout.readline())

    async def send(self, t, d):
        return await self.do('send', t, d)

    async def count(self):
        return await self.do('count')

    async def close(self):
        self.program.stdin.close()
        await self.program.wait()


def id_now():
    """An id of the platform that was made now"""
    global last_id
    last_id += 1
    return str(last_id - EPOCH << 22)


def audit(action, user, target, **more):
    return 'GUILD_AUDIT_LOG_ENTRY_CREATE', {
        'id': id_now(), 'guild_id': SERVER, 'action_type': action,
        'user_id': user, 'target_id': target, **more}


def marker(n, server):
    return 'AUTO_MODERATION_ACTION_EXECUTION', {
        'guild_id': server, 'rule_id': '1', 'rule_trigger_type': 1,
        'action': {'type': 2, 'metadata': {'channel_id': GENERAL}},
        'user_id': BOB, 'channel_id': GENERAL, 'message_id': id_now(),
        'content': f'm{n}', 'matched_keyword': 'x', 'matched_content': 'x'}


def packets_of(event):
    """Those of an event that people are told of, and of what was before it"""
    t, d = event['t'], {'guild_id': SERVER, **event['d']}
    was = event.get('was') or []
    before = 'MESSAGE_CREATE' if t.startswith('MESSAGE_') \
        else 'GUILD_MEMBER_UPDATE' if t.startswith('GUILD_MEMBER_') else t

    if t == 'GUILD_AUDIT_LOG_ENTRY_CREATE':
        d['id'] = id_now()
    packets = [(before, {'guild_id': SERVER, **one})
               for one in (was if isinstance(was, list) else [was])]
    packets.append((t, d))
    for _, one in packets:
        # discord.py needs them
        for file in one.get('attachments', []):
            file['proxy_url'] = file['url']
    return packets


def told(entry):
    """But what is of its place in the log alone"""
    return {name: value for name, value in entry.items()
            if name not in ('id', 'timestamp', 'delivery')}


async def main():
    platform = await Platform.start()
    operator = Operator(f'unix:{os.environ["OPERATOR"]}')
    await platform.do('guilds', {
        SERVER: {**known, 'name': 'Climbers of Bern', **known['guild'],
                 'member_count': 213, 'premium_tier': 2},
        **{id: {} for id in CROWD}})
    refused, trouble, heard = [], [], []

    def bot():
        return Bot('!', intents=discord.Intents.all(),
                   enable_debug_events=True, chunk_guilds_at_startup=False)

    client = bot()

    @client.event
    async def on_socket_raw_receive(text):
        heard.append(json.loads(text))

    adapter = await attach(client, operator, f'{spools}/bot',
                           trouble=trouble.append,
                           refused=lambda *args: refused.append(args))
    await client.login(TOKEN)
    watching = asyncio.create_task(client.connect())
    await client.wait_until_ready()
    equal(adapter.missing, [], 'with all intents all types come')
    ok(heard, 'a handler of the client itself hears as before')

    async def flushed(*last):
        """guildlog has answered for all up to these packets"""
        async def came():
            if watching.done():
                watching.result()
            return all(any(one['t'] == t and one['d'] == d for one in heard)
                       for t, d in last)

        await until(came, 'what the platform sends')
        await asyncio.gather(*adapter.writing)
        await adapter.recorder.flush()

    async def sent(*packets):
        await platform.do('sendAll', *packets)
        await flushed(*packets)

    # what guildlog knows then

    async def created():
        return sum(one['t'] == 'GUILD_CREATE' for one in heard) == 21

    async def api_of(server):
        await operator.server_put(guild_id=server, body={'plan': 'pro'})
        api = Guildlog(os.environ['URL'], (await operator.token_create(
            guild_id=server, body={'permissions': 1, 'creator': ANN}))['token'])
        await api.options_patch(body={'ignore_bot_executors': False,
                                      'ignore_bot_targets': False})
        return api

    await until(created, 'the servers')
    await flushed()
    api = await api_of(SERVER)
    equal((await api.server_get())['name'], 'Climbers of Bern',
          'the server is there')
    equal((await api.server_get())['owner_id'], ANN, '... with its owner')
    equal((await api.search_members(query='chia'))[0]['id'], CHIA,
          '... its members')
    equal((await api.search_channels(query='general'))[0]['id'], GENERAL,
          '... and channels')

    # what comes by the bot is what comes of the same packets by hand

    async def stored(api):
        """Entries of the API, oldest first, but those of the service"""
        return [entry async for entry in api.entries(limit=200)
                if (entry['executor'] or {}).get('id') != '0'
                and entry['type'] != TYPES['tokenCreate']][::-1]

    guild = next(one['d'] for one in heard if one['d']
                 and one['t'] == 'GUILD_CREATE' and one['d']['id'] == SERVER)
    # what becomes of those two depends on the ms
    packets = [packet for event in FIXTURES['events']
               if event['t'] not in ('GUILD_MEMBER_REMOVE',
                                     'VOICE_STATE_UPDATE')
               for packet in packets_of(event)]
    await operator.events(body=[{'t': 'GUILD_CREATE',
                                 'd': {**guild, 'id': TWIN}}])
    twin = await api_of(TWIN)
    answer = await operator.events(body=json.loads(json.dumps(
        [{'t': t, 'd': d} for t, d in packets]).replace(SERVER, TWIN)))
    equal(answer['errors'], [], 'packets by hand')
    await sent(*packets)

    async def all_stored():
        return len(await stored(api)) >= len(await stored(twin)) \
            >= answer['recorded'] + answer['waiting']

    await until(all_stored, 'the entries')
    by_bot = [told(entry) for entry in await stored(api)]
    by_hand = [json.loads(json.dumps(told(entry)).replace(TWIN, SERVER))
               for entry in await stored(twin)]
    equal([[entry for entry in by_bot if entry not in by_hand],
           [entry for entry in by_hand if entry not in by_bot]], [[], []],
          'the entries that come of them are the same')
    equal(len(by_bot), len(by_hand), '... all once')
    ok(len({entry['type'] for entry in by_bot}) > 30, '... of many types')
    equal([adapter.counters[name] for name in ('refused', 'lost', 'unknown')],
          [0, 0, {}], '... and loses none')

    # who is somewhere else and back within a ms

    moment = recorder.now_ms()
    before = len(await stored(twin))
    with mock.patch.object(recorder, 'now_ms', lambda: moment):
        await asyncio.gather(*(adapter.recorder.forward({
            't': 'VOICE_STATE_UPDATE',
            'd': {'guild_id': TWIN, 'user_id': EVE, 'session_id': 'e',
                  'channel_id': channel}}) for channel in '454'))
    await adapter.recorder.flush()

    async def moved():
        return len(await stored(twin)) == before + 3

    await until(moved, 'each move')
    equal([entry['channel']['id'] for entry in (await stored(twin))[-3:]],
          ['4', '5', '4'], 'who is back within a ms has moved twice')

    # what nobody knows, and who

    await sent(('NEW_EVENT', {'guild_id': SERVER}))
    equal(adapter.counters['unknown'], {'NEW_EVENT': 1},
          'an event that nobody knows is counted')
    await platform.do('people', {'id': EVE, 'username': 'eve',
                                 'discriminator': '0', 'avatar': None})
    await sent(audit(22, ANN, EVE))

    async def found():
        return await api.search_members(query='eve')

    await until(found, 'who was named without a name is asked for')
    equal((await platform.count())['questions'], [[SERVER, [EVE]]],
          '... which is what the platform was asked')

    # a server that was forgotten

    crowd = [marker(n, CROWD[0]) for n in range(1000, 1003)]
    await operator.server_forget(guild_id=CROWD[0])
    await sent(crowd[0])
    await order(f'forget {CROWD[0]}')
    await sent(*crowd[1:])
    equal([[CROWD[0] in str(error) for error in trouble], refused],
          [[True], []], 'a server that was forgotten is told once')
    equal(adapter.counters['refused'], 3, '... and counted')

    # connections that end; events come meanwhile

    recorded = adapter.counters['recorded']
    markers = 0

    async def mark(n):
        nonlocal markers
        for i in range(n):
            await platform.send(*marker(markers, CROWD[1 + markers % 19]))
            markers += 1

    async def counted(name, n):
        async def there():
            return (await platform.count())[name] >= n
        await until(there, f'{name} {n}')

    async def all_recorded():
        return adapter.counters['recorded'] >= recorded + markers

    await mark(50)
    for what, *act in (('a lost connection', 'drop', 4000),
                       ('a request to reconnect', 'reconnect'),
                       ('an invalid session that may be resumed',
                        'invalidate', True)):
        resumed = (await platform.count())['resume']
        await platform.do(*act)
        await mark(50)
        await counted('resume', resumed + 1)
        ok((await platform.count())['identify'] == 1, f'{what} is resumed')
        await mark(50)
    ok((await platform.count())['missed'] > 0, 'events were missed meanwhile')
    trouble.clear()
    await order('stop')
    await mark(400)

    async def told_of():
        return trouble

    await until(told_of, 'guildlog is away: it is told')
    ok(all(isinstance(error, Unavailable) for error in trouble),
       '... as it is')
    await order('start')
    await mark(400)
    await until(all_recorded, 'all of them')
    await platform.do('invalidate', False)
    await counted('identify', 2)
    await mark(50)
    await until(all_recorded, 'those of a new session')
    ok((await platform.count())['heartbeat'] > 0, 'it has a heart')
    equal([adapter.counters[name] for name in ('duplicates', 'lost')], [0, 0],
          'nothing came twice, and nothing is lost')

    # a bot that ends while guildlog is away; the next is that of
    # util/kit/README.md

    await order('stop')
    taken = adapter.counters['taken']
    await mark(50)

    async def on_disk():
        return adapter.counters['taken'] >= taken + 50

    await until(on_disk, 'they are on disk')
    await adapter.close()
    await client.close()
    await asyncio.gather(watching, return_exceptions=True)
    await order('start')

    recipe = (HERE / '../../../util/kit/README.md').read_text() \
        .split('# A bot with discord.py\n')[1] \
        .split('```python\n')[1].split('```')[0]
    for place, here in (('unix:/run/guildlog/operator.sock',
                         f'unix:{os.environ["OPERATOR"]}'),
                        ('/var/spool/bot', f'{spools}/bot')):
        ok(place in recipe, f'the recipe names {place}')
        recipe = recipe.replace(place, here)

    # started in the background the test ignores SIGINT, and so would the bot
    signal.signal(signal.SIGINT, signal.default_int_handler)

    program = await asyncio.create_subprocess_exec(
        sys.executable, '-B', '-c', f"""import discord, yarl
discord.http.Route.BASE = 'http://127.0.0.1:{platform.ports["rest"]}'
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(
    'ws://127.0.0.1:{platform.ports["gateway"]}')
token = '{TOKEN}'
{recipe}""", stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL)
    await counted('identify', 3)
    await platform.send(*audit(22, ANN, BOB, reason='recipe'))

    async def banned():
        return 'recipe' in [entry['reason'] for entry in await stored(api)]

    await until(banned, 'what the recipe of the README hears')
    program.send_signal(signal.SIGINT)
    said, _ = await program.communicate()
    equal(said, b'\n', 'the recipe of the README is a bot that misses nothing')

    # a bot that is not allowed

    few = discord.Client(intents=discord.Intents(
        guilds=True, guild_messages=True), enable_debug_events=True)
    await fails(few.login('MjAw.another.bot'), discord.LoginFailure,
                'a wrong token is an error of discord.py')
    await fails(attach(discord.Client(intents=few.intents), operator,
                       f'{spools}/deaf'), ValueError,
                'a client that does not tell what it receives is refused')
    less = await attach(few, operator, f'{spools}/few')
    said = '\n'.join(less.missing)
    ok('intent moderation' in said and ' ban,' in said and 'voiceJoin' in said
       and 'intent message_content' in said and 'guild_messages' not in said,
       'intents that are missing are told, with the types that do not come')
    await less.close()
    await few.close()

    await twin.close()
    await api.close()
    await operator.close()
    await platform.close()
    print(f'# markers: {markers}')


run(main)
