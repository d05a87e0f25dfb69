"""discord.py, as Debian has it, watches a stand-in of the platform and hands in
what it sees; python-discord.t starts it."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import discord
import yarl
from discord.ext.commands import Bot

from guildlog import Guildlog, Operator
from guildlog.discord import attach
from guildlog.log_types import TYPES
from tap import equal, fails, ok, order, run, until

HERE = Path(__file__).parent
FIXTURES = json.loads((HERE / '../../viewer/events.json').read_text())
SERVER = '613425648685547541'
TOKEN = 'MjAw.a.bot'
CROWD = [str(700000000000000000 + n) for n in range(20)]
EPOCH = 1420070400000              # of the platform's ids, ms
KEYS = {number: key for key, number in TYPES.items()}

known, events = FIXTURES['known'], FIXTURES['events']
spools = os.environ['DIR']
ANN, BOB, CHIA = [*known['users']][:3]
GENERAL = [*known['channels']][0]
VOICES = [id for id, channel in known['channels'].items()
          if channel['type'] == 2]
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


def message(id, author, content):
    return {'id': id, 'type': 0, 'channel_id': GENERAL, 'guild_id': SERVER,
            'content': content, 'timestamp': '2024-01-01T00:00:00+00:00',
            'author': {'id': author, 'username':
                       known['users'][author]['name'], 'discriminator': '0',
                       'avatar': None},
            'edited_timestamp': None, 'tts': False, 'mention_everyone': False,
            'mentions': [], 'mention_roles': [], 'attachments': [],
            'embeds': [], 'pinned': False}


def voice(channel):
    return {'guild_id': SERVER, 'user_id': BOB, 'channel_id': channel,
            'session_id': 'v', 'deaf': False, 'mute': False,
            'self_deaf': False, 'self_mute': False, 'self_video': False,
            'suppress': False, 'request_to_speak_timestamp': None}


async def main():
    platform = await Platform.start()
    operator = Operator(f'unix:{os.environ["OPERATOR"]}')
    await platform.do('guilds', {
        SERVER: {**known, 'name': 'Climbers of Bern', **known['guild'],
                 'member_count': 213, 'premium_tier': 2},
        **{id: {} for id in CROWD}})
    refused = []
    heard = []
    client = Bot('!', intents=discord.Intents.all(), enable_debug_events=True,
                 chunk_guilds_at_startup=False)

    @client.event
    async def on_socket_raw_receive(text):
        heard.append(text)

    adapter = await attach(
        client, operator, f'{spools}/bot', wait=0.3,
        trouble=lambda error: print(f'# {error!r}'),
        refused=lambda *args: refused.append(args))
    await client.login(TOKEN)
    watching = asyncio.create_task(client.connect())
    await client.wait_until_ready()
    equal(adapter.missing, [], 'with all intents all types come')
    ok(heard, 'a handler of the client itself hears as before')

    # what guildlog knows then

    async def listed():
        await adapter.directory.flush()
        return not adapter.directory.servers

    await until(listed, 'the directory')
    token = (await operator.token_create(guild_id=SERVER, body={
        'permissions': 1, 'creator': ANN}))['token']
    api = Guildlog(os.environ['URL'], token)
    await operator.server_put(guild_id=SERVER, body={'plan': 'pro'})
    equal((await api.server_get())['name'], 'Climbers of Bern',
          'the server is there')
    equal((await api.server_get())['owner_id'], ANN, '... with its owner')
    equal((await api.search_members(query='chia'))[0]['id'], CHIA,
          '... its members')
    equal((await api.search_channels(query='general'))[0]['id'], GENERAL,
          '... and channels')
    await api.options_patch(body={'ignore_bot_executors': False,
                                  'ignore_bot_targets': False})

    async def stored():
        """Entries of the API, oldest first, but those of the service"""
        return [entry async for entry in api.entries(limit=200)
                if (entry['executor'] or {}).get('id') != '0'
                and entry['type'] != TYPES['tokenCreate']][::-1]

    async def coming(n, *packets):
        """Those that come of these packets, which are sent at once: what
        belongs together waits for the other for a moment only"""
        before = {entry['id'] for entry in await stored()}
        fresh = []
        await platform.do('sendAll', *packets)

        async def came():
            if watching.done() and not adapter.closed:
                watching.result()
            fresh[:] = [entry for entry in await stored()
                        if entry['id'] not in before]
            return len(fresh) >= n

        await until(came, f'{n} entries')
        return fresh

    def audit(action, user, target, **more):
        return 'GUILD_AUDIT_LOG_ENTRY_CREATE', {
            'id': id_now(), 'guild_id': SERVER, 'action_type': action,
            'user_id': user, 'target_id': target, **more}

    # each event that is told to people

    for event in events:
        t, d, was = event['t'], {**event['d']}, event.get('was')
        packets = []
        if t == 'GUILD_AUDIT_LOG_ENTRY_CREATE':
            d['id'] = id_now()
        if t.startswith('MESSAGE_'):
            # discord.py needs proxy_url
            packets = [('MESSAGE_CREATE', {
                **one, 'guild_id': SERVER, 'attachments': [
                    {**file, 'proxy_url': file['url']}
                    for file in one['attachments']]})
                       for one in ([was] if isinstance(was, dict)
                                   else was or [])]
        elif t in ('GUILD_MEMBER_UPDATE', 'GUILD_MEMBER_REMOVE'):
            adapter.known.see('GUILD_MEMBER_UPDATE', {
                **was, 'guild_id': SERVER})
        elif was:
            adapter.known.see(t, {**was, 'guild_id': SERVER})
        fresh = await coming(1, *packets, (t, d))
        ok(len(fresh) == 1, f'{event["what"]}: '
           + ', '.join(KEYS[entry['type']] for entry in fresh))
    equal([refused, adapter.counters['lost']], [[], 0],
          'none is refused, nor lost')

    # what belongs together

    for first in 'gateway', 'audit log':
        id = id_now()
        acts = [('MESSAGE_DELETE', {'id': id, 'channel_id': GENERAL,
                                    'guild_id': SERVER}),
                audit(72, ANN, BOB, options={'channel_id': GENERAL,
                                             'count': '1'})]
        one, *more = await coming(
            1, ('MESSAGE_CREATE', message(id, BOB, f'rude {first}')),
            *(acts if first == 'gateway' else acts[::-1]))
        equal([KEYS[one['type']], one['executor']['name'],
               one['target']['name'], one['content'], more],
              ['messageDelete', 'ann.keller', 'bob', f'rude {first}', []],
              f'a deletion and who did it are one entry ({first} first)')
    id = id_now()
    [own] = await coming(
        1, ('MESSAGE_CREATE', message(id, BOB, 'my own')),
        ('MESSAGE_DELETE', {'id': id, 'channel_id': GENERAL,
                            'guild_id': SERVER}))
    equal([own['executor'], own['content']], [None, 'my own'],
          'a deletion of which the audit log says nothing comes alone')
    kicked = await coming(
        1, ('GUILD_MEMBER_REMOVE', {'guild_id': SERVER, 'user': {
            'id': CHIA, 'username': 'chia', 'discriminator': '0',
            'avatar': None}}), audit(20, ANN, CHIA, reason='spam'))
    equal([(KEYS[one['type']], one['reason']) for one in kicked],
          [('kick', 'spam')], 'who was kicked has not left')
    adapter.known.see('VOICE_STATE_UPDATE', voice(VOICES[0]))
    [moved] = await coming(
        1, ('VOICE_STATE_UPDATE', voice(VOICES[1])),
        audit(26, ANN, None, options={'channel_id': VOICES[1], 'count': '1'}))
    equal([KEYS[moved['type']], moved['executor']['name'],
           moved['target']['name'], moved['channel']['name'], moved['name']],
          ['voiceMoved', 'ann.keller', 'bob', 'Lounge', 'Lobby'],
          'who moved whom, from where, to where')
    [cut] = await coming(1, ('VOICE_STATE_UPDATE', voice(None)),
                         audit(27, ANN, None, options={'count': '1'}))
    equal([KEYS[cut['type']], cut['executor']['name'], cut['target']['name'],
           cut['channel']['name']],
          ['voiceDisconnected', 'ann.keller', 'bob', 'Lounge'],
          'who disconnected whom')
    await platform.send('GUILD_MEMBERS_CHUNK', {
        'guild_id': SERVER, 'chunk_index': 0, 'chunk_count': 1, 'members': [
            {'user': {'id': '200000000000000005', 'username': 'eve',
                      'discriminator': '0', 'avatar': None},
             'roles': [], 'joined_at': '2024-01-01T00:00:00+00:00',
             'deaf': False, 'mute': False, 'flags': 0}]})

    async def found():
        return await api.search_members(query='eve')

    await until(found, 'members that discord.py asks for are listed')

    # connections that end; events come meanwhile

    markers = 0

    async def mark(n):
        nonlocal markers
        for i in range(n):
            await platform.send('AUTO_MODERATION_ACTION_EXECUTION', {
                'guild_id': CROWD[markers % len(CROWD)],
                'action': {'type': 1, 'metadata': {}}, 'rule_id': '1',
                'rule_trigger_type': 1, 'user_id': BOB, 'channel_id': GENERAL,
                'content': f'm{markers}', 'matched_keyword': 'x',
                'matched_content': 'x'})
            markers += 1

    async def counted(name, n):
        async def there():
            return (await platform.count())[name] >= n
        await until(there, f'{name} {n}')

    async def all_recorded():
        count = adapter.counters
        return count['taken'] == taken + markers and count['taken'] \
            == count['recorded'] + count['duplicates']

    taken = adapter.counters['taken']
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
    await order('stop')
    await mark(400)
    await order('start')
    await mark(400)
    await until(all_recorded, 'all of them')
    await platform.do('invalidate', False)
    await counted('identify', 2)
    await mark(50)
    await until(all_recorded, 'those of a new session')
    ok((await platform.count())['heartbeat'] > 0, 'it has a heart')
    await adapter.close()
    await client.close()
    await asyncio.gather(watching, return_exceptions=True)

    # the bot of util/kit/README.md

    recipe = (HERE / '../../../util/kit/README.md').read_text() \
        .split('# A bot with discord.py\n')[1] \
        .split('```python\n')[1].split('```')[0]
    for place, here in (('unix:/run/guildlog/operator.sock',
                         f'unix:{os.environ["OPERATOR"]}'),
                        ('/var/spool/bot', f'{spools}/recipe')):
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
    came = await coming(1, audit(20, ANN, CHIA, reason='waits'),
                        audit(22, ANN, BOB, reason='recipe'))
    ok('recipe' in [entry['reason'] for entry in came],
       'the recipe of the README is a bot')
    program.send_signal(signal.SIGINT)
    said, _ = await program.communicate()
    equal(said, b'\n', '... that misses nothing')
    ok('waits' in [entry['reason'] for entry in await stored()],
       '... hands in what waits when it ends')
    equal(os.listdir(f'{spools}/recipe'), [], '... and leaves nothing')

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
    ok('moderation' in said and ' ban,' in said and 'voiceJoin' in said
       and 'message_content' in said and 'guild_messages' not in said,
       'intents that are missing are told, with the types that do not come')
    await less.close()
    await few.close()

    await api.close()
    await operator.close()
    await platform.close()
    print(f'# markers: {markers}')


run(main)
