"""The loops and their arguments, in one process; and what a script sees of signals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, List, Optional

import oef
from oef._environment import Environment

from .harness import Case, run_without_oef

ALONE = Environment.read({})


def job(folder: Optional[Path] = None) -> oef.Job:
    return oef.Job(checkpoint_dir=folder, environment=ALONE)


class Loops(Case):
    def test_how_many_steps(self) -> None:
        for epochs, total, loader, expected in [
            (None, None, [1, 2, 3], 3), (2, None, [1, 2, 3], 6), (None, 7, [1, 2, 3], 7), (2, 7, [1, 2, 3], 6),
            (3, 4, [1, 2, 3], 4), (0, None, [1], 0), (None, 0, [1], 0), (None, None, [], 0), (5, None, [], 0),
        ]:
            with self.subTest(epochs=epochs, total=total, loader=loader):
                made = job()
                steps = [step for step, _ in made.steps(loader, epochs=epochs, total=total)]
                self.assertEqual(steps, list(range(expected)))
                self.assertEqual(made.step, expected)

    def test_batches_come_as_the_loader_gives_them(self) -> None:
        self.assertEqual([batch for _, batch in job().steps("abc", epochs=2)], list("abcabc"))
        self.assertEqual([batch for _, batch in job().steps(iter("abc"))], list("abc"))

    def test_epochs_and_steps_count_on(self) -> None:
        made = job()
        seen = [(epoch, step) for epoch in made.epochs(2) for step, _ in made.steps("ab")]
        self.assertEqual(seen, [(0, 0), (0, 1), (1, 2), (1, 3)])
        self.assertEqual((made.step, made.epoch), (4, 2))
        self.assertEqual([step for step, _ in made.steps("ab")], [4, 5])

    def test_total_inside_of_epochs_is_of_one_epoch(self) -> None:
        made = job()
        self.assertEqual([s for _ in made.epochs(2) for s, _ in made.steps(range(9), total=3)], list(range(6)))

    def test_breaking_off_is_allowed(self) -> None:
        made = job(self.folder)
        for step, _ in made.steps(range(10)):
            if step == 3:
                break
        self.assertEqual([step for step, _ in made.steps("ab")], [3, 4])

    def test_mistakes_are_told(self) -> None:
        generator = iter([1, 2])
        inside = job()
        held = inside.epochs(2)
        next(held)
        once = job()
        list(once.steps(generator))
        for name, (mistake, said) in {
            "a float": (lambda: job().restore(rate=0.1), "job.state['rate']"),
            "an object": (lambda: job().restore(model=object()), "state_dict()"),
            "twice": (lambda: (lambda j: (j.restore(a=[]), j.restore(a=[])))(job()), "was called before"),
            "too late": (lambda: (lambda j: (list(j.steps([])), j.restore(a=[])))(job()), "before the first steps()"),
            "negative": (lambda: job().steps([1], epochs=-1), "epochs=-1"),
            "no number": (lambda: job().steps([1], total="9"), "total='9'"),  # type: ignore[arg-type]
            "empty": (lambda: list(job().steps([], total=3)), "gave no batch"),
            "used up": (lambda: list(job().steps(iter([1, 2]), epochs=2)), "only once"),
            "used before": (lambda: list(once.steps(generator)), "was given to steps() before"),
            "counts twice": (lambda: inside.steps([1], epochs=2), "would count twice"),
            "nested": (lambda: inside.epochs(2), "makes no sense"),
            "never": (lambda: oef.Job(checkpoint_every=0), "checkpoint_every=0"),
            "no sync": (lambda: oef.Job(sync_every=0), "sync_every=0"),
        }.items():
            with self.subTest(name):
                with self.assertRaises(oef.OefError) as raised:
                    mistake()
                self.assertIn(said, str(raised.exception))

    def test_two_walks_in_one_epoch_are_refused(self) -> None:
        made = job()
        with self.assertRaisesRegex(oef.OefError, "twice in one epoch"):
            for _ in made.epochs(1):
                list(made.steps("ab"))
                list(made.steps("ab"))

    def test_samplers_are_told_the_epoch(self) -> None:
        told: List[int] = []

        class Sampler:
            def set_epoch(self, epoch: int) -> None:
                told.append(epoch)

        class Loader(List[int]):
            sampler = Sampler()

        list(job().steps(Loader([1, 2]), epochs=3))
        self.assertEqual(told, [0, 1, 2])


class Restoring(Case):
    def train(self, steps: int, state: List[Any], **objects: Any) -> oef.Job:
        made = job(self.folder / "checkpoints")
        made.restore(state=state, **objects)
        for step, batch in made.steps(range(5), total=steps):
            state.append(batch)
        return made

    def test_a_finished_loop_is_not_done_again(self) -> None:
        first: List[Any] = []
        self.train(7, first)
        second: List[Any] = []
        made = self.train(7, second)
        self.assertEqual((second, made.step, made.resumed), (first, 7, True))

    def test_arrays_and_collections_are_restored_in_place(self) -> None:
        rng = random.Random(3)
        held = {"inner": [1, 2], "text": "a"}
        self.train(3, [], held=held, rng=rng, marks={1, 2})
        drawn = rng.random()
        fresh: Any = {"inner": [], "text": "", "more": 1}
        inner, other, marks = fresh["inner"], random.Random(9), {5}
        self.train(3, [], held=fresh, rng=other, marks=marks)
        self.assertEqual((fresh, marks), (held, {1, 2}))
        self.assertIs(fresh["inner"], inner)
        self.assertEqual(other.random(), drawn)

    def test_what_does_not_fit_is_told(self) -> None:
        self.train(3, [], held={"a": 1})
        made = job(self.folder / "checkpoints")
        with self.assertRaisesRegex(oef.OefError, "the checkpoint's `held` does not fit"):
            made.restore(held=[1])

    def test_a_loader_that_tells_its_position_is_set_there(self) -> None:
        class Stateful:
            def __init__(self) -> None:
                self.at, self.drawn = 0, 0

            def __iter__(self) -> Any:
                while self.at < 6:
                    self.at += 1
                    self.drawn += 1
                    yield self.at
                self.at = 0

            def state_dict(self) -> Any:
                return {"at": self.at}

            def load_state_dict(self, state: Any) -> None:
                self.at = state["at"]

        class Halt(Exception):
            pass

        def walk(until: int) -> "tuple[List[int], int]":
            made = oef.Job(checkpoint_dir=self.folder / "c", checkpoint_every=1e-9, environment=ALONE)
            loader, seen = Stateful(), []
            try:
                for step, batch in made.steps(loader, epochs=2):
                    seen.append(batch)
                    if step == until:
                        raise Halt
            except Halt:
                pass
            return seen, loader.drawn

        self.assertEqual(walk(3), ([1, 2, 3, 4], 4))
        # Three steps were saved; the fourth was not.
        self.assertEqual(walk(99), ([4, 5, 6, 1, 2, 3, 4, 5, 6], 9))


class BrokenOff(Case):
    """A loop over batches that the script leaves early, in a loop over epochs."""

    def walk(self, folder: str, until: int) -> List[Any]:
        made = oef.Job(checkpoint_dir=self.folder / folder, checkpoint_every=1e-9, environment=ALONE)
        seen: List[Any] = made.state.setdefault("seen", [])
        for epoch in made.epochs(4):
            for step, batch in made.steps(range(6)):
                if len(seen) == until:
                    return seen
                seen.append((epoch, step, batch))
                if batch == 2 + epoch % 2:
                    break
            seen.append("after")
        return seen

    def test_the_next_epoch_starts_at_its_beginning(self) -> None:
        expected = self.walk("whole", 99)
        for crash in range(len(expected)):
            with self.subTest(crash=crash):
                self.walk(f"crash-{crash}", crash)
                self.assertEqual(self.walk(f"crash-{crash}", 99), expected)


class Signals(Case):
    def test_a_script_that_never_calls_steps_is_warned_once(self) -> None:
        run = self.job("small.py", "never_steps")
        self.assertEqual(run.life(), [0])
        self.assertEqual(run.errors.count("never called steps()"), 1)
        done = run_without_oef("small.py", "never_steps", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_script_that_fails_before_steps_is_not_blamed_for_it(self) -> None:
        run = self.job("small.py", "fails_before_steps")
        self.assertEqual(run.life(), [1])
        self.assertNotIn("never called steps()", run.errors)

    def test_outside_of_the_loop_a_stop_ends_the_process_as_ever(self) -> None:
        for name in ("stopped_before_steps", "stopped_after_steps"):
            with self.subTest(name):
                self.assertEqual(self.job("small.py", name).life(), [-15])

    def test_a_second_signal_on_the_way_out_changes_nothing(self) -> None:
        self.assertEqual(self.job("small.py", "stopped_twice").life(), [75])

    def test_without_oef_no_handler_is_touched(self) -> None:
        done = run_without_oef("small.py", "keeps_handlers", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "kept\n"), done.stderr)

    def test_what_cannot_be_pickled_is_told_and_never_called_saved(self) -> None:
        run = self.job("small.py", "unpicklable")
        self.assertEqual(run.life(), [1], run.errors)
        self.assertIn("cannot be pickled", run.errors)
        self.assertEqual(run.files(), [])
