"""A daemon of its own for one run: `oef up` in a folder that nobody else uses, and nothing left when it is over."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

#: The Python package of this repository.
PACKAGE = Path(__file__).resolve().parent.parent.parent / "python" / "src"
#: A daemon is up in a second; a slow machine that also starts MPS may take some.
START_SECONDS = 60.0
#: Jobs have this long to save their work when they are told to stop.
GRACE_SECONDS = 20
#: One command of the client; profiling waits for many jobs and has its own limit.
COMMAND_SECONDS = 60.0


class ClusterError(Exception):
    """Something did not work; the message says what and where to look."""


class Cluster:
    """Use it with `with`: leaving ends jobs, daemon and MPS, also after an error or Ctrl-C."""

    def __init__(self, oef: Path, gpus: List[str], mechanism: str, round_seconds: float, log: Path) -> None:
        self._oef = oef
        self._arguments = [*gpus, "--mechanism", mechanism, "--round", f"{round_seconds:g}s"]
        self._log = log
        # Short, because sockets of MPS lie in it; and away from the results, because checkpoints are large.
        self.folder = Path(tempfile.mkdtemp(prefix="oef-"))
        self._daemon: Optional[subprocess.Popen[bytes]] = None
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OEF_")}
        # One thread per job, because jobs share the cores; and the package `oef`, installed or not.
        paths = os.pathsep.join(filter(None, [str(PACKAGE), kept.get("PYTHONPATH")]))
        temporary = self.folder / "t"
        temporary.mkdir()
        own = {"XDG_STATE_HOME": str(self.folder / "x"), "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
        self._env = {**kept, **own, "TMPDIR": str(temporary)}

    def __enter__(self) -> Cluster:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._daemon is not None and self._daemon.poll() is None:
                self._end_jobs()
        except ClusterError:
            pass  # What still runs is ended below.
        finally:
            self._end_daemon()
            _quit_mps(self.folder / "s" / "mps" / "pipe", self._env)
            end_processes_of(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *arguments: str, token: Optional[str] = None, seconds: float = COMMAND_SECONDS) -> str:
        """What a command of the client prints; an error with its words when it fails."""
        env = self._env if token is None else {**self._env, "OEF_TOKEN": token, "OEF_SERVER": self._access()["server"]}
        command = [str(self._oef), *arguments]
        try:
            # In a session of its own: Ctrl-C is for this program, which then ends things in order.
            done = subprocess.run(
                command,
                env=env,
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise ClusterError(f"`oef {' '.join(arguments)}` took longer than {seconds:g} s") from None
        if done.returncode != 0:
            raise ClusterError(f"`oef {' '.join(arguments)}` failed with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def ask(self, *arguments: str, token: Optional[str] = None, seconds: float = COMMAND_SECONDS) -> Any:
        """The document that a command gives with `--json`."""
        # What stands behind `--` is a job's own.
        place = arguments.index("--") if "--" in arguments else len(arguments)
        words = [*arguments[:place], "--json", *arguments[place:]]
        return json.loads(self.call(*words, token=token, seconds=seconds))

    def jobs(self, everything: bool = False) -> List[Dict[str, Any]]:
        """All jobs that have not ended, or really all."""
        jobs: List[Dict[str, Any]] = self.ask("jobs", "--limit", "1000", *(["--all"] if everything else []))["jobs"]
        return jobs

    def _access(self) -> Dict[str, str]:
        found: Dict[str, str] = json.loads((self.folder / "x" / "oef" / "access.json").read_text(encoding="utf-8"))
        return found

    def _start(self) -> None:
        command = [str(self._oef), "up", "--trust-tenants", *self._arguments, "--state", str(self.folder / "s"), "--listen", "127.0.0.1:0"]
        with self._log.open("wb") as log:
            self._daemon = subprocess.Popen(
                command, env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + START_SECONDS
        while not (self.folder / "x" / "oef" / "access.json").exists():
            if self._daemon.poll() is not None or time.monotonic() > until:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                raise ClusterError(f"`{' '.join(command)}` did not start: {words[-2000:]}")
            time.sleep(0.05)
        self.call("settings", "--set", f"grace={GRACE_SECONDS}s")

    def _end_jobs(self) -> None:
        for tenant in sorted({job["tenant"] for job in self.jobs()}):
            self.call("cancel", "--all", "--tenant", tenant)
        until = time.monotonic() + GRACE_SECONDS + 5
        while self.jobs() and time.monotonic() < until:
            time.sleep(0.2)

    def _end_daemon(self) -> None:
        if self._daemon is None or self._daemon.poll() is not None:
            return
        for stop in (signal.SIGINT, signal.SIGKILL):
            self._daemon.send_signal(stop)
            try:
                self._daemon.wait(timeout=15)
                return
            except subprocess.TimeoutExpired:
                pass


def _quit_mps(pipe: Path, env: Dict[str, str]) -> None:
    if not pipe.exists():
        return
    try:
        subprocess.run(
            ["nvidia-cuda-mps-control"],
            input=b"quit -t 5\n",
            env={**env, "CUDA_MPS_PIPE_DIRECTORY": str(pipe)},
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        pass  # Its processes are ended by their number, as all others.


def end_processes_of(folder: Path) -> List[int]:
    """Kills what still runs with this folder in its environment: runners, jobs, the service of MPS. Their numbers."""
    ended = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and str(folder).encode() + b"/" in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                ended.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return ended
