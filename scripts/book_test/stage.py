"""A folder with a daemon of its own and the files that the documents talk about."""

import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from documents import ROOT

# The tenants, workloads and jobs that pages assume, so that job 12 is a gang of four and the numbers that pages print are those that a reader gets.
TENANTS = ["vision", "vision-lab"]
GANG = 12

TRAIN = """\
import os, sys, time
path = os.environ.get("OEF_PROGRESS_FILE")
# Longer than a page takes on a busy machine, or a minute to be measured.
steps = 60000 if "--long" in sys.argv else 600 if os.environ.get("OEF_PROFILE") else 4
for step in range(1, steps + 1):
    time.sleep(0.1)
    if path and os.environ.get("RANK", "0") == "0":
        with open(path, "a") as out:
            print('{"step": %d}' % step, file=out, flush=True)
print("done", *sys.argv[1:])
"""

JUPYTER = """\
#!/bin/sh
echo "http://127.0.0.1:8888/lab?token=5f0c8b2e"
exec sleep 600
"""

NEWCOMERS = """\
[[tenant]]
name = "newcomers"
[[tenant.workload]]
name = "gpt"
throughput = { rtx3080 = 3.0, rtx3090 = 4.5 }
"""

ACCOUNTING = """\
JobID|User|Account|Submit|ElapsedRaw|AllocTRES|State
1|ada|vision|2024-05-01T10:00:00|3600|gres/gpu:rtx3090=1,gres/gpu=1|COMPLETED
2|bob|speech|2024-05-01T10:05:00|1800|gres/gpu:rtx3080=2,gres/gpu=2|COMPLETED
"""


class Stage:
    def __init__(self, oef: Path):
        self.folder = Path(tempfile.mkdtemp(prefix="oef-book-"))
        self.home = self.folder / "home"
        bin_ = self.folder / "bin"
        for folder in [self.home, bin_, self.folder / "etc", self.folder / "backup"]:
            folder.mkdir()
        for folder in [".zfunc", ".config/fish/completions", ".local/share/bash-completion/completions"]:
            (self.home / folder).mkdir(parents=True)
        (bin_ / "oef").symlink_to(oef)
        (bin_ / "python").symlink_to(sys.executable)
        (bin_ / "jupyter").write_text(JUPYTER)
        (bin_ / "jupyter").chmod(0o755)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("OEF_")} | {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        self.daemon: subprocess.Popen | None = None
        self.log = self.folder / "daemon.log"
        self.files()

    def files(self) -> None:
        (self.folder / "examples").symlink_to(ROOT / "examples")
        (self.folder / "train.py").write_text(TRAIN)
        (self.folder / "newcomers.toml").write_text(NEWCOMERS)
        (self.folder / "may.txt").write_text(ACCOUNTING)
        shutil.copy(ROOT / "examples/university-lab.toml", self.folder / "lab.toml")
        (self.folder / "evaluate.py").write_text(TRAIN)
        for script in ["tell-me.sh", "clean-up.sh"]:
            (self.folder / script).write_text("#!/bin/sh\necho done\n")
            (self.folder / script).chmod(0o755)
        self.must("oef generate cluster --like paper -o c.toml")
        self.must("oef generate profiles -o p.csv")
        self.must("oef generate trace --profiles p.csv --jobs 40 --days 1 --gpus 24 --load 0.8 -o t.csv")
        self.must("oef submit --example-file > job.toml")

    def start(self, own: str | None, jobs: int) -> None:
        """The daemon of a page: its own, or the GPUs of the demonstration with rounds of a second and what pages assume."""
        usual = "oef up --gpus rtx3070=8,rtx3080=8,rtx3090=8 --round 1s --trust-tenants"
        self.daemon = subprocess.Popen(
            [*shlex.split(own or usual), "--state", str(self.folder / "cluster"), "--listen", "127.0.0.1:0"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
        )
        access = self.folder / "state/oef/access.json"
        for _ in range(600):
            if access.exists() and self.run("oef cluster", 30)[0] == 0:
                break
            if self.daemon.poll() is not None:
                break
            time.sleep(0.1)
        else:
            raise RuntimeError(f"the daemon does not answer:\n{self.log.read_text()}")
        if not own:
            self.prepare(jobs)

    def prepare(self, jobs: int) -> None:
        for tenant in TENANTS:
            self.must(f"oef tenant create {tenant}")
            self.must(f"oef workload set {tenant}/vgg16 --throughput rtx3070=1,rtx3080=1.2,rtx3090=1.4")
        command = f"oef submit --tenant vision-lab --workload vgg16 -- python train.py --long"
        for number in range(1, jobs + 1):
            self.must(command.replace(" --", " --workers 4 --", 1) if number == GANG else command)

    def keep(self, command: str) -> tuple[int, str]:
        """`name=$(...)`: the variable is there for the commands after it."""
        name = command.split("=", 1)[0]
        code, output = self.run(f"exec 2>/dev/null; {command} && printf %s \"${name}\"", 120)
        self.environment[name] = output
        return code, output

    def must(self, command: str) -> str:
        code, output = self.run(command, 120)
        if code != 0:
            raise RuntimeError(f"`{command}` ended with {code}:\n{output}\n{self.tail()}")
        return output

    def tail(self) -> str:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return "\n".join(["the daemon's log ends with:", *lines[-10:]]) if lines else ""

    def run(self, command: str, seconds: float) -> tuple[int, str]:
        """Exit code and output of a line of shell."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            text=True,
        )
        return done.returncode, done.stdout

    def look_at(self, command: str, seconds: float) -> tuple[int, str]:
        """A command that goes on until it is stopped, on a terminal: 0 if it still runs then, or ended well."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment | {"TERM": "xterm"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        os.set_blocking(leader, False)
        written, end = b"", time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                written += os.read(leader, 65536)
            except (BlockingIOError, OSError):
                if process.poll() is not None:
                    break
                time.sleep(0.05)
        code = process.poll()
        if code is None:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            code = 0
        os.close(leader)
        return code, written.decode(errors="replace")

    def close(self) -> None:
        if self.daemon is not None:
            self.run("oef cancel --all --yes || oef cancel --all", 60)
            self.daemon.terminate()
            try:
                self.daemon.wait(30)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
