"""The loops of a training script: `steps` and `epochs`."""

from __future__ import annotations

import time
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple, TypeVar

from ._agreement import PeerGone
from ._environment import CHECKPOINTED
from ._errors import OefError, say
from ._feed import Feed
from ._session import Session
from ._sockets import GivenUp

T = TypeVar("T")


class Loops:
    """Runs the loops of one job, and leaves out what earlier starts have done."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count = 0
        self._in_epoch = False
        """Inside of a loop over epochs, where `steps` walks through one of them."""
        self._epoch_walked = False
        self._resume: Optional[Dict[str, Any]] = None
        """Where the checkpoint was in its epoch, until that epoch begins."""
        self._used_up: Optional[object] = None
        """The last thing that can be walked through only once."""

    def steps(self, loader: Iterable[T], epochs: Optional[int], total: Optional[int]) -> Iterator[Tuple[int, T]]:
        """Checks the arguments now, and walks when it is asked to."""
        _check_count("epochs", epochs)
        _check_count("total", total)
        self._session.check_join()
        if self._in_epoch:
            if epochs is not None:
                raise OefError("steps(epochs=...) inside of epochs() would count twice: leave epochs= out")
            return self._walk_inside(loader, total)
        return self._walk_alone(loader, 1 if epochs is None and total is None else epochs, total)

    def epochs(self, count: int) -> Iterator[int]:
        """A loop over epochs, from the one that is not done yet."""
        _check_count("epochs", count)
        if self._in_epoch:
            raise OefError("epochs() inside of epochs() makes no sense: use one of them")
        return self._walk_epochs(count)

    def _walk_alone(
        self, loader: Iterable[T], epochs: Optional[int], total: Optional[int]
    ) -> Iterator[Tuple[int, T]]:
        session = self._session
        if not self._enter(loader):
            return
        try:
            position = session.position
            session.boundary()
            while _more(position.loop_epoch, epochs) and _more(position.loop_step, total):
                before = position.loop_step
                resumed = self._resume is not None
                yield from self._walk(loader, total)
                if not _more(position.loop_step, total):
                    break
                if position.loop_step == before and not resumed:
                    _check_empty(loader, position.loop_epoch, total)
                position.epoch_done()
            self._leave()
        finally:
            self._end()

    def _walk_epochs(self, count: int) -> Iterator[int]:
        session = self._session
        if not self._enter(None):
            return
        try:
            position = session.position
            session.boundary()
            while position.loop_epoch < count:
                self._in_epoch, self._epoch_walked = True, False
                yield position.loop_epoch
                self._in_epoch = False
                position.epoch_done()
                if position.loop_epoch < count:
                    session.boundary()
            self._leave()
        finally:
            self._in_epoch = False
            self._end()

    def _walk_inside(self, loader: Iterable[T], total: Optional[int]) -> Iterator[Tuple[int, T]]:
        if self._epoch_walked:
            raise OefError("steps() was called twice in one epoch: after a restart it could not be told which was which")
        self._epoch_walked = True
        self._note(loader)
        position = self._session.position
        until = None
        if total is not None:  # Of this epoch: what an earlier start did of it counts, too.
            done = self._resume["batches"] if self._resume is not None else 0
            until = position.loop_step - done + total
        yield from self._walk(loader, until)

    def _walk(self, loader: Iterable[T], until: Optional[int]) -> Iterator[Tuple[int, T]]:
        """One epoch, or what is left of it, or as much as is wanted."""
        session = self._session
        position = session.position
        feed: Feed[T] = Feed(loader, position.epoch, session.sources)
        with session.watch.stop.held_back():
            if self._resume is not None:
                feed.start_again(self._resume)
                self._resume = None
            else:
                feed.start()
        session.feed = feed
        session.speed.start()
        profiler = session.profiler
        if profiler is not None:
            profiler.start()
        try:
            while _more(position.loop_step, until):
                try:
                    batch = self._next(feed)
                except StopIteration:
                    break
                if profiler is not None:
                    profiler.batch_begins()
                session.gradients.step_begins()
                yield position.step, batch
                session.step_done()
                if _more(position.loop_step, until):
                    session.boundary()
        finally:  # Also when the script breaks the loop off: then the next epoch starts at its beginning.
            session.speed.stop()
            if profiler is not None:
                profiler.stop()
            session.feed = None

    def _next(self, feed: Feed[T]) -> T:
        begin = time.monotonic()
        try:
            if feed.batches > 0:
                return feed.next()
            # Some loaders start their helpers only now.
            with self._session.watch.stop.held_back():
                return feed.next()
        finally:
            self._session.speed.fetched(time.monotonic() - begin)

    def _enter(self, loader: Optional[Iterable[Any]]) -> bool:
        """Begins a loop. False when an earlier start has done it."""
        session, loop = self._session, self._count
        self._count += 1
        if loader is not None:
            self._note(loader)
        session.begin()
        saved = session.resume_position()
        if saved is not None and saved.loop > loop:
            return False
        if saved is None:
            session.position.enter(loop)
        else:
            self._resume = session.resume(again=loop > 0)
            if saved.done:
                return False
        try:
            session.watch.begin()
            session.check_together()
        except GivenUp as why:
            say(f"{why}: nothing was done since the last checkpoint")
            session.leave(CHECKPOINTED)
        except PeerGone as gone:
            session.peer_gone(gone)
        return True

    def _leave(self) -> None:
        """The loop is done here; the others may still have steps to do, and want to stop or save meanwhile."""
        session = self._session
        try:
            while True:
                wish = session.watch.look(running=False)
                if wish is not None and not wish.running:
                    break
                session.act(wish)
            session.watch.agreement.settle()
            if session.profiler is not None:
                session.profiler.finish(session.position.step, session.watch.agreement)
                return
            session.position.done = True
            if session.unsaved and session.checkpoint_dir is not None:
                session.save()
        except PeerGone as gone:
            session.peer_gone(gone)
        session.progress.tell(session.position.step, session.speed.steps_per_second)

    def _end(self) -> None:
        self._session.watch.end()

    def _note(self, loader: Iterable[Any]) -> None:
        """Refuses a generator that an earlier call has used: after a restart it would begin anew."""
        if not isinstance(loader, Iterator):
            return
        if loader is self._used_up:
            raise OefError(
                "this generator was given to steps() before, and after a restart it would begin anew: "
                "take all its batches in one call with total=, or make a new one for each call"
            )
        self._used_up = loader


def _more(done: int, wanted: Optional[int]) -> bool:
    return wanted is None or done < wanted


def _check_count(name: str, count: Optional[int]) -> None:
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise OefError(f"{name}={count!r}: it should be a whole number from 0")


def _check_empty(loader: object, epoch: int, total: Optional[int]) -> None:
    if isinstance(loader, Iterator) and epoch > 0:
        raise OefError(
            "the loader can be walked through only once: give steps() something that can be started again, "
            "such as a list or a DataLoader, or a generator that is long enough"
        )
    if total is not None:
        raise OefError(f"the loader gave no batch, and {total} steps are wanted")
