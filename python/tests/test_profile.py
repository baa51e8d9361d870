"""Profile runs: what is measured, what is told, and that nothing else is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, List
from unittest.mock import patch

from oef._agreement import Alone
from oef._environment import Environment, Plan
from oef._profile import Profiler, figures
from oef._progress import Progress

from .harness import Case, FakeRun

PROFILE = {"OEF_PROFILE": "1", "OEF_PROFILE_BATCHES": "8", "OEF_PROFILE_WARMUP": "3", "OEF_PROFILE_SECONDS": "0"}


class Profiles(Case):
    def profiled(self, *arguments: str, workers: int = 1, **more: str) -> FakeRun:
        self.runs = getattr(self, "runs", 0) + 1
        folder = self.folder / f"job-{self.runs}"
        return FakeRun(self, folder, "profiled.py", list(arguments), workers=workers, extra={**PROFILE, **more})

    def told(self, run: FakeRun) -> Dict[str, Any]:
        lines = self.figures(run)
        self.assertEqual(len(lines), 1, f"{lines} {run.errors}")
        found: Dict[str, Any] = lines[0]["profile"]
        return found

    def figures(self, run: FakeRun) -> List[Dict[str, Any]]:
        """The lines with a figure; the others only say that a step is done, so that the runner can time it."""
        return [line for line in run.progress() if "profile" in line]

    def test_the_warm_up_is_dropped_and_the_process_ends_well(self) -> None:
        run = self.profiled("0.05")
        self.assertEqual(run.life(), [0], run.errors)
        found = self.told(run)
        self.assertTrue(0.05 <= found["batch_seconds"] < 0.15, found)
        self.assertEqual(found["batches"], 8)
        self.assertEqual(self.figures(run)[0]["step"] % 8, 3, "it ends with a lot")

    def test_wild_batches_are_repeated_three_times_at_most(self) -> None:
        run = self.profiled("0.01,0.06")
        self.assertEqual(run.life(), [0], run.errors)
        found = self.told(run)
        self.assertEqual((found["lots"], self.figures(run)[0]["step"]), (3, 27))
        self.assertGreater(found["spread"], 0.05)

    def test_short_batches_are_measured_for_longer(self) -> None:
        for workers in (1, 2):
            run = self.profiled("0.02", workers=workers, OEF_PROFILE_SECONDS="0.8")
            self.assertEqual(run.life(), [0] * workers, run.errors)
            found = self.told(run)
            self.assertTrue(found["batches"] > 8 and found["batches"] % 8 == 0, found)
            # The time is that of the worker that tells, and nobody stops before all have had theirs.
            self.assertGreaterEqual(found["batches"] * found["batch_seconds"], 0.5, found)

    def test_waiting_for_data_is_told(self) -> None:
        run = self.profiled("0.03", "0.03")
        self.assertEqual(run.life(), [0], run.errors)
        found = self.told(run)
        self.assertTrue(0.3 < found["wait"] < 0.7, found)
        self.assertGreaterEqual(found["batch_seconds"], 0.06)

    def test_time_between_epochs_does_not_count(self) -> None:
        run = self.profiled("0.02", KIND="epochs")
        self.assertEqual(run.life(), [0], run.errors)
        self.assertLess(self.told(run)["batch_seconds"], 0.2)

    def test_it_saves_and_restores_nothing(self) -> None:
        plain = self.job("profiled.py", "0.001", extra={"TEST_STEPS": "5"})
        self.assertEqual(plain.life(), [0], plain.errors)
        before = plain.files()
        self.assertTrue(before)
        plain.extra = {**PROFILE, "TEST_STEPS": "1000"}
        [process] = plain.start()
        output, errors = process.communicate(timeout=300)
        self.assertEqual((process.returncode, output), (0, "restored False\n"), errors)
        self.assertEqual(plain.files(), before)

    def test_a_stop_before_it_is_measured_and_one_after_enough(self) -> None:
        run = self.profiled("0.01", TEST_STOP_STEP="4")
        self.assertEqual(run.life(), [75], run.errors)
        self.assertEqual(self.figures(run), [])
        run = self.profiled("0.01", TEST_STOP_STEP="8")
        self.assertEqual(run.life(), [0], run.errors)
        self.assertEqual(self.told(run)["batches"], 6)

    def test_a_job_that_is_too_short(self) -> None:
        run = self.profiled("0.01", TEST_STEPS="9")
        self.assertEqual(run.life(), [0], run.errors)
        self.assertEqual(self.told(run)["batches"], 6)
        run = self.profiled("0.01", TEST_STEPS="4")
        self.assertEqual(run.life(), [0], run.errors)
        self.assertEqual(self.figures(run), [])

    def test_a_gang_ends_at_the_same_step(self) -> None:
        run = self.profiled("0.02", workers=3)
        self.assertEqual(run.life(), [0, 0, 0], run.errors)
        self.assertEqual(self.told(run)["batches"], 8)

    def test_the_callbacks(self) -> None:
        for kind in ("lightning", "huggingface"):
            with self.subTest(kind=kind):
                run = self.profiled("0.03", KIND=kind)
                self.assertEqual(run.life(), [0], run.errors)
                found = self.told(run)
                self.assertTrue(0.03 <= found["batch_seconds"] < 0.15, found)
                self.assertEqual(list(run.checkpoints.glob("*")) if run.checkpoints.exists() else [], [])

    def test_the_gpu_is_waited_for_where_torch_uses_one(self) -> None:
        waits: List[int] = []
        for used, expected in ((False, 0), (True, 1)):
            cuda = SimpleNamespace(
                is_available=lambda: True, is_initialized=lambda used=used: used, synchronize=lambda: waits.append(1)
            )
            with patch.dict("sys.modules", {"torch": SimpleNamespace(cuda=cuda)}):
                profiler = Profiler(Plan(batches=5, warmup=1, seconds=0.0), Progress(None), first=True)
                profiler.start()
                profiler.step_done(1, Alone())
            self.assertEqual(len(waits), expected)

    def test_figures(self) -> None:
        cases: List[Any] = [
            ([1.0] * 5, 1.0, 0.0),
            ([1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 2.0 / 3.0),
            ([1.0, 1.0, 1.0, 100.0], 1.0, 24.75),
        ]
        for times, median, spread in cases:
            found = figures([(seconds, seconds / 4) for seconds in times])
            self.assertAlmostEqual(found["batch_seconds"], median)
            self.assertAlmostEqual(found["spread"], spread)
            self.assertAlmostEqual(found["wait"], 0.25)

    def test_the_variables(self) -> None:
        self.assertIsNone(Environment.read({}).profile)
        self.assertIsNone(Environment.read({"OEF_PROFILE": "0"}).profile)
        plan = Environment.read({"OEF_PROFILE": "1"}).profile
        assert plan is not None
        self.assertEqual((plan.batches, plan.warmup, plan.seconds), (20, 5, 5.0))
        plan = Environment.read({"OEF_PROFILE": "1", "OEF_PROFILE_SECONDS": "0"}).profile
        assert plan is not None
        self.assertEqual(plan.seconds, 0.0)
