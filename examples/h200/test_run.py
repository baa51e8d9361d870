"""The example on a machine without a GPU: rules on made-up traces, and whole runs with real processes.

OEF=target/debug/oef python3 examples/h200/test_run.py
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, Dict, List, cast
from unittest.mock import Mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import analysis
import experiment
from charts import POINTS_MAX, Chart, thin
from cluster import Cluster, ClusterError
from continuity import Verdict, restarts
from document import Document, Items, Table, Text
from pace import SPEEDS
from results import Results, read_trace, seconds
from workloads import PACE_MS, WORKLOADS, Form

OEF = Path(os.environ.get("OEF", HERE.parent.parent / "target" / "debug" / "oef")).resolve()


def start(restart: int, step: int, at: float, gpu: str = "small-0:0") -> Dict[str, Any]:
    times = {"process": at, "script": at, "imported": at + 1, "built": at + 2, "restored": at + 3}
    return {
        "at": at + 3,
        "restart": restart,
        "type": "small",
        "event": "start",
        "step": step,
        "gpu": gpu,
        "times": times,
        "engine": "none",
    }


def first(step: int, at: float) -> Dict[str, Any]:
    return {"at": at, "event": "first", "step": step}


def early(losses: List[float]) -> Dict[str, Any]:
    return {"at": 0.0, "event": "early", "step": 0, "losses": losses}


def end(step: int, at: float, losses: List[float]) -> Dict[str, Any]:
    return {"at": at, "event": "end", "step": step, "save_s": 0.5, "losses": losses}


def traced(*lines: Dict[str, Any]) -> Results:
    runs = read_trace(1, [json.dumps(line) for line in lines])
    jobs = [{"id": 1, "tenant": "vision-vgg", "name": "vgg-1"}]
    rounds = [{"round": 1, "began": "2026-01-01T00:00:00Z", "length_s": 10.0, "reference": "small"}]
    return Results("cooperative", {}, {}, rounds, {}, jobs, [], [], {}, {1: runs})


class Rules(unittest.TestCase):
    def judged(self, resumed_at: int, losses_after: List[float]) -> Any:
        results = traced(
            start(0, 0, 0.0),
            first(1, 4.0),
            early([5.0] * 10),
            end(40, 9.0, [2.0, 2.2, 1.8] * 10),
            start(1, resumed_at, 20.0),
            first(resumed_at + 1, 24.0),
            early(losses_after),
            end(60, 30.0, losses_after),
        )
        found = restarts(results)
        self.assertEqual(len(found), 1)
        return found[0]

    def test_a_training_that_goes_on(self) -> None:
        found = self.judged(40, [2.1] * 10)
        self.assertTrue(found.step_exact)
        self.assertIs(found.loss, Verdict.GOES_ON)
        self.assertTrue(found.telling)

    def test_a_step_that_is_lost_or_done_twice_is_seen(self) -> None:
        self.assertIs(self.judged(39, [2.1] * 10).step_exact, False)
        self.assertIs(self.judged(41, [2.1] * 10).step_exact, False)

    def test_a_training_that_begins_anew_is_seen(self) -> None:
        self.assertIs(self.judged(40, [5.0] * 10).loss, Verdict.JUMPS)

    def test_too_few_steps_say_nothing(self) -> None:
        self.assertIs(self.judged(40, [2.0] * 4).loss, Verdict.TOO_FEW)

    def test_a_run_that_was_killed_is_not_called_exact(self) -> None:
        results = traced(
            start(0, 0, 0.0),
            first(1, 4.0),
            start(1, 0, 20.0),
            first(1, 24.0),
            {"half": 1, "at": 1, "step": 1, "loss": 2.0},
        )
        self.assertIsNone(restarts(results)[0].step_exact)

    def test_a_line_that_is_cut_off_is_left_out(self) -> None:
        lines = [json.dumps(start(0, 0, 0.0)), json.dumps({"at": 5.0, "step": 7, "loss": 3.0}), '{"at": 6.0, "st']
        self.assertEqual(read_trace(1, lines)[0].points, [(5.0, 7, 3.0)])


class Figures(unittest.TestCase):
    def test_steps_in_a_time_are_counted_in_straight_lines(self) -> None:
        results = traced(
            start(0, 0, 0.0), first(1, 3.0), {"at": 13.0, "step": 100, "loss": 1.0}, end(200, 23.5, [1.0] * 9)
        )
        self.assertAlmostEqual(analysis.steps_between(results, "vision-vgg", 8.0, 18.0), 100.0)
        self.assertAlmostEqual(analysis.steps_between(results, "vision-vgg", -5.0, 100.0), 200.0)
        self.assertEqual(analysis.steps_between(results, "somebody else", 0.0, 100.0), 0.0)

    def test_speed_and_restarts_are_told_apart(self) -> None:
        # 20 s of training after 3 s of start, at 10 steps/s where the profile says 16.
        results = traced(
            start(0, 0, 0.0),
            first(1, 3.5),
            {"at": 8.0, "step": 50, "loss": 1.0},
            {"at": 18.0, "step": 150, "loss": 1.0},
            end(200, 23.5, [1.0] * 9),
            start(1, 200, 30.0),
        )
        profiles = {"vision-vgg/vgg16": {"throughput": {"small": 16.0}}}
        for begin, finish, seconds_trained in ((0.0, 40.0, 20.0), (0.0, 13.0, 10.0), (23.0, 40.0, 0.0)):
            expected = analysis.steps_expected(results, profiles, "vision-vgg", begin, finish)
            self.assertAlmostEqual(expected, 16 * seconds_trained)
        self.assertEqual(analysis.steps_expected(results, profiles, "somebody", 0.0, 40.0), 0.0)
        self.assertEqual(analysis.speeds(results), {("vision-vgg", "small"): 10.0})

    def test_the_parts_of_a_switch_are_its_whole(self) -> None:
        results = traced(
            start(0, 0, 0.0),
            first(1, 4.0),
            end(40, 9.0, [2.0] * 9),
            start(1, 40, 10.0),
            first(41, 15.0),
            end(50, 20.0, [2.0] * 9),
        )
        (switch,) = analysis.switches(results)
        self.assertAlmostEqual(sum(switch.values()), 15.0 - 8.5)
        self.assertEqual(list(switch), [name for name, _ in analysis.PARTS])

    def test_times_of_the_interface(self) -> None:
        self.assertAlmostEqual(seconds("1970-01-01T00:00:10.5Z"), 10.5)
        self.assertAlmostEqual(seconds("1970-01-01T00:00:10Z"), 10.0)

    def test_thinning_keeps_both_ends(self) -> None:
        values = [(float(index), 0.0) for index in range(10 * POINTS_MAX)]
        self.assertEqual(len(thin(values)), POINTS_MAX)
        self.assertEqual((thin(values)[0], thin(values)[-1]), (values[0], values[-1]))

    def test_what_is_not_a_number_is_not_drawn(self) -> None:
        chart = Chart("a <title>", "x", (0, 0), (1.0, 1.0))
        chart.line([(0, float("nan")), (0, 1.0), (0, float("inf"))], "a")
        self.assertNotIn("nan", chart.svg())
        self.assertIn("a &lt;title&gt;", chart.svg())

    def test_a_document_in_both_forms(self) -> None:
        document = Document("A & B")
        document.section("One").add(Text("`x < y` **so**"), Items(["a"]), Table(("name", "n"), [("a|b", "1.5")]))
        self.assertIn("| a\\|b | 1.5 |", document.markdown())
        self.assertIn("| --- | --: |", document.markdown())
        page = document.html()
        for part in ("A &amp; B", "<code>x &lt; y</code> <strong>so</strong>", '<td class="n">1.5</td>'):
            self.assertIn(part, page)
        self.assertNotIn("<script", page)


class FakeCluster:
    """Answers as a daemon whose profile runs went so or so."""

    folder = Path(tempfile.gettempdir())

    def __init__(self, provenance: str, fails: bool) -> None:
        self._provenance, self._fails = provenance, fails
        self.asked: List[str] = []

    def ask(self, *words: str, **_: object) -> Any:
        if words[:2] == ("profile", "show"):
            marks = {"big": {"provenance": self._provenance, "spread": 0.02, "batches": 20, "cost_s": 3.0}}
            return {
                "profile": {"throughput": {"big": 2.0, "small": 1.0}, "provenance": self._provenance, "marks": marks}
            }
        self.asked.append(" ".join(words))
        if self._fails:
            raise ClusterError("a type failed")
        return {"types": []}


class Profiling(unittest.TestCase):
    def profiles(self, cluster: FakeCluster, device: str = "cpu") -> experiment.Profiles:
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
            cluster.folder = Path(folder)
            form = Form(small=True, pace_ms=None, device=device, gpu=None, memory_mib=None)
            return experiment.profile(cast(Cluster, cluster), form, Path(folder))

    def test_what_was_measured_is_kept_with_its_spread(self) -> None:
        for fails in (False, True):
            found = self.profiles(FakeCluster("measured", fails))
            self.assertEqual(list(found), [work.path for work in WORKLOADS])
            self.assertEqual(found[WORKLOADS[0].path]["marks"]["big"]["spread"], 0.02)

    def test_on_parts_of_one_gpu_it_takes_longer(self) -> None:
        for device, longer in (("cpu", False), ("cuda", True)):
            cluster = FakeCluster("measured", False)
            self.profiles(cluster, device)
            self.assertEqual(["--least" in words for words in cluster.asked], [longer] * len(WORKLOADS))

    def test_nothing_is_made_up_where_nothing_was_measured(self) -> None:
        with self.assertRaisesRegex(ClusterError, "nothing of it was measured"):
            self.profiles(FakeCluster("estimated", True))


class Failures(unittest.TestCase):
    def test_an_experiment_whose_jobs_fail_ends_with_their_reason(self) -> None:
        cluster = Mock(jobs=lambda everything: [{"id": 7, "state": "failed", "reason": "no CUDA"}] * 5)
        experiment._check_failures(cluster, 6)
        with self.assertRaisesRegex(ClusterError, "job 7: no CUDA"):
            experiment._check_failures(cluster, 5)


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        if not OEF.exists():
            self.fail(f"there is no {OEF}: build it with `cargo build -p oef-cli`, or name it with OEF=")
        folder = tempfile.TemporaryDirectory(prefix="h200-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.temporary = self.folder / "t"
        self.temporary.mkdir()
        self.profiles = self.folder / "given.json"
        true = {w.path: {t: 1000 / PACE_MS * speed for t, speed in SPEEDS[w.model].items()} for w in WORKLOADS}
        self.profiles.write_text(
            json.dumps({path: {"throughput": figures, "marks": {}} for path, figures in true.items()})
        )

    def command(self, *more: str) -> List[str]:
        return [
            sys.executable,
            str(HERE / "run.py"),
            "--cpu",
            "--oef",
            str(OEF),
            "--out",
            str(self.folder / "out"),
            *more,
        ]

    def env(self) -> Dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1"}

    def run_it(self, *more: str) -> str:
        done = subprocess.run(
            self.command(*more), env=self.env(), capture_output=True, text=True, timeout=600, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.nothing_is_left()
        return done.stderr

    def nothing_is_left(self) -> None:
        self.assertEqual(list(self.temporary.iterdir()), [])
        mark = str(self.temporary / "oef-").encode()
        left = [entry.name for entry in Path("/proc").glob("[0-9]*") if mark in _environment(entry)]
        self.assertEqual(left, [])

    def summary(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads((self.folder / "out" / "summary.json").read_text(encoding="utf-8"))
        return found

    def test_both_mechanisms_in_two_parts(self) -> None:
        self.run_it("--mechanisms", "noncooperative", "--profiles", str(self.profiles))
        # The second part takes the profiles that the first has left.
        self.run_it(
            "--mechanisms",
            "cooperative",
            "--profiles",
            str(self.folder / "out" / "profiles.json"),
            "--lie",
            "vision-vgg=3",
        )
        summary = self.summary()
        self.assertEqual(list(summary), ["noncooperative", "cooperative"])
        for mechanism, entry in summary.items():
            with self.subTest(mechanism):
                self.assertGreaterEqual(entry["rounds"], 3)
                self.assertGreater(entry["preempted"], 0)
                self.assertEqual((entry["failed"], entry["steps_lost"], entry["losses_jump"]), (0, 0, 0), entry)
                self.assertGreater(entry["total"]["promised"], 0)
        judged = [entry["steps_exact"] for entry in summary.values()]
        self.assertGreater(sum(judged), 0, summary)
        page = (self.folder / "out" / "report.html").read_text(encoding="utf-8")
        self.assertIn("<polyline", page)
        self.assertNotIn("<script", page)
        text = (self.folder / "out" / "report.md").read_text(encoding="utf-8")
        for heading in ("Measured profiles", "Promised and delivered", "What a switch costs", "What was not seen"):
            self.assertIn(f"## {heading}", text)
        # From the files alone, the same report comes again.
        self.run_it("--report-only")
        self.assertEqual((self.folder / "out" / "report.html").read_text(encoding="utf-8"), page)

    def test_measured_profiles_are_those_of_the_types(self) -> None:
        self.run_it("--mechanisms", "cooperative", "--minutes", "0.1")
        measured = json.loads((self.folder / "out" / "profiles.json").read_text(encoding="utf-8"))
        for work in WORKLOADS:
            figures = measured[work.path]["throughput"]
            for gpu_type, speed in SPEEDS[work.model].items():
                ratio = figures[gpu_type] / figures["small"]
                # Other programs on the machine make single batches late, but hardly the median of many.
                self.assertAlmostEqual(ratio / speed, 1.0, delta=0.25, msg=f"{work.path} on {gpu_type}: {figures}")

    def test_a_stop_leaves_nothing_behind(self) -> None:
        for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130)):
            with self.subTest(stop.name):
                command = self.command("--profiles", str(self.profiles))
                # Tests that run in the background of a shell inherit that Ctrl-C is ignored; this run is in front.
                heard = signal.signal(signal.SIGINT, signal.default_int_handler)
                run = subprocess.Popen(command, env=self.env(), stderr=subprocess.PIPE, text=True)
                signal.signal(signal.SIGINT, heard)
                assert run.stderr is not None
                for line in run.stderr:
                    if "1 of 2 run" in line:
                        run.send_signal(stop)
                        break
                _, words = run.communicate(timeout=120)
                self.assertEqual(run.returncode, code, words)
                self.nothing_is_left()
                # What there was by then is there.
                self.assertTrue((self.folder / "out" / "noncooperative" / "jobs.json").exists())

    def test_mistakes_are_told_and_cost_nothing(self) -> None:
        kept = self.folder / "out" / "noncooperative" / "jobs.json"
        kept.parent.mkdir(parents=True)
        kept.write_text("[]")
        bad = {"empty": "", "cut": '{"a":', "none": "{}", "list": "[]"}
        for name, text in bad.items():
            (self.folder / name).write_text(text)
        cases = [
            (["--lie", "nobody=2"], 1, "write TENANT=FACTOR"),
            (["--lie", "vision-vgg=nan"], 1, "write TENANT=FACTOR"),
            (["--profiles", str(self.folder / "nowhere")], 1, "No such file"),
            *((["--profiles", str(self.folder / name)], 1, "measure them again") for name in bad),
            *(([f"--minutes={text}"], 2, "--minutes") for text in ("nan", "-1", "0", "inf", "soon")),
            (["--round", "0"], 2, "not a number above 0"),
            (["--jobs=-3"], 2, "not a whole number above 0"),
            # It is a folder that is emptied: nothing but a mechanism may be named.
            (["--mechanisms", ".."], 2, "is not a mechanism"),
            (["--report-only", "--out", str(self.folder / "other")], 1, "there are no results"),
            (["--out", "/proc/here"], 1, "/proc/here"),
        ]
        for more, code, words in cases:
            done = subprocess.run(
                self.command(*more), env=self.env(), capture_output=True, text=True, timeout=120, check=False
            )
            self.assertEqual(done.returncode, code, f"{more}: {done.stderr}")
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.nothing_is_left()
            self.assertTrue(kept.exists(), f"{more}")


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    unittest.main()
