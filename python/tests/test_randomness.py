"""Random states are taken and put back; on GPUs with a stand-in for PyTorch, so that it is tested everywhere."""

from __future__ import annotations

import contextlib
import io
import random
import types
import unittest
from typing import Any, Dict
from unittest import mock

from oef import _randomness

from .harness import have


class Randomness(unittest.TestCase):
    def test_states_come_back(self) -> None:
        own = random.Random(2)
        states = _randomness.capture({"own": own})
        drawn = [random.random(), own.random()]
        _randomness.put_back(states, {"own": own})
        self.assertEqual([random.random(), own.random()], drawn)

    @unittest.skipUnless(have("numpy"), "not run: NumPy is not installed")
    def test_numpy_states_come_back(self) -> None:
        import numpy

        sources = {"new": numpy.random.default_rng(1), "old": numpy.random.RandomState(1)}
        self.assertTrue(all(_randomness.is_source(source) for source in sources.values()))
        states = _randomness.capture(sources)

        def draw() -> Any:
            return [numpy.random.rand(), sources["new"].random(), sources["old"].rand()]

        drawn = draw()
        _randomness.put_back(states, sources)
        self.assertEqual(draw(), drawn)

    def test_offspring_is_repeatable_different_and_leaves_no_trace(self) -> None:
        states = _randomness.capture_cpu()
        first, second = _randomness.offspring(states), _randomness.offspring(states)
        self.assertEqual(first["random"], second["random"])
        self.assertNotEqual(first["random"], states["random"])
        self.assertEqual(random.getstate(), states["random"])


class Gpus(unittest.TestCase):
    """A PyTorch that has nothing but random states."""

    def torch(self, gpus: int, initialised: bool = True) -> Any:
        states: Dict[int, str] = {index: f"gpu {index}" for index in range(gpus)}
        cuda = types.SimpleNamespace(
            is_initialized=lambda: initialised, is_available=lambda: gpus > 0, device_count=lambda: gpus, states=states,
            get_rng_state_all=lambda: list(states.values()),
            set_rng_state=lambda state, index: states.__setitem__(index, state),
        )
        return types.SimpleNamespace(cuda=cuda, get_rng_state=lambda: "cpu", set_rng_state=lambda state: None, Generator=Gpus)

    def exchange(self, saved_on: Any, restored_on: Any) -> str:
        with mock.patch.dict("sys.modules", torch=saved_on):
            states = _randomness.capture({})
        if "torch.cuda" in states:
            states["torch.cuda"] = [state + " saved" for state in states["torch.cuda"]]
        said = io.StringIO()
        with mock.patch.dict("sys.modules", torch=restored_on), contextlib.redirect_stderr(said):
            _randomness.put_back(states, {})
        return said.getvalue()

    def test_the_same_number(self) -> None:
        there = self.torch(2)
        self.assertEqual(self.exchange(self.torch(2), there), "")
        self.assertEqual(there.cuda.states, {0: "gpu 0 saved", 1: "gpu 1 saved"})

    def test_another_number_is_told(self) -> None:
        there = self.torch(1)
        self.assertIn("random state of 2 GPUs, this start has 1", self.exchange(self.torch(2), there))
        self.assertEqual(there.cuda.states, {0: "gpu 0 saved"})
        self.assertIn("this start has 0", self.exchange(self.torch(1), self.torch(0)))

    def test_no_gpu_is_woken_up(self) -> None:
        there = self.torch(1)
        self.assertEqual(self.exchange(self.torch(1, initialised=False), there), "")
        self.assertEqual(there.cuda.states, {0: "gpu 0"})
