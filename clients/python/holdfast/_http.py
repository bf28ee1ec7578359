"""HTTP/1.1 as bytes: a request, the answer from the pieces that arrive, and the events of a stream.

Never reads or writes by itself, so that threads and asyncio share it. An answer that is not whole, or
not HTTP, raises `BrokenAnswer`, and never counts as an answer.
"""

import io
import re
from http.client import HTTPException, HTTPMessage, parse_headers
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional

HEAD_BYTES_MAX = 1 << 16
BODY_BYTES_MAX = 1 << 26
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r\n")
CHUNK = re.compile(rb"\s*([0-9a-fA-F]{1,15})\s*(?:;.*)?\Z", re.DOTALL)
NOT_IN_HEADERS = re.compile(r"[\r\n\0]")


class BrokenAnswer(OSError):
    """The connection ended within the answer, or what arrived is not HTTP."""


def request(method: str, target: str, headers: Mapping[str, str], body: Optional[bytes]) -> bytes:
    """The bytes of a request after which the connection is closed."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += ["Connection: close", "Accept-Encoding: identity"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    elif method != "GET":
        lines += ["Content-Length: 0"]
    for line in lines:
        if NOT_IN_HEADERS.search(line):
            raise ValueError(f"{line.split(':')[0]} has a line break or a NUL in it")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Answer:
    """The answer to one request, from the pieces that arrive.

    status: of HTTP; 0 until the head has arrived. is_whole: whether the body has ended.
    """

    def __init__(self) -> None:
        self.status = 0
        self.is_whole = False
        self._unread = b""
        self._left = 0  # Bytes of the body, or of the chunk, that have not arrived.
        self._step: Callable[[List[bytes]], bool] = self._head  # Returns whether another step may follow.

    def feed(self, piece: bytes) -> bytes:
        """Takes a piece, and returns what it adds to the body. No bytes: the connection has ended."""
        if not piece:
            if self._step != self._open:
                raise BrokenAnswer("the connection ended before the answer was whole")
            self.is_whole = True
        self._unread += piece
        body: List[bytes] = []
        while not self.is_whole and self._step(body):
            pass
        return b"".join(body)

    def _head(self, _: List[bytes]) -> bool:
        end = self._unread.find(b"\r\n\r\n") + 4
        if (end if end > 3 else len(self._unread)) > HEAD_BYTES_MAX:
            raise BrokenAnswer("the head of the answer is too long")
        if end == 3:
            return False
        head, self._unread = self._unread[:end], self._unread[end:]
        found = STATUS.match(head)
        if found is None:
            raise BrokenAnswer("the answer is not HTTP/1.1")
        status = int(found[1])
        if status < 200:  # Another head follows.
            return True
        try:
            headers = parse_headers(io.BytesIO(head[found.end() :]))
        except HTTPException as error:
            raise BrokenAnswer(f"the head of the answer is wrong: {error}") from error
        self.status = status
        self._begin_body(headers)
        return True

    def _begin_body(self, headers: HTTPMessage) -> None:
        length = headers.get("Content-Length")
        if self.status in (204, 304):
            self.is_whole = True
        elif headers.get("Transfer-Encoding", "").strip().lower() == "chunked":
            self._step = self._chunk_size
        elif length is None:
            self._step = self._open
        elif not re.fullmatch(r"\d{1,15}", length.strip()):
            raise BrokenAnswer("the Content-Length of the answer is not a number")
        else:
            self._left, self._step = int(length), self._sized
            self.is_whole = self._left == 0

    def _take(self, body: List[bytes]) -> None:
        body.append(self._unread[: self._left])
        self._unread = self._unread[self._left :]
        self._left -= len(body[-1])

    def _sized(self, body: List[bytes]) -> bool:
        self._take(body)
        self.is_whole = self._left == 0
        return False

    def _open(self, body: List[bytes]) -> bool:
        """A body that ends with the connection."""
        self._left = len(self._unread)
        self._take(body)
        return False

    def _line(self) -> Optional[bytes]:
        line, end, rest = self._unread.partition(b"\r\n")
        if len(line) > HEAD_BYTES_MAX:
            raise BrokenAnswer("a line of the answer is too long")
        if not end:
            return None
        self._unread = rest
        return line

    def _chunk_size(self, _: List[bytes]) -> bool:
        line = self._line()
        if line is None:
            return False
        found = CHUNK.match(line)
        if found is None:
            raise BrokenAnswer("the answer has a chunk without a length")
        self._left = int(found[1], 16)
        self._step = self._chunk if self._left else self._trailer
        return True

    def _chunk(self, body: List[bytes]) -> bool:
        self._take(body)
        if self._left:
            return False
        self._step = self._chunk_end
        return True

    def _chunk_end(self, _: List[bytes]) -> bool:
        line = self._line()
        if line:
            raise BrokenAnswer("a chunk of the answer is longer than it says")
        self._step = self._chunk_end if line is None else self._chunk_size
        return line is not None

    def _trailer(self, _: List[bytes]) -> bool:
        line = self._line()
        self.is_whole = line == b""
        return line is not None


class Event(NamedTuple):
    """A server-sent event."""

    type: str
    id: str
    data: str


class Events:
    """Server-sent events, from the pieces of the body that arrive. last_id: where to go on, or ``""``."""

    def __init__(self, last_id: str) -> None:
        self.last_id = last_id
        self._unread = b""
        self._fields: Dict[str, str] = {}
        self._data: List[str] = []

    def feed(self, piece: bytes) -> List[Event]:
        """The events that the piece completes."""
        *lines, self._unread = (self._unread + piece).split(b"\n")
        if len(self._unread) > BODY_BYTES_MAX:
            raise BrokenAnswer("an event is too long")
        events = [self._line(line.rstrip(b"\r").decode("utf-8", "replace")) for line in lines]
        return [event for event in events if event is not None]

    def _line(self, line: str) -> Optional[Event]:
        if line:
            name, _, value = line.partition(":")  # A comment has no name.
            value = value[1:] if value.startswith(" ") else value
            if name == "data":
                self._data.append(value)
            else:
                self._fields[name] = value
            return None
        fields, data, self._fields, self._data = self._fields, self._data, {}, []
        self.last_id = fields.get("id", self.last_id)
        if not data:
            return None
        return Event(fields.get("event", "message"), self.last_id, "\n".join(data))
