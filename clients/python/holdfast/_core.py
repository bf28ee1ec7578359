"""The rules that the client for threads and the client for asyncio share: all but reading and writing.

Which node is asked, what is repeated, what is believed and for how long. The rules wait by `await` for
an `Io`. The one of asyncio suspends them; the one for threads blocks instead, so that `run` gets their
result at once. Nothing here believes in a lock for longer than the cluster promised: its time counts
from before the request that it answers was sent, and when it may be over, that is final.
"""

import json
import logging
import os
import random
import secrets
import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Coroutine, Dict, Iterable, List, Mapping, NamedTuple, Optional, Protocol, Tuple
from typing import TypeVar, Union
from urllib.parse import urlencode, urlsplit

from ._http import BODY_BYTES_MAX, Answer, BrokenAnswer, Event, Events, request
from .errors import HoldfastError, LockHeld, LockLost, LockTimeout, Unavailable

DEFAULT_ENDPOINTS = "http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413"
REPEATABLE = (500, 502, 503, 504)  # Of a node that cannot tell, or of a proxy before it: repeat the request.
UNSURE = ("PROTOCOL", "CANCELLED")  # With these, too, a take may have been granted.
POLL = 45.0  # A node answers a request that waits after this many seconds at the latest.
ANSWER = 5.0  # How long any other answer may take.
QUIET = 40.0  # A watch that shows no sign of life for so long is not alive; a node shows one every 15 seconds.
# A node without power closes no connection; so ask for signs of life while a request waits. In seconds.
SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
UNREAD_BYTES = 1 << 16  # What is read at a time.
ENDLESS = 3_600.0  # What a wait without end asks for each time; each repeat begins it again.

log = logging.getLogger("holdfast")
# Where there is one, a clock that counts the time in which the machine sleeps, too.
now: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)

Key = Union[str, Mapping[str, Any]]
T = TypeVar("T")


class Node(NamedTuple):
    """Where a node is reached. context: of TLS; None: plain text."""

    host: str
    port: int
    authority: str
    path: str
    context: Optional[ssl.SSLContext]


class Link(Protocol):
    """A connection to a node. What fails raises OSError; timeouts are in seconds."""

    async def send(self, data: bytes, timeout: float) -> None: ...

    async def receive(self, timeout: float) -> bytes:
        """The bytes that have arrived; none: the other side has ended."""

    def close(self) -> None: ...


class Io(Protocol):
    """How the rules reach the world."""

    async def connect(self, node: Node, timeout: float) -> Link: ...

    async def rest(self, seconds: float) -> None: ...


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of rules whose `Io` blocks, so that they never suspend."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("rules for threads were suspended")


def prepare(sock: Any) -> None:
    """Asks for signs of life on a connection."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in filter(partial(hasattr, socket), SIGNS_OF_LIFE):
        sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), SIGNS_OF_LIFE[name])


class Cluster:
    """Knows the nodes of a cluster and who the caller is. Threads may share it."""

    def __init__(
        self,
        io: Io,
        endpoints: Union[str, Iterable[str], None],
        token: Optional[str],
        context: Optional[ssl.SSLContext],
        patience: float,
    ) -> None:
        endpoints = endpoints or os.environ.get("HOLDFAST_ENDPOINTS") or DEFAULT_ENDPOINTS
        texts = endpoints.split(",") if isinstance(endpoints, str) else endpoints
        self.io, self.patience = io, patience
        self.nodes = _nodes([text.strip() for text in texts], context)
        self.at = random.randrange(len(self.nodes))  # Never ends; the node has this number modulo their count.
        self._token = _token() if token is None else token

    async def look(self, key: str) -> Dict[str, Any]:
        target = ("/v1/lock?" + urlencode({"key": key}), None)
        return (await self.ask("GET", lambda: target, {}, now() + self.patience, ANSWER))[1]

    async def ask(
        self,
        method: str,
        create: Callable[[], Tuple[str, Optional[bytes]]],
        headers: Mapping[str, Optional[str]],
        deadline: float,
        silence: float,
    ) -> Tuple[float, Dict[str, Any]]:
        """Asks node after node until one accepts; returns when that request was sent, and the body.

        create: makes target and body of each attempt. silence: how long one may take to answer.
        """
        search = Search(self)
        while True:
            node, sent = search.node(), now()
            try:
                status, answer = await self._exchange(node, method, create(), headers, silence)
                if status in (200, 202):
                    return sent, answer
                failure = _failure(status, answer)
                # CANCELLED: a copy of the request, which something on the way made, waits in its place.
                if status not in REPEATABLE and failure.code != "CANCELLED":
                    raise failure
            except OSError as error:
                failure = _unreachable(node, error)
            await search.go_on(deadline)
            if now() >= deadline:
                raise failure

    async def _exchange(
        self,
        node: Node,
        method: str,
        wish: Tuple[str, Optional[bytes]],
        headers: Mapping[str, Optional[str]],
        silence: float,
    ) -> Tuple[int, Dict[str, Any]]:
        end = now() + silence
        data = self.request(node, method, wish, headers)
        link = await self.io.connect(node, min(silence, ANSWER))
        try:
            await link.send(data, end - now())
            answer, text = Answer(), b""
            # An answer that drips has no more time than any other.
            while not answer.is_whole:
                text += answer.feed(await link.receive(end - now()))
                if len(text) > BODY_BYTES_MAX:
                    raise BrokenAnswer("the answer is too long")
        finally:
            link.close()
        return read(answer.status, text)

    def request(
        self, node: Node, method: str, wish: Tuple[str, Optional[bytes]], headers: Mapping[str, Optional[str]]
    ) -> bytes:
        given = {"Host": node.authority, "Authorization": f"Bearer {self._token}" if self._token else None, **headers}
        named = {name: value for name, value in given.items() if value is not None}
        return request(method, node.path + wish[0], named, wish[1])


class Search:
    """One search for a node that accepts a request."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._at = cluster.at
        self.reset()

    def reset(self) -> None:
        """Begins again, after a success."""
        self._attempts, self._pause = 0, 0.05

    def node(self) -> Node:
        self._at = self._cluster.at
        return self._cluster.nodes[self._at % len(self._cluster.nodes)]

    async def go_on(self, deadline: float) -> None:
        """Chooses the next node after a failure, and rests, until `deadline` at the latest, when all have failed."""
        if self._cluster.at == self._at:  # Tasks that failed together go on to the same next node.
            self._cluster.at = self._at + 1
        self._attempts += 1
        if self._attempts % len(self._cluster.nodes) == 0:
            rest = self._pause * random.uniform(0.5, 1.5)
            await self._cluster.io.rest(max(0.0, min(rest, deadline - now())))
            self._pause = min(self._pause * 2, 1.0)


class Lease:
    """What is known of one lock, and what keeps it. The locks of both clients are leases.

    token: the fencing token; 0 before the lock is taken. slots: for each semaphore, the numbers of the permits.
    reason: why the lock was lost; None if it was not. Only the process that took a lock holds it: a forked
    child neither ends nor believes in its parent's lock.
    """

    def __init__(
        self, cluster: Cluster, items: List[Dict[str, Any]], ttl: float, wait: Optional[float], name: Optional[str]
    ) -> None:
        self.token = 0
        self.slots: List[List[int]] = []
        self.reason: Optional[str] = None
        self._cluster, self._items, self._ttl, self._wait = cluster, items, ttl, wait
        self._identity = {"Holdfast-Owner": secrets.token_hex(16), "Holdfast-Name": name}
        self._process = os.getpid()
        self._guard = threading.Lock()  # Of `_deadline`, `_is_over` and `reason`.
        self._is_begun = False
        self._is_over = False  # Nothing is to extend it any more.
        self._deadline = float("-inf")  # On the clock of `now`, until which it can be believed in.
        self._name = str(items[0]["key"])
        self._key = urlencode({"key": self._name})  # Names the lock, whatever else it has.

    @property
    def remaining(self) -> float:
        """For how many seconds the lock can be relied on without another extension; 0.0: it is not held."""
        is_own = os.getpid() == self._process
        return max(0.0, self._deadline - now()) if is_own and not self._is_over else 0.0

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock now, by its clock."""
        return self.remaining > 0.0

    def check(self) -> None:
        """Raises LockLost unless this process holds the lock now."""
        if not self.is_held:
            raise self._loss()

    # What the client adds: it can wait for the end of the lock, and shows a loss.

    async def _until_over(self, seconds: float) -> bool:
        """Waits for that long, or until the lock is over; returns whether it is."""
        raise NotImplementedError

    def _on_over(self, is_lost: bool) -> None:
        raise NotImplementedError

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Does it to its end, even if the caller is not to wait for that."""
        raise NotImplementedError

    async def _acquire(self) -> None:
        self._demand_own_process()
        if self._is_begun:
            raise RuntimeError("a lock is taken once; describe another with Client.lock")
        self._is_begun = True
        try:
            sent, answer = await self._take()
            self._deadline = _end(sent, answer)
            self.token, self.slots = answer["token"], answer.get("slots", [])
            if now() >= self._deadline:  # The grant took too long to arrive.
                await self._prolong(self._ttl, now() + self._cluster.patience)
            self.check()
        except GeneratorExit:  # The program ends, and nothing can be awaited.
            raise
        except BaseException as error:
            self._is_over = True
            is_refusal = isinstance(error, HoldfastError) and not isinstance(error, Unavailable)
            if self.token or not is_refusal or getattr(error, "code", "") in UNSURE:
                await self._finish(self._leave())  # It may have been granted; else it ends with its lease.
            raise

    async def _take(self) -> Tuple[float, Dict[str, Any]]:
        """Returns when the request was sent that was granted, and the answer."""
        began = now()
        wait = ENDLESS if self._wait is None else self._wait
        give_up = began + (float("inf") if self._wait is None else wait or self._cluster.patience)
        headers = {**self._identity, "Idempotency-Key": secrets.token_hex(16)}
        is_one = len(self._items) == 1

        def wish() -> Tuple[str, Optional[bytes]]:
            left = wait if self._wait in (None, 0) else max(0.001, began + wait - now())
            times = {"ttl": _ms(self._ttl), "wait": _ms(left)}
            if is_one:
                return "/v1/lock?" + urlencode({**self._items[0], **times}), None
            return "/v1/locks", json.dumps({"items": self._items, **times}).encode()

        silence = ANSWER + min(wait, POLL)
        while True:
            sent, answer = await self._cluster.ask("PUT" if is_one else "POST", wish, headers, give_up, silence)
            if not answer.get("queued"):
                return sent, answer
            await self._cluster.io.rest(max(0.0, sent + 0.1 - now()))  # Never in a busy loop.

    async def _keep(self) -> None:
        """Extends the lock at a third of its TTL, until it is over."""
        while self._ttl > 0 and not await self._until_over(self._ttl / 3):
            try:
                await self._prolong(self._ttl, self._deadline)
            except HoldfastError as error:
                log.warning("not extended, %s: %s", self._name, error)

    async def _watch_time(self) -> None:
        """Says when the time is over, whatever `_keep` waits for; soon after a sleep of the machine, too."""
        while not await self._until_over(max(0.0, min(1.0, self._deadline - now()))):
            if now() >= self._deadline:
                self._lose("expired")

    async def _extend(self, ttl: Optional[float]) -> None:
        self._demand_begun()
        self.check()
        ttl = self._ttl if ttl is None else ttl
        if ttl <= 0:
            raise ValueError("a lock is extended by a TTL of more than 0 seconds")
        try:
            await self._prolong(ttl, min(self._deadline, now() + self._cluster.patience))
        except Unavailable:
            self.check()
            raise
        self.check()

    async def _prolong(self, ttl: float, give_up: float) -> None:
        target = (f"/v1/lock/extend?{self._key}&ttl={_ms(ttl)}", None)
        silence = min(ANSWER, (self._ttl or ttl) / 3)  # So that other nodes can be asked in time.
        try:
            end = _end(*await self._cluster.ask("POST", lambda: target, self._identity, give_up, silence))
        except HoldfastError as error:
            if error.code != "NOT_HELD":
                raise
            self._lose(error.details.get("reason") or "unknown")
        else:
            with self._guard:
                self._deadline = max(self._deadline, end)

    async def _release(self) -> None:
        self._demand_begun()
        if not self.is_held:
            self._lose("expired")  # Unless it is known by now.
        with self._guard:
            self._is_over = True
        if self.reason is not None:
            await self._leave()
            raise self._loss()
        self._on_over(False)
        answer = await self._give_back(now() + self._cluster.patience)
        # A repeat finds what an earlier request, whose answer did not arrive, has released.
        if not answer.get("released") and answer.get("reason") != "released":
            self.reason = answer.get("reason") or "unknown"
            self._on_over(True)
            raise self._loss()

    async def _leave(self) -> None:
        """Gives back what may have been granted, as well as it can at once."""
        with suppress(HoldfastError):
            await self._give_back(now())

    async def _give_back(self, give_up: float) -> Dict[str, Any]:
        target = (f"/v1/lock?{self._key}", None)
        return (await self._cluster.ask("DELETE", lambda: target, self._identity, give_up, ANSWER))[1]

    def _lose(self, reason: str) -> None:
        with self._guard:
            if self._is_over:
                return
            self.reason, self._is_over = reason, True
        self._on_over(True)

    def _loss(self) -> LockLost:
        reason = self.reason or ("released" if self._is_over else "expired")
        reason = reason if os.getpid() == self._process else "forked"
        return LockLost("LOCK_LOST", f"the lock is over ({reason}): {self._name}", None, {"reason": reason})

    def _demand_own_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("the lock belongs to the process that described it: describe another after a fork")

    def _demand_begun(self) -> None:
        self._demand_own_process()
        if not self.token:
            raise RuntimeError("the lock was not taken")


class Change(NamedTuple):
    """One event of a watch.

    type: ``"queued"``, ``"left"``, ``"granted"``, ``"converted"``, ``"updated"``, ``"moved"``, ``"ended"`` or
    ``"opened"``; ``"begun"`` when the watch has begun, and ``"reset"`` when the cluster has forgotten changes:
    then look at the keys, since what follows begins with now.
    key: ``""`` with ``"begun"`` and ``"reset"``. data: the members of `Change` in openapi.json.
    id: a later watch goes on after this change with ``after=id``.
    """

    type: str
    key: str
    data: Dict[str, Any]
    id: str


class Changes:
    """The changes of a watch, over all its connections."""

    def __init__(self, cluster: Cluster, prefix: str, after: Optional[str]) -> None:
        self._cluster = cluster
        self._wish = ("/v1/watch?" + urlencode({"prefix": prefix}), None)
        self._last_id = after or ""
        self._is_begun = False
        self._is_closed = False
        self._link: Optional[Link] = None
        self._answer, self._events = Answer(), Events("")
        self._ready: List[Change] = []
        self._search = Search(cluster)
        self._asked = now()
        self._began: Optional[float] = None

    async def next(self) -> Optional[Change]:
        """The next change, however long that takes; None when the watch was closed.

        Until the watch has begun it looks for a node as long as every request, and after that without end.
        """
        self._began = now() if self._began is None else self._began
        while not self._ready and not self._is_closed:
            node = self._search.node()
            try:
                await self._read(node)
            except OSError as error:
                self._drop()
                if self._is_closed:
                    break
                failure = _unreachable(node, error)
                give_up = float("inf") if self._is_begun else self._began + self._cluster.patience
                await self._search.go_on(give_up)
                if now() >= give_up:
                    self.close()
                    raise failure from error
                log.info("the watch goes on at another node: %s", failure)
                await self._cluster.io.rest(max(0.0, self._asked + 0.1 - now()))  # Never in a busy loop.
            except HoldfastError:
                self.close()
                raise
        return None if self._is_closed else self._ready.pop(0)

    def close(self) -> None:
        self._is_closed = True
        self._drop()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    async def _read(self, node: Node) -> None:
        """Reads one piece of the answer, of a new connection if there is none."""
        if self._link is None:
            self._asked = now()
            self._link = await self._cluster.io.connect(node, ANSWER)
            self._answer, self._events = Answer(), Events(self._last_id)
            headers = {"Accept": "text/event-stream", "Last-Event-ID": self._last_id or None}
            await self._link.send(self._cluster.request(node, "GET", self._wish, headers), ANSWER)
        link, answer = self._link, self._answer
        body = answer.feed(await link.receive(QUIET if answer.status == 200 else ANSWER))
        if answer.status == 200:
            self._note(self._events.feed(body))
            if answer.is_whole:
                raise BrokenAnswer("the node has ended the watch")
        elif answer.status:
            while not answer.is_whole:
                body += answer.feed(await link.receive(ANSWER))
            failure = _failure(*read(answer.status, body))
            if isinstance(failure, Unavailable):
                raise OSError(str(failure))
            raise failure

    def _note(self, events: List[Event]) -> None:
        for event in events:
            if event.type == "begun" and self._is_begun:
                continue  # It goes on where it was.
            self._is_begun = True
            self._search.reset()
            status, data = read(200, event.data.encode())
            if status != 200:
                raise BrokenAnswer("an event without JSON")
            self._ready.append(Change(event.type, data.get("key", ""), data, event.id))
        self._last_id = self._events.last_id


def items_of(
    keys: Tuple[Key, ...], shared: bool, permits: Optional[int], limit: Optional[int]
) -> List[Dict[str, Any]]:
    """What a lock of these keys asks for, each with what was given for all of them unless it says otherwise."""
    if not keys:
        raise ValueError("a lock has at least one key")
    given = {"mode": "shared" if shared else None, "permits": permits, "limit": limit}
    named = {name: value for name, value in given.items() if value is not None}
    return [{**named, **({"key": key} if isinstance(key, str) else key)} for key in keys]


def read(status: int, text: bytes) -> Tuple[int, Dict[str, Any]]:
    """A status and the members of the answer."""
    try:
        return status, dict(json.loads(text))
    except (ValueError, TypeError):  # It comes from a proxy: not a success, whatever its status says.
        return max(status, 300), {}


def _failure(status: int, answer: Mapping[str, Any]) -> HoldfastError:
    code = answer.get("code") or ("UNAVAILABLE" if status in REPEATABLE else "PROTOCOL")
    otherwise = Unavailable if status in REPEATABLE else HoldfastError
    kind = {"LOCK_HELD": LockHeld, "LOCK_TIMEOUT": LockTimeout}.get(code, otherwise)
    return kind(code, answer.get("detail") or f"status {status}", status, answer.get("details"))


def _unreachable(node: Node, error: OSError) -> Unavailable:
    return Unavailable("UNAVAILABLE", f"{node.authority}: {error or type(error).__name__}")


def _end(sent: float, answer: Mapping[str, Any]) -> float:
    """Until when the lease of an answer can be believed in. Only a node says that."""
    if not answer.get("token") or "trustMs" not in answer:
        raise HoldfastError("PROTOCOL", "what answers is not a node", 200)
    return float("inf") if answer["trustMs"] is None else float(sent + answer["trustMs"] / 1000)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _nodes(texts: List[str], context: Optional[ssl.SSLContext]) -> List[Node]:
    nodes = []
    for text in texts:
        # The URLs of the SDK (ws:, wss:) name the same port.
        url = urlsplit(text.replace("ws", "http", 1) if text.startswith("ws") else text)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"{text!r} is not the URL of a node, such as http://10.0.0.1:7411")
        if url.scheme == "https":
            context = context or _context()
        port = url.port or (443 if url.scheme == "https" else 80)
        of_node = context if url.scheme == "https" else None
        nodes.append(Node(url.hostname, port, url.netloc.rpartition("@")[2], url.path.rstrip("/"), of_node))
    return nodes


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=os.environ.get("HOLDFAST_CA") or None)
    certificate = os.environ.get("HOLDFAST_CERT")
    if certificate:
        context.load_cert_chain(certificate, os.environ.get("HOLDFAST_CERT_KEY") or None)
    return context


def _token() -> Optional[str]:
    path = os.environ.get("HOLDFAST_ACCESS_TOKEN_FILE")
    if not path:
        return os.environ.get("HOLDFAST_ACCESS_TOKEN")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()
