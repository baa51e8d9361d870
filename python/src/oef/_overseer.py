"""What the callbacks for other frameworks have in common: when to save and to stop, and telling progress.

The frameworks write their checkpoints themselves.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NoReturn, Optional

from ._agreement import Failure, Vote
from ._environment import CHECKPOINTED, NOT_SAVED, Environment
from ._errors import say
from ._profile import Profiler
from ._progress import Progress, Speed
from ._watch import Watch, check_options

_CHUNK_BYTES = 4 << 20


class Overseer:
    """Watches a training that a framework runs."""

    def __init__(
        self, environment: Environment, checkpoint_dir: Optional[Path], checkpoint_every: Optional[float], sync_every: int
    ) -> None:
        check_options(checkpoint_every, sync_every)
        self.environment = environment
        plan = environment.profile
        save_seconds = None if checkpoint_every is None or plan is not None else checkpoint_every * 60
        self.watch = Watch(environment, checkpoint_dir, save_seconds, sync_every)
        self.progress = Progress(environment.progress_file if environment.rank == 0 else None)
        self.speed = Speed()
        self.progress.fetching = self.speed
        self.profiler = None if plan is None else Profiler(plan, self.progress, environment.rank == 0)

    def begin(self) -> None:
        """Training begins. The framework has installed its own signal handlers by now; ours replace them."""
        self.watch.begin()
        self.watch.stop.reinstall()
        self.go_on()

    def pause(self) -> None:
        """Something begins that is no training: validation, or what is done between two epochs. Its time does not count."""
        self.speed.stop()
        if self.profiler is not None:
            self.profiler.stop()

    def go_on(self) -> None:
        """Training goes on. The next thing is a batch, which has to be waited for."""
        self.speed.start()
        self.speed.waiting()
        if self.profiler is not None:
            self.profiler.start()

    def batch_begins(self) -> None:
        """The data of a batch are there."""
        self.speed.batch_begins()
        if self.profiler is not None:
            self.profiler.batch_begins()

    def step_done(self, step: int) -> Vote:
        """A step ended: what all workers want now. A profile run ends here when it is measured, or told to stop."""
        if self.profiler is not None:
            self._profiled(self.profiler, step)
            return Vote()
        self.speed.step_done()
        if self.progress.due():
            self.progress.tell(step, self.speed.steps_per_second)
        wish = self.watch.look() or Vote()
        self.speed.waiting()  # Only now: the line may have waited for the loss, and the vote for other workers.
        return wish

    def _profiled(self, profiler: Profiler, step: int) -> None:
        try:
            profiler.step_done(step, self.watch.agreement)
            wish = self.watch.look()
            if wish is not None and wish.stop:
                profiler.stopped(step, self.watch.agreement)
        except SystemExit:
            self.watch.keep_stop_signal = True
            raise

    def all_saved(self, good: bool) -> bool:
        """Whether every worker could save; all learn the same."""
        failure = Failure.NONE if good else Failure.SOME
        return self.watch.agreement.ask_now(Vote(failure=failure)).failure == Failure.NONE

    def saved(self, step: int, good: bool) -> None:
        """A save ended, well or not."""
        self.watch.saved()
        if good:
            self.progress.checkpoint = step
        message = None if good else "the checkpoint could not be saved"
        self.progress.tell(step, self.speed.steps_per_second, message)
        self.go_on()

    def leave(self, step: int, good: bool) -> NoReturn:
        """Ends the process after a stop."""
        self.watch.keep_stop_signal = True
        if not good:
            say(f"told to stop at step {step}: the work since the last checkpoint is lost, because it could not be saved")
        raise SystemExit(CHECKPOINTED if good else NOT_SAVED)

    def end(self, step: int) -> None:
        """Training is over."""
        self.watch.agreement.settle()
        if self.profiler is not None:
            self.profiler.finish(step, self.watch.agreement)
        self.progress.tell(step, self.speed.steps_per_second)
        self.watch.end()


def checksum(path: Path) -> str:
    """SHA-256 of a file, after it was brought to the disk."""
    sha256 = hashlib.sha256()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        while True:
            chunk = file.read(_CHUNK_BYTES)
            if not chunk:
                return sha256.hexdigest()
            sha256.update(chunk)


def loss_of(outputs: Any) -> Any:
    """The loss among what a training step returned, if it can be told."""
    if isinstance(outputs, dict):
        return outputs.get("loss")
    return outputs if hasattr(outputs, "detach") else None
