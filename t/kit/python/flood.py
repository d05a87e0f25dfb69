"""A bot that hands in many entries: flood.py FROM TO RATE. It prints the number
of each entry that is safe; python.t kills it meanwhile. Entry n is of server
n % SERVERS."""

import asyncio
import json
import os
import resource
import sys

from guildlog import Operator

servers, first = int(os.environ['SERVERS']), int(os.environ['FIRST'])


async def main(start, end, rate):
    loop = asyncio.get_running_loop()
    operator = Operator(f'unix:{os.environ["OPERATOR"]}')
    recorder = await operator.recorder(
        os.environ['SPOOL'], trouble=lambda error: None,
        refused=lambda entry, error: print('refused', error, flush=True))
    begun = loop.time()
    tasks = set()

    async def record(n):
        await recorder.record(str(first + n % servers), {
            'event_id': f'flood-{n}', 'type': 5, 'content': f'flood {n}'})
        print('safe', n, flush=True)

    print('open', flush=True)
    for n in range(start, end):
        task = asyncio.create_task(record(n))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if n % 20 == 0:
            await asyncio.sleep(begun + (n - start) / rate - loop.time())
    print('given', flush=True)
    await recorder.flush()
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print('flushed', json.dumps(recorder.counters, separators=(',', ':')),
          kib // 1024, flush=True)
    while await asyncio.to_thread(sys.stdin.readline) != 'end\n':
        pass
    await recorder.close()
    await operator.close()


asyncio.run(main(*map(int, sys.argv[1:])))
