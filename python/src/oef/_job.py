"""The job: what a training script talks to."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple, TypeVar, Union

from ._agreement import with_ranks_of_torch
from ._environment import Environment
from ._errors import OefError, say
from ._loop import Loops
from ._session import Session
from ._watch import check_options

T = TypeVar("T")

#: What a crash may cost at most, against a save that takes seconds.
CHECKPOINT_MINUTES = 10.0

_current: Optional[Job] = None


def job(
    *,
    checkpoint_dir: Union[str, "os.PathLike[str]", None] = None,
    checkpoint_every: Optional[float] = CHECKPOINT_MINUTES,
    sync_every: int = 1,
) -> Job:
    """The job of this process.

    checkpoint_dir: where checkpoints go when OEF does not say it; without either none are made.
    checkpoint_every: minutes between two checkpoints; None for none but those at a stop and at the end.
    sync_every: every how many steps the workers of a gang agree whether to stop or save.
    """
    global _current
    # Without OEF a second one does no harm: in a notebook the same line is often run again.
    if _current is not None and _current.environment.managed:
        raise OefError("oef.job() was called before in this process: pass that job on")
    _current = Job(checkpoint_dir=checkpoint_dir, checkpoint_every=checkpoint_every, sync_every=sync_every)
    return _current


class Job:
    """One process of a job. Made by `oef.job()`."""

    def __init__(
        self,
        *,
        checkpoint_dir: Union[str, "os.PathLike[str]", None] = None,
        checkpoint_every: Optional[float] = CHECKPOINT_MINUTES,
        sync_every: int = 1,
        environment: Optional[Environment] = None,
    ) -> None:
        check_options(checkpoint_every, sync_every)
        found = with_ranks_of_torch(Environment.read()) if environment is None else environment
        # OEF's folder comes first: it is the one that is brought to the next machine.
        folder = found.checkpoint_dir or (None if checkpoint_dir is None else Path(checkpoint_dir))
        save_seconds = None if checkpoint_every is None else checkpoint_every * 60
        self._session = Session(found, folder, save_seconds, sync_every)
        self._loops = Loops(self._session)
        self._used = False
        if found.managed:
            atexit.register(self._at_exit, os.getpid())

    def restore(self, **objects: Any) -> bool:
        """Registers what belongs into checkpoints, and gives it its saved state if there is one.

        Objects with state_dict() and load_state_dict(), NumPy arrays, tensors, dicts, lists, sets, and generators of random
        numbers. The first worker saves them for all; generators are saved by every worker. Whether there was a checkpoint.
        """
        self._session.register(objects, own=False)
        return self._session.resumed

    def restore_own(self, **objects: Any) -> bool:
        """Like `restore`, for what is different in every worker, such as a part of a model: each saves its own."""
        self._session.register(objects, own=True)
        return self._session.resumed

    def steps(
        self, loader: Iterable[T], epochs: Optional[int] = None, total: Optional[int] = None
    ) -> Iterator[Tuple[int, T]]:
        """The steps that are left, as (number of the step, batch); saves and stops between two of them.

        One epoch, or so many `epochs`, or `total` steps, whatever ends first. A stop ends the process by SystemExit: with
        75 when the work is saved, with 1 when that was not possible.
        """
        self._used = True
        return self._loops.steps(loader, epochs, total)

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left, for scripts that do something after each: `steps` inside walks through one."""
        self._used = True
        return self._loops.epochs(count)

    def log(self, **values: Any) -> None:
        """Figures for the progress line, such as `loss`. A tensor may be given as it is."""
        self._session.progress.log(values)

    @property
    def state(self) -> Dict[str, Any]:
        """A dict for whatever else should survive: anything that can be pickled."""
        self._session.look_for_checkpoint()
        return self._session.state

    @property
    def step(self) -> int:
        """How many steps are done since the very first start."""
        self._session.look_for_checkpoint()
        return self._session.position.step

    @property
    def epoch(self) -> int:
        """How many epochs are done since the very first start."""
        self._session.look_for_checkpoint()
        return self._session.position.epoch

    @property
    def resumed(self) -> bool:
        """Whether this start goes on from a checkpoint."""
        self._session.look_for_checkpoint()
        return self._session.resumed

    @property
    def stopping(self) -> bool:
        """Whether this worker has been told to stop; it will do so after the step."""
        return self._session.watch.stop.requested

    @property
    def checkpoint_dir(self) -> Optional[Path]:
        """Where checkpoints go; None when none are made."""
        return self._session.checkpoint_dir

    @property
    def environment(self) -> Environment:
        """What OEF told this process at its start."""
        return self._session.environment

    @property
    def rank(self) -> int:
        """Which worker this is, from 0."""
        return self._session.environment.rank

    @property
    def world_size(self) -> int:
        """How many workers there are."""
        return self._session.environment.world_size

    def _at_exit(self, process: int) -> None:
        failed = getattr(sys, "last_type", None) is not None  # Then its own message says why.
        if not self._used and not failed and self.rank == 0 and os.getpid() == process:
            say("this job never called steps(): it cannot be preempted without loss")
