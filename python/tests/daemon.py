"""A real daemon for tests of the client, and a proxy that cuts connections."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from unittest import mock

from oef.client import Client, ClientError

from .harness import PATIENCE_SECONDS, free_port, plain_environment

ROOT = Path(__file__).parent.parent.parent


def oef_binary() -> str:
    """The binary `oef`: that of the variable OEF, or the debug build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    path = Path(os.environ.get("OEF") or target / "debug" / "oef")
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"there is no {path}: build it with `cargo build -p oef-cli`, or name another with OEF=PATH")
    return str(path.resolve())


class Daemon:
    """`oef up` in a folder of its own."""

    def __init__(self, options: str = "--gpus a=2,b=2 --round 1s") -> None:
        self._holder = tempfile.TemporaryDirectory(prefix="oef-test-")
        self.folder = Path(self._holder.name)
        self.port = int(free_port())
        self.command = [oef_binary(), "up", *shlex.split(options), "--state", str(self.folder / "cluster")]
        # Jobs call `python`, which some systems have under another name only.
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "python").symlink_to(sys.executable)
        self.environment = {
            **plain_environment(), "XDG_STATE_HOME": str(self.folder), "USER": "ada",
            "PATH": f"{programs}:{os.environ['PATH']}",
        }  # fmt: skip
        self.log = self.folder / "daemon.log"
        self.process: Optional["subprocess.Popen[bytes]"] = None
        self.start()

    @property
    def access_file(self) -> Path:
        return self.folder / "oef" / "access.json"

    def client(self, **options: Any) -> Client:
        return Client(access_file=self.access_file, **options)

    def start(self, port: Optional[int] = None) -> None:
        """Starts it, or starts it again: on the same port, unless another is named."""
        self.port = port or self.port
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "--listen", f"127.0.0.1:{self.port}"], env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        eventually(self._answers, lambda: f"the daemon does not answer:\n{self.log.read_text()}")

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"the daemon ended:\n{self.log.read_text()}")
        try:
            return bool(self.client().info())
        except ClientError:
            return False

    def end(self, number: int) -> None:
        """Ends it with a signal."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Ends its jobs, which would outlive it, and then the daemon."""
        try:
            client = self.client()
            live = list(client.jobs())
            for job in live:
                client.cancel(job)
            client.wait_all(live, PATIENCE_SECONDS)
        except ClientError:
            pass  # A test has ended the daemon, and with it its jobs.
        if self.process is not None and self.process.poll() is None:
            self.end(signal.SIGTERM)
        self._holder.cleanup()


class DaemonCase(unittest.TestCase):
    """Tests that share a daemon."""

    options = "--gpus a=2,b=2 --round 1s --trust-tenants"
    daemon: Daemon
    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        environment = mock.patch.dict(os.environ, {"OEF_TENANT": "ada"})
        environment.start()
        cls.addClassCleanup(environment.stop)
        cls.daemon = Daemon(cls.options)
        cls.addClassCleanup(cls.daemon.close)
        cls.client = cls.daemon.client()


class Proxy:
    """Passes bytes to a port and back. `cuts` says, for one connection after the other, after how many bytes of the
    answer it is cut; those beyond the list are not."""

    def __init__(self, port: int, cuts: List[int]) -> None:
        self._port, self._cuts = port, list(cuts)
        self.requests = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = "http://127.0.0.1:%d" % self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near = self._server.accept()[0]
            except OSError:
                return
            self.requests += 1
            left = self._cuts.pop(0) if self._cuts else None
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                near.close()
                continue
            threading.Thread(target=_pump, args=(near, far, None), daemon=True).start()
            threading.Thread(target=_pump, args=(far, near, left), daemon=True).start()

    def close(self) -> None:
        self._server.close()


def _pump(source: socket.socket, target: socket.socket, left: Optional[int]) -> None:
    """Copies until one side ends. `left`: so many bytes, and then both sides are cut."""
    try:
        while True:
            data = source.recv(65536)
            if left is not None:
                target.sendall(data[:left])
                left -= len(data)
            else:
                target.sendall(data)
            if not data or (left is not None and left <= 0):
                break
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        each.close()


def eventually(is_so: Callable[[], bool], complaint: Callable[[], str]) -> None:
    """Waits until it is so; fails after far more than any test takes."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(complaint())
        time.sleep(0.05)


def environment_of(daemon: Daemon) -> Dict[str, str]:
    """What a script needs to find the daemon as a user's script does."""
    return {**daemon.environment, "OEF_TENANT": "ada"}
