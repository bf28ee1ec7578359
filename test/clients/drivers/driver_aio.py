"""Plays the client's part of one transcript with the Python client for asyncio, and prints what it reports."""

import asyncio
import json
import os
import sys

sys.path.insert(0, os.environ["HOLDFAST_PYTHON"])
from holdfast import aio  # noqa: E402


def report(**what):
    print(json.dumps(what), flush=True)


async def hold(lock):
    told = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    lost = asyncio.ensure_future(lock.lost.wait())
    await asyncio.wait({told, lost}, return_when=asyncio.FIRST_COMPLETED)
    lost.cancel()


def seconds(ms):
    return None if ms is None else ms / 1000


async def lead(client, wish):
    tokens = []

    async def work(term):
        tokens.append(term.token)
        if len(tokens) == 1:
            await asyncio.Event().wait()  # Cancelled when the term is lost.

    await client.elect(wish["lock"]["keys"][0], work, ttl=seconds(wish["lock"]["ttlMs"]))
    report(tokens=tokens, outcome="released")


async def watch(client, prefix, count):
    async with client.watch(prefix) as changes:
        seen = [await changes.__anext__() for _ in range(count)]
    report(changes=[{"type": change.type, "key": change.key} for change in seen])


async def take(client, wish):
    wanted = wish["lock"]
    options = {name: wanted[name] for name in ("shared", "permits", "limit", "name") if name in wanted}
    wait = seconds(wanted.get("waitMs"))
    is_child = False
    async with client.lock(*wanted["keys"], ttl=seconds(wanted["ttlMs"]), wait=wait, **options) as lock:
        lock.check()
        report(token=lock.token, slots=lock.slots)
        is_child = "forks" in wish and os.fork() == 0
        if is_child:
            report(childHeld=lock.is_held)
        elif "forks" in wish:
            os.wait()
        elif "extendsMs" in wish:
            report(isExtended=await lock.extend(seconds(wish["extendsMs"])) > seconds(wanted["ttlMs"]))
        if "holds" in wish:
            await hold(lock)
    if is_child:
        os._exit(0)  # The event loop is its parent's.
    report(outcome="released")


async def main(wish):
    client = aio.Client()
    try:
        if "looks" in wish:
            report(view=await client.look(wish["looks"]))
        elif "watches" in wish:
            await watch(client, wish["watches"]["prefix"], wish["watches"]["changes"])
        elif "elects" in wish:
            await lead(client, wish)
        else:
            await take(client, wish)
    except aio.LockLost as loss:
        report(outcome="lost", reason=loss.details["reason"])
    except aio.HoldfastError as error:
        report(outcome=error.code)
    sys.stdout.flush()
    os._exit(0)  # A thread may still wait for a line of the standard input.


asyncio.run(main(json.loads(sys.argv[1])))
