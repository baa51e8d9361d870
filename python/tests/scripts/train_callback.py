"""Trains with a callback: train_callback.py fake-lightning|fake-huggingface|lightning|huggingface.

TEST_STOP_STEP: sends the stop signal to its whole process group in that step, as OEF does. Prints the steps that it does, and
at the end of a real training a line with the weights.
TEST_WORKERS: how many processes the loader has. TEST_GATHER: batches whose gradients make one step.
TEST_CLOCK: time goes only as the script says: a batch takes three seconds, a step one, a validation a thousand.
"""

from __future__ import annotations

import os
import signal
import sys
import types
from typing import Any

import oef._progress

kind = sys.argv[1]
stop_at = int(os.environ.get("TEST_STOP_STEP", "-1"))
workers = int(os.environ.get("TEST_WORKERS", "0"))
gather = int(os.environ.get("TEST_GATHER", "1"))
STEPS, BATCH = 20, 4
now = 100.0
if "TEST_CLOCK" in os.environ:
    oef._progress.time = types.SimpleNamespace(monotonic=lambda: now)  # type: ignore[attr-defined]


def pass_time(seconds: float) -> None:
    global now
    now += seconds


def did(step: int) -> None:
    print(step, flush=True)
    pass_time(1.0)
    if step == stop_at:
        os.killpg(os.getpgid(0), signal.SIGTERM)


def fake_lightning() -> None:
    import fakes

    fakes.install()
    import oef.lightning

    callback = oef.lightning.OEFCallback(checkpoint_every=1e-9)
    other = fakes.Late()
    trainer = fakes.LightningTrainer([callback, other], STEPS, pass_time)
    trainer.fit(did, callback.ckpt_path)
    assert other.late == [False] * len(other.late), "a checkpoint was made before another callback had seen the batch"


def fake_huggingface() -> None:
    import fakes

    fakes.install()
    import oef.huggingface as hf

    callback = hf.OEFCallback(checkpoint_every=1e-9)
    trainer = fakes.HuggingFaceTrainer([callback], hf.output_dir("out"), STEPS, pass_time)
    trainer.train(did, hf.last_checkpoint("out"))


class Rows:
    """Data that take their time."""

    def __init__(self, seconds: float) -> None:
        import torch

        fixed = torch.Generator().manual_seed(4)
        self._rows = torch.randn(40, 4, generator=fixed)
        self._seconds = seconds

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        pass_time(self._seconds)
        return {"x": self._rows[index, :3], "labels": self._rows[index, 3:]}


def show(network: Any) -> None:
    print("end", *(value.hex() for value in network.weight.detach().flatten().double().tolist()))


def real_lightning() -> None:
    import lightning.pytorch as pl
    import torch

    import oef.lightning

    try:  # Lightning takes up an epoch in the middle only with a loader that knows its place.
        from torchdata.stateful_dataloader import StatefulDataLoader as Loader
    except ImportError:
        from torch.utils.data import DataLoader as Loader

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            if (index + 1) % gather == 0:
                did(self.trainer.global_step + 1)
            noisy = torch.nn.functional.dropout(batch["x"], 0.2)
            return (self.layer(noisy) - batch["labels"]).pow(2).mean()

        def validation_step(self, batch: Any, index: int) -> None:
            pass

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.1)

    torch.manual_seed(0)
    loader = Loader(Rows(3 / BATCH), batch_size=BATCH, shuffle=True, num_workers=workers)
    validation = Loader(Rows(1000 / BATCH), batch_size=BATCH, num_workers=workers)
    callback = oef.lightning.OEFCallback()
    trainer = pl.Trainer(
        callbacks=[callback], max_steps=STEPS, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu", devices=1, accumulate_grad_batches=gather,
    )
    model = Model()
    trainer.fit(model, loader, validation, ckpt_path=callback.ckpt_path)
    show(model.layer)


def real_huggingface() -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    import oef.huggingface as hf

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x: Any, labels: Any = None) -> Any:
            return {"loss": (self.layer(torch.nn.functional.dropout(x, 0.2)) - labels).pow(2).mean(), "logits": x}

    class Printing(Trainer):
        seen = 0

        def training_step(self, *arguments: Any, **options: Any) -> Any:
            self.seen += 1
            if self.seen % gather == 0:
                did(self.state.global_step + 1)
            return super().training_step(*arguments, **options)

    torch.manual_seed(0)
    args = TrainingArguments(
        output_dir=hf.output_dir("out"), max_steps=STEPS, per_device_train_batch_size=BATCH, save_strategy="no",
        report_to=[], disable_tqdm=True, use_cpu=True, logging_steps=1, eval_strategy="epoch",
        per_device_eval_batch_size=BATCH, dataloader_num_workers=workers, gradient_accumulation_steps=gather,
    )
    model = Model()
    trainer = Printing(
        model=model, args=args, train_dataset=Rows(3 / BATCH), eval_dataset=Rows(1000 / BATCH), callbacks=[hf.OEFCallback()]
    )
    trainer.train(resume_from_checkpoint=hf.last_checkpoint("out"))
    show(model.layer)


{
    "fake-lightning": fake_lightning, "fake-huggingface": fake_huggingface,
    "lightning": real_lightning, "huggingface": real_huggingface,
}[kind]()
