"""Whether training went on over each restart, by stated rules."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from statistics import mean
from typing import List, Optional

from results import Results, Run

#: So many steps on either side are needed to say anything about the loss.
STEPS_MIN = 5

RULE = (
    "Step: a run begins with exactly the step at which the run before it ended and saved. "
    "Loss: the mean of the first 10 losses after the restart lies within the band of the last 30 before it: from their "
    "least to their greatest, widened by half of that on both sides. It is called telling when the job's very first losses "
    "lie above that band: then a start from scratch would have been seen."
)


class Verdict(enum.Enum):
    """What the losses around a restart say."""

    GOES_ON = "goes on"
    JUMPS = "jumps"
    TOO_FEW = "too few steps to tell"


@dataclass
class Restart:
    """Two runs of a job that follow each other."""

    before: Run
    after: Run
    step_exact: Optional[bool]
    """None when the end of the run before was not traced: it was killed."""
    loss: Verdict
    telling: bool
    before_mean: float
    after_mean: float


def restarts(results: Results) -> List[Restart]:
    """All restarts that came to a step again, by job and time."""
    found = []
    for runs in results.runs.values():
        trained = [run for run in runs if run.first is not None]
        found += [_judge(trained[0], before, after) for before, after in zip(trained, trained[1:])]
    return found


def _judge(very_first: Run, before: Run, after: Run) -> Restart:
    exact = None if before.end is None else after.from_step == before.end["step"]
    last = before.end["losses"] if before.end is not None else [loss for _, _, loss in before.points[-30:]]
    first = after.early or (after.end["losses"][:10] if after.end is not None else [])
    if len(last) < STEPS_MIN or len(first) < STEPS_MIN:
        return Restart(before, after, exact, Verdict.TOO_FEW, False, _mean(last), _mean(first))
    margin = (max(last) - min(last)) / 2
    low, high = min(last) - margin, max(last) + margin
    verdict = Verdict.GOES_ON if low <= mean(first) <= high else Verdict.JUMPS
    # The job's first run may be the run before, and short: then its own first losses are within the band.
    scratch = very_first.early or (very_first.end or {}).get("losses", [])[:10]
    telling = len(scratch) >= STEPS_MIN and mean(scratch) > high
    return Restart(before, after, exact, verdict, telling, mean(last), mean(first))


def _mean(values: List[float]) -> float:
    return mean(values) if values else float("nan")
