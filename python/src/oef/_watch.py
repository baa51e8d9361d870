"""Looks between two steps whether the job should save or stop, and sees to it that all workers decide alike."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Optional

from ._agreement import Agreement, Alone, TorchAgreement, Vote, initialised_torch
from ._environment import Environment
from ._errors import OefError, say_once
from ._sockets import SocketAgreement
from ._stop import StopFlag


class Watch:
    """The stop signal, the time of the next save, and the vote of the workers."""

    def __init__(
        self, environment: Environment, checkpoint_dir: Optional[Path], save_seconds: Optional[float], sync_every: int
    ) -> None:
        self.stop = StopFlag(environment.stop_signal)
        self.agreement: Agreement = Alone()
        self._environment = environment
        self._folder = environment.run_dir or checkpoint_dir
        self._matters = checkpoint_dir is not None or environment.stop_signal is not None
        self._save_seconds = save_seconds if checkpoint_dir is not None and environment.rank == 0 else None
        self._next_save = float("inf")
        self._sync_every = sync_every
        self._looks = 0
        self._connected = False
        self.keep_stop_signal = False
        """Whether the signal stays ours when the loop ends, because the process is about to end."""

    def begin(self) -> None:
        """Watches from now on; waits for the other workers the first time."""
        self.stop.install()
        if not self._connected:
            self._connect()
            self._connected = True
            self.saved()

    def end(self) -> None:
        """The stop signal has its former meaning again."""
        if not self.keep_stop_signal:
            self.stop.uninstall()

    def look(self, running: bool = True) -> Optional[Vote]:
        """What all workers want, when that is known. `running` says whether this one has steps to do."""
        self._looks += 1
        alone = isinstance(self.agreement, Alone)
        if running and not alone and self._looks % self._sync_every != 0:
            return None
        due = time.monotonic() >= self._next_save
        return self.agreement.ask(Vote(stop=int(self.stop.requested), save=int(due), running=int(running)))

    def saved(self) -> None:
        """The time to the next save starts again; also after one that failed."""
        if self._save_seconds is not None:
            self._next_save = time.monotonic() + self._save_seconds

    def _connect(self) -> None:
        if self._environment.world_size == 1 or not self._matters:
            return
        torch = initialised_torch()
        if torch is not None and torch.distributed.get_world_size() == self._environment.world_size:
            self.agreement = TorchAgreement(torch)
        elif self._folder is not None:
            self.agreement = SocketAgreement(self._environment, self._folder, lambda: self.stop.requested)
        else:
            raise OefError(
                "several workers cannot agree on when to stop: set OEF_RUN_DIR or OEF_CHECKPOINT_DIR to a folder that all "
                "of them see"
            )


def check_options(checkpoint_every: Optional[float], sync_every: int) -> None:
    """Refuses options that make no sense."""
    if checkpoint_every is not None and not checkpoint_every > 0:
        raise OefError(f"checkpoint_every={checkpoint_every}: it should be a number of minutes above 0, or None for never")
    if sync_every < 1:
        raise OefError(f"sync_every={sync_every}: it should be a number of steps from 1")


def warn_of_slow_save(seconds: float, environment: Environment) -> None:
    """Says in time that the grace time is short for this job."""
    grace = environment.grace_seconds
    if grace is not None and environment.rank == 0 and seconds > 0.5 * grace:
        say_once(
            f"a checkpoint took {seconds:.1f} s and the grace time is {grace:.1f} s: give the job a longer one, "
            "or it may be killed while it saves"
        )
