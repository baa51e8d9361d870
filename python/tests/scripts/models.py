"""Small models that use every kind of chance, in pure Python, NumPy and PyTorch."""

from __future__ import annotations

import random
from typing import Any, Dict, Iterator, List

FEATURES = 5


class PureModel:
    """A linear model with dropout, trained with momentum, in plain floats."""

    def __init__(self) -> None:
        self.weights = [random.gauss(0, 1) for _ in range(FEATURES)]
        self.momentum = [0.0] * FEATURES

    def state_dict(self) -> Dict[str, Any]:
        return {"weights": self.weights, "momentum": self.momentum}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.weights, self.momentum = state["weights"], state["momentum"]

    def objects(self) -> Dict[str, Any]:
        return {"model": self}

    def train(self, batch: List[List[float]], rate: float) -> float:
        loss = 0.0
        for row in batch:
            kept = [0.0 if random.random() < 0.2 else x for x in row[:FEATURES]]
            error = sum(w * x for w, x in zip(self.weights, kept)) - row[FEATURES]
            loss += error * error
            for i, x in enumerate(kept):
                self.momentum[i] = 0.9 * self.momentum[i] + rate * error * x
                self.weights[i] -= self.momentum[i]
        return loss

    def fingerprint(self) -> str:
        return " ".join(value.hex() for value in self.weights + self.momentum)


class NumpyModel:
    """Two layers with dropout. Arrays in a dict and on their own; one generator of its own, one global."""

    def __init__(self) -> None:
        import numpy

        self.np = numpy
        numpy.random.seed(5)
        self.rng = numpy.random.default_rng(3)
        self.params = {"a": numpy.random.randn(FEATURES, 8), "b": numpy.random.randn(8)}
        self.velocity = numpy.zeros((FEATURES, 8))
        self.a = self.params["a"]

    def objects(self) -> Dict[str, Any]:
        return {"params": self.params, "velocity": self.velocity, "rng": self.rng}

    def train(self, batch: List[List[float]], rate: float) -> float:
        np = self.np
        rows = np.array(batch)
        x, y = rows[:, :FEATURES], rows[:, FEATURES]
        x = x * (np.random.rand(*x.shape) > 0.1)
        hidden = np.tanh(x @ self.a) * (self.rng.random(8) > 0.2)
        error = hidden @ self.params["b"] - y
        grad_b = hidden.T @ error / len(y)
        grad_a = x.T @ (np.outer(error, self.params["b"]) * (1 - hidden**2)) / len(y)
        self.velocity *= 0.9
        self.velocity += rate * grad_a
        self.a -= self.velocity
        self.params["b"] -= rate * grad_b
        return float((error**2).mean())

    def fingerprint(self) -> str:
        return " ".join(array.tobytes().hex() for array in (self.params["a"], self.params["b"], self.velocity))


class Shuffled:
    """A loader that can be started again: shuffles at the start, adds noise to every batch."""

    def __init__(self, rows: int, batch: int) -> None:
        fixed = random.Random(99)
        self._data = [[fixed.gauss(0, 1) for _ in range(FEATURES + 1)] for _ in range(rows)]
        self._batch = batch

    def __iter__(self) -> Iterator[List[List[float]]]:
        order = list(range(len(self._data)))
        random.shuffle(order)
        for at in range(0, len(order), self._batch):
            yield [[x + random.gauss(0, 0.01) for x in self._data[i]] for i in order[at : at + self._batch]]


def endless(rows: int, batch: int) -> Iterator[List[List[float]]]:
    """A generator that never ends."""
    loader = Shuffled(rows, batch)
    while True:
        yield from loader


class Decay:
    """A learning rate that falls, like a scheduler."""

    def __init__(self) -> None:
        self.rate = 0.05

    def step(self) -> None:
        self.rate *= 0.7

    def state_dict(self) -> Dict[str, Any]:
        return {"rate": self.rate}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.rate = state["rate"]
