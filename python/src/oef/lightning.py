"""A callback for Lightning.

    callback = oef.lightning.OEFCallback()
    trainer = Trainer(callbacks=[callback], max_epochs=3)
    trainer.fit(model, loader, ckpt_path=callback.ckpt_path)

Checkpoints are Lightning's own files, with their SHA-256 in the name; the last two are kept.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from . import _file, _randomness
from ._environment import Environment
from ._errors import reason, say
from ._overseer import Overseer, checksum, loss_of
from ._store import KEEP

__all__ = ["OEFCallback"]

_NAME = re.compile(r"oef-lightning-step=(\d+)-sha256=([0-9a-f]{64})\.ckpt")
_TEMPORARY = "oef-lightning.tmp"


def _callback_class() -> Any:
    """The class of the Lightning that the script uses: there are two packages of it."""
    names = ["lightning.pytorch", "pytorch_lightning"]
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    raise ImportError("oef.lightning needs Lightning: install `lightning` or `pytorch-lightning`")


class OEFCallback(_callback_class()):  # type: ignore[misc]  # The base is known only at run time.
    """Saves when OEF asks to stop, every `checkpoint_every` minutes, and at the end. Without OEF it does nothing,
    unless it is given a `checkpoint_dir`."""

    def __init__(
        self,
        checkpoint_dir: Union[str, "os.PathLike[str]", None] = None,
        checkpoint_every: Optional[float] = 10.0,
        sync_every: int = 1,
    ) -> None:
        super().__init__()
        environment = Environment.read()
        self._folder = environment.checkpoint_dir or (None if checkpoint_dir is None else Path(checkpoint_dir))
        self._overseer = Overseer(environment, self._folder, checkpoint_every, sync_every)
        self._random: Optional[_randomness.RandomStates] = None
        """Of the checkpoint, until training begins."""

    @property
    def ckpt_path(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `trainer.fit(ckpt_path=...)`; None at the first start."""
        for path in self._checkpoints():
            match = _NAME.fullmatch(path.name)
            try:
                if match is not None and checksum(path) == match[2]:
                    return str(path)
                say(f"{path.name} cannot be used: its checksum is wrong")
            except OSError as error:
                say(f"{path.name} cannot be used: {reason(error)}")
        return None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Called by Lightning. Makes this callback the last, so that a checkpoint has what the others do after a batch."""
        trainer.callbacks = [each for each in trainer.callbacks if each is not self] + [self]

    def state_dict(self) -> Dict[str, Any]:
        """Called by Lightning for every checkpoint, which has no random states of its own."""
        environment = self._overseer.environment
        # Only the first worker writes. Its random numbers must not become those of all.
        if self._folder is None or environment.world_size > 1 or environment.profile is not None:
            return {}
        return {"random": _randomness.in_plain_values(_randomness.capture({}))}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Called by Lightning."""
        if self._folder is not None and self._overseer.environment.world_size == 1:
            self._random = state_dict.get("random")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self._overseer.begin()
        if self._random is not None:  # Not before: Lightning draws while it gets the loaders ready.
            _randomness.put_back(self._random, {})
            self._random = None

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self._overseer.go_on()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self._overseer.pause()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self._overseer.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self._overseer.go_on()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Called by Lightning."""
        self._overseer.batch_begins()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Called by Lightning."""
        loss = loss_of(outputs)
        if loss is not None:
            self._overseer.progress.log({"loss": loss})
        if _is_accumulating(trainer, batch_idx):
            self._overseer.speed.waiting()
            return
        step = int(trainer.global_step)
        wish = self._overseer.step_done(step)
        if wish.stop:
            self._overseer.leave(step, self._save(trainer, step))
        elif wish.save:
            self._save(trainer, step)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        step = int(trainer.global_step)
        self._overseer.watch.agreement.settle()
        if self._folder is not None and self._overseer.profiler is None:
            self._save(trainer, step)
        self._overseer.end(step)

    def _save(self, trainer: Any, step: int) -> bool:
        overseer = self._overseer
        if self._folder is None:
            return False
        overseer.speed.stop()
        good = True
        temporary = self._folder / _TEMPORARY
        try:
            self._folder.mkdir(exist_ok=True)
            trainer.save_checkpoint(str(temporary))  # All workers take part; the first one writes.
            if overseer.environment.rank == 0:
                final = self._folder / f"oef-lightning-step={step}-sha256={checksum(temporary)}.ckpt"
                os.replace(temporary, final)
                _file.sync_folder(self._folder)
        except (OSError, RuntimeError) as error:  # PyTorch says RuntimeError when the disk is full.
            say(f"the checkpoint of step {step} cannot be saved in {self._folder}: {reason(error)}")
            _file.remove(temporary)
            good = False
        good = overseer.all_saved(good)
        if good and overseer.environment.rank == 0:
            for old in self._checkpoints()[KEEP:]:
                _file.remove(old)
        overseer.saved(step, good)
        return good

    def _checkpoints(self) -> List[Path]:
        """Newest first."""
        if self._folder is None:
            return []
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        found = [(int(match[1]), self._folder / name) for name in names for match in [_NAME.fullmatch(name)] if match]
        # Of the same step the one that was written last.
        return [path for _, path in sorted(found, key=lambda each: (each[0], _modified(each[1])), reverse=True)]


def _is_accumulating(trainer: Any, batch_idx: int) -> bool:
    """Whether gradients were gathered that no step has used yet. A checkpoint of Lightning does not hold them."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches != 0 and not trainer.is_last_batch


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
