"""What a recorder promises, one by one; python.t starts it."""

import asyncio
import itertools
import json
import os
import time
from pathlib import Path

from guildlog import Full, GuildlogError, Operator
from tap import equal, fails, ok, order, run

server = os.environ['SERVER']
folder = Path(os.environ['DIR'])
folders = 0

TOP = Path(__file__).parents[3]
SAME = """
import {Operator} from './util/kit/js/index.js';

const {OPERATOR, SERVER} = process.env;
const [, spool, event] = process.argv;
const operator = new Operator({url: `unix:${OPERATOR}`});
const recorder = await operator.recorder({spool});

await recorder.record(SERVER, JSON.parse(event));
await recorder.flush();
console.log(recorder.counters.duplicates);
await recorder.close();
operator.close();
"""


def quiet(error):
    pass


def entries(kind, letter, n, more=''):
    return [{'type': kind, 'event_id': f'{letter}{i}',
             'content': f'{letter}{i}{more}'} for i in range(n)]


async def main():
    operator = Operator(f'unix:{os.environ["OPERATOR"]}')

    async def start(again=False, **options):
        global folders
        folders += not again
        return await operator.recorder(str(folder / str(folders)), **options)

    # one answer for all

    refused = []
    recorder = await start(refused=lambda *args: refused.append(args))
    await recorder.record(server, [
        {'type': 5, 'content': 'a'}, {'type': 200, 'content': 'bad'},
        {'type': 5, 'content': 'b'}])
    await recorder.record(server, {'type': 5, 'content': 'c'}, bot='pro')
    await recorder.flush()
    equal([recorder.counters[name] for name in
           ('taken', 'recorded', 'refused')], [4, 3, 1], 'entries are counted')
    ok(len(refused) == 1 and refused[0][0]['content'] == 'bad'
       and refused[0][1].startswith('type'),
       'an entry that is refused is told with the reason')

    # the same event

    event = {'type': 5, 'content': 'same \xeb \U0001f600\n', 'timestamp':
             int(time.time() * 1000), 'executor': {'id': '1', 'name': 'x'}}
    await recorder.record(server, [
        event, {**event}, {**event, 'executor': {'name': 'x', 'id': '1'}},
        {**event, 'content': 'other'}])
    await recorder.record(server, [{'type': 5, 'content': 'now'},
                                   {'type': 5, 'content': 'now'}])
    await recorder.flush()
    equal([recorder.counters['recorded'], recorder.counters['duplicates']],
          [7, 2], 'the same entry of the same moment is one; those without a '
          'time are not')
    await recorder.record(server, {'type': 5, 'content': 'half \ud83d'})
    await recorder.flush()
    equal(recorder.counters['refused'] + recorder.counters['recorded'], 9,
          'half a character stops nothing')

    program = await asyncio.create_subprocess_exec(
        'node', '--input-type=module', '-e', SAME, '--', str(folder / 'js'),
        json.dumps(event), cwd=TOP, stdout=asyncio.subprocess.PIPE)
    equal((await program.communicate())[0], b'1\n',
          '... the same as that of the package for Node.js')

    # a folder is of one recorder

    await fails(start(again=True), GuildlogError,
                'a second recorder of the folder')
    await recorder.close()
    await fails(recorder.record(server, event), Full, 'one that is closed')

    # unknown servers

    asked = []

    async def unknown(name):
        asked.append(name)
        await operator.server_put(guild_id=name, body={'name': 'New'})

    new = '300000000000000001'
    meets = await start(unknown=unknown)
    await meets.record(new, [{'type': 5, 'content': '1'},
                             {'type': 5, 'content': '2'}])
    await meets.record(server, {'type': 5, 'content': 'known'})
    await meets.record(new, {'type': 5, 'content': '3'})
    await meets.flush()
    equal([meets.counters['recorded'], meets.counters['refused']], [4, 0],
          'a server that is unknown is made known, and nothing is lost')
    equal(asked, [new], '... once')
    await meets.close()

    # guildlog is away

    small = await start(bytes=10_000, batch=40, trouble=quiet)
    await order('stop')
    await small.record(server, entries(6, 's', 20))
    ok(small.counters['spool_bytes'] > 1000,
       'entries are safe while guildlog is away')
    more = []
    for n in itertools.count():
        more.append(asyncio.create_task(small.record(server, {
            'type': 6, 'event_id': f'm{n}', 'content': f'm{n} {"x" * 300}'})))
        await asyncio.sleep(0)
        over = [task.exception() for task in more
                if task.done() and task.exception()]
        if over:
            break
    ok(isinstance(over[0], Full),
       'the spool is bounded: who does not wait is told')
    more[-2].cancel()
    ok(small.counters['spool_bytes'] <= 10_000,
       '... and it has no more than it may')
    await fails(small.record(server, {'type': 6, 'content': 'x' * 20_000}),
                Full, '... nor an entry that is larger than itself')
    await order('start')
    ends = await asyncio.gather(*more, return_exceptions=True)
    await small.flush()
    equal(small.counters['recorded'], 20 + ends.count(None),
          'all that waited arrives when guildlog is back, but who gave up')
    await small.close()

    # a process that ends

    await order('stop')
    early = await start(trouble=quiet)
    await early.record(server, entries(7, 'e', 1000))
    await early.close()
    log = next((folder / str(folders)).glob('*.log'))
    with log.open('ab') as file:
        file.write(b'{"server":"1","type":7,"con')
    await order('start')
    late = await start(again=True)
    await late.flush()
    equal([late.counters[name] for name in ('taken', 'recorded', 'refused')],
          [0, 1000, 0],
          'what a process leaves is sent by the next, but half a line')
    await late.close()
    again = await start(again=True)
    await again.flush()
    equal([again.counters['recorded'], again.counters['duplicates']], [0, 0],
          '... and not sent again by the one after it')
    equal(os.listdir(folder / str(folders)), ['lock'],
          '... nothing of it is left')
    await again.close()
    equal(os.listdir(folder / str(folders)), [], '... nor a lock')

    half = await start(batch=20)
    await half.record(server, entries(7, 'h', 1000))
    while half.counters['recorded'] < 100:
        await asyncio.sleep(0)
    await half.close()
    rest = await start(again=True)
    await rest.flush()
    sent = [half.counters['recorded'], rest.counters['recorded'],
            rest.counters['duplicates']]
    ok(sent[0] < 1000 and sum(sent) == 1000,
       f'what was answered is not sent again: {sent}')
    await rest.close()

    # more than a proxy takes at once

    front = Operator(os.environ['FRONT'])
    large = await front.recorder(str(folder / 'front'), batch=1000)
    await large.record(server, entries(8, 'l', 200, 'y' * 3000))
    await large.flush()
    equal(large.counters['recorded'], 200, 'a batch that is too large is halved')
    ok(large.counters['batches'] > 2, '... and was')
    await large.close()
    await front.close()
    await operator.close()


run(main)
