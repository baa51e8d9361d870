"""Launchers for tests, and the same command run both ways."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from .harness import PATIENCE_SECONDS, SOURCE, Case, plain_environment

CLIENT = SOURCE / "oef" / "warm.py"


class WarmCase(Case):
    """A test with a launcher, which is gone at its end."""

    def setUp(self) -> None:
        super().setUp()
        self.socket = self.folder / "warm" / "socket"
        self.variables = plain_environment()
        self.variables.pop("PYTHONUNBUFFERED", None)

    def launcher(self, preload: str = "json", *more: str, socket: Optional[Path] = None, **variables: str) -> "subprocess.Popen[str]":
        """Starts one, and waits until it answers or has given up."""
        path = socket or self.socket
        command = [sys.executable, "-m", "oef.launcher", "--preload", preload, "--socket", str(path), "--idle", "300", *more]
        log = open(self.folder / f"launcher-{path.parent.name}.log", "a+")
        self.addCleanup(log.close)
        said = self.log(path).count("oef: launcher:")
        # Room to show the folder of a start, as the executor leaves it.
        room = {"OEF_WARM_ROOM": "x" * 5000}
        started = subprocess.Popen(
            command, env={**self.variables, **room, **variables}, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True
        )
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        self.wait_for(lambda: self.log(path).count("oef: launcher:") > said or started.poll() is not None)
        return started

    def log(self, socket: Optional[Path] = None) -> str:
        return (self.folder / f"launcher-{(socket or self.socket).parent.name}.log").read_text()

    def command(self, *target: str, options: Optional[List[str]] = None, socket: Optional[Path] = None) -> List[str]:
        return [sys.executable, *(options or []), str(CLIENT), "--socket", str(socket or self.socket), *target]

    def start(self, command: List[str], **variables: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        started = subprocess.Popen(
            command, env={**self.variables, **variables}, cwd=self.folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True,
            start_new_session=True,
        )
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        return started

    def warm(self, *target: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return self.run_both(self.command(*target), **variables)

    def plain(self, *target: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return self.run_both([sys.executable, *target], **variables)

    def run_both(self, command: List[str], given: str = "", **variables: Any) -> "subprocess.CompletedProcess[str]":
        environment: Dict[str, str] = {**self.variables, **variables}
        return subprocess.run(
            command, env=environment, cwd=self.folder, input=given, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )

    def script(self, text: str, name: str = "script.py") -> str:
        (self.folder / name).write_text(text)
        return name

    def wait_for(self, is_so: Any) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            self.assertLess(time.monotonic(), until, "it hangs")
            time.sleep(0.005)

    def wait_for_end(self, pid: int) -> None:
        self.wait_for(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def found_by(variable: str) -> List[int]:
    """Processes that show this variable, as OEF's runner finds those of a job."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and variable.encode() in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
