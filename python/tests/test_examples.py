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

    def from_the_book(self, marker: str, before: str = "", after: str = "") -> str:
        """A script that has the example with these words as it is printed, and around it what the reader has."""
        page = (ROOT / "docs" / "src" / "python.md").read_text()
        [found] = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if marker in each]
        script = self.folder / "script.py"
        script.write_text(before + found + after)
        return str(script)

    def test_the_first_example_of_the_book(self) -> None:
        self.check(self.from_the_book("# three"))

    def test_the_book_on_epochs(self) -> None:
        before = (
            "import types, oef\njob, loader, done = oef.job(), range(5), []\njob.restore(done=done)\n"
            "scheduler = types.SimpleNamespace(step=lambda: None)\nevaluate = lambda: done.append(job.step)\n"
        )
        script = self.from_the_book("job.epochs", before, "print(f'{job.step} steps, weights {done}')")
        self.check(script)

    @unittest.skipUnless(have("lightning") and have("torch"), "not run: Lightning is not installed")
    def test_the_book_on_lightning(self) -> None:
        before = (
            "import torch\nfrom lightning.pytorch.demos.boring_classes import BoringModel, RandomDataset\n"
            "model, loader = BoringModel(), torch.utils.data.DataLoader(RandomDataset(32, 2), batch_size=2)\n"
        )
        after = "print(trainer.global_step, 'steps')"
        self.assertIn("90 steps", self.preempted(self.from_the_book("oef.lightning", before, after)))

    @unittest.skipUnless(have("transformers") and have("accelerate"), "not run: Hugging Face's transformers is not installed")
    def test_the_book_on_hugging_face(self) -> None:
        before = (
            "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = torch.nn.Linear(2, 1)\n    def forward(self, x, labels=None):\n"
            "        return {'loss': self.layer(x).pow(2).mean()}\n"
            "model, data = Model(), [{'x': torch.ones(2), 'labels': torch.ones(1)}] * 80\n"
        )
        after = "print(trainer.state.global_step, 'steps')"
        self.assertIn("30 steps", self.preempted(self.from_the_book("oef.huggingface", before, after)))
