"""What OEF tells a job at its start: the variables of the page "How a job takes part"."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Mapping, Optional

from ._errors import OefError

#: Exit code of a job that was told to stop and has saved its work.
CHECKPOINTED = 75
#: Exit code of a job that was told to stop and could not save.
NOT_SAVED = 1

#: Those that this system has; a script may be tried out where there is no OEF and no SIGUSR1.
_STOP_SIGNALS: Dict[str, signal.Signals] = {
    name: getattr(signal, "SIG" + name) for name in ("TERM", "INT", "USR1", "USR2") if hasattr(signal, "SIG" + name)
}


@dataclass(frozen=True)
class Plan:
    """What a profile run is to measure."""

    batches: int
    warmup: int
    seconds: float
    """More batches are measured where those take less time than this."""


@dataclass(frozen=True)
class Environment:
    """The parsed variables. Without OEF everything is absent and there is one worker."""

    job_id: Optional[str]
    generation: str
    restart: int
    checkpoint_dir: Optional[Path]
    progress_file: Optional[Path]
    run_dir: Optional[Path]
    stop_signal: Optional[signal.Signals]
    grace_seconds: Optional[float]
    rank: int
    world_size: int
    master_addr: str
    gpu_type: Optional[str]
    profile: Optional[Plan] = None
    """Of a profile run: what is measured. Such a run saves and restores nothing."""

    @property
    def managed(self) -> bool:
        """Whether OEF started this process."""
        return self.job_id is not None

    @classmethod
    def read(cls, variables: Optional[Mapping[str, str]] = None) -> Environment:
        """Reads the variables; one that makes no sense is an error that names it."""
        env = os.environ if variables is None else variables
        rank, world_size = _worker(env)
        job_id = env.get("OEF_JOB_ID") or None
        return cls(
            job_id=job_id,
            generation=env.get("OEF_GENERATION", "0"),
            restart=_whole(env, "OEF_RESTART", 0),
            checkpoint_dir=_path(env, "OEF_CHECKPOINT_DIR"),
            progress_file=_path(env, "OEF_PROGRESS_FILE"),
            run_dir=_path(env, "OEF_RUN_DIR"),
            stop_signal=_stop_signal(env, job_id is not None),
            grace_seconds=_seconds(env, "OEF_GRACE_SECONDS"),
            rank=rank,
            world_size=world_size,
            master_addr=env.get("MASTER_ADDR") or "127.0.0.1",
            gpu_type=env.get("OEF_GPU_TYPE") or None,
            profile=_plan(env),
        )


def _plan(env: Mapping[str, str]) -> Optional[Plan]:
    if env.get("OEF_PROFILE", "") in ("", "0"):
        return None
    seconds = _seconds(env, "OEF_PROFILE_SECONDS")
    return Plan(
        batches=max(1, _whole(env, "OEF_PROFILE_BATCHES", 20)),
        warmup=_whole(env, "OEF_PROFILE_WARMUP", 5),
        seconds=5.0 if seconds is None else seconds,
    )


def _worker(env: Mapping[str, str]) -> "tuple[int, int]":
    # Either alone says nothing: other tools set one of the two for purposes of their own.
    if "RANK" not in env or "WORLD_SIZE" not in env:
        return 0, 1
    rank, world_size = _whole(env, "RANK", 0), _whole(env, "WORLD_SIZE", 1)
    if not 0 <= rank < world_size:
        raise OefError(f"RANK is {rank} and WORLD_SIZE is {world_size}: the rank must be smaller than the size")
    return rank, world_size


def _path(env: Mapping[str, str], name: str) -> Optional[Path]:
    value = env.get(name)
    return Path(value) if value else None


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    value = env.get(name, "")
    if value == "":
        return default
    try:
        number = int(value)
    except ValueError:
        number = -1
    if number < 0:
        raise OefError(f"{name} is `{value}`: it should be a whole number from 0")
    return number


def _seconds(env: Mapping[str, str], name: str) -> Optional[float]:
    value = env.get(name, "")
    if value == "":
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise OefError(f"{name} is `{value}`: it should be a number of seconds from 0")
    return number


def _stop_signal(env: Mapping[str, str], managed: bool) -> Optional[signal.Signals]:
    value = env.get("OEF_STOP_SIGNAL", "")
    if value == "":
        return signal.SIGTERM if managed else None
    name = value.upper()
    found = _STOP_SIGNALS.get(name[3:] if name.startswith("SIG") else name)
    if found is None:
        raise OefError(f"OEF_STOP_SIGNAL is `{value}`: it should be one of {', '.join(_STOP_SIGNALS)}")
    return found
