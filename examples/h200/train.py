"""One training job of the H200 example: VGG, ResNet, LSTM or Transformer on random data that can be learnt.

    python examples/h200/train.py --model resnet --steps 200
    python examples/h200/train.py --model lstm --steps 200 --small --device cpu

The three lines of the package `oef` make it a job that is preempted and goes on; everything else is training, and
a trace of what happened for the report. Without PyTorch, `--small` trains stand-ins in NumPy.
"""

from __future__ import annotations

import time

STARTED = time.time()  # Before the imports, which take seconds: they are part of what a restart costs.

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, Optional

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python" / "src")]

import oef

from pace import Pace
from tracing import Trace

MODELS = ("vgg", "resnet", "resnet50", "lstm", "transformer")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, help="by default what suits the model")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="by default cuda where there is one")
    parser.add_argument("--gpu", help="use this GPU, whatever the environment says: for emulated parts of one GPU")
    parser.add_argument("--small", action="store_true", help="tiny networks, for a CPU")
    parser.add_argument("--engine", choices=("torch", "numpy"), help="by default torch where it is installed")
    parser.add_argument(
        "--seed", type=int, help="by default the job's number, so that alike jobs have the same command"
    )
    parser.add_argument(
        "--pace", type=float, metavar="MS", help="emulate gpu types: a step of so many ms on the slowest"
    )
    parser.add_argument("--trace", type=Path, metavar="DIR", help="write losses and times there")
    parser.add_argument("--checkpoints", help="save there when OEF does not say where")
    options = parser.parse_args()
    options.seed = int(os.environ.get("OEF_JOB_ID", "1")) if options.seed is None else options.seed
    return options


def training(options: argparse.Namespace) -> Any:
    """The network with its data; `torch` is imported here, because that takes seconds."""
    if options.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = options.gpu
    engine = options.engine or ("torch" if importlib.util.find_spec("torch") else "numpy")
    if engine == "torch":
        from torch_training import TorchTraining

        return TorchTraining
    if not options.small:
        sys.exit("PyTorch is not installed: install it, or train the stand-ins with --small")
    from numpy_training import NumpyTraining

    return NumpyTraining


def main() -> None:
    options = arguments()
    kind = training(options)
    imported = time.time()
    work = kind(options.model, options.batch, options.device, options.small, options.seed)
    built = time.time()
    job = oef.job(checkpoint_dir=options.checkpoints)
    job.restore(**work.restorable())
    # A profile run measures and ends; its steps are nobody's training.
    folder: Optional[Path] = None if os.environ.get("OEF_PROFILE") else options.trace
    trace = Trace(folder, work, STARTED, imported, built, job.step)
    pace = Pace(options.pace, options.model, os.environ.get("OEF_GPU_TYPE"))
    try:
        for step, batch in job.steps(work.batches, total=options.steps):
            loss = work.step(batch)
            job.log(loss=loss)
            pace.wait()
            trace.step_done(step, loss)
    finally:
        # Also when it was told to stop: the checkpoint is written by now.
        trace.end(job.step)
    print(f"{job.step} steps, loss {trace.last_loss():.4f}")


if __name__ == "__main__":
    main()
