"""Stand-ins in NumPy for machines without PyTorch: a small network for images, and one that guesses the next word."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from batches import CHANNELS, CLASSES, MISLABELLED, SIDE, SMALL_WORDS, SUCCESSORS, Batches

Batch = Tuple[Any, Any]

_RATE = {"vgg": 0.05, "resnet": 0.03, "resnet50": 0.03, "lstm": 0.5, "transformer": 1.0}
_WIDTH = {"vgg": 24, "resnet": 32, "resnet50": 48, "lstm": 24, "transformer": 32}


class NumpyTraining:
    """Two layers: `inputs -> width -> classes`, or `word -> width -> next word`."""

    engine = f"NumPy {np.__version__}"

    def __init__(self, model: str, batch: Optional[int], device: Optional[str], small: bool, seed: int) -> None:
        self._words = model in ("lstm", "transformer")
        self._size = batch or (32 if self._words else 8)
        self._seed, self._rate = seed, _RATE[model]
        random = np.random.default_rng(seed)
        inputs, outputs = (SMALL_WORDS, SMALL_WORDS) if self._words else (CHANNELS * SIDE * SIDE, CLASSES)
        self._first = random.normal(0, 1 / np.sqrt(1 if self._words else inputs), (inputs, _WIDTH[model]))
        self._second = random.normal(0, 1 / np.sqrt(_WIDTH[model]), (_WIDTH[model], outputs))
        self._means = random.normal(0, 0.5, (CLASSES, CHANNELS * SIDE * SIDE))
        self._followers = random.integers(0, SMALL_WORDS, (SMALL_WORDS, SUCCESSORS))
        self.batches: Batches[Batch] = Batches(self._words_batch if self._words else self._image_batch)

    def restorable(self) -> Dict[str, Any]:
        return {"first": self._first, "second": self._second}

    def step(self, batch: Batch) -> float:
        """One step of gradient descent; the loss before it."""
        inputs, targets = batch
        hidden = self._first[inputs] if self._words else np.maximum(inputs @ self._first, 0)
        scores = hidden @ self._second
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(len(targets))
        loss = float(-np.log(chances[rows, targets] + 1e-12).mean())
        chances[rows, targets] -= 1
        chances /= len(targets)
        back = chances @ self._second.T
        self._second -= self._rate * hidden.T @ chances
        if self._words:
            np.subtract.at(self._first, inputs, self._rate * back)
        else:
            self._first -= self._rate * inputs.T @ (back * (hidden > 0))
        return loss

    def wait(self) -> None:
        """Everything is done when `step` returns."""

    def device_facts(self) -> Dict[str, Any]:
        return {"device": "cpu"}

    def memory_facts(self) -> Dict[str, Any]:
        return {}

    def _image_batch(self, number: int) -> Batch:
        random = np.random.default_rng((self._seed, number))
        labels = random.integers(0, CLASSES, self._size)
        images = self._means[labels] + random.normal(0, 1, (self._size, CHANNELS * SIDE * SIDE))
        wrong = random.random(self._size) < MISLABELLED
        return images, np.where(wrong, random.integers(0, CLASSES, self._size), labels)

    def _words_batch(self, number: int) -> Batch:
        random = np.random.default_rng((self._seed, number))
        words = random.integers(0, SMALL_WORDS, self._size)
        return words, self._followers[words, random.integers(0, SUCCESSORS, self._size)]
