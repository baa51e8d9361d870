"""What OEF tells a job, and what the job tells OEF."""

from __future__ import annotations

import json
import signal
import types
import unittest
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

from oef._agreement import with_ranks_of_torch
from oef._environment import Environment
from oef._errors import OefError
from oef._progress import Progress, Speed

from .harness import Case


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def with_clock(test: Any) -> Any:
    def wrapped(self: Any) -> None:
        clock = Clock()
        with mock.patch("time.monotonic", clock), mock.patch("time.time", side_effect=AssertionError("the clock may jump")):
            test(self, clock)

    return wrapped


class Reading(unittest.TestCase):
    def test_without_oef_nothing_is_there(self) -> None:
        found = Environment.read({"WORLD_SIZE": "7"})
        self.assertFalse(found.managed)
        self.assertEqual((found.rank, found.world_size), (0, 1))
        self.assertIsNone(found.stop_signal)
        self.assertIsNone(found.checkpoint_dir)

    def test_all_variables(self) -> None:
        found = Environment.read({
            "OEF_JOB_ID": "4", "OEF_GENERATION": "9", "OEF_RESTART": "2", "OEF_CHECKPOINT_DIR": "/c", "OEF_STOP_SIGNAL": "USR1",
            "OEF_PROGRESS_FILE": "/p", "OEF_RUN_DIR": "/r", "OEF_GRACE_SECONDS": "2.5", "RANK": "1", "WORLD_SIZE": "4",
            "MASTER_ADDR": "h", "OEF_GPU_TYPE": "h200",
        })
        self.assertEqual(
            found,
            Environment("4", "9", 2, Path("/c"), Path("/p"), Path("/r"), signal.SIGUSR1, 2.5, 1, 4, "h", "h200"),
        )

    def test_a_process_group_of_torch_knows_better(self) -> None:
        for initialised, expected in [(True, (3, 8)), (False, (0, 2))]:
            distributed = types.SimpleNamespace(
                is_available=lambda: True, is_initialized=lambda: initialised, get_rank=lambda: 3, get_world_size=lambda: 8
            )
            with mock.patch.dict("sys.modules", torch=types.SimpleNamespace(distributed=distributed)):
                found = with_ranks_of_torch(Environment.read({"RANK": "0", "WORLD_SIZE": "2"}))
            self.assertEqual((found.rank, found.world_size), expected)

    def test_signals(self) -> None:
        for value, expected in [("", signal.SIGTERM), ("TERM", signal.SIGTERM), ("INT", signal.SIGINT), ("sigusr2", signal.SIGUSR2)]:
            with self.subTest(value):
                self.assertEqual(Environment.read({"OEF_JOB_ID": "1", "OEF_STOP_SIGNAL": value}).stop_signal, expected)

    def test_nonsense_is_told_with_its_name(self) -> None:
        for variables, said in [
            ({"OEF_STOP_SIGNAL": "HUP"}, "OEF_STOP_SIGNAL is `HUP`"), ({"OEF_RESTART": "x"}, "OEF_RESTART is `x`"),
            ({"OEF_GRACE_SECONDS": "-1"}, "OEF_GRACE_SECONDS is `-1`"), ({"OEF_GRACE_SECONDS": "nan"}, "OEF_GRACE_SECONDS"),
            ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK is 2"), ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK is `one`"),
        ]:
            with self.subTest(variables), self.assertRaises(OefError) as raised:
                Environment.read(variables)
            self.assertIn(said, str(raised.exception))


class Throughput(unittest.TestCase):
    def steps(self, speed: Speed, clock: Clock, *seconds: float) -> None:
        for each in seconds:
            clock.now += each
            speed.step_done()

    @with_clock
    def test_the_first_step_does_not_count(self, clock: Clock) -> None:
        speed = Speed()
        speed.start()
        self.steps(speed, clock, 60)
        self.assertIsNone(speed.steps_per_second)
        self.steps(speed, clock, 0.5, 0.5)
        self.assertAlmostEqual(speed.steps_per_second or 0, 2)

    @with_clock
    def test_time_between_stop_and_start_does_not_count(self, clock: Clock) -> None:
        speed = Speed()
        speed.start()
        self.steps(speed, clock, 9, 0.25, 0.25)
        speed.stop()
        clock.now += 1000
        speed.start()
        self.steps(speed, clock, 0.25, 0.25)
        self.assertAlmostEqual(speed.steps_per_second or 0, 4)

    @with_clock
    def test_old_steps_are_forgotten(self, clock: Clock) -> None:
        speed = Speed()
        speed.start()
        self.steps(speed, clock, 1, *[1.0] * 100, *[0.5] * 100)
        self.assertAlmostEqual(speed.steps_per_second or 0, 2)

    @with_clock
    def test_the_part_of_the_time_that_was_waited_for_batches(self, clock: Clock) -> None:
        speed = Speed()
        speed.start()
        self.assertIsNone(speed.wait)
        for _ in range(9):
            clock.now += 3
            speed.fetched(3)
            self.steps(speed, clock, 1)
        self.assertAlmostEqual(speed.wait or 0, 0.75)
        self.steps(speed, clock, *[1.0] * 100)
        self.assertEqual(speed.wait, 0, "what was long ago is forgotten")


class Lines(Case):
    def lines(self) -> List[Dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "p").read_text().splitlines()]

    @with_clock
    def test_at_most_two_lines_a_second(self, clock: Clock) -> None:
        progress, written = Progress(self.folder / "p"), 0
        for step in range(1000):
            clock.now += 0.01
            if progress.due():
                progress.tell(step, None)
                written += 1
        self.assertIn(written, range(18, 22))
        self.assertEqual(len(self.lines()), written)

    def test_what_a_line_holds(self) -> None:
        progress = Progress(self.folder / "p")
        progress.checkpoint = 100
        progress.log({"loss": 0.5, "bad": float("nan"), "huge": float("inf"), "what": object(), "step": 7, "epoch": 2})
        progress.tell(120, 3.25)
        self.assertEqual(self.lines(), [{"step": 120, "throughput": 3.25, "checkpoint": 100, "loss": 0.5, "epoch": 2}])

    def test_a_script_cannot_spoil_the_line(self) -> None:
        progress = Progress(self.folder / "p")
        progress.log({"checkpoint": "best.pt", "wait": "long", "profile": {"a": 1}, "message": 3, "loss": "small", "n": 1 << 80})
        progress.log({"throughput": True, "phase": "warmup"})
        progress.tell(3, 2.0)
        self.assertEqual(self.lines(), [{"step": 3, "throughput": 2.0, "phase": "warmup"}])

    def test_a_loss_is_detached_at_once_and_looked_at_late(self) -> None:
        looks: List[str] = []

        class Tensor:
            def detach(self) -> "Tensor":
                looks.append("detached")
                return self

            def __float__(self) -> float:
                looks.append("looked at")
                return 0.25

        progress = Progress(self.folder / "p")
        progress.log({"loss": Tensor()})
        progress.log({"loss": Tensor()})
        self.assertEqual(looks, ["detached", "detached"])
        progress.tell(1, None)
        self.assertEqual(self.lines(), [{"step": 1, "loss": 0.25}])

    def test_a_file_that_cannot_be_written_is_told_once(self) -> None:
        progress = Progress(self.folder)
        with mock.patch("sys.stderr") as stderr:
            progress.tell(1, None)
            progress.tell(2, None)
        written = "".join(str(call.args[0]) for call in stderr.write.call_args_list)
        self.assertEqual(written.count("progress cannot be written"), 1)

    def test_lines_of_a_real_run(self) -> None:
        run = self.job("train.py", "pure", "flat", str(self.folder / "out"))
        self.assertEqual(run.life(TEST_STOP_STEP="11"), [75])
        last = run.progress()[-1]
        self.assertEqual((last["step"], last["checkpoint"]), (12, 12))
        self.assertGreater(last["throughput"], 0)
        self.assertGreaterEqual(last["wait"], 0)
        self.assertLessEqual(last["wait"], 1)
        self.assertIn("loss", last)
        self.assertEqual(run.life(), [0])
        last = run.progress()[-1]
        self.assertEqual((last["step"], last["checkpoint"]), (40, 40))
