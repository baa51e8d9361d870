"""What a job knows and does between two steps: restore, save, stop. The loops in `_loop` are made of it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Dict, NoReturn, Optional

from . import _objects, _randomness
from ._agreement import PeerGone, Vote
from ._environment import CHECKPOINTED, NOT_SAVED, Environment
from ._errors import OefError, say, say_once
from ._feed import Feed
from ._gradients import Gradients
from ._keeper import Keeper, Loaded
from ._position import Position
from ._profile import Profiler
from ._progress import Progress, Speed
from ._store import Store
from ._watch import Watch


class Session:
    """The state of one process of a job."""

    def __init__(
        self, environment: Environment, checkpoint_dir: Optional[Path], save_seconds: Optional[float], sync_every: int
    ) -> None:
        self.environment = environment
        self.checkpoint_dir = checkpoint_dir
        plan = environment.profile
        self.watch = Watch(environment, checkpoint_dir, save_seconds if plan is None else None, sync_every)
        self.progress = Progress(environment.progress_file if environment.rank == 0 else None)
        self.speed = Speed()
        self.profiler = None if plan is None else Profiler(plan, self.progress, environment.rank == 0)
        self.progress.fetching = self.speed
        self.position = Position()
        self.feed: Optional[Feed[Any]] = None
        self.gradients = Gradients()
        self.state: Dict[str, Any] = {}
        self.sources: Dict[str, Any] = {}
        self.resumed = False
        self._keeper: Optional[Keeper] = None
        if checkpoint_dir is not None and plan is None:
            self._keeper = Keeper(Store(checkpoint_dir, environment.rank, environment.world_size), environment)
        self._shared: Dict[str, Any] = {}
        self._own: Dict[str, Any] = {}
        self._loaded: Optional[Loaded] = None
        self._searched = False
        self._started = False
        self._together = False
        self._saved_at: Optional[Position] = None

    # Restoring

    def register(self, objects: Dict[str, Any], own: bool) -> None:
        """Takes objects in and gives them their saved states. `own`: every worker has its own."""
        if self._started:
            raise OefError("restore() has to be called before the first steps(): later it would be too late to restore anything")
        self.look_for_checkpoint()
        for name, value in objects.items():
            if name in self._shared or name in self._own or name in self.sources:
                raise OefError(f"restore({name}=...) was called before: every name can be used once")
            if _randomness.is_source(value):
                self.sources[name] = value
                continue
            _objects.check(name, value)
            (self._own if own else self._shared)[name] = value
            self._put_back(name, value, own)
            self.gradients.watch(name, value)

    def look_for_checkpoint(self) -> None:
        """Finds and reads the newest checkpoint, once."""
        if self._searched:
            return
        self._searched = True
        if self._keeper is None:
            return
        self.resumed = self._keeper.search()
        if self.environment.rank == 0:
            for complaint in self._keeper.complaints:
                say(complaint)
        self._loaded = self._keeper.load()
        if self._loaded is not None:
            self.state.update(self._loaded.shared["state"])
            self.position = self._saved_position(self._loaded)
            self.progress.checkpoint = self._loaded.step
        if self._keeper.complaints:
            self.progress.tell(self.position.step, None, "; ".join(self._keeper.complaints))

    def begin(self) -> None:
        """The first loop begins: nothing can be registered any more."""
        if self._started:
            return
        self._started = True
        self.look_for_checkpoint()
        if self._loaded is not None:
            known = {**self._shared, **self._own}
            forgotten = sorted(set(self._loaded.shared["objects"]) - set(known))
            if forgotten and self.environment.rank == 0:
                say(f"the checkpoint has {', '.join(forgotten)}, which this script never passed to restore()")

    def resume_position(self) -> Optional[Position]:
        """Where the checkpoint is, until its loop is reached."""
        return None if self._loaded is None else self._saved_position(self._loaded)

    def resume(self, again: bool) -> Optional[Dict[str, Any]]:
        """The checkpoint's loop is reached: its random state is set, and where it was in the epoch is returned.

        `again`: code of loops that were left out has run since `restore`, so that everything is set once more.
        """
        loaded, self._loaded = self._loaded, None
        if again and loaded is not None and self._keeper is not None:
            # Read anew, because objects may since have changed what they were given.
            loaded = self._keeper.load()
        if loaded is None:
            return None
        if again:
            for name, value in self._shared.items():
                self._put_back_from(loaded.shared["objects"], name, value)
            for name, value in self._own.items():
                self._put_back_from((loaded.own or {}).get("objects", {}), name, value)
            # In place, because the script may have taken lists or arrays out of it.
            _objects.put_back("state", self.state, loaded.shared["state"])
        self.position = self._saved_position(loaded)
        self._saved_at = copy.copy(self.position)
        if loaded.own is None:
            return None
        _randomness.put_back(loaded.own["random"], self.sources)
        # Not before: many a script clears the gradients after restore().
        self.gradients.put_back(loaded.own.get("gradients", {}))
        feed: Optional[Dict[str, Any]] = loaded.own["feed"]
        return feed

    def _saved_position(self, loaded: Loaded) -> Position:
        own = loaded.own if loaded.own is not None else loaded.shared
        return Position.from_dict(own["position"])

    def _put_back(self, name: str, value: Any, own: bool) -> None:
        if self._loaded is None:
            return
        states = (self._loaded.own or {}).get("objects", {}) if own else self._loaded.shared["objects"]
        self._put_back_from(states, name, value)

    def _put_back_from(self, states: Dict[str, Any], name: str, value: Any) -> None:
        if name in states:
            _objects.put_back(name, value, states[name])
        else:
            say_once(f"the checkpoint has no `{name}`: it starts as the script made it")

    def check_join(self) -> None:
        """Refuses `Join` of PyTorch: who is done waits in it for the others' gradients, and they wait here for its vote."""
        joined = [name for name, value in {**self._shared, **self._own}.items() if _is_joined(value)]
        if joined and self.environment.world_size > 1:
            raise OefError(
                f"steps() is used inside of Join with {', '.join(joined)}, where the workers would wait for each other for "
                "ever: give all workers as many batches, as a DistributedSampler does, or use steps(total=...) without Join"
            )

    def check_together(self) -> None:
        """Refuses to go on from an older checkpoint than another worker, when the workers have met."""
        if self._keeper is None or self._together:
            return
        self._together = True
        own = self._keeper.resumes_from
        newest = self.watch.agreement.ask_now(Vote(serial=own)).serial
        if own < newest:
            found = f"only number {own}" if own > 0 else "none"
            raise OefError(
                f"another worker goes on from checkpoint number {newest}, and worker {self.environment.rank} can use {found}: "
                f"all workers have to see the same files in {self.checkpoint_dir}"
            )

    # Between two steps

    def boundary(self) -> None:
        """Saves or stops when it is time for it."""
        try:
            self.act(self.watch.look())
        except PeerGone as gone:
            self.peer_gone(gone)

    def act(self, wish: Optional[Vote]) -> None:
        """Does what all workers want."""
        if wish is None:
            return
        if wish.stop:
            self._stop()
        elif wish.save:
            self.save()

    def step_done(self) -> None:
        """Counts a step."""
        self.position.step_done()
        if self.feed is not None:
            self.feed.batches += 1
        if self.profiler is not None:
            self._profiled()
            return
        self.speed.step_done()
        if self.progress.due():
            self.progress.tell(self.position.step, self.speed.steps_per_second)

    def _profiled(self) -> None:
        """Counts a step of a profile run, which may be its last."""
        assert self.profiler is not None
        try:
            self.profiler.step_done(self.position.step, self.watch.agreement)
        except SystemExit:
            self.watch.keep_stop_signal = True
            raise
        except PeerGone as gone:
            self.peer_gone(gone)

    def save(self) -> bool:
        """Saves now, together with the other workers. Whether the work is safe."""
        if self._keeper is None:
            return False
        self.speed.stop()
        position = self.position
        good = self._keeper.save(self.watch.agreement, position.step, position.epoch, self._contents)
        self.watch.saved()
        if good:
            self._saved_at = copy.copy(position)
            self.progress.checkpoint = position.step
            self.progress.tell(position.step, self.speed.steps_per_second)
        else:
            self.progress.tell(position.step, self.speed.steps_per_second, "the checkpoint could not be saved")
        self.speed.start()
        return good

    @property
    def unsaved(self) -> bool:
        """Whether there is work that no checkpoint has."""
        return self.position != (self._saved_at or Position())

    def _contents(self) -> Dict[str, Any]:
        position = self.position.to_dict()
        contents: Dict[str, Any] = {
            "own": {
                "position": position,
                "random": _randomness.capture(self.sources),
                "feed": None if self.feed is None else self.feed.state(),
                "objects": {name: _objects.capture(value) for name, value in self._own.items()},
                "gradients": self.gradients.pending(),
            }
        }
        if self.environment.rank == 0:
            contents["shared"] = {
                "position": position,
                "state": dict(self.state),
                "objects": {name: _objects.capture(value) for name, value in self._shared.items()},
            }
        return contents

    def _stop(self) -> NoReturn:
        if self.profiler is not None:
            self.watch.keep_stop_signal = True
            self.profiler.stopped(self.position.step, self.watch.agreement)
        anybody = self.watch.agreement.ask_now(Vote(save=int(self.unsaved))).save
        if anybody and not self.save():
            why = "there is no checkpoint folder" if self._keeper is None else "it could not be saved"
            say(f"told to stop at step {self.position.step}: the work since the last checkpoint is lost, because {why}")
            self.leave(NOT_SAVED)
        self.progress.tell(self.position.step, self.speed.steps_per_second)
        self.leave(CHECKPOINTED)

    def peer_gone(self, gone: PeerGone) -> NoReturn:
        """Another worker ended: when told to stop that is no surprise, otherwise it is an error."""
        if self.profiler is not None:
            self.watch.keep_stop_signal = True
            self.profiler.peer_gone(self.position.step)
        if self.watch.stop.requested:
            say(f"told to stop at step {self.position.step}: the workers could not save together ({gone})")
            self.leave(NOT_SAVED)
        raise gone

    def leave(self, code: int) -> NoReturn:
        """Ends the process as soon as the script lets it."""
        # Another stop signal on the way out must not change how the process ends.
        self.watch.keep_stop_signal = True
        raise SystemExit(code) from None


def _is_joined(value: Any) -> bool:
    return bool(getattr(getattr(value, "_join_config", None), "enable", False))
