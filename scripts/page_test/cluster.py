"""Daemons to look at: the demonstration, and a large cluster in memory."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Daemon:
    """A process that serves, in a folder of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="oef-page-")
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.token = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill(signal.SIGTERM)
        shutil.rmtree(self.dir, ignore_errors=True)

    def kill(self, how=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process = None

    def spawn(self, command, **env):
        log = open(f"{self.dir}/log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **env})

    def wait(self):
        for _ in range(600):
            try:
                with urllib.request.urlopen(self.address + "/readyz", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise SystemExit(open(f"{self.dir}/log").read()[-3000:])

    def ask(self, method, path, body=None, token=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + "/api/v1" + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def link(self, token=None):
        return self.address + self.ask("POST", "/login-codes", token=token)["path"]

    def roles(self, tenant):
        """A token for each role."""
        made = {"admin": self.token}
        for role in ["viewer", "tenant"]:
            body = {"role": role, **({"tenant": tenant} if role == "tenant" else {})}
            made[role] = self.ask("POST", "/tokens", body)["secret"]
        return made

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Demo(Daemon):
    """`oef up --demo`: 24 emulated GPUs, four tenants, and one whose names are nasty."""

    def __init__(self, oef):
        super().__init__()
        self.oef = oef

    def start(self):
        command = [self.oef, "up", "--demo", "--trust-tenants", "--round", "3s", "--state", f"{self.dir}/state", "--listen", f"127.0.0.1:{self.port}"]
        self.spawn(command, XDG_STATE_HOME=self.dir, HOME=self.dir)
        self.wait()
        for _ in range(100):
            try:
                self.token = json.load(open(f"{self.dir}/oef/access.json"))["token"]
                break
            except (OSError, ValueError):
                time.sleep(0.1)

    def printed_link(self):
        return re.search(r"page: (\S+)", open(f"{self.dir}/log").read()).group(1)

    def cli(self, *args):
        env = {**os.environ, "XDG_STATE_HOME": self.dir, "HOME": self.dir}
        return subprocess.run([self.oef, *args], env=env, capture_output=True, text=True, check=True).stdout


class Large(Daemon):
    """A cluster in memory, of any size."""

    def __init__(self, program, gpus, tenants):
        super().__init__()
        self.program, self.gpus, self.tenants = program, gpus, tenants
        self.token = "oef_example"

    def start(self):
        self.spawn([self.program, str(self.gpus), str(self.tenants), f"{self.dir}/state", f"127.0.0.1:{self.port}", "8"])
        self.wait()
        # Full, and with some history.
        for _ in range(900):
            seen = self.ask("GET", "/overview")
            idle = sum(t["idle"] for t in seen["types"])
            if seen["round"] >= 3 and seen["running"] and idle < self.gpus / 20:
                return
            time.sleep(0.2)
        raise SystemExit("the large cluster did not fill")
