"""Gpu types where there are none: a step takes as long as the model would take on such a type."""

from __future__ import annotations

import time
from typing import Dict, Optional

#: How much faster each model is on the larger types than on `small`. Models gain unlike amounts, as measured ones do.
SPEEDS: Dict[str, Dict[str, float]] = {
    "vgg": {"small": 1.0, "mid": 1.2, "big": 1.4},
    "resnet": {"small": 1.0, "mid": 1.3, "big": 1.8},
    "resnet50": {"small": 1.0, "mid": 1.3, "big": 1.8},
    "lstm": {"small": 1.0, "mid": 1.5, "big": 2.2},
    "transformer": {"small": 1.0, "mid": 1.9, "big": 3.0},
}


class Pace:
    """Sleeps the rest of each step. Without a pace it does nothing."""

    def __init__(self, milliseconds: Optional[float], model: str, gpu_type: Optional[str]) -> None:
        speed = SPEEDS[model].get(gpu_type or "small", 1.0)
        self._seconds = 0.0 if milliseconds is None else milliseconds / 1000 / speed
        self._until = time.monotonic() + self._seconds

    def wait(self) -> None:
        """At the end of a step."""
        now = time.monotonic()
        if self._until > now:
            time.sleep(self._until - now)
            now = self._until
        # A step that came late delays the next ones: time that is lost is not made up for, as on a GPU.
        self._until = now + self._seconds
