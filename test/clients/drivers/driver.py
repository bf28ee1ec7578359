"""Plays the client's part of one transcript with the Python client, and prints what it reports."""

import json
import os
import sys
import threading

sys.path.insert(0, os.environ["HOLDFAST_PYTHON"])
import holdfast  # noqa: E402


def report(**what):
    print(json.dumps(what), flush=True)


def hold(lock):
    told = threading.Thread(target=sys.stdin.readline, daemon=True)
    told.start()
    while told.is_alive() and not lock.lost.is_set():
        told.join(0.02)


def seconds(ms):
    return None if ms is None else ms / 1000


def lead(wish):
    tokens = []

    def work(term):
        tokens.append(term.token)
        if len(tokens) == 1:
            term.lost.wait()

    client.elect(wish["lock"]["keys"][0], work, ttl=seconds(wish["lock"]["ttlMs"]))
    report(tokens=tokens, outcome="released")


def watch(prefix, count):
    with client.watch(prefix) as changes:
        seen = [next(changes) for _ in range(count)]
    report(changes=[{"type": change.type, "key": change.key} for change in seen])


def take(wish):
    wanted = wish["lock"]
    options = {name: wanted[name] for name in ("shared", "permits", "limit", "name") if name in wanted}
    wait = seconds(wanted.get("waitMs"))
    with client.lock(*wanted["keys"], ttl=seconds(wanted["ttlMs"]), wait=wait, **options) as lock:
        lock.check()
        report(token=lock.token, slots=lock.slots)
        if "forks" in wish and os.fork() == 0:
            report(childHeld=lock.is_held)
            sys.exit()
        if "forks" in wish:
            os.wait()
        if "extendsMs" in wish:
            report(isExtended=lock.extend(seconds(wish["extendsMs"])) > seconds(wanted["ttlMs"]))
        if "holds" in wish:
            hold(lock)
    report(outcome="released")


wish = json.loads(sys.argv[1])
client = holdfast.Client()
try:
    if "looks" in wish:
        report(view=client.look(wish["looks"]))
    elif "watches" in wish:
        watch(wish["watches"]["prefix"], wish["watches"]["changes"])
    elif "elects" in wish:
        lead(wish)
    else:
        take(wish)
except holdfast.LockLost as loss:
    report(outcome="lost", reason=loss.details["reason"])
except holdfast.HoldfastError as error:
    report(outcome=error.code)
