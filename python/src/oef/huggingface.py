"""A callback for the Trainer of Hugging Face.

    args = TrainingArguments(output_dir=oef.huggingface.output_dir("out"), save_total_limit=2)
    trainer = Trainer(model=model, args=args, train_dataset=data, callbacks=[oef.huggingface.OEFCallback()])
    trainer.train(resume_from_checkpoint=oef.huggingface.last_checkpoint("out"))

Checkpoints are the Trainer's own folders. A list of their files and checksums is put beside them when they are complete, so
that one that was cut short is never taken up.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import _file
from ._agreement import Vote
from ._environment import Environment
from ._errors import reason, say
from ._overseer import Overseer, checksum

__all__ = ["OEFCallback", "last_checkpoint", "output_dir"]

_NAME = re.compile(r"checkpoint-(\d+)")
_LIST = "oef-complete.json"
_STATE = "trainer_state.json"


def output_dir(default: str) -> str:
    """The folder for `TrainingArguments(output_dir=...)`: OEF's checkpoint folder, or without OEF the given one."""
    folder = Environment.read().checkpoint_dir
    return default if folder is None else str(folder)


def last_checkpoint(default: str) -> Optional[str]:
    """The newest complete checkpoint in `output_dir(default)`, for `trainer.train(resume_from_checkpoint=...)`."""
    folder = Path(output_dir(default))
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = [(int(match[1]), folder / name) for name in names for match in [_NAME.fullmatch(name)] if match]
    unlisted: List[Path] = []
    for _, path in sorted(found, reverse=True):
        if not (path / _LIST).exists():
            unlisted.append(path)
            continue
        wrong = _what_is_wrong(path)
        if wrong is None:
            return str(path)
        say(f"{path.name} cannot be used: {wrong}")
    return _last_resort(unlisted)


def _last_resort(unlisted: List[Path]) -> Optional[str]:
    """Without a listed one: a checkpoint whose last file is there. It was made without the callback, or just before a kill."""
    for path in unlisted:
        try:
            json.loads((path / _STATE).read_text())
        except (OSError, ValueError):
            say(f"{path.name} cannot be used: it is not complete")
            continue
        return str(path)
    return None


def _what_is_wrong(path: Path) -> Optional[str]:
    try:
        listed: Dict[str, str] = json.loads((path / _LIST).read_text())["sha256"]
        for name, expected in sorted(listed.items()):
            if checksum(path / name) != expected:
                return f"the checksum of {name} is wrong"
    except FileNotFoundError as error:
        return f"{Path(str(error.filename)).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return reason(error)
    return None


class OEFCallback(importlib.import_module("transformers").TrainerCallback):  # type: ignore[misc]  # Known only at run time.
    """Has the Trainer save when OEF asks to stop and every `checkpoint_every` minutes; after a stop the process ends with
    exit code 75. Without OEF it does nothing."""

    def __init__(self, checkpoint_every: Optional[float] = 10.0, sync_every: int = 1) -> None:
        super().__init__()
        environment = Environment.read()
        self._overseer = Overseer(environment, environment.checkpoint_dir, checkpoint_every, sync_every)
        self._stopping = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer."""
        folder = self._overseer.environment.checkpoint_dir
        if folder is not None and Path(args.output_dir).resolve() != folder.resolve():
            say(
                f"the Trainer saves in {args.output_dir}, which OEF does not know: "
                "use output_dir=oef.huggingface.output_dir(...)"
            )
        self._overseer.begin()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer."""
        self._overseer.go_on()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer."""
        self._overseer.pause()

    def on_evaluate(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer when it has evaluated: the time since the last step was spent on that."""
        self._overseer.go_on()

    def on_step_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer."""
        self._overseer.batch_begins()

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
        """Called by the Trainer."""
        wish = self._overseer.step_done(int(state.global_step))
        if wish.stop:
            self._stopping = True
            control.should_training_stop = True
        ends = self._overseer.environment.checkpoint_dir is not None and int(state.global_step) >= int(state.max_steps)
        if wish.stop or wish.save or ends and self._overseer.profiler is None:
            control.should_save = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **others: Any) -> None:
        """Called by the Trainer."""
        if logs and "loss" in logs:
            self._overseer.progress.log({"loss": logs["loss"]})
        self._overseer.speed.waiting()  # Before it logs, the Trainer waits for the loss, and not for data.

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer when it has saved."""
        overseer, step = self._overseer, int(state.global_step)
        overseer.watch.agreement.ask_now(Vote())  # Every worker has written its files.
        good = True
        if overseer.environment.rank == 0:
            try:
                _list_files(Path(args.output_dir) / f"checkpoint-{step}")
            except OSError as error:
                say(f"the checkpoint of step {step} is not complete: {reason(error)}")
                good = False
        good = overseer.all_saved(good)
        overseer.saved(step, good)
        if self._stopping:
            overseer.leave(step, good)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Called by the Trainer."""
        step = int(state.global_step)
        if self._stopping:  # Told to save, the Trainer did not.
            self._overseer.leave(step, good=False)
        self._overseer.end(step)


def _list_files(folder: Path) -> None:
    """Writes the list of files and their checksums, last and at once."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(_LIST))
    listed = {str(path.relative_to(folder)): checksum(path) for path in files}
    temporary = folder / (_LIST + _file.TEMPORARY)
    with open(temporary, "w") as file:
        json.dump({"sha256": listed}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / _LIST)
    _file.sync_folder(folder)
    _file.sync_folder(folder.parent)
