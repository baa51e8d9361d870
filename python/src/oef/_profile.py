"""Profile runs: a few batches are timed, told to OEF, and the process ends. Nothing is saved or restored."""

from __future__ import annotations

import sys
import time
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ._agreement import Agreement, Vote
from ._environment import CHECKPOINTED, Plan
from ._errors import say
from ._progress import Progress

#: A lot whose middle half lies nearer together than this is good enough.
SPREAD_WANTED = 0.05
#: Lots in all: a job whose batches differ by nature would go on for ever.
LOTS_MAX = 3
#: Fewer batches say nothing.
BATCHES_MIN = 5


class Profiler:
    """Times the batches of one worker, and ends all workers at the same step."""

    def __init__(self, plan: Plan, progress: Progress, first: bool) -> None:
        self._plan = plan
        self._progress = progress
        self._first = first
        """Whether this worker tells."""
        self._warmup_left = plan.warmup
        self._since: Optional[float] = None
        self._waited = 0.0
        self._lot: List[Tuple[float, float]] = []
        """Of each batch: its seconds, and those of them that were spent waiting for data."""
        self._best: Optional[Dict[str, Any]] = None
        self._lots = 0

    def start(self) -> None:
        """From now on time counts."""
        self._since = time.monotonic()
        self._waited = 0.0

    def stop(self) -> None:
        """Time does not count until the next `start`: between two epochs there is validation and the like."""
        self._since = None

    def batch_begins(self) -> None:
        """The data of the next batch are there; until now it was waited for them."""
        if self._since is not None:
            self._waited = time.monotonic() - self._since

    def step_done(self, step: int, agreement: Agreement) -> None:
        """A step ended; ends the process when the workers know enough."""
        _wait_for_gpu()
        now = time.monotonic()
        since, waited = self._since, self._waited
        if self._first:
            # A figure counts where the runner has timed the same steps: it sees them by these lines.
            self._progress.tell_step(step)
        self.start()
        if since is None:
            return
        if self._warmup_left > 0:
            self._warmup_left -= 1
            return
        self._lot.append((now - since, waited))
        if len(self._lot) % self._plan.batches:
            return
        # All workers have done as many steps, so that all come here together; one that wants more keeps the others.
        lasted = sum(seconds for seconds, _ in self._lot)
        if not agreement.ask_now(Vote(save=int(lasted < self._plan.seconds), running=1)).save:
            self._close_lot()
            assert self._best is not None
            again = self._best["spread"] > SPREAD_WANTED and self._lots < LOTS_MAX
            if not agreement.ask_now(Vote(save=int(again), running=1)).save:
                self._tell_and_leave(step)
        self.start()

    def finish(self, step: int, agreement: Agreement) -> None:
        """There are no more steps here: what there is has to do. Returns where it does not, for loops that follow."""
        if agreement.ask_now(Vote(save=int(self._first and self._is_enough()))).save:
            self._tell_and_leave(step)

    def stopped(self, step: int, agreement: Agreement) -> NoReturn:
        """Told to stop: what there is has to do, or it is measured another time."""
        self.finish(step, agreement)
        say(f"told to stop at step {step}, before it was measured")
        raise SystemExit(CHECKPOINTED) from None

    def peer_gone(self, step: int) -> NoReturn:
        """Another worker has ended: it had enough, or failed, which OEF sees by itself."""
        if self._first and self._is_enough():
            self._tell_and_leave(step)
        raise SystemExit(0) from None

    def _is_enough(self) -> bool:
        return self._best is not None or len(self._lot) >= BATCHES_MIN

    def _tell_and_leave(self, step: int) -> NoReturn:
        if self._best is None and self._lot:
            self._close_lot()
        if self._best is not None:
            self._progress.tell_profile(step, {**self._best, "lots": self._lots})
        raise SystemExit(0) from None

    def _close_lot(self) -> None:
        lot, self._lot = self._lot, []
        self._lots += 1
        found = figures(lot)
        if self._best is None or found["spread"] < self._best["spread"]:
            self._best = found


def figures(lot: List[Tuple[float, float]]) -> Dict[str, Any]:
    """Median, spread (interquartile range over median), number, and the part of the time spent waiting for data."""
    times = sorted(seconds for seconds, _ in lot)
    median = _quantile(times, 0.5)
    total = sum(times)
    return {
        "batch_seconds": median,
        "spread": (_quantile(times, 0.75) - _quantile(times, 0.25)) / median if median > 0 else 0.0,
        "batches": len(times),
        "wait": min(1.0, sum(waited for _, waited in lot) / total) if total > 0 else 0.0,
    }


def _quantile(ordered: List[float], part: float) -> float:
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _wait_for_gpu() -> None:
    # Kernels are only queued when a step returns. Torch is not imported for this: without it there is nothing queued.
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available() and cuda.is_initialized():
        cuda.synchronize()
