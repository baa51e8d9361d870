"""Saves and finds checkpoints for the loop: the workers together, with a second try when the disk is full."""

from __future__ import annotations

import errno
import pickle
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from . import _file
from ._agreement import Agreement, Failure, Vote
from ._environment import Environment
from ._errors import reason, say
from ._store import KEEP, Checkpoint, Store
from ._watch import warn_of_slow_save

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass
class Loaded:
    """A checkpoint as this worker sees it."""

    step: int
    shared: Dict[str, Any]
    """What the first worker saved for all."""
    own: Optional[Dict[str, Any]]
    """What this worker saved; nothing when there was no such worker."""


class Keeper:
    """The checkpoints of one job."""

    def __init__(self, store: Store, environment: Environment) -> None:
        self._store = store
        self._environment = environment
        self._good: List[int] = []
        """Serials of checkpoints to go back to, oldest first."""
        self._serial = 0
        self._newest: Optional[Checkpoint] = None
        self.complaints: List[str] = []
        """What was wrong with the folder at the start."""

    def search(self) -> bool:
        """Looks for a checkpoint to go on from. What cannot be used is in `complaints`."""
        wrong = self._store.prepare()
        found = self._store.search()
        self._serial = found.last_serial
        self._newest = found.newest
        self._good = list(found.older)
        self.complaints = list(found.complaints)
        if found.newest is not None:
            self._good.append(found.newest.serial)
            if self.complaints:
                self.complaints.append(f"going on from the checkpoint of step {found.newest.step}")
        elif self.complaints:
            self.complaints.append("no checkpoint can be used: starting from the beginning")
        if wrong is not None:
            self.complaints.append(f"{wrong}; training goes on without them")
        return found.newest is not None

    @property
    def resumes_from(self) -> int:
        """The serial number of the checkpoint that `search` found; 0 when there was none."""
        return 0 if self._newest is None else self._newest.serial

    def load(self) -> Optional[Loaded]:
        """Reads the checkpoint that `search` found, each time anew."""
        newest, rank = self._newest, self._environment.rank
        if newest is None:
            return None
        if newest.world_size != self._environment.world_size and rank == 0:
            say(
                f"the checkpoint was made with WORLD_SIZE={newest.world_size} and this start has "
                f"{self._environment.world_size}: weights and step go on, the order of the data does not"
            )
        first = _file.read(newest.files[0])
        own = first if rank == 0 else _file.read(newest.files[rank]) if rank in newest.files else None
        return Loaded(newest.step, first["shared"], None if own is None else own["own"])

    def save(self, agreement: Agreement, step: int, epoch: int, contents: Callable[[], Any]) -> bool:
        """Saves with all workers. When it fails for one it fails for all, the reason is said, and nothing half is left."""
        begun = time.monotonic()
        failure = self._attempt(agreement, step, epoch, contents)
        if failure == Failure.FULL and self._make_room(agreement):
            failure = self._attempt(agreement, step, epoch, contents)
        if failure != Failure.NONE:
            return False
        self._good.append(self._serial)
        self._good = self._good[-KEEP:]
        if self._environment.rank == 0 and len(self._good) == KEEP:
            self._store.keep_only(self._good)
        warn_of_slow_save(time.monotonic() - begun, self._environment)
        return True

    def _attempt(self, agreement: Agreement, step: int, epoch: int, contents: Callable[[], Any]) -> int:
        self._serial += 1
        failure = Failure.NONE
        what = contents()
        try:
            self._store.write(self._serial, step, epoch, what)
        except OSError as error:
            failure = Failure.FULL if error.errno in _FULL else Failure.SOME
            self._say(step, reason(error))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            failure = Failure.SOME
            self._say(step, f"something in it cannot be pickled ({reason(error)})")
        worst = agreement.ask_now(Vote(failure=failure, serial=self._serial))
        self._serial = worst.serial
        if worst.failure != Failure.NONE:
            if failure == Failure.NONE:
                self._say(step, "another worker could not save")
            self._store.discard(self._serial)
        return worst.failure

    def _make_room(self, agreement: Agreement) -> bool:
        """Gives up the older of two checkpoints, when the newer is certainly good."""
        spare = len(self._good) >= KEEP
        if self._environment.rank == 0 and spare:
            newest = self._good[-1]
            if self._store.is_whole(newest):
                say("removing the older checkpoint to make room")
                self._store.keep_only([newest])
        agreement.ask_now(Vote())  # Nobody tries again before the room is there.
        self._good = self._good[-1:]
        return spare

    def _say(self, step: int, why: str) -> None:
        say(f"worker {self._environment.rank}: the checkpoint of step {step} cannot be saved in {self._store.folder}: {why}")
