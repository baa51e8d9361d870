"""The shipped scripts run with and without OEF, and end the same; the book's first example runs as it is printed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Dict, Optional

from .harness import Case, FakeRun, end, have, plain_environment

ROOT = Path(__file__).parent.parent.parent
TRAIN = ROOT / "examples" / "train"


class Examples(Case):
    def plain(self, *command: str, more: Optional[Dict[str, str]] = None) -> str:
        done = subprocess.run(
            [sys.executable, *command], env={**plain_environment(), **(more or {})}, cwd=self.folder, timeout=300,
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def preempted(self, *command: str, workers: int = 1) -> str:
        """Stops it when it has told of its first step, and lets it end the second time."""
        run = FakeRun(self, self.folder / "job", "", [], workers=workers)
        run.command = [sys.executable, *command]
        started = run.start()
        while all(process.poll() is None for process in started):
            if run.progress():
                for process in started:
                    process.send_signal(signal.SIGTERM)
                break
            time.sleep(0.01)
        outputs = [process.communicate(timeout=300) for process in started]
        codes = [process.returncode for process in started]
        # A fast one may be past its loop when the signal comes, or at its end.
        self.assertTrue(set(codes) <= {75, 0, -signal.SIGTERM}, f"{codes} {outputs}")
        if codes == [0] * workers:
            return outputs[0][0]
        again = run.start()
        try:
            outputs = [process.communicate(timeout=300) for process in again]
        finally:
            for process in again:
                end(process)
        self.assertEqual([process.returncode for process in again], [0] * workers, outputs)
        return outputs[0][0]

    def check(self, *command: str) -> None:
        alone = self.plain(*command)
        self.assertIn("steps, weights", alone)
        self.assertEqual(self.preempted(*command), alone)

    @unittest.skipUnless(have("numpy"), "not run: NumPy is not installed")
    def test_plain_numpy(self) -> None:
        self.check(str(TRAIN / "plain_numpy.py"), "--epochs", "100")

    @unittest.skipUnless(have("torch"), "not run: PyTorch is not installed")
    def test_torch_cifar(self) -> None:
        self.check(str(TRAIN / "torch_cifar.py"), "--steps", "40", "--images", "128", "--batch", "16")

    @unittest.skipUnless(have("torch"), "not run: PyTorch is not installed")
    def test_torch_ddp(self) -> None:
        self.assertIn("640 steps", self.preempted(str(TRAIN / "torch_ddp.py"), "--epochs", "20", workers=2))

    def test_the_first_example_of_the_book(self) -> None:
        page = (ROOT / "docs" / "src" / "python.md").read_text()
        script = self.folder / "script.py"
        script.write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0])
        self.check(str(script))
