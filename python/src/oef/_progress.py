"""How far the job is and how fast, told to OEF as lines of JSON."""

from __future__ import annotations

import json
import math
import os
import time
from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, Optional, Tuple

from ._errors import reason, say_once

#: OEF looks only at the last line, and a person at the screen sees no more than this.
_LINES_PER_SECOND_MAX = 2.0
#: Long enough that one slow batch does not show, short enough that a change does within half a minute.
_WINDOW_SECONDS = 30.0
#: Very fast loops fill the window with many steps; this many say the same.
_WINDOW_STEPS_MAX = 1000
#: What a line says by itself; a script may use the same words for something else.
_RESERVED = frozenset({"step", "checkpoint", "wait", "message", "profile"})
#: OEF reads these as numbers: anything else would make it skip the line.
_NUMBERS = frozenset({"throughput", "loss"})
#: Larger ones are no numbers to most readers of JSON.
_WHOLE_MAX = 1 << 63


class Speed:
    """Steps a second over the last half minute, without what was spent on saving or between two loops."""

    def __init__(self) -> None:
        self._seconds: Deque[Tuple[float, float]] = deque()
        """How long each step took, and how much of it was spent on waiting for its batch."""
        self._sum = 0.0
        self._waited = 0.0
        self._fetching = 0.0
        self._waiting_since: Optional[float] = None
        self._since: Optional[float] = None
        self._warm = False

    def start(self) -> None:
        """From now on time counts."""
        self._since = time.monotonic()

    def stop(self) -> None:
        """Time does not count until the next `start`."""
        self._since = None

    def fetched(self, seconds: float) -> None:
        """The batch of the next step was waited for so long."""
        self._fetching += seconds

    def waiting(self) -> None:
        """From now on it is waited for a batch, until `batch_begins`."""
        self._waiting_since = time.monotonic()

    def batch_begins(self) -> None:
        """The batch is there."""
        if self._waiting_since is not None:
            self.fetched(time.monotonic() - self._waiting_since)
            self._waiting_since = None

    def step_done(self) -> None:
        """A step ended now."""
        now = time.monotonic()
        since, self._since = self._since, now
        fetching, self._fetching = self._fetching, 0.0
        if since is None:
            return
        if not self._warm:  # The first step of a process builds kernels, fills caches and opens files.
            self._warm = True
            return
        waited = min(fetching, now - since)
        self._seconds.append((now - since, waited))
        self._sum += now - since
        self._waited += waited
        while len(self._seconds) > 1 and (self._sum > _WINDOW_SECONDS or len(self._seconds) > _WINDOW_STEPS_MAX):
            seconds, waited = self._seconds.popleft()
            self._sum -= seconds
            self._waited -= waited

    @property
    def steps_per_second(self) -> Optional[float]:
        """Nothing before the second step."""
        return len(self._seconds) / self._sum if self._sum > 0 else None

    @property
    def wait(self) -> Optional[float]:
        """The part of the time that was spent on waiting for batches. Nothing before the second step."""
        return min(1.0, max(0.0, self._waited / self._sum)) if self._sum > 0 else None


class Progress:
    """Writes lines to the progress file of the first worker. Without a file it does nothing."""

    def __init__(self, path: Optional[Path]) -> None:
        self._path = path
        self._next = -math.inf
        self._values: Dict[str, Any] = {}
        self.checkpoint: Optional[int] = None
        """The step that the last checkpoint holds."""
        self.fetching: Optional[Speed] = None
        """Knows how much of the time goes into waiting for batches, where somebody measures that."""

    def log(self, values: Dict[str, Any]) -> None:
        """Figures that go with the next line. A tensor is looked at only then, so that no GPU has to wait now."""
        if self._path is not None:
            self._values.update((name, _detached(value)) for name, value in values.items())

    def due(self) -> bool:
        """Whether the next line may be written."""
        return self._path is not None and time.monotonic() >= self._next

    def tell(self, step: int, throughput: Optional[float], message: Optional[str] = None) -> None:
        """Writes a line now."""
        if self._path is None:
            return
        self._next = time.monotonic() + 1 / _LINES_PER_SECOND_MAX
        line: Dict[str, Any] = {"step": step}
        wait = None if self.fetching is None else self.fetching.wait
        own = [("throughput", throughput), ("checkpoint", self.checkpoint), ("wait", _rounded(wait))]
        given = [(name, value) for name, value in self._values.items() if name not in _RESERVED]
        for name, value in [*own, *given]:
            number = _finite(value)
            if number is not None and not (name in _NUMBERS and isinstance(number, (bool, str))):
                line[name] = number
        if message is not None:
            line["message"] = message
        self._write(json.dumps(line) + "\n")

    def tell_step(self, step: int) -> None:
        """Writes that a step of a profile run is done: OEF times what it sees."""
        if self._path is not None:
            self._write(json.dumps({"step": step}) + "\n")

    def tell_profile(self, step: int, figures: Dict[str, Any]) -> None:
        """Writes what a profile run has measured."""
        if self._path is not None:
            self._write(json.dumps({"step": step, "profile": figures}) + "\n")

    def _write(self, line: str) -> None:
        assert self._path is not None
        try:
            # Opened anew each time, because OEF removes what it has read; in one call, so that no line is cut.
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)
        except OSError as error:
            say_once(f"progress cannot be written to {self._path}: {reason(error)}; training goes on")


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else round(value, 3)


def _detached(value: Any) -> Any:
    # The loss holds on to everything that it was computed from, until it is detached.
    detach = getattr(value, "detach", None)
    return detach() if callable(detach) else value


def _finite(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < _WHOLE_MAX else None
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return number if math.isfinite(number) else None
