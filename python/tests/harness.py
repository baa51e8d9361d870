"""Runs training scripts as OEF's runner does: with its variables, its signal, and its reading of exit codes."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

SCRIPTS = Path(__file__).parent / "scripts"
SOURCE = Path(__file__).parent.parent / "src"

#: Far beyond what any of the scripts takes, so that only something that hangs ends here.
PATIENCE_SECONDS = 300


def have(module: str) -> bool:
    """Whether a package is installed."""
    try:
        __import__(module)
    except ImportError:
        return False
    return True


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="oef-test-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def job(self, script: str, *arguments: str, **options: Any) -> "FakeRun":
        return FakeRun(self, self.folder / "job", script, list(arguments), **options)


class FakeRun:
    """The lives of one job."""

    def __init__(
        self,
        case: unittest.TestCase,
        folder: Path,
        script: str,
        arguments: List[str],
        workers: int = 1,
        stop_signal: str = "TERM",
        checkpoint_dir: Optional[Path] = None,
        extra: Optional[Dict[str, str]] = None,
    ) -> None:
        self.case = case
        self.folder = folder
        self.command = [sys.executable, str(SCRIPTS / script), *arguments]
        self.workers = workers
        self.stop_signal = stop_signal
        self.checkpoints = checkpoint_dir or folder / "checkpoints"
        self.extra = extra or {}
        self.lives = 0
        self.errors = ""
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)

    def environment(self, rank: int, **more: str) -> Dict[str, str]:
        run = self.folder / f"run-{self.lives}"
        run.mkdir(exist_ok=True)
        return {
            **plain_environment(),
            "OEF_JOB_ID": "7",
            "OEF_GENERATION": str(self.lives + 1),
            "OEF_RESTART": str(self.lives),
            "OEF_CHECKPOINT_DIR": str(self.checkpoints),
            "OEF_PROGRESS_FILE": str(run / f"progress-{rank}.jsonl"),
            "OEF_STOP_SIGNAL": self.stop_signal,
            "OEF_GRACE_SECONDS": "30",
            "OEF_RUN_DIR": str(run),
            "RANK": str(rank),
            "WORLD_SIZE": str(self.workers),
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": self.port,
            **self.extra,
            **more,
        }

    def start(self, **more: str) -> List["subprocess.Popen[str]"]:
        """Starts all workers, each in a process group of its own."""
        started = []
        self.port = free_port()  # Another at every start: the last one may be held for a while.
        for rank in range(self.workers):
            started.append(
                subprocess.Popen(
                    self.command, env=self.environment(rank, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, start_new_session=True, cwd=self.folder,
                )
            )
        self.lives += 1
        return started

    def life(self, **more: str) -> List[int]:
        """One start to its end: the exit code of every worker."""
        return self.wait(self.start(**more))

    def wait(self, started: List["subprocess.Popen[str]"]) -> List[int]:
        codes = []
        for process in started:
            try:
                output, errors = process.communicate(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                for each in started:
                    end(each)
                output, errors = process.communicate()
                self.case.fail(f"a worker hangs\n{output}\n{errors}")
            self.errors += errors
            codes.append(process.returncode)
        return codes

    def progress(self) -> List[Dict[str, Any]]:
        """All lines of the last life."""
        path = self.folder / f"run-{self.lives - 1}" / "progress-0.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def files(self) -> List[str]:
        return sorted(name for name in os.listdir(self.checkpoints) if name.endswith(".ckpt"))


def free_port() -> str:
    """A port that nobody has right now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def plain_environment() -> Dict[str, str]:
    """The environment without anything that OEF or torchrun would set."""
    taken = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OEF_") and k not in taken}
    return {**kept, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


def end(process: "subprocess.Popen[str]") -> None:
    """Kills a worker and everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_without_oef(script: str, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments], env=plain_environment(), cwd=folder,
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )


def stop_after(process: "subprocess.Popen[str]", seconds: float, number: int) -> None:
    """Sends a signal to the whole process group after a while, if it is still there."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass


def seeded(*parts: object) -> random.Random:
    """Chance that can be had again: the parts name it."""
    return random.Random(repr(parts))
