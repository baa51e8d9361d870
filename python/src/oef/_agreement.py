"""How the workers of a gang come to the same decision at the same step.

Workers vote in rounds; everybody learns the greatest of each figure. A worker gives its vote and learns the outcome of the
round *before*: so nobody waits for the slowest message in the middle of a step, and all still decide alike.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, NamedTuple, Optional, Protocol

from ._environment import Environment
from ._errors import OefError


class Failure:
    """What a vote says about saving; the worst counts."""

    NONE = 0
    SOME = 1
    FULL = 2
    """The disk is full: it may help to remove an old checkpoint."""


class Vote(NamedTuple):
    """What one worker says, or all together. Of each figure the greatest counts."""

    stop: int = 0
    save: int = 0
    running: int = 0
    failure: int = Failure.NONE
    serial: int = 0


class PeerGone(OefError):
    """Another worker is not there any more."""


class Agreement(Protocol):
    """The vote of all workers."""

    def ask(self, vote: Vote) -> Optional[Vote]:
        """Votes, and tells what a former round said; nothing the first time."""

    def ask_now(self, vote: Vote) -> Vote:
        """Votes, waits for everybody, and tells the outcome. A round under way is given up."""

    def settle(self) -> None:
        """Ends the round under way, so that nothing is left open."""


class Alone:
    """One worker: its vote is the outcome."""

    def ask(self, vote: Vote) -> Optional[Vote]:
        return vote

    def ask_now(self, vote: Vote) -> Vote:
        return vote

    def settle(self) -> None:
        pass


class Rounds:
    """What agreement through messages has in common; the two halves of a round are the subclass's."""

    def __init__(self) -> None:
        self._open = False

    def ask(self, vote: Vote) -> Optional[Vote]:
        outcome = self._finish() if self._open else None
        self._start(vote)
        self._open = True
        return outcome

    def ask_now(self, vote: Vote) -> Vote:
        self.settle()
        self._start(vote)
        return self._finish()

    def settle(self) -> None:
        if self._open:
            self._open = False
            self._finish()

    def _start(self, vote: Vote) -> None:
        raise NotImplementedError

    def _finish(self) -> Vote:
        raise NotImplementedError


class TorchAgreement(Rounds):
    """Agreement through `torch.distributed`, on the CPU where possible, so that no GPU has to wait."""

    def __init__(self, torch: Any) -> None:
        super().__init__()
        self._torch = torch
        self._work: Any = None
        self._tensor: Any = None
        self._device = "cpu"
        self._group: Any = None
        try:
            self._group = torch.distributed.new_group(backend="gloo")
        except (RuntimeError, ValueError):  # This PyTorch was built without it: the script's own group has to do.
            if torch.distributed.get_backend() == "nccl":
                self._device = "cuda"

    def _start(self, vote: Vote) -> None:
        distributed = self._torch.distributed
        self._tensor = self._torch.tensor(list(vote), dtype=self._torch.int64, device=self._device)
        self._work = distributed.all_reduce(
            self._tensor, op=distributed.ReduceOp.MAX, group=self._group, async_op=True
        )

    def _finish(self) -> Vote:
        try:
            self._work.wait()
        except RuntimeError as error:
            raise PeerGone(f"another worker is gone ({error})") from error
        return Vote(*(int(figure) for figure in self._tensor.tolist()))


def initialised_torch() -> Any:
    """PyTorch if this script has set up its process group."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch


def with_ranks_of_torch(environment: Environment) -> Environment:
    """A script may start processes of its own, as `torch.multiprocessing.spawn` does: then its process group knows better."""
    torch = initialised_torch()
    if torch is None:
        return environment
    rank, world_size = int(torch.distributed.get_rank()), int(torch.distributed.get_world_size())
    return replace(environment, rank=rank, world_size=world_size)
