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

    def check(self, kind: str, **more: str) -> FakeRun:
        """Stopped several times, it does every step once."""
        run = self.job("train_callback.py", kind)
        done: List[int] = []
        for at in (5, 6, 14):
            code, steps, errors = self.life(run, TEST_STOP_STEP=str(at), **more)
            self.assertEqual((code, steps[-1]), (75, at), errors)
            self.assertEqual(run.progress()[-1]["checkpoint"], at)
            done += steps
        code, steps, errors = self.life(run, **more)
        self.assertEqual(code, 0, errors)
        self.assertEqual(done + steps, list(range(1, STEPS + 1)), errors)
        last = run.progress()[-1]
        self.assertEqual((last["step"], last["checkpoint"]), (STEPS, STEPS))
        self.assertIn("wait", last)
        return run

    def check_wait(self, kind: str) -> None:
        """Of each step a batch takes three seconds of four; what validation and saving take does not count."""
        run = self.job("train_callback.py", kind)
        code, _, errors = self.life(run, TEST_CLOCK="1")
        self.assertEqual(code, 0, errors)
        last = run.progress()[-1]
        # Some frameworks fetch one batch ahead: then the last step of an epoch has none to wait for.
        self.assertAlmostEqual(last["wait"], 0.75, delta=0.05)
        self.assertAlmostEqual(last["throughput"], 0.25, delta=0.05)

    def check_identity(self, kind: str, stops: Tuple[int, ...], **more: str) -> None:
        """Stopped at any steps, it ends with the same weights."""
        ends = []
        for name in ("whole", "stopped"):
            run = FakeRun(self, self.folder / name, "train_callback.py", [kind])
            for at in stops if name == "stopped" else ():
                self.assertEqual(self.life(run, TEST_STOP_STEP=str(at), **more)[0], 75)
            [process] = run.start(**more)
            output, errors = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, errors)
            ends.append(output.splitlines()[-1])
        self.assertEqual(ends[1], ends[0])

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

    def test_the_fakes_tell_how_long_they_wait(self) -> None:
        for kind in ("fake-lightning", "fake-huggingface"):
            with self.subTest(kind):
                shutil.rmtree(self.folder / "job", ignore_errors=True)
                self.check_wait(kind)

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
        self.check("lightning", TEST_WORKERS="2")  # They get the signal, too.
        shutil.rmtree(self.folder / "job")
        self.check_wait("lightning")

    @unittest.skipUnless(have("lightning") and have("torchdata"), "not run: Lightning or torchdata is not installed")
    def test_real_lightning_ends_as_one_that_was_never_stopped(self) -> None:
        for gather in ("1", "2"):
            with self.subTest(gather=gather):
                shutil.rmtree(self.folder, ignore_errors=True)
                self.check_identity("lightning", (4, 5, 13), TEST_GATHER=gather)

    @unittest.skipUnless(have("transformers") and have("accelerate"), "not run: Hugging Face's transformers is not installed")
    def test_real_huggingface(self) -> None:
        self.check("huggingface", TEST_WORKERS="2")
        shutil.rmtree(self.folder / "job")
        self.check_wait("huggingface")

    @unittest.skipUnless(have("transformers") and have("accelerate"), "not run: Hugging Face's transformers is not installed")
    def test_real_huggingface_ends_as_one_that_was_never_stopped(self) -> None:
        # Not after the last step of an epoch (of five): the Trainer then leaves out the evaluation, which draws as well.
        self.check_identity("huggingface", (4, 6, 13), TEST_GATHER="2")

    def test_without_the_framework_it_says_what_to_install(self) -> None:
        hidden = "import sys; sys.modules.update({'lightning': None, 'pytorch_lightning': None}); import oef.lightning"
        done = subprocess.run(
            [sys.executable, "-c", hidden], env=plain_environment(), capture_output=True, text=True, check=False
        )
        self.assertIn("oef.lightning needs Lightning", done.stderr)
