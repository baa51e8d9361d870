"""A training script in every shape that `oef` supports: train.py MODEL SHAPE OUT.

Test hooks, by environment: TEST_STOP_STEP (sends itself the stop signal in the middle of that step), TEST_SLEEP (seconds a
step takes), TEST_EVERY (minutes between checkpoints).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import oef
from models import Decay, NumpyModel, PureModel, Shuffled, endless

ROWS, BATCH, EPOCHS, TOTAL = 40, 4, 4, 33

model_name, shape, out = sys.argv[1:4]
random.seed(1)
model = {"pure": PureModel, "numpy": NumpyModel}[model_name]()
decay = Decay()
every = os.environ.get("TEST_EVERY")
job = oef.job(checkpoint_every=float(every) if every else 10)
job.restore(decay=decay, **model.objects())
history = job.state.setdefault("history", [])


def train(step: int, batch: object) -> None:
    at = os.environ.get("TEST_STOP_STEP")
    assert step == len(history), f"step {step} comes after {len(history)} steps"
    loss = model.train(batch, decay.rate)  # type: ignore[arg-type]
    if at is not None and step == int(at):
        os.kill(os.getpid(), getattr(signal, "SIG" + os.environ["OEF_STOP_SIGNAL"]))
    time.sleep(float(os.environ.get("TEST_SLEEP", "0")))
    history.append(loss + random.random())
    job.log(loss=loss)


def after_epoch() -> None:
    decay.step()
    history[-1] += random.random()


if shape == "flat":
    for step, batch in job.steps(Shuffled(ROWS, BATCH), epochs=EPOCHS):
        train(step, batch)
elif shape == "epochs":
    for epoch in job.epochs(EPOCHS):
        for step, batch in job.steps(Shuffled(ROWS, BATCH)):
            train(step, batch)
        after_epoch()
elif shape == "outer":
    for epoch in range(EPOCHS):
        for step, batch in job.steps(Shuffled(ROWS, BATCH)):
            train(step, batch)
        after_epoch()
elif shape == "total":
    for step, batch in job.steps(Shuffled(ROWS, BATCH), total=TOTAL):
        train(step, batch)
elif shape == "endless":
    for step, batch in job.steps(endless(ROWS, BATCH), total=TOTAL):
        train(step, batch)
else:
    sys.exit(f"no shape {shape}")

losses = " ".join(float(value).hex() for value in history)
Path(out).write_text(f"{model.fingerprint()}\n{losses}\n{decay.rate.hex()}\n{job.step} {job.epoch}\n")
