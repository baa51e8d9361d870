"""Launchers, clients and workers that are killed, strangers at the socket, and imports that no fork survives."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import List

from oef import warm

from .harness import SCRIPTS, SOURCE
from .warm_case import CLIENT, WarmCase, found_by, is_alive, kill

#: Whoever cannot become another user says so with this variable.
WITHOUT_USERS = "OEF_TEST_WITHOUT_USERS"

SLEEPER = "import os, time\nprint(os.getpid(), os.getppid(), flush=True)\ntime.sleep(300)\n"


class Killed(WarmCase):
    """Whoever is killed, nothing is left that should not be."""

    def sleeper(self) -> "tuple[subprocess.Popen[str], int, int]":
        """A client with its worker and the worker's keeper."""
        self.mark = f"OEF_RUN_DIR={self.folder}/run"
        started = self.start(self.command(self.script(SLEEPER)), OEF_RUN_DIR=f"{self.folder}/run")
        assert started.stdout is not None
        pid, keeper = (int(word) for word in started.stdout.readline().split())
        self.assertEqual(sorted(found_by(self.mark)), sorted([started.pid, pid, keeper]))
        return started, pid, keeper

    def test_the_client(self) -> None:
        launcher = self.launcher()
        started, pid, keeper = self.sleeper()
        started.kill()
        self.wait_for_end(pid)
        self.wait_for_end(keeper)
        self.assertEqual(found_by(self.mark), [])
        self.assertTrue(is_alive(launcher.pid))

    def test_the_worker(self) -> None:
        self.launcher()
        started, pid, keeper = self.sleeper()
        kill(pid)
        self.assertEqual(started.wait(60), -signal.SIGKILL)
        self.wait_for_end(keeper)
        self.assertEqual(self.warm(self.script("print(5)")).stdout, "5\n")

    def test_the_keeper(self) -> None:
        self.launcher()
        started, pid, keeper = self.sleeper()
        kill(keeper)
        self.assertEqual(started.wait(60), -signal.SIGKILL)
        self.wait_for_end(pid)
        assert started.stderr is not None
        self.assertIn("was killed", started.stderr.read())

    def test_the_launcher_and_the_worker_goes_on(self) -> None:
        launcher = self.launcher()
        name = self.script("import sys\nprint('up', flush=True)\nprint(sys.stdin.readline())\nsys.exit(9)")
        started = self.start(self.command(name))
        assert started.stdout is not None
        self.assertEqual(started.stdout.readline(), "up\n")
        launcher.kill()
        launcher.wait()
        output, _ = started.communicate("still there\n", timeout=60)
        self.assertEqual((started.returncode, output), (9, "still there\n\n"))
        after = self.warm(self.script("print(6)"))
        self.assertEqual(after.stdout, "6\n")
        self.assertIn("no launcher answers", after.stderr)
        self.assertEqual(after.stderr.count("\n"), 1)
        self.launcher()
        self.assertEqual(self.warm(self.script("print(7)")).stderr, "")

    def test_a_stop_in_every_phase_leaves_nothing(self) -> None:
        self.launcher()
        mark = f"OEF_RUN_DIR={self.folder}/run"
        for milliseconds in range(0, 60, 3):
            started = self.start(self.command(self.script(SLEEPER)), OEF_RUN_DIR=f"{self.folder}/run")
            time.sleep(milliseconds / 1000)
            os.killpg(started.pid, signal.SIGTERM if milliseconds % 2 else signal.SIGKILL)
            self.assertIn(started.wait(60), (-signal.SIGTERM, -signal.SIGKILL))
            self.wait_for(lambda: found_by(mark) == [])


class Sharing(WarmCase):
    """A launcher is for one user, one tenant, and one way of importing."""

    def who(self) -> str:
        return self.script("import os; print(os.getppid())")

    def refused(self, done: "subprocess.CompletedProcess[str]", why: str) -> None:
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, f"{os.getpid()}\n", "it ran the plain way, as a child of whoever started it")
        self.assertIn(why, done.stderr)

    def test_tenants_never_share(self) -> None:
        self.launcher("json", "--tenant", "vision")
        self.refused(self.warm(self.who(), OEF_TENANT="speech"), "the launcher serves tenant `vision`, and this is tenant `speech`")
        self.refused(self.warm(self.who()), "this is nobody's job")
        self.assertNotEqual(self.warm(self.who(), OEF_TENANT="vision").stdout, f"{os.getpid()}\n")

    def test_a_launcher_of_nobody_serves_no_tenant(self) -> None:
        self.launcher()
        self.refused(self.warm(self.who(), OEF_TENANT="vision"), "the launcher serves nobody's job")

    def test_variables_that_imports_read(self) -> None:
        self.launcher()
        for name in ("OMP_NUM_THREADS", "LD_LIBRARY_PATH", "PYTHONWARNINGS", "CUBLAS_WORKSPACE_CONFIG", "TORCH_LOGS"):
            self.refused(self.warm(self.who(), **{name: "3"}), name)
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "RANK", "ANYTHING"):
            self.assertEqual(self.warm(self.who(), **{name: "3"}).stderr, "")

    def test_options_of_the_interpreter(self) -> None:
        self.launcher()
        name = self.script("import sys; print(sys.flags.optimize, sys.warnoptions)")
        done = self.run_both(self.command(name, options=["-O", "-W", "error"]))
        self.assertEqual(done.stdout, "1 ['error']\n")
        self.assertIn("another interpreter", done.stderr)

    def as_another(self) -> List[str]:
        """Begins a command that may become another user: as root, or where this user has other ids at hand."""
        if os.geteuid() == 0:
            return []
        words = ["unshare", "--user", "--map-auto", "--map-root-user"]
        try:
            tried = subprocess.run([*words, "true"], capture_output=True, text=True)
        except OSError as error:
            tried = subprocess.CompletedProcess(words, 1, "", str(error))
        if tried.returncode == 0:
            return words
        if os.environ.get(WITHOUT_USERS):
            print(f"left out, as {WITHOUT_USERS} asks for: a test that needs another user", file=sys.stderr)
            self.skipTest(f"{WITHOUT_USERS} is set")
        self.fail(
            f"this test needs another user, and this one cannot become one: {tried.stderr.strip()}\n"
            f"Run it as root, install `uidmap` and give this user ids (/etc/subuid), or leave it out with {WITHOUT_USERS}=1"
        )

    def test_another_user_is_turned_away(self) -> None:
        begin = self.as_another()
        self.launcher()
        # Even where the folder would let them in.
        for path in (self.folder, self.socket.parent):
            path.chmod(0o755)
        self.socket.chmod(0o777)
        ask = "import os, socket, sys; os.setuid(1); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9))"
        done = self.run_both([*begin, sys.executable, "-c", ask, str(self.socket)])
        self.assertEqual(done.stdout, "b''\n", done.stderr)
        self.assertIn("turned away: process", self.log())

    def test_a_folder_that_others_can_enter(self) -> None:
        self.socket.parent.mkdir(mode=0o755)
        self.assertEqual(self.launcher().wait(60), 1)
        self.assertIn("mode 0700", self.log())

    def test_modes(self) -> None:
        self.launcher()
        self.assertEqual([path.stat().st_mode & 0o777 for path in (self.socket.parent, self.socket)], [0o700, 0o600])

    def test_one_launcher_for_each_folder(self) -> None:
        first, second = self.launcher(), self.launcher()
        self.assertEqual(second.wait(60), 0)
        self.assertTrue(is_alive(first.pid))
        self.assertEqual(self.warm(self.who()).stderr, "")


class Unfit(WarmCase):
    """Imports after which nothing may be forked, and modules that are not the script's."""

    def check(self, module: str, why: str) -> None:
        self.script(module, "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        self.assertEqual(self.launcher("json,heavy").wait(60), 1)
        self.assertIn(why, self.log())
        done = self.warm(self.script("print(5)"))
        self.assertEqual((done.returncode, done.stdout), (0, "5\n"))
        self.assertIn(why, done.stderr)

    def test_a_thread(self) -> None:
        self.check("import threading, time; threading.Thread(target=time.sleep, args=(300,), daemon=True).start()", "left 1 threads behind (python")

    def test_a_socket(self) -> None:
        self.check("import socket; S = socket.socketpair()", "an import left `socket:")

    def test_cuda(self) -> None:
        # Stands in for PyTorch after its first tensor on a GPU.
        fake = "import sys, types; sys.modules['torch'] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))"
        self.check(fake, "an import has started CUDA")

    def test_an_import_that_fails(self) -> None:
        self.check("raise RuntimeError('no')", "`import heavy` failed in the launcher: RuntimeError: no")
        self.check("import sys; sys.exit(3)", "SystemExit: 3")

    def test_an_import_that_crashes_is_not_tried_at_every_start(self) -> None:
        self.script("import os; os.abort()", "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        self.assertEqual(self.launcher("json,heavy").wait(60), -signal.SIGABRT)
        why = "the launcher did not survive its imports (json,heavy)"
        # That is what the executor looks at before it starts another.
        self.assertIn(why, (self.socket.parent / "refused").read_text())
        done = self.warm(self.script("print(5)"))
        self.assertEqual((done.returncode, done.stdout), (0, "5\n"))
        self.assertIn(why, done.stderr)

    def test_an_import_that_hangs(self) -> None:
        # In C, where no handler of Python's would run.
        self.script("import threading\nLOCK = threading.Lock()\nLOCK.acquire()\nLOCK.acquire()\n", "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        self.assertEqual(self.launcher("heavy", "--import-limit", "0.5").wait(60), 1)
        self.assertIn('heavy.py", line 4', self.log(), "where it was")
        done = self.warm(self.script("print(5)"))
        self.assertEqual((done.returncode, done.stdout), (0, "5\n"))
        self.assertIn("hung for 0.5 s", done.stderr)

    def test_an_import_that_is_slow_and_ends_leaves_no_trace(self) -> None:
        self.script("import time; time.sleep(0.5)", "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        self.launcher("heavy", "--import-limit", "60")
        self.wait_for((self.socket.parent / warm.READY).exists)
        self.assertEqual(sorted(path.name for path in self.socket.parent.iterdir()), ["client", "lock", "ready", "socket"])
        self.assertEqual(self.warm(self.script("import threading; print(threading.active_count())")).stdout, "1\n")

    def test_a_launcher_that_hangs_holds_up_one_start_only(self) -> None:
        launcher = self.launcher()
        self.wait_for((self.socket.parent / warm.READY).exists)
        launcher.send_signal(signal.SIGSTOP)
        self.addCleanup(setattr, warm, "ANSWER_SECONDS", warm.ANSWER_SECONDS)
        # One that is asked for less has not been given its time.
        with self.assertRaisesRegex(warm.Unanswered, "did not answer within 0.1 s"):
            warm._connect(str(self.socket), 0.1)
        self.assertTrue(self.socket.exists())
        warm.ANSWER_SECONDS = 0.5
        with self.assertRaisesRegex(warm.Unanswered, "did not answer within 0.5 s"):
            warm._connect(str(self.socket), 60)
        self.assertIn("no launcher answers", self.warm(self.script("print(5)")).stderr)
        launcher.send_signal(signal.SIGCONT)
        self.assertEqual(launcher.wait(60), 0, "the next start gets another")

    def test_a_module_that_has_changed(self) -> None:
        self.script("VALUE = 1\n", "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        launcher = self.launcher("heavy")
        name = self.script("import heavy; print(heavy.VALUE)")
        self.assertEqual(self.warm(name).stdout, "1\n")
        self.script("VALUE = 22\n", "heavy.py")
        done = self.warm(name)
        self.assertEqual(done.stdout, "22\n")
        self.assertIn("has changed since", done.stderr)
        self.assertEqual(launcher.wait(60), -signal.SIGTERM, "the next one will have it as it is")

    def test_a_module_beside_the_script_that_has_the_name_of_an_imported_one(self) -> None:
        self.launcher("json,csv")
        self.script("VALUE = 'mine'\n", "csv.py")
        done = self.warm(self.script("import csv; print(csv.VALUE)"))
        self.assertEqual(done.stdout, "mine\n")
        self.assertIn("another module `csv`", done.stderr)


class Socket(WarmCase):
    """What comes in at the socket."""

    def test_garbage(self) -> None:
        launcher = self.launcher()
        pieces = [b"", b"x", b"\0" * 100, b"\xff" * 5000, b"+\0\0\0\x05hello", b"+" + b"\0\0\0\x08" + b"\0\0\0\x05\xff\xff\xff\xff", os.urandom(100_000)]
        for piece in pieces:
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(self.socket))
                try:
                    stranger.sendall(piece)
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(1000):
                        pass
                except (BrokenPipeError, ConnectionResetError):
                    pass
        self.assertTrue(is_alive(launcher.pid))
        self.assertEqual(self.warm(self.script("print(5)")).stderr, "")

    def test_who_says_nothing_holds_nobody_up(self) -> None:
        self.launcher()
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(self.socket))
            self.assertEqual(self.warm(self.script("print(5)")).stderr, "")

    def test_fifty_at_once(self) -> None:
        self.launcher()
        name = self.script("import sys; print(sys.argv[1] * 1000); sys.exit(int(sys.argv[1]) % 7)")
        running: List["subprocess.Popen[str]"] = [self.start(self.command(name, str(n))) for n in range(50)]
        for n, started in enumerate(running):
            output, errors = started.communicate(timeout=120)
            self.assertEqual((started.returncode, output, errors), (n % 7, str(n) * 1000 + "\n", ""))

    def test_who_comes_early_waits_for_the_imports(self) -> None:
        self.script("import time; time.sleep(1)\n", "heavy.py")
        self.variables["PYTHONPATH"] = f"{SOURCE}:{self.folder}"
        command = [sys.executable, "-m", "oef.launcher", "--preload", "heavy", "--socket", str(self.socket), "--idle", "300", "--detach"]
        subprocess.run(command, env=self.variables, check=True, capture_output=False, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: self.socket.unlink())
        done = self.warm(self.script("import os, heavy; print(os.getppid())"))
        self.assertNotEqual(done.stdout, f"{os.getpid()}\n", done.stderr)

    def test_a_launcher_whose_socket_is_gone_ends(self) -> None:
        launcher = self.launcher()
        self.socket.unlink()
        self.assertEqual(launcher.wait(60), 0)
        self.assertIn("its socket is gone", self.log())

    def test_a_launcher_that_nobody_needs_ends(self) -> None:
        self.assertEqual(self.launcher("json", "--idle", "0.2").wait(60), 0)
        self.assertIn("nobody asked", self.log())
        self.assertFalse(self.socket.exists())

    def test_a_very_long_path(self) -> None:
        path = self.folder / ("long" * 50) / "socket"
        self.launcher(socket=path)
        done = self.run_both(self.command(self.script("print(5)"), socket=path))
        self.assertEqual((done.stdout, done.stderr), ("5\n", ""))

    def test_no_launcher_at_all(self) -> None:
        done = self.run_both([sys.executable, "-u", str(CLIENT), "--socket", "/no/such/socket", str(SCRIPTS / "probe.py")])
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn('"FileIO"', done.stdout, "the interpreter's own options are kept")
        by_name = self.plain("-m", "oef.warm", "--socket", "/no/such/socket", str(Path(__file__).parent / "scripts" / "probe.py"))
        self.assertEqual(by_name.returncode, 0, by_name.stderr)
