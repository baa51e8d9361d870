"""What happened in a job, as lines of JSON: when it started and what that took, its losses, and how it ended."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, List, Optional

from machine import without_machine

#: One loss a second is enough for a curve.
SECONDS = 1.0
#: Steps after a start, and before an end, of which every loss is kept: they show whether training went on.
FIRST, LAST = 10, 30
#: A start that seems to have taken longer than this has been read wrongly from the system.
START_SECONDS_MAX = 60.0


class Trace:
    """Writes `losses-JOB.jsonl` into a folder. Without a folder it only remembers the last loss."""

    def __init__(
        self, folder: Optional[Path], work: Any, started: float, imported: float, built: float, step: int
    ) -> None:
        env = os.environ
        self._work = work
        self._restart = int(env.get("OEF_RESTART", "0"))
        self._type = env.get("OEF_GPU_TYPE", "")
        self._path: Optional[Path] = None
        self._next = 0.0
        self._early: List[Any] = []
        self._late: Deque[Any] = deque(maxlen=LAST)
        self._step_ended = time.time()
        if folder is None or env.get("RANK", "0") != "0":
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"losses-{env.get('OEF_JOB_ID', '0')}.jsonl"
        times = {"process": _process_started(started), "script": started, "imported": imported, "built": built}
        times = {name: round(at, 4) for name, at in {**times, "restored": time.time()}.items()}
        gpu = f"{without_machine(env.get('OEF_HOST', ''))}:{env.get('OEF_GPU_INDEX', '')}"
        places = {
            "gpu": gpu,
            "percent": env.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"),
            "engine": work.engine,
            **work.device_facts(),
        }
        self._write(event="start", step=step, generation=int(env.get("OEF_GENERATION", "0")), times=times, **places)

    def step_done(self, step: int, loss: Any) -> None:
        """After each step, from 0; `loss` may be a tensor that is still being computed. The trace counts done steps."""
        step += 1
        self._late.append(loss)
        self._step_ended = time.time()
        if self._path is None:
            return
        if len(self._early) < FIRST:
            if not self._early:
                self._work.wait()
                self._step_ended = time.time()
                self._write(event="first", step=step)
            self._early.append(loss)
            if len(self._early) == FIRST:
                self._write(event="early", step=step, losses=_numbers(self._early))
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS
            self._write(step=step, loss=round(float(loss), 5))

    def end(self, step: int) -> None:
        """When the loop is over or was stopped; from the last step to here it saved."""
        if self._path is None or not self._early:
            return
        facts = {"save_s": round(time.time() - self._step_ended, 4), "losses": _numbers(self._late)}
        self._write(event="end", step=step, **facts, **self._work.memory_facts())

    def last_loss(self) -> float:
        """The loss of the last step of this start."""
        return float(self._late[-1]) if self._late else float("nan")

    def _write(self, **fields: Any) -> None:
        assert self._path is not None
        line: Dict[str, Any] = {"at": round(time.time(), 3), "restart": self._restart, "type": self._type, **fields}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _numbers(losses: Any) -> List[float]:
    return [round(float(loss), 5) for loss in losses]


def _process_started(script: float) -> float:
    """When the system started this process, before Python came to the script; else when the script began."""
    try:
        ticks = float(Path("/proc/self/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19])
        up = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
        found = time.time() - (up - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return script
    return found if 0 <= script - found < START_SECONDS_MAX else script
