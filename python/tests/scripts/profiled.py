"""Trains for ever with batches of known length: profiled.py SECONDS,... (in turn) [WAIT]; with KIND=steps|epochs|lightning|huggingface.

TEST_STOP_STEP: sends the stop signal to itself in that step. TEST_STEPS: how many steps there are at most.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, Iterator

import oef

lengths = [float(word) for word in sys.argv[1].split(",")]
wait = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
steps = int(os.environ.get("TEST_STEPS", "100000"))
stop_at = int(os.environ.get("TEST_STOP_STEP", "-1"))


class Data:
    def __iter__(self) -> Iterator[int]:
        for number in range(steps):
            time.sleep(wait)
            yield number


def work(step: int) -> None:
    # The first ones are slow, as they are everywhere.
    time.sleep(lengths[step % len(lengths)] + (0.2 if step < 2 else 0.0))
    if step == stop_at:
        os.kill(os.getpid(), signal.SIGTERM)


kind = os.environ.get("KIND", "steps")
if kind == "steps":
    job = oef.job()
    weights = [0.0]
    print("restored", job.restore(weights=weights), flush=True)
    for step, _ in job.steps(Data()):
        work(step)
elif kind == "epochs":
    job = oef.job()
    for epoch in job.epochs(1000):
        for step, _ in job.steps(range(7)):
            work(step)
        time.sleep(0.3)  # Validation is no training.
else:
    import fakes

    fakes.install()
    trainer: Any
    if kind == "lightning":
        import oef.lightning

        callback = oef.lightning.OEFCallback(checkpoint_every=1e-9)
        trainer = fakes.LightningTrainer([callback], steps)
        trainer.fit(work, callback.ckpt_path)
    else:
        import oef.huggingface as hf

        trainer = fakes.HuggingFaceTrainer([hf.OEFCallback(checkpoint_every=1e-9)], hf.output_dir("out"), steps)
        trainer.train(work, hf.last_checkpoint("out"))
print("end", flush=True)
