"""How requests fail: each failure has a code of docs/reference/errors.md, which never changes."""

from typing import Any, Mapping, Optional

__all__ = ["HoldfastError", "LockHeld", "LockLost", "LockTimeout", "Unavailable"]


class HoldfastError(Exception):
    """A refusal or a failure.

    code: one of docs/reference/errors.md, such as ``"FORBIDDEN"``; it does not change, the message may.
    status: the status of HTTP, or None if no answer arrived. details: facts that depend on the code.
    """

    def __init__(
        self, code: str, message: str, status: Optional[int] = None, details: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details: Mapping[str, Any] = details or {}

    def __reduce__(self) -> Any:  # For pickle, which would pass the text of the message only.
        return type(self), (self.code, self.message, self.status, self.details)


class LockHeld(HoldfastError):
    """Another has the lock, and the request did not want to wait (``LOCK_HELD``)."""


class LockTimeout(HoldfastError):
    """The wait took longer than ``wait`` (``LOCK_TIMEOUT``)."""


class LockLost(HoldfastError):
    """The lock is no longer held (``LOCK_LOST``); ``details["reason"]`` says why."""


class Unavailable(HoldfastError):
    """No node could serve the request in time (``UNAVAILABLE``, ``BUSY`` and others)."""
