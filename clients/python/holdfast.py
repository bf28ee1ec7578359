"""Locks of a Holdfast cluster for Python 3.8 and later, over its HTTP API.

    with holdfast.Client("http://127.0.0.1:7411").lock("orders/1001") as lock:
        write(..., token=lock.token)

Each lock is a lease of a random owner that a thread extends. Its time counts from before the request
that it answers was sent, and never begins again: when it may be over, `lost` is set for good.
Uses nothing but the standard library. Never believes in a lock for longer than the cluster promised.
"""

import http.client
import json
import logging
import os
import random
import secrets
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from urllib.parse import urlencode, urlsplit

DEFAULT_ENDPOINTS = "http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413"
REPEATABLE = (500, 502, 503, 504)  # Of a node that cannot tell, or of a proxy before it: repeat the request.
UNSURE = ("PROTOCOL", "CANCELLED")  # With these, too, a take may have been granted.
POLL = 45.0  # A node answers a request that waits after this many seconds at the latest.
ANSWER = 5.0  # How long any other answer may take.
# A node without power closes no connection; so ask for signs of life while a request waits. In seconds.
SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
ENDLESS = 3_600.0  # What a wait without end asks for each time; each repeat begins it again.

log = logging.getLogger("holdfast")
# Where there is one, a clock that counts the time in which the machine sleeps, too.
_now = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


class HoldfastError(Exception):
    """A refusal or a failure. `code` is one of docs/reference/errors.md and does not change."""

    def __init__(self, code, message, status=None, details=None):
        super().__init__(f"{code}: {message}")
        self.code, self.status, self.details = code, status, details or {}


class LockHeld(HoldfastError):
    """Another has the lock, and the request did not want to wait."""


class LockTimeout(HoldfastError):
    """The wait took longer than `wait`."""


class LockLost(HoldfastError):
    """The lock is no longer held; `details["reason"]` says why."""


class Unavailable(HoldfastError):
    """No node could serve the request in time."""


class Client:
    """Knows the nodes of a cluster and who the caller is. Threads may share it.

    endpoints: URLs in a list, or in one text with commas; default: HOLDFAST_ENDPOINTS, else this machine.
    token: the access token; default: HOLDFAST_ACCESS_TOKEN. context: an `ssl.SSLContext` for https.
    patience: for how many seconds it looks for a node that can serve a request; a lock with a `wait` looks
    for that long instead, and without end if `wait` is None.
    """

    def __init__(self, endpoints=None, token=None, context=None, patience=10.0):
        endpoints = endpoints or os.environ.get("HOLDFAST_ENDPOINTS", DEFAULT_ENDPOINTS)
        endpoints = endpoints.split(",") if isinstance(endpoints, str) else endpoints
        self._endpoints = [_endpoint(text.strip()) for text in endpoints]
        self._token = os.environ.get("HOLDFAST_ACCESS_TOKEN") if token is None else token
        self._context, self._patience = context, patience
        self._at = random.randrange(len(self._endpoints))

    def lock(self, *keys, ttl=15.0, wait=None, shared=False, permits=None, limit=None, name=None):
        """Describes a lock of one key, or of all keys at once. `with` or `acquire` takes it.

        keys: texts, or dicts with `key` and, if they differ, `mode`, `permits` and `limit`.
        ttl: how long the lock outlives this process, in seconds; 0: without end.
        wait: for how many seconds it may wait; None: forever; 0: not at all.
        permits, limit: takes so many of the `limit` permits of a semaphore.
        name: what others see of the owner.
        """
        given = {"mode": "shared" if shared else None, "permits": permits, "limit": limit}
        given = {name: value for name, value in given.items() if value is not None}
        items = [{**given, **(key if isinstance(key, dict) else {"key": key})} for key in keys]
        return Lock(self, items, ttl, wait, name)

    def look(self, key):
        """What the cluster says of a key, as a dict: holders, waiting requests, the last token."""
        target = ("/v1/lock?" + urlencode({"key": key}), None)
        return self._ask("GET", lambda: target, {}, _now() + self._patience, ANSWER)[1]

    def _ask(self, method, create, headers, deadline, silence):
        """Asks node after node until one accepts; returns when that request was sent, and the body.

        create: makes target and body of each attempt. silence: how long one may take to answer.
        """
        attempts, pause = 0, 0.05
        while True:
            at, sent = self._at, _now()
            node = self._endpoints[at % len(self._endpoints)]
            try:
                status, answer = self._send(node, method, *create(), headers, silence)
                if status in (200, 202):
                    return sent, answer
                failure = _error(status, answer)
                # CANCELLED: a copy of the request, which something on the way made, waits in its place.
                if status not in REPEATABLE and failure.code != "CANCELLED":
                    raise failure
            except (OSError, http.client.HTTPException) as error:
                failure = Unavailable("UNAVAILABLE", f"{node.netloc}: {error or type(error).__name__}")
            if self._at == at:  # Threads that failed together go on to the same next node.
                self._at = at + 1
            attempts += 1
            if attempts % len(self._endpoints) == 0:
                time.sleep(max(0.0, min(pause * random.uniform(0.5, 1.5), deadline - _now())))
                pause = min(pause * 2, 1.0)
            if _now() >= deadline:
                raise failure

    def _send(self, node, method, target, body, headers, silence):
        headers = {name: str(value).encode() for name, value in headers.items() if value is not None}
        headers.update({"Authorization": f"Bearer {self._token}"} if self._token else {})
        headers.update({"Content-Type": "application/json"} if body else {})
        connect = http.client.HTTPConnection
        if node.scheme == "https":
            connect = partial(http.client.HTTPSConnection, context=self._context)
        link = connect(node.netloc, timeout=max(0.001, min(silence, ANSWER)))
        over = None
        try:
            link.connect()
            # Time limits of sockets are for each piece: an answer that drips would never be over.
            over = threading.Timer(max(0.001, silence), _cut, [link.sock])
            over.daemon = True
            over.start()
            link.sock.settimeout(max(0.001, silence))
            link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name in filter(partial(hasattr, socket), SIGNS_OF_LIFE):
                link.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), SIGNS_OF_LIFE[name])
            link.request(method, node.path.rstrip("/") + target, body, headers)
            response = link.getresponse()
            text = response.read()
        finally:
            if over:
                over.cancel()
            link.close()
        try:
            return response.status, dict(json.loads(text))
        except (ValueError, TypeError):  # Of a proxy: no success, whatever its status says.
            return max(response.status, 300), {}


def _cut(sock):
    with suppress(OSError):  # It may have ended by itself.
        sock.shutdown(socket.SHUT_RDWR)


class Lock:
    """A lock that `Client.lock` describes, to be taken once.

    token: the fencing token. slots: of each semaphore, the numbers of the permits.
    lost: a `threading.Event`, set when the lock may be over before it was released; `reason` says why.
    Only the process that took it holds it: a forked child neither ends nor believes in its parent's lock.
    """

    def __init__(self, client, items, ttl, wait, name):
        self.token, self.slots, self.reason, self.lost = None, [], None, threading.Event()
        self._client, self._items, self._ttl, self._wait = client, items, ttl, wait
        self._identity = {"Holdfast-Owner": secrets.token_hex(16), "Holdfast-Name": name}
        self._process = os.getpid()
        self._over = threading.Event()  # Nobody is to extend it any more.
        self._guard = threading.Lock()  # Of `_deadline`, `reason` and what is set with them.
        self._deadline = None  # On the clock of `_now`; None before it is taken.
        self._name = items[0]["key"]
        self._key = urlencode({"key": self._name})  # Names the lock, whatever else it has.

    def acquire(self):
        """Takes the lock and returns it. Raises LockHeld, LockTimeout, Unavailable or HoldfastError."""
        self._demand_own_process()
        if self._deadline is not None or self._over.is_set():
            raise RuntimeError("a lock is taken once; describe another with Client.lock")
        try:
            sent, answer = self._take()
            self.token, self.slots = answer["token"], answer.get("slots", [])
            self._deadline = _end(sent, answer)
            if _now() >= self._deadline:  # The grant took too long to arrive.
                self._extend(_now() + self._client._patience)
            if not self.is_held:
                raise self._loss()
        except BaseException as error:
            self._over.set()
            is_refused = isinstance(error, HoldfastError) and not isinstance(error, Unavailable)
            if not is_refused or error.code in UNSURE or self.token is not None:
                with suppress(HoldfastError):  # It may have been granted; else it ends with its lease.
                    self._give_back(_now())
            raise
        for work in (self._keep, self._watch):
            threading.Thread(target=work, name="holdfast", daemon=True).start()
        return self

    def release(self):
        """Gives the lock back. Raises LockLost if it was lost before, Unavailable if no node answers."""
        self._demand_own_process()
        if self._deadline is None:
            raise RuntimeError("the lock is not held")
        if not self.is_held:
            self._lose("expired")  # Unless it is known by now.
        self._over.set()
        answer = self._give_back(_now() + self._client._patience)
        # A repeat finds what an earlier request, whose answer did not arrive, has released.
        if self.reason is None and not answer.get("released") and answer.get("reason") != "released":
            self.reason = answer.get("reason") or "unknown"
        if self.reason is not None:
            raise self._loss()

    @property
    def is_held(self):
        """Whether this process holds the lock now."""
        is_own = os.getpid() == self._process
        return is_own and self._deadline is not None and not self._over.is_set() and _now() < self._deadline

    def check(self):
        """Raises LockLost unless it is."""
        if not self.is_held:
            raise self._loss()

    __enter__ = acquire

    def __exit__(self, kind, value, trace):
        if os.getpid() != self._process:
            return  # A forked child leaves the block: the lock is its parent's.
        try:
            self.release()
        except HoldfastError as error:
            if kind is None and isinstance(error, LockLost):
                raise
            log.warning("%s was not released, and ends with its lease: %s", self._name, error)

    def _demand_own_process(self):
        if os.getpid() != self._process:
            raise RuntimeError("the lock belongs to the process that described it: describe another after a fork")

    def _take(self):
        """Returns when the request was sent that was granted, and the answer."""
        began = _now()
        wait = ENDLESS if self._wait is None else self._wait
        give_up = began + (float("inf") if self._wait is None else wait or self._client._patience)
        headers = {**self._identity, "Idempotency-Key": secrets.token_hex(16)}
        is_one = len(self._items) == 1

        def wish():
            left = wait if self._wait in (None, 0) else max(0.001, began + wait - _now())
            times = {"ttl": round(self._ttl * 1000), "wait": round(left * 1000)}
            if is_one:
                return "/v1/lock?" + urlencode({**self._items[0], **times}), None
            return "/v1/locks", json.dumps({"items": self._items, **times}).encode()

        silence = ANSWER + min(wait, POLL)
        while True:
            sent, answer = self._client._ask("PUT" if is_one else "POST", wish, headers, give_up, silence)
            if not answer.get("queued"):
                return sent, answer
            time.sleep(max(0.0, sent + 0.1 - _now()))  # Never in a busy loop.

    def _keep(self):
        """Extends the lock at a third of its TTL, until it is over."""
        while self._ttl > 0 and not self._over.wait(self._ttl / 3):
            try:
                self._extend(self._deadline)
            except HoldfastError as error:
                log.warning("not extended, %s: %s", self._name, error)

    def _watch(self):
        """Says when the time is over, whatever `_keep` waits for; soon after a sleep, too."""
        while not self._over.wait(max(0.0, min(1.0, self._deadline - _now()))):
            if _now() >= self._deadline:
                self._lose("expired")

    def _extend(self, give_up):
        target = (f"/v1/lock/extend?{self._key}&ttl={round(self._ttl * 1000)}", None)
        asked = ("POST", lambda: target, self._identity, give_up, min(ANSWER, self._ttl / 3))
        try:
            sent, answer = self._client._ask(*asked)
        except HoldfastError as error:
            if error.code != "NOT_HELD":
                raise
            self._lose(error.details.get("reason") or "unknown")
        else:
            with self._guard:
                self._deadline = max(self._deadline, _end(sent, answer))

    def _give_back(self, give_up):
        target = (f"/v1/lock?{self._key}", None)
        return self._client._ask("DELETE", lambda: target, self._identity, give_up, ANSWER)[1]

    def _lose(self, reason):
        with self._guard:
            if not self._over.is_set():
                self.reason = reason
                self.lost.set()
                self._over.set()

    def _loss(self):
        reason = self.reason or ("released" if self._over.is_set() else "expired")
        reason = reason if os.getpid() == self._process else "forked"
        return LockLost("LOCK_LOST", f"the lock is over ({reason}): {self._name}", None, {"reason": reason})


def _endpoint(text):
    """A URL of the HTTP API; the SDK's URLs (ws:, wss:) name the same port."""
    node = urlsplit(text.replace("ws", "http", 1) if text.startswith("ws") else text)
    if node.scheme not in ("http", "https") or not node.hostname:
        raise ValueError(f"{text!r} is not the URL of a node, such as http://10.0.0.1:7411")
    return node


def _end(sent, answer):
    return float("inf") if answer["trustMs"] is None else sent + answer["trustMs"] / 1000


def _error(status, answer):
    code = answer.get("code") or ("UNAVAILABLE" if status in REPEATABLE else "PROTOCOL")
    otherwise = Unavailable if status in REPEATABLE else HoldfastError
    return {"LOCK_HELD": LockHeld, "LOCK_TIMEOUT": LockTimeout}.get(code, otherwise)(code, answer.get("detail") or f"status {status}", status, answer.get("details"))
