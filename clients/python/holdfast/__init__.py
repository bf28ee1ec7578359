"""Locks of a Holdfast cluster for Python 3.8 and later, over its HTTP API.

    with holdfast.Client("http://127.0.0.1:7411").lock("orders/1001") as lock:
        write(..., token=lock.token)

Each lock is a lease of a random owner that a thread extends. Its time counts from before the request
that it answers was sent, and never begins again: when it may be over, `lost` is set for good.
`holdfast.aio` has the same for asyncio. Uses nothing but the standard library.
"""

import os
import socket
import ssl
import threading
import time
from types import TracebackType
from typing import Any, Callable, Coroutine, Dict, Iterable, Iterator, List, Optional, Type, TypeVar, Union

from ._core import UNREAD_BYTES, Change, Changes, Cluster, Key, Lease, Node, items_of, log, prepare, run
from .errors import HoldfastError, LockHeld, LockLost, LockTimeout, Unavailable

__version__ = "0.1.0"
__all__ = [
    "Change",
    "Client",
    "HoldfastError",
    "Lock",
    "LockHeld",
    "LockLost",
    "LockTimeout",
    "Unavailable",
    "Watch",
]
T = TypeVar("T")


class Client:
    """Knows the nodes of a cluster and who the caller is. Threads may share it; it keeps no connection open.

    endpoints: URLs in a list, or in one text with commas; default: ``HOLDFAST_ENDPOINTS``, else this machine.
    token: the access token; default: the file ``HOLDFAST_ACCESS_TOKEN_FILE``, else ``HOLDFAST_ACCESS_TOKEN``.
    context: an `ssl.SSLContext` for https; default: trusts the authorities of the system, or those in the file
    ``HOLDFAST_CA``, and shows the certificate in the files ``HOLDFAST_CERT`` and ``HOLDFAST_CERT_KEY``.
    patience: for how many seconds it looks for a node that can serve a request; a lock with a `wait` looks
    for that long instead, and without end if `wait` is None.

    Raises ValueError if an endpoint is not the URL of a node, and OSError if a file cannot be read.
    """

    def __init__(
        self,
        endpoints: Union[str, Iterable[str], None] = None,
        token: Optional[str] = None,
        context: Optional[ssl.SSLContext] = None,
        patience: float = 10.0,
    ) -> None:
        self._cluster = Cluster(_Threads(), endpoints, token, context, patience)

    def lock(
        self,
        *keys: Key,
        ttl: float = 15.0,
        wait: Optional[float] = None,
        shared: bool = False,
        permits: Optional[int] = None,
        limit: Optional[int] = None,
        name: Optional[str] = None,
    ) -> "Lock":
        """Describes a lock of one key, or of up to 16 keys at once. ``with`` or `Lock.acquire` takes it.

        keys: texts of 1 to 512 bytes, or dicts with ``key`` and, if they differ, ``mode``, ``permits`` and ``limit``.
        ttl: how long the lock outlives this process, in seconds, more than 0.25 and at most a day; 0: without end.
        wait: for how many seconds it may wait; None: forever; 0: not at all.
        shared: shares the lock with other shared holders.
        permits, limit: takes so many of the ``limit`` permits of a semaphore.
        name: what others see of the owner, at most 256 bytes.
        """
        return Lock(self._cluster, items_of(keys, shared, permits, limit), ttl, wait, name)

    def elect(self, key: str, work: "Callable[[Lock], T]", ttl: float = 15.0, name: Optional[str] = None) -> T:
        """Calls ``work(term)`` while this process is the leader of ``key``, and returns its result.

        Waits until it leads. A term is a `Lock`: ``work`` stops when ``term.lost`` is set. After a loss the process is
        a candidate again, and ``work`` is called again with the next term. What ``work`` raises, except for the
        LockLost of its term, ends the term and is raised here.
        """
        while True:
            term = self.lock(key, ttl=ttl, name=name)
            try:
                with term:
                    return work(term)
            except LockLost:
                if term.reason is None:
                    raise
                log.warning("no longer the leader of %s (%s), but a candidate again", key, term.reason)

    def watch(self, prefix: str = "", after: Optional[str] = None) -> "Watch":
        """The changes of all keys that begin with ``prefix``, as they happen: an iterator without end.

        after: the `Change.id` after which to begin; default: now. It reconnects to any node and misses nothing.
        The iterator raises Unavailable if no node serves it at its beginning, and HoldfastError with
        ``FORBIDDEN``, ``UNAUTHENTICATED`` or ``QUOTA`` if a node refuses it.
        """
        return Watch(self._cluster, prefix, after)

    def look(self, key: str) -> Dict[str, Any]:
        """What the cluster says of a key: its holds, waiting requests and more, as in openapi.json.

        Raises Unavailable, or HoldfastError with the code of a refusal.
        """
        return run(self._cluster.look(key))


class Lock(Lease):
    """A lock that `Client.lock` describes, to be taken once, by ``with`` or by `acquire`.

    token: the fencing token; 0 before it is taken. slots: of each semaphore, the numbers of the permits.
    lost: a `threading.Event`, set when the lock may be over before it was released; ``reason`` says why.
    Only the process that took it holds it: a forked child neither ends nor believes in its parent's lock.
    """

    def __init__(
        self, cluster: Cluster, items: List[Dict[str, Any]], ttl: float, wait: Optional[float], name: Optional[str]
    ) -> None:
        super().__init__(cluster, items, ttl, wait, name)
        self.lost = threading.Event()
        self._over = threading.Event()

    def acquire(self) -> "Lock":
        """Takes the lock and returns it.

        Raises LockHeld (with ``wait=0``), LockTimeout, Unavailable, or HoldfastError with another code. Whatever ends
        the wait, an exception of a signal handler too, leaves the queue.
        """
        run(self._acquire())
        for work in (self._keep, self._watch_time):
            threading.Thread(target=lambda work=work: run(work()), name="holdfast", daemon=True).start()
        return self

    def release(self) -> None:
        """Gives the lock back. Raises LockLost if it was lost before, Unavailable if no node answers."""
        run(self._release())

    def extend(self, ttl: Optional[float] = None) -> float:
        """Extends the lock now, and returns for how many seconds it can be relied on.

        A thread extends it anyway; this is for a time in which no thread runs, such as a call of native code that
        keeps the global lock of the interpreter. ttl: in seconds from now, at most a day; default: as the lock
        was described. It never makes the time of a lock shorter.
        Raises LockLost, Unavailable if no node answers (the lock is then held as before), or HoldfastError.
        """
        run(self._extend(ttl))
        return self.remaining

    __enter__ = acquire

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if os.getpid() != self._process:
            return  # A forked child leaves the block: the lock is its parent's.
        try:
            self.release()
        except HoldfastError as error:
            if kind is None and isinstance(error, LockLost):
                raise
            log.warning("%s was not released, and ends with its lease: %s", self._name, error)

    async def _until_over(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def _on_over(self, is_lost: bool) -> None:
        if is_lost:
            self.lost.set()
        self._over.set()

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        await work


class Watch(Iterator[Change]):
    """The iterator of `Client.watch`, for one thread. `close`, or ``with``, ends it; any thread may close it."""

    def __init__(self, cluster: Cluster, prefix: str, after: Optional[str]) -> None:
        self._changes = Changes(cluster, prefix, after)

    def __next__(self) -> Change:
        change = run(self._changes.next())
        if change is None:
            raise StopIteration
        return change

    def close(self) -> None:
        """Ends the iteration, for a thread that waits in it as well."""
        self._changes.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Threads:
    """Reads and writes by blocking the thread."""

    async def connect(self, node: Node, timeout: float) -> "_Link":
        sock = socket.create_connection((node.host, node.port), max(0.001, timeout))
        try:
            prepare(sock)
            if node.context is not None:
                return _Link(node.context.wrap_socket(sock, server_hostname=node.host))
            return _Link(sock)
        except BaseException:
            sock.close()
            raise

    async def rest(self, seconds: float) -> None:
        time.sleep(seconds)


class _Link:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def send(self, data: bytes, timeout: float) -> None:
        self._sock.settimeout(max(0.001, timeout))
        self._sock.sendall(data)

    async def receive(self, timeout: float) -> bytes:
        self._sock.settimeout(max(0.001, timeout))
        return self._sock.recv(UNREAD_BYTES)

    def close(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_RDWR)  # Wakes a thread that reads from it.
        except OSError:
            pass  # The other side has ended it.
        self._sock.close()
