"""Trains with a callback: train_callback.py fake-lightning|fake-huggingface|lightning|huggingface.

TEST_STOP_STEP: sends the stop signal to itself in that step. Prints the steps that it does.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

kind = sys.argv[1]
stop_at = int(os.environ.get("TEST_STOP_STEP", "-1"))
STEPS = 20


def did(step: int) -> None:
    print(step, flush=True)
    if step == stop_at:
        os.kill(os.getpid(), signal.SIGTERM)


def fake_lightning() -> None:
    import fakes

    fakes.install()
    import oef.lightning

    callback = oef.lightning.OEFCallback(checkpoint_every=1e-9)
    fakes.LightningTrainer([callback], STEPS).fit(did, callback.ckpt_path)


def fake_huggingface() -> None:
    import fakes

    fakes.install()
    import oef.huggingface as hf

    trainer = fakes.HuggingFaceTrainer([hf.OEFCallback(checkpoint_every=1e-9)], hf.output_dir("out"), STEPS)
    trainer.train(did, hf.last_checkpoint("out"))


def real_lightning() -> None:
    import lightning.pytorch as pl
    import torch

    import oef.lightning

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            did(self.trainer.global_step + 1)
            return self.layer(batch[0]).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.1)

    data = torch.utils.data.TensorDataset(torch.randn(40, 3))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    callback = oef.lightning.OEFCallback()
    trainer = pl.Trainer(
        callbacks=[callback], max_steps=STEPS, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu", devices=1,
    )
    trainer.fit(Model(), loader, ckpt_path=callback.ckpt_path)


def real_huggingface() -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    import oef.huggingface as hf

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x: Any, labels: Any = None) -> Any:
            return {"loss": (self.layer(x) - labels).pow(2).mean()}

    class Printing(Trainer):
        def training_step(self, *arguments: Any, **options: Any) -> Any:
            did(self.state.global_step + 1)
            return super().training_step(*arguments, **options)

    data = [{"x": torch.randn(3), "labels": torch.randn(1)} for _ in range(40)]
    args = TrainingArguments(
        output_dir=hf.output_dir("out"), max_steps=STEPS, per_device_train_batch_size=4, save_strategy="no",
        report_to=[], disable_tqdm=True, use_cpu=True, logging_steps=1,
    )
    trainer = Printing(model=Model(), args=args, train_dataset=data, callbacks=[hf.OEFCallback()])
    trainer.train(resume_from_checkpoint=hf.last_checkpoint("out"))


{
    "fake-lightning": fake_lightning, "fake-huggingface": fake_huggingface,
    "lightning": real_lightning, "huggingface": real_huggingface,
}[kind]()
