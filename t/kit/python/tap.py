"""What the programs of this folder share: they print TAP, and orders."""

import asyncio
import sys

tests = 0


def ok(good, name):
    global tests
    tests += 1
    print(f'{"ok" if good else "not ok"} {tests} - {name}', flush=True)


def equal(got, wanted, name):
    ok(got == wanted, name)
    if got != wanted:
        print(f'got: {got!r}\nwanted: {wanted!r}', file=sys.stderr)


async def fails(awaitable, kind, name):
    """It fails with an error of that class"""
    try:
        error = await awaitable
    except Exception as raised:
        error = raised
    ok(isinstance(error, kind), name)
    if not isinstance(error, kind):
        print(f'got: {error!r}', file=sys.stderr)
    return error


async def order(what):
    """The test does so, and says when it is done"""
    print(f'# order: {what}', flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def until(condition, what):
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 240

    while not await condition():
        if loop.time() > deadline:
            ok(False, f'waited in vain: {what}')
            return
        await asyncio.sleep(0.01)


def run(main):
    """To the end, but not for ever"""
    asyncio.run(asyncio.wait_for(main(), 900))
    print(f'1..{tests}', flush=True)
