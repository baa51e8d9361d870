"""Batches that are computed from their number, so that a job goes on in the middle without drawing them again."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, Iterator, TypeVar

T = TypeVar("T")

#: Images as those of CIFAR-100.
CLASSES, CHANNELS, SIDE = 100, 3, 32
#: Words as those of WikiText-2, and of them those that occur: so few that a minute of training shows.
VOCABULARY, USED_WORDS, SUCCESSORS = 33_278, 2_000, 4
#: Words of the tiny networks.
SMALL_WORDS = 200
#: The part of images with a wrong label, so that the loss does not fall to nothing.
MISLABELLED = 0.1


class Batches(Generic[T]):
    """An endless loader that can tell its position (`state_dict`)."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make = make
        self._next = 0

    def __iter__(self) -> Iterator[T]:
        while True:
            number = self._next
            self._next += 1
            yield self._make(number)

    def state_dict(self) -> Dict[str, Any]:
        """Where it is: the number of the next batch."""
        return {"next": self._next}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on from there."""
        self._next = int(state["next"])
