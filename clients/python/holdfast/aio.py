"""Locks of a Holdfast cluster for asyncio: the client of `holdfast`, with ``async`` and ``await``.

    async with holdfast.aio.Client().lock("orders/1001", cancel_on_lost=True) as lock:
        await write(..., token=lock.token)

Tasks extend the locks, so an event loop that is blocked for longer than the TTL loses them. Cancelling a task
that waits for a lock leaves the queue. Uses no threads, and nothing but the standard library.
"""

import asyncio
import os
import ssl
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Iterable, List, Optional, Set, Tuple
from typing import Type, TypeVar, Union

from ._core import UNREAD_BYTES, Change, Changes, Cluster, Key, Lease, Node, items_of, log, prepare
from .errors import HoldfastError, LockHeld, LockLost, LockTimeout, Unavailable

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
    """Knows the nodes of a cluster and who the caller is; for the tasks of one event loop.

    Its parameters are those of `holdfast.Client`. It keeps no connection open, so it need not be closed.
    """

    def __init__(
        self,
        endpoints: Union[str, Iterable[str], None] = None,
        token: Optional[str] = None,
        context: Optional[ssl.SSLContext] = None,
        patience: float = 10.0,
    ) -> None:
        self._cluster = Cluster(_Streams(), endpoints, token, context, patience)

    def lock(
        self,
        *keys: Key,
        ttl: float = 15.0,
        wait: Optional[float] = None,
        shared: bool = False,
        permits: Optional[int] = None,
        limit: Optional[int] = None,
        name: Optional[str] = None,
        cancel_on_lost: bool = False,
    ) -> "Lock":
        """Describes a lock of one key, or of up to 16 keys at once. ``async with`` or `Lock.acquire` takes it.

        cancel_on_lost: cancels the task within the ``async with`` block when the lock is lost; the block then raises
        LockLost instead of CancelledError, as `asyncio.timeout` raises TimeoutError. The other parameters are those
        of `holdfast.Client.lock`.
        """
        items = items_of(keys, shared, permits, limit)
        return Lock(self._cluster, items, ttl, wait, name, cancel_on_lost)

    async def elect(
        self, key: str, work: "Callable[[Lock], Awaitable[T]]", ttl: float = 15.0, name: Optional[str] = None
    ) -> T:
        """Awaits ``work(term)`` while this process is the leader of ``key``, and returns its result.

        Waits until it leads. A term is a `Lock`. When it is lost, ``work`` is cancelled, this process is a candidate
        again, and ``work`` is called again with the next term. What ``work`` raises, except for the LockLost of its
        term, ends the term and is raised here.
        """
        while True:
            term = self.lock(key, ttl=ttl, name=name, cancel_on_lost=True)
            try:
                async with term:
                    return await work(term)
            except LockLost:
                if term.reason is None:
                    raise
                log.warning("no longer the leader of %s (%s), but a candidate again", key, term.reason)

    def watch(self, prefix: str = "", after: Optional[str] = None) -> "Watch":
        """The changes of all keys that begin with ``prefix``, as they happen: an asynchronous iterator without end.

        The parameters and failures are those of `holdfast.Client.watch`.
        """
        return Watch(self._cluster, prefix, after)

    async def look(self, key: str) -> Dict[str, Any]:
        """What the cluster says of a key: its holds, waiting requests and more, as in openapi.json.

        Raises Unavailable, or HoldfastError with the code of a refusal.
        """
        return await self._cluster.look(key)


class Lock(Lease):
    """A lock that `Client.lock` describes, to be taken once, by ``async with`` or by `acquire`.

    token: the fencing token; 0 before it is taken. slots: of each semaphore, the numbers of the permits.
    lost: an `asyncio.Event`, set when the lock may be over before it was released; ``reason`` says why.
    Only the process that took it holds it: a forked child neither ends nor believes in its parent's lock.
    """

    def __init__(
        self,
        cluster: Cluster,
        items: List[Dict[str, Any]],
        ttl: float,
        wait: Optional[float],
        name: Optional[str],
        cancel_on_lost: bool,
    ) -> None:
        super().__init__(cluster, items, ttl, wait, name)
        self._cancel_on_lost = cancel_on_lost
        self._lost: Optional[asyncio.Event] = None
        self._keepers: Set["asyncio.Future[Any]"] = set()
        self._user: Optional["asyncio.Task[Any]"] = None  # The task within the block, while it is to be cancelled.
        self._cancelled: Optional["asyncio.Task[Any]"] = None  # The same, once it was.
        self._cancels_before = 0

    @property
    def lost(self) -> asyncio.Event:
        if self._lost is None:  # Before Python 3.10 it belongs to the loop in which it is made.
            self._lost = asyncio.Event()
            if self.reason is not None:
                self._lost.set()
        return self._lost

    async def acquire(self) -> "Lock":
        """Takes the lock and returns it.

        Raises LockHeld (with ``wait=0``), LockTimeout, Unavailable, or HoldfastError with another code. A task that
        is cancelled meanwhile leaves the queue first.
        """
        await self._acquire()
        for work in (self._keep(), self._watch_time()):
            _run_on(self._keepers, work)
        return self

    async def release(self) -> None:
        """Gives the lock back, even if the task is cancelled meanwhile.

        Raises LockLost if it was lost before, Unavailable if no node answers.
        """
        await self._finish(self._release())

    async def extend(self, ttl: Optional[float] = None) -> float:
        """Extends the lock now, and returns for how many seconds it can be relied on.

        A task extends it anyway; this is for a time in which the event loop is blocked. ttl: in seconds from now, at
        most a day; default: as the lock was described. It never makes the time of a lock shorter.
        Raises LockLost, Unavailable if no node answers (the lock is then held as before), or HoldfastError.
        """
        await self._extend(ttl)
        return self.remaining

    async def __aenter__(self) -> "Lock":
        await self.acquire()
        if self._cancel_on_lost:
            self._user = asyncio.current_task()
            self._cancels_before = _cancels_of(self._user)
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if os.getpid() != self._process:
            return  # A forked child leaves the block: the lock is its parent's.
        self._user = None
        is_by_loss = False
        if self._cancelled is not None:
            # Another cancellation of the task is not ours to take back.
            left = self._cancelled.uncancel() if hasattr(self._cancelled, "uncancel") else 0
            is_by_loss = left <= self._cancels_before and kind is asyncio.CancelledError
        try:
            await self.release()
        except HoldfastError as error:
            if isinstance(error, LockLost) and (kind is None or is_by_loss):
                raise error from value
            log.warning("%s was not released, and ends with its lease: %s", self._name, error)

    async def _until_over(self, seconds: float) -> bool:
        await asyncio.sleep(0 if self._is_over else seconds)
        return self._is_over

    def _on_over(self, is_lost: bool) -> None:
        if is_lost and self._lost is not None:
            self._lost.set()
        current = _current_task()
        for keeper in self._keepers:
            if keeper is not current:
                keeper.cancel()
        user, self._user = self._user, None
        if is_lost and user is not None and user is not current:
            self._cancelled = user
            user.cancel()

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.shield(_run_on(_UNFINISHED, work))


class Watch(AsyncIterator[Change]):
    """The iterator of `Client.watch`, for one task. `aclose`, or ``async with``, ends it."""

    def __init__(self, cluster: Cluster, prefix: str, after: Optional[str]) -> None:
        self._changes = Changes(cluster, prefix, after)

    async def __anext__(self) -> Change:
        change = await self._changes.next()
        if change is None:
            raise StopAsyncIteration
        return change

    async def aclose(self) -> None:
        """Ends the iteration, for a task that waits in it as well."""
        self._changes.close()

    async def __aenter__(self) -> "Watch":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._changes.close()


_UNFINISHED: Set["asyncio.Future[Any]"] = set()  # A loop itself keeps tasks by weak references only.


def _run_on(tasks: Set["asyncio.Future[Any]"], work: Coroutine[Any, Any, None]) -> "asyncio.Future[None]":
    """Runs it as a task that stands in the set until it has ended."""
    task = asyncio.ensure_future(work)
    tasks.add(task)

    def end(ended: "asyncio.Future[None]") -> None:
        tasks.discard(ended)
        if not ended.cancelled():
            ended.exception()  # A caller that was cancelled does not ask for it.

    task.add_done_callback(end)
    return task


def _current_task() -> Optional["asyncio.Task[Any]"]:
    try:
        return asyncio.current_task()
    except RuntimeError:  # Outside of an event loop.
        return None


def _cancels_of(task: Optional["asyncio.Task[Any]"]) -> int:
    """How often it was asked to end; unknown before Python 3.11."""
    return task.cancelling() if hasattr(task, "cancelling") else 0  # type: ignore[union-attr]


class _Streams:
    """Reads and writes by the streams of asyncio."""

    async def connect(self, node: Node, timeout: float) -> "_Link":
        opening = asyncio.ensure_future(asyncio.open_connection(node.host, node.port, ssl=node.context))
        link: Optional[_Link] = None
        try:
            await asyncio.wait({opening}, timeout=max(0.001, timeout))
            if not opening.done():
                raise OSError("it did not accept a connection in time")
            link = _Link(*opening.result())
            return link
        finally:
            if link is None:  # The task may have been cancelled at the moment at which there was a connection.
                opening.add_done_callback(_abandon)
                opening.cancel()

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _abandon(opening: "asyncio.Future[Tuple[asyncio.StreamReader, asyncio.StreamWriter]]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[1].transport.abort()


class _Link:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._is_late = False
        prepare(writer.get_extra_info("socket"))

    async def send(self, data: bytes, timeout: float) -> None:
        self._writer.write(data)
        await self._in_time(self._writer.drain(), timeout)

    async def receive(self, timeout: float) -> bytes:
        return await self._in_time(self._reader.read(UNREAD_BYTES), timeout)

    async def _in_time(self, work: Awaitable[T], timeout: float) -> T:
        """Ends the connection after that time; `asyncio.wait_for` can lose a cancellation before Python 3.12."""
        timer = asyncio.get_running_loop().call_later(max(0.001, timeout), self._cut)
        try:
            result = await work
        finally:
            timer.cancel()
        if self._is_late:
            raise OSError("it did not answer in time")
        return result

    def _cut(self) -> None:
        self._is_late = True
        self.close()

    def close(self) -> None:
        self._writer.transport.abort()
