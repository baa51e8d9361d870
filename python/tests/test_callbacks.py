"""The callbacks of Lightning and Hugging Face: with small fakes of the frameworks, and with the real ones where installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import List, Tuple

from .harness import Case, FakeRun, have, plain_environment, run_without_oef

STEPS = 20


class Callbacks(Case):
    def life(self, run: FakeRun, **more: str) -> Tuple[int, List[int], str]:
        [process] = run.start(**more)
        output, errors = process.communicate(timeout=300)
        steps = [int(line) for line in output.splitlines() if line.isdigit()]
        return process.returncode, steps, errors

    def check(self, kind: str) -> FakeRun:
        """Stopped twice, it does every step once."""
        run = self.job("train_callback.py", kind)
        done: List[int] = []
        for at in (5, 6, 14):
            code, steps, errors = self.life(run, TEST_STOP_STEP=str(at))
            self.assertEqual((code, steps[-1]), (75, at), errors)
            self.assertEqual(run.progress()[-1]["checkpoint"], at)
            done += steps
        code, steps, errors = self.life(run)
        self.assertEqual(code, 0, errors)
        self.assertEqual(done + steps, list(range(1, STEPS + 1)), errors)
        self.assertEqual(run.progress()[-1]["step"], STEPS)
        return run

    def newest(self, run: FakeRun, pattern: str) -> Path:
        paths = list(run.checkpoints.glob(pattern))
        return max(paths, key=lambda path: int("".join(c for c in path.name.split("-sha")[0] if c.isdigit())))

    def test_fake_lightning(self) -> None:
        run = self.check("fake-lightning")
        self.assertEqual(len(run.files()), 2, "the last two are kept")

    def test_fake_lightning_with_a_damaged_checkpoint(self) -> None:
        run = self.job("train_callback.py", "fake-lightning")
        self.life(run, TEST_STOP_STEP="5")
        self.newest(run, "*.ckpt").write_text('{"step": 17}')
        code, steps, errors = self.life(run)
        self.assertEqual((code, steps[0]), (0, 5), errors)
        self.assertIn("its checksum is wrong", errors)

    def test_fake_lightning_that_cannot_save(self) -> None:
        place = self.folder / "file"
        place.write_text("")
        run = self.job("train_callback.py", "fake-lightning", checkpoint_dir=place)
        code, _, errors = self.life(run, TEST_STOP_STEP="5")
        self.assertEqual(code, 1, errors)
        self.assertIn("the work since the last checkpoint is lost", errors)

    def test_fake_huggingface(self) -> None:
        self.check("fake-huggingface")

    def test_fake_huggingface_with_damaged_checkpoints(self) -> None:
        for name, harm in {
            "other bytes": lambda folder: (folder / "model.bin").write_bytes(b"other"),
            "missing file": lambda folder: (folder / "model.bin").unlink(),
            "cut short": lambda folder: ((folder / "oef-complete.json").unlink(), (folder / "trainer_state.json").unlink()),
        }.items():
            with self.subTest(name):
                shutil.rmtree(self.folder / "job", ignore_errors=True)
                run = self.job("train_callback.py", "fake-huggingface")
                self.life(run, TEST_STOP_STEP="5")
                harm(self.newest(run, "checkpoint-*"))
                code, steps, errors = self.life(run)
                self.assertEqual((code, steps[0]), (0, 5), errors)

    def test_without_oef_they_do_nothing(self) -> None:
        for kind in ("fake-lightning", "fake-huggingface"):
            with self.subTest(kind):
                done = run_without_oef("train_callback.py", kind, folder=self.folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipUnless(have("lightning") and have("torch"), "not run: Lightning is not installed")
    def test_real_lightning(self) -> None:
        self.check("lightning")

    @unittest.skipUnless(have("transformers") and have("accelerate"), "not run: Hugging Face's transformers is not installed")
    def test_real_huggingface(self) -> None:
        self.check("huggingface")

    def test_without_the_framework_it_says_what_to_install(self) -> None:
        if have("lightning") or have("pytorch_lightning"):
            self.skipTest("not run: Lightning is installed")
        done = subprocess.run(
            [sys.executable, "-c", "import oef.lightning"], env=plain_environment(), capture_output=True, text=True, check=False
        )
        self.assertIn("oef.lightning needs Lightning", done.stderr)
