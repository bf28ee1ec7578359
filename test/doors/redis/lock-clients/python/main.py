"""Lock clients of Redis in Python, as their users use them.

`main.py steps CLIENT=ADDRESS …` takes the same steps with each client, and prints what each step came to.
`main.py fault CLIENT=ADDRESS,ADDRESS … …` takes a lock with each client, prints "holding", waits for a line while the
test does something to the servers, and goes on. `main.py turns CLIENT=ADDRESS …` is for clients that end the lock of
anybody, `main.py refused CLIENT=ADDRESS …` prints how each client is refused. Whatever a client does not promise ends the program. Several modes, each
before its clients, are gone through in turn.
"""

import sys
import time

from clients import CLIENTS

# Long enough for all that is done while such a lock is held.
LONG_S = 60
# Locks that nobody releases have it.
BRIEF_S = 1
# So long somebody tries again.
PATIENCE_S = 60
PAUSE_S = 0.05


def say(client, what, outcome):
    print(f"{client}: {what}: {str(outcome).lower() if isinstance(outcome, bool) else outcome}", flush=True)


def in_the_end(call, is_wanted):
    """Repeats a call until its outcome is known and wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            outcome = call()
            if is_wanted(outcome):
                return outcome
        except Exception:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_S)


def steps(client, user):
    alice, bob, carol = user(LONG_S), user(LONG_S), user(BRIEF_S)
    say(client, "alice takes", alice.take())
    say(client, "bob takes", bob.take())
    if hasattr(alice, "extend"):
        say(client, "alice extends", alice.extend())
    say(client, "alice releases", alice.release())
    say(client, "bob takes", bob.take())
    say(client, "alice releases", alice.release())
    say(client, "carol takes", carol.take())
    say(client, "bob releases", bob.release())
    say(client, "carol takes, and never releases", carol.take())
    say(client, "bob takes in the end", in_the_end(bob.take, lambda taken: taken))
    say(client, "carol releases", carol.release())
    say(client, "alice takes", alice.take())
    say(client, "bob releases", bob.release())


def fault(users):
    def known(call):
        return in_the_end(call, lambda outcome: True)

    alices = {client: user(LONG_S) for client, user in users.items()}
    for client, alice in alices.items():
        say(client, "alice takes", known(alice.take))
    print("holding", flush=True)
    sys.stdin.readline()
    for client, alice in alices.items():
        bob = users[client](LONG_S)
        say(client, "bob takes", known(bob.take))
        if hasattr(alice, "extend"):
            say(client, "alice extends", known(alice.extend))
        say(client, "alice releases", known(alice.release))
        say(client, "bob takes", known(bob.take))
        say(client, "bob releases", known(bob.release))


def turns(client, user):
    alice, bob = user(LONG_S), user(LONG_S)
    say(client, "alice takes", alice.take())
    say(client, "bob takes", bob.take())
    say(client, "alice releases", alice.release())
    say(client, "bob takes in the end", in_the_end(bob.take, lambda taken: taken))
    say(client, "bob releases", bob.release())


def refused(client, user):
    def attempt(what, call):
        try:
            outcome = call()
        except Exception as error:
            if "NOHOLDFAST" not in str(error):
                raise
            outcome = error
        say(client, what, outcome)

    alice, bob = user(BRIEF_S), user(BRIEF_S)
    attempt("alice takes", alice.take)
    attempt("alice releases", alice.release)
    attempt("bob takes", bob.take)


def user_of(word):
    client, _, addresses = word.partition("=")
    pairs = [(host, int(port)) for host, port in (each.split(":") for each in addresses.split(","))]
    return client, lambda ttl_s: CLIENTS[client](pairs, f"client:{client}", ttl_s)


MODES = {"steps": steps, "turns": turns, "refused": refused}
mode = None
users = {}
for word in sys.argv[1:]:
    if "=" not in word:
        mode = word
        continue
    client, user = user_of(word)
    if mode == "fault":
        users[client] = user
    else:
        MODES[mode](client, user)
if users:
    fault(users)
