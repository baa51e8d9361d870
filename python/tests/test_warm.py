"""A script under a launcher cannot tell that it was not started the plain way, and neither can who started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from typing import Any, Dict

from .harness import SCRIPTS, FakeRun, have, run_without_oef, seeded
from .warm_case import WarmCase

PROBE = str(SCRIPTS / "probe.py")


class Same(WarmCase):
    """What a script sees."""

    maxDiff = None

    def seen(self, done: "subprocess.CompletedProcess[str]") -> Dict[str, Any]:
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found: Dict[str, Any] = json.loads(done.stdout)
        return found

    def check(self, *target: str, **more: Any) -> None:
        options = more.pop("options", [])
        plain = self.seen(self.run_both([sys.executable, *options, *target], **more))
        warm = self.seen(self.run_both(self.command(*target, options=options), **more))
        self.assertEqual(warm, plain)

    def test_everything_it_was_given(self) -> None:
        self.launcher()
        given = {"OEF_RUN_DIR": "/state/runs/7/3", "OEF_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "2", "LATER": "given \udce9\n", "TZ": "Asia/Tokyo"}
        self.check(PROBE, **given)
        self.check(PROBE, "--lr", "0.1", "", "a b", options=["-u"], **given)

    def test_a_script_beside_its_modules(self) -> None:
        self.launcher()
        self.script("VALUE = 5\n", "beside.py")
        for name in ("script.py", "./script.py", str(self.folder / "script.py")):
            self.script("import sys, beside; print(beside.VALUE, sys.argv, sys.path[0], __file__)")
            self.assertEqual(self.warm(name, "x").stdout, self.plain(name, "x").stdout, name)
            self.assertIn("5", self.warm(name).stdout)

    def test_a_module(self) -> None:
        self.launcher()
        self.script("import sys; print(__name__, __spec__.name, sys.argv, sys.path[0]); raise SystemExit(4)", "train.py")
        plain, warm = self.plain("-m", "train", "a"), self.warm("-m", "train", "a")
        self.assertEqual((warm.returncode, warm.stdout, warm.stderr), (4, plain.stdout, ""))

    def test_limits_umask_and_signals_of_the_caller(self) -> None:
        self.launcher()
        shell = 'ulimit -n 200; umask 027; trap "" HUP; exec nice -n 3 "$@"'
        plain = self.seen(self.run_both(["bash", "-c", shell, "x", sys.executable, PROBE]))
        warm = self.seen(self.run_both(["bash", "-c", shell, "x", *self.command(PROBE)]))
        self.assertEqual(warm, plain)
        self.assertEqual((warm["umask"], warm["handlers"]["1"]), (0o027, plain["handlers"]["1"]))

    def test_input_and_output(self) -> None:
        self.launcher()
        name = self.script("import sys; print(sys.stdin.read().upper()); print('said', file=sys.stderr)")
        done = self.run_both(self.command(name), given="hello\n" * 50_000)
        self.assertEqual((done.stdout, done.stderr), ("HELLO\n" * 50_000 + "\n", "said\n"))

    def test_what_it_starts_has_its_variables(self) -> None:
        self.launcher()
        name = self.script("import os, subprocess; os.environ['MORE'] = '1'; subprocess.run(['sh', '-c', 'echo $OEF_RUN_DIR $MORE $OEF_WARM_ROOM'])")
        self.assertEqual(self.warm(name, OEF_RUN_DIR="/x").stdout, "/x 1\n")

    def test_c_code_sees_the_variables(self) -> None:
        self.launcher("ctypes")
        name = self.script(
            "import ctypes; c = ctypes.CDLL(None).getenv; c.restype = ctypes.c_char_p; print(c(b'CUDA_VISIBLE_DEVICES'), c(b'OEF_WARM_ROOM'))"
        )
        self.assertEqual(self.warm(name, CUDA_VISIBLE_DEVICES="3").stdout, "b'3' None\n")

    def test_the_imports_are_there(self) -> None:
        self.script("import os; WHO = os.getpid()\n", "heavy.py")
        launcher = self.launcher("heavy", PYTHONPATH=f"{self.variables['PYTHONPATH']}:{self.folder}")
        self.variables["PYTHONPATH"] += f":{self.folder}"
        name = self.script("import heavy; print(heavy.WHO)")
        self.assertEqual(self.warm(name).stdout, f"{launcher.pid}\n")


class Chance(WarmCase):
    def test_every_start_has_its_own(self) -> None:
        modules = [name for name in ("numpy.random", "torch") if have(name)]
        self.launcher(",".join(["random", "uuid", "multiprocessing", *modules]))
        text = "import random, uuid, multiprocessing as m\nprint(random.random(), uuid.uuid4(), m.current_process().authkey.hex())\n"
        text += "import numpy\nprint(numpy.random.rand())\n" if "numpy.random" in modules else ""
        text += "import torch\nprint(torch.initial_seed(), torch.rand(1).item())\n" if "torch" in modules else ""
        name = self.script(text)
        starts = [self.warm(name) for _ in range(3)]
        for done in starts:
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for numbers in zip(*(done.stdout.split() for done in starts)):
            self.assertEqual(len(set(numbers)), len(starts), numbers)

    def test_hashes_follow_their_variable(self) -> None:
        name = self.script("print(hash('x'))")
        self.variables["PYTHONHASHSEED"] = "7"
        self.launcher()
        self.assertEqual(self.warm(name).stdout, self.plain(name).stdout)
        other = self.warm(name, PYTHONHASHSEED="8")
        self.assertEqual(other.stdout, self.plain(name, PYTHONHASHSEED="8").stdout)
        self.assertIn("PYTHONHASHSEED", other.stderr)


class Endings(WarmCase):
    """How it ends, and what is said then."""

    def check(self, text: str) -> None:
        name = self.script(text)
        plain, warm = self.plain(name), self.warm(name)
        self.assertEqual((warm.returncode, warm.stdout, warm.stderr), (plain.returncode, plain.stdout, plain.stderr), text)

    def test_codes_signals_and_tracebacks(self) -> None:
        self.launcher()
        for text in (
            "", "raise SystemExit(75)", "import sys; sys.exit('why')", "import os; os._exit(3)", "1 / 0", "def f(:\n", "import no_such_module",
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import os; os.kill(os.getpid(), 9)", "import os; os.abort()",
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM); import time; time.sleep(60)",
            "raise KeyboardInterrupt", "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(60)",
            "import sys; sys.excepthook = lambda *a: print('hook', a[0], a[2].tb_lineno)\n1 / 0",
            "import atexit; atexit.register(print, 'at the end'); print('first')",
            "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
        ):  # fmt: skip
            with self.subTest(text):
                self.check(text)

    def test_a_script_that_is_not_there(self) -> None:
        self.launcher()
        plain, warm = self.plain("missing.py"), self.warm("missing.py")
        self.assertEqual(warm.returncode, plain.returncode)
        self.assertTrue(warm.stderr.endswith(plain.stderr), warm.stderr)

    def test_signals_reach_it_and_what_it_started(self) -> None:
        self.launcher()
        name = self.script(
            "import os, signal, sys, time\nchild = os.fork()\n"
            "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(40 if child else 2))\n"
            "print('up', flush=True)\ntry:\n    time.sleep(300)\nfinally:\n    if child: print('child', os.waitstatus_to_exitcode(os.wait()[1]))"
        )
        started = self.start(self.command(name))
        assert started.stdout is not None
        self.assertEqual([started.stdout.readline(), started.stdout.readline()], ["up\n", "up\n"])
        os.killpg(started.pid, signal.SIGUSR1)
        output, _ = started.communicate(timeout=60)
        self.assertEqual((started.returncode, output), (40, "child 2\n"))


class Identity(WarmCase):
    """A training that is preempted under the launcher ends with the same bits as one that never was."""

    def check(self, script: str, model: str, *more: str, preload: str) -> None:
        self.launcher(preload)
        folder = self.folder / "reference"
        folder.mkdir()
        expected = run_without_oef(script, model, *more, str(folder / "out"), folder=folder)
        self.assertEqual(expected.returncode, 0, expected.stderr)
        out = self.folder / "out"
        run = FakeRun(self, self.folder / "job", script, [model, *more, str(out)])
        run.command = self.command(*run.command[1:])
        chance, at, stops = seeded("warm", script, model), 0, 0
        while True:
            at += chance.randint(4, 9)
            codes = run.life(TEST_STOP_STEP=str(at))
            if codes == [0]:
                break
            stops += 1
            self.assertEqual(codes, [75], run.errors)
        self.assertGreater(stops, 1)
        self.assertEqual(out.read_text(), (folder / "out").read_text())
        self.assertNotIn("without a launcher", run.errors)

    def test_pure_python(self) -> None:
        self.check("train.py", "pure", "epochs", preload="random,oef")

    @unittest.skipUnless(have("numpy"), "not run: NumPy is not installed")
    def test_numpy(self) -> None:
        self.check("train.py", "numpy", "outer", preload="numpy,oef")

    @unittest.skipUnless(have("torch"), "not run: PyTorch is not installed")
    def test_torch(self) -> None:
        self.check("train_torch.py", "plain", preload="torch,oef")
        self.assertIn("torch", self.log())
