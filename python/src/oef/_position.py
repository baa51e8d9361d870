"""Where a job is in its work."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Mapping


@dataclass
class Position:
    """Counts of what is done.

    A *loop* is one call of `steps` or `epochs` that is not inside another: a script may have several, one after the other.
    """

    step: int = 0
    """Steps since the very first start."""
    epoch: int = 0
    """Epochs since the very first start."""
    loop: int = 0
    """The loop that the job is in."""
    loop_step: int = 0
    loop_epoch: int = 0
    done: bool = False
    """Whether the loop has come to its end."""

    def enter(self, loop: int) -> None:
        """A new loop begins."""
        self.loop, self.loop_step, self.loop_epoch, self.done = loop, 0, 0, False

    def step_done(self) -> None:
        """One step more."""
        self.step += 1
        self.loop_step += 1

    def epoch_done(self) -> None:
        """One epoch more."""
        self.epoch += 1
        self.loop_epoch += 1

    def to_dict(self) -> Dict[str, Any]:
        """For the checkpoint: plain values, which later versions can read."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Position:
        """The position of a checkpoint."""
        return cls(**{name: saved[name] for name in cls.__dataclass_fields__ if name in saved})
