"""A run that is preempted at random points ends with the same bits as one that never was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from .harness import Case, FakeRun, have, run_without_oef, seeded, stop_after

SHAPES = {"flat": 40, "epochs": 40, "outer": 40, "total": 33, "endless": 33}
#: OEF_LONG=1 takes minutes more and tries many other points.
SEEDS = 30 if os.environ.get("OEF_LONG") else 4
SIGNALS = ["TERM", "INT", "USR1", "USR2"]


class Identity(Case):
    def check(self, model: str, shape: str, seed: int) -> None:
        expected = self.reference(model, shape)
        chance = seeded("identity", model, shape, seed)
        out = self.folder / f"out-{model}-{shape}-{seed}"
        run = FakeRun(
            self, self.folder / f"job-{model}-{shape}-{seed}", "train.py", [model, shape, str(out)], stop_signal=chance.choice(SIGNALS)
        )
        steps, at, stops = SHAPES[shape], -1, 0
        while True:
            at += chance.choice([1, 1, 2, 3, 5, 8, 13])
            codes = run.life(TEST_STOP_STEP=str(at))
            if codes == [0]:
                break
            stops += 1
            self.assertEqual(codes, [75], f"{model} {shape} seed {seed} stopped at {at}\n{run.errors}")
            self.assertLess(at, steps)
        self.assertGreater(stops, 1, "the run was hardly preempted: the test shows nothing")
        self.assertEqual(out.read_text(), expected, f"{model} {shape} seed {seed}")

    def reference(self, model: str, shape: str) -> str:
        out = self.folder / "reference"
        done = run_without_oef("train.py", model, shape, str(out), folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out.read_text()

    def test_pure_python(self) -> None:
        for shape in SHAPES:
            for seed in range(SEEDS):
                with self.subTest(shape=shape, seed=seed):
                    self.check("pure", shape, seed)

    @unittest.skipUnless(have("numpy"), "not run: NumPy is not installed")
    def test_numpy(self) -> None:
        for shape in SHAPES:
            for seed in range(SEEDS // 4):
                with self.subTest(shape=shape, seed=seed):
                    self.check("numpy", shape, seed)

    def test_stopped_from_outside_at_any_moment(self) -> None:
        expected = self.reference("pure", "epochs")
        out = self.folder / "out"
        run = self.job("train.py", "pure", "epochs", str(out))
        chance = seeded("outside")
        codes, endings = [-1], []
        while codes != [0]:
            [process] = run.start(TEST_SLEEP="0.01")
            if run.lives % 3 == 0:  # At any moment of its start.
                stop_after(process, chance.uniform(0.0, 0.4), signal.SIGTERM)
            else:  # In its loop, however long the start takes on this machine.
                self.wait_for_a_step(run, process)
                stop_after(process, chance.uniform(0.0, 0.1), signal.SIGTERM)
            codes = run.wait([process])
            endings.append(codes[0])
            # Before the loop begins the signal simply ends the process: there is nothing to save.
            self.assertIn(codes[0], (0, 75, -signal.SIGTERM), run.errors)
        self.assertIn(75, endings)
        self.assertEqual(out.read_text(), expected, endings)

    def wait_for_a_step(self, run: FakeRun, process: "subprocess.Popen[str]") -> None:
        while process.poll() is None and not run.progress():
            time.sleep(0.002)

    def test_killed_at_any_moment(self) -> None:
        expected = self.reference("pure", "flat")
        out = self.folder / "out"
        run = self.job("train.py", "pure", "flat", str(out))
        chance = seeded("killed")
        codes, kills = [-1], 0
        while codes != [0]:
            [process] = run.start(TEST_SLEEP="0.02", TEST_EVERY="0.0001")
            if kills < 12:
                self.wait_for_a_step(run, process)
                stop_after(process, chance.uniform(0.0, 0.2), signal.SIGKILL)
            codes = run.wait([process])
            kills += codes != [0]
            self.assertIn(codes[0], (0, -signal.SIGKILL), run.errors)
        self.assertGreater(kills, 1)
        self.assertEqual(out.read_text(), expected)

    def test_without_oef_nothing_is_left_behind(self) -> None:
        self.reference("pure", "flat")
        self.assertEqual([path.name for path in Path(self.folder).iterdir()], ["reference"])


if __name__ == "__main__":
    unittest.main()
