"""One walk through a loader that can be taken up again in the middle."""

from __future__ import annotations

from typing import Any, Dict, Generic, Iterable, Iterator, Mapping, Optional, TypeVar

from . import _randomness
from ._errors import OefError

T = TypeVar("T")

_SAMPLERS = ("sampler", "batch_sampler", "batch_sampler.sampler")


class Feed(Generic[T]):
    """The batches of one epoch.

    Walking again from the random state of the epoch's start gives the same batches in the same order, whatever the loader
    draws and when: so the batches that are done are drawn again and dropped. A loader that can tell its position
    (`state_dict`, as torchdata's StatefulDataLoader) is set there instead.

    A generator may run for the whole training, and draw whenever it likes, with the model's draws in between. It therefore
    gets global random numbers of its own, which do not depend on what the model draws.
    """

    def __init__(self, loader: Iterable[T], epoch: int, sources: Mapping[str, Any]) -> None:
        self.batches = 0
        """How many were given out and worked on."""
        self._loader = loader
        self._epoch = epoch
        self._sources: Dict[str, Any] = {**sources, **generators(loader)}
        self._at_start: _randomness.RandomStates = {}
        self._iterator: Optional[Iterator[T]] = None
        self._apart = isinstance(loader, Iterator)
        self._stream_at_start: _randomness.RandomStates = {}
        self._stream: _randomness.RandomStates = {}
        """The random numbers of a generator."""

    def start(self) -> None:
        """Begins the epoch."""
        self._at_start = _randomness.capture(self._sources)
        if self._apart:
            self._stream_at_start = self._stream = _randomness.offspring(self._at_start)
        _set_epoch(self._loader, self._epoch)
        self._iterator = iter(self._loader)

    def start_again(self, state: Mapping[str, Any]) -> None:
        """Begins the epoch where it was left."""
        self._at_start = state["at_start"]
        self._stream_at_start = self._stream = state["stream_at_start"]
        _randomness.put_back(self._at_start, self._sources)
        _set_epoch(self._loader, self._epoch)
        position = state["loader"]
        if position is not None and _tells_position(self._loader):
            self._loader.load_state_dict(position)  # type: ignore[attr-defined]
            self._iterator = iter(self._loader)
            self.batches = state["batches"]
        else:
            self._iterator = iter(self._loader)
            self._skip(state["batches"])
        _randomness.put_back(state["now"], self._sources)

    def state(self) -> Dict[str, Any]:
        """Where the walk is, between two batches."""
        position = self._loader.state_dict() if _tells_position(self._loader) else None  # type: ignore[attr-defined]
        return {
            "batches": self.batches,
            "at_start": self._at_start,
            "stream_at_start": self._stream_at_start,
            "now": _randomness.capture(self._sources),
            "loader": position,
        }

    def next(self) -> T:
        """The next batch; StopIteration at the end of the epoch."""
        assert self._iterator is not None
        if not self._apart:
            return next(self._iterator)
        outside = _randomness.capture_cpu()
        _randomness.put_back(self._stream, {})
        try:
            return next(self._iterator)
        finally:
            self._stream = _randomness.capture_cpu()
            _randomness.put_back(outside, {})

    def _skip(self, count: int) -> None:
        for done in range(count):
            try:
                self.next()
            except StopIteration:
                raise OefError(
                    f"the checkpoint was made {count} batches into the epoch, and the loader has only {done} now: "
                    "use the data that it was made with, or another checkpoint folder"
                ) from None
        self.batches = count


def generators(loader: object) -> Dict[str, Any]:
    """The generators of random numbers that a DataLoader and its samplers have of their own."""
    found: Dict[str, Any] = {}
    for path in ("", *_SAMPLERS):
        source = getattr(_attribute(loader, path), "generator", None)
        if _randomness.is_source(source) and all(source is not known for known in found.values()):
            found[f"loader.{path}"] = source
    return found


def _set_epoch(loader: object, epoch: int) -> None:
    """A DistributedSampler shuffles by the epoch's number, and has to be told."""
    for path in ("", "dataset", *_SAMPLERS):
        set_epoch = getattr(_attribute(loader, path), "set_epoch", None)
        if callable(set_epoch):
            set_epoch(epoch)


def _attribute(value: object, path: str) -> object:
    for name in filter(None, path.split(".")):
        value = getattr(value, name, None)
    return value


def _tells_position(loader: object) -> bool:
    return callable(getattr(loader, "state_dict", None)) and callable(getattr(loader, "load_state_dict", None))
