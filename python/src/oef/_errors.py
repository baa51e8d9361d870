"""What can go wrong for a user, and where it is said."""

from __future__ import annotations

import sys
from typing import Set

_said: Set[str] = set()


class OefError(Exception):
    """A mistake in a script or a checkpoint that does not fit it; the message says what to do."""


def say(message: str) -> None:
    """Tells the user something that does not end the job, on the error stream."""
    try:
        print(f"oef: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # The error stream is closed or its disk is full: training is worth more than the message.


def say_once(message: str) -> None:
    """Like `say`, but the same message only once in a process."""
    if message not in _said:
        _said.add(message)
        say(message)


def reason(error: BaseException) -> str:
    """An error in a few words, without the path that the message around it names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"{type(error).__name__}: {error}"
