"""A small network in NumPy that survives preemption.

    python examples/train/plain_numpy.py                           as it is; nothing is saved
    oef submit -- python examples/train/plain_numpy.py             under OEF

Needs NumPy, and the package `oef` (`pip install ./python`).
"""

import argparse

import numpy as np

import oef

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--checkpoints", help="save there when OEF does not say where")
options = parser.parse_args()

rng = np.random.default_rng(0)
inputs = rng.normal(size=(4096, 16))
targets = np.sin(inputs.sum(axis=1, keepdims=True))
network = {
    "w1": rng.normal(size=(16, 64)) / 4, "b1": np.zeros(64),
    "w2": rng.normal(size=(64, 1)) / 8, "b2": np.zeros(1),
}


class Batches:
    """All rows in a new order in every epoch."""

    def __iter__(self):
        order = rng.permutation(len(inputs))
        for rows in np.split(order, 64):
            yield inputs[rows], targets[rows]


def train(x, y, rate=0.05):
    hidden = np.tanh(x @ network["w1"] + network["b1"])
    error = hidden @ network["w2"] + network["b2"] - y
    back = (error @ network["w2"].T) * (1 - hidden**2)
    network["w2"] -= rate * hidden.T @ error / len(x)
    network["b2"] -= rate * error.mean(axis=0)
    network["w1"] -= rate * x.T @ back / len(x)
    network["b1"] -= rate * back.mean(axis=0)
    return float((error**2).mean())


job = oef.job(checkpoint_dir=options.checkpoints)
job.restore(network=network, rng=rng)
loss = float("nan")
for step, (x, y) in job.steps(Batches(), epochs=options.epochs):
    loss = train(x, y)
    job.log(loss=loss)
print(f"{job.step} steps, weights {sum(float(np.abs(w).sum()) for w in network.values()):.12f}")
