"""Just enough of Lightning and of Hugging Face's Trainer to drive a callback: they count, save and load."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any, Callable, List, Optional

#: After so many steps an epoch ends, and with it comes a validation.
EPOCH = 7


class Callback:
    """Stands for the base class of either framework."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name == "setup":
            return lambda *arguments, **others: None
        raise AttributeError(name)


class Late(Callback):
    """Notes for each batch whether a checkpoint was made in front of its eyes, before it had seen the batch."""

    def __init__(self) -> None:
        self.late: List[bool] = []

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        self.late.append(trainer.saved_at == trainer.global_step)


class LightningTrainer:
    """Calls the hooks in the order of Lightning's."""

    accumulate_grad_batches = 1
    is_last_batch = False

    def __init__(self, callbacks: List[Any], max_steps: int, pass_time: Callable[[float], None] = lambda _: None) -> None:
        self.callbacks, self.max_steps, self.global_step = callbacks, max_steps, 0
        self.saved_at = -1
        self._pass_time = pass_time

    def fit(self, step: Any, ckpt_path: Optional[str]) -> None:
        if ckpt_path is not None:
            self.global_step = json.loads(Path(ckpt_path).read_text())["step"]
        self._call("setup", "fit")
        self._call("on_train_start")
        while self.global_step < self.max_steps:
            if self.global_step % EPOCH == 0:
                self._call("on_train_epoch_start")
            self._pass_time(3.0)
            self._call("on_train_batch_start", None, 0)
            self.global_step += 1
            step(self.global_step)
            self._call("on_train_batch_end", {"loss": 1 / self.global_step}, None, 0)
            if self.global_step % EPOCH == 0:
                self._call("on_validation_start")
                self._pass_time(1000.0)
                self._call("on_validation_end")
                self._call("on_train_epoch_end")
        self._call("on_train_end")

    def save_checkpoint(self, path: str) -> None:
        self.saved_at = self.global_step
        Path(path).write_text(json.dumps({"step": self.global_step}))

    def _call(self, hook: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, None, *arguments)


class HuggingFaceTrainer:
    """Calls the hooks in the order of the Trainer's."""

    def __init__(
        self, callbacks: List[Any], output_dir: str, max_steps: int, pass_time: Callable[[float], None] = lambda _: None
    ) -> None:
        self.callbacks, self.max_steps = callbacks, max_steps
        self._pass_time = pass_time
        self.args = types.SimpleNamespace(output_dir=output_dir)
        self.state = types.SimpleNamespace(global_step=0, max_steps=max_steps)
        self.control = types.SimpleNamespace(should_save=False, should_training_stop=False)

    def train(self, step: Any, resume_from_checkpoint: Optional[str]) -> None:
        if resume_from_checkpoint is not None:
            saved = json.loads((Path(resume_from_checkpoint) / "trainer_state.json").read_text())
            self.state.global_step = saved["global_step"]
        self._call("on_train_begin")
        while self.state.global_step < self.max_steps and not self.control.should_training_stop:
            if self.state.global_step % EPOCH == 0:
                self._call("on_epoch_begin")
            self._pass_time(3.0)
            self._call("on_step_begin")
            self.state.global_step += 1
            step(self.state.global_step)
            self._call("on_step_end")
            self._call("on_log", logs={"loss": 1 / self.state.global_step})
            if self.state.global_step % EPOCH == 0:
                self._pass_time(1000.0)
                self._call("on_evaluate")
            if self.control.should_save:
                self.control.should_save = False
                folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "model.bin").write_bytes(os.urandom(100))
                (folder / "trainer_state.json").write_text(json.dumps({"global_step": self.state.global_step}))
                self._call("on_save")
            if self.state.global_step % EPOCH == 0:
                self._call("on_epoch_end")
        self._call("on_train_end")

    def _call(self, hook: str, **others: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self.args, self.state, self.control, **others)


def install() -> None:
    """Puts the fakes in the place of the packages."""
    for name, base in [("lightning", None), ("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback")]:
        module = types.ModuleType(name)
        if base is not None:
            setattr(module, base, Callback)
        sys.modules[name] = module
