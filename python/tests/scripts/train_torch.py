"""Trains a small network with PyTorch: train_torch.py LOADER OUT, with LOADER one of
plain, workers, generator, stateful, cycle, gathered (gradients of three batches for a step), validated (after each epoch,
with workers; the signal comes meanwhile), ddp, ddp-gathered, ddp-join (inside of PyTorch's Join).

TEST_STOP_STEP: sends the stop signal to its whole process group in that step, as OEF does.
TEST_DEVICE: where to train.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import oef

EPOCHS, TOTAL = 3, 36
kind, out = sys.argv[1:3]
device = os.environ.get("TEST_DEVICE", "cpu")


class Noisy(Dataset):  # type: ignore[type-arg]
    """Draws at every access, as an augmentation does."""

    def __init__(self) -> None:
        fixed = torch.Generator().manual_seed(4)
        self.x = torch.randn(48, 6, generator=fixed)
        self.y = (self.x.sum(1, keepdim=True) > 0).float()

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> "tuple[torch.Tensor, torch.Tensor]":
        return self.x[index] + 0.1 * torch.randn(6), self.y[index]


torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)
data = Noisy()
distributed = kind.startswith("ddp")
gathered = 3 if kind.endswith("gathered") else 1
if distributed:
    torch.distributed.init_process_group("gloo")
network: nn.Module = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 1))
network.to(device)
if distributed:
    torch.manual_seed(100 + torch.distributed.get_rank())
    network = nn.parallel.DistributedDataParallel(network)
optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=TOTAL)

if kind == "generator":
    loader = DataLoader(data, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(8))
elif kind == "workers":
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=2)
elif kind == "stateful":
    from torchdata.stateful_dataloader import StatefulDataLoader

    loader = StatefulDataLoader(data, batch_size=4, shuffle=True)
elif distributed:
    sampler = torch.utils.data.distributed.DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=2, sampler=sampler)
else:
    loader = DataLoader(data, batch_size=4, shuffle=True)

job = oef.job()
job.restore(network=network, optimizer=optimizer, scheduler=scheduler)
stop_at = int(os.environ.get("TEST_STOP_STEP", "-1"))
seen = job.state.setdefault("seen", [])


def cycle():  # type: ignore[no-untyped-def]
    while True:
        yield from loader


def stop() -> None:
    if job.rank == 0:
        os.killpg(os.getpgid(0), signal.SIGTERM)


def train(step: int, x: torch.Tensor, y: torch.Tensor) -> None:
    x, y = x.to(device), y.to(device)
    ends = (step + 1) % gathered == 0
    with network.no_sync() if distributed and not ends else contextlib.nullcontext():  # type: ignore[operator]
        loss = nn.functional.binary_cross_entropy_with_logits(network(x), y)
        if gathered == 1:
            optimizer.zero_grad()
        loss.backward()
    if ends:
        optimizer.step()
        scheduler.step()
        if gathered > 1:
            optimizer.zero_grad()
    job.log(loss=loss)
    seen.append(float(x.sum()))
    if step == stop_at and kind != "validated":
        stop()


def validate() -> None:
    told = 0 <= stop_at < job.step <= stop_at + len(loader)
    network.eval()
    for number, (x, _) in enumerate(DataLoader(data, batch_size=4, num_workers=2)):
        seen.append(float(network(x).sum().detach()))
        if told and number == 2:
            stop()
    network.train()


optimizer.zero_grad()
if kind == "validated":
    for _ in job.epochs(EPOCHS):
        for step, (x, y) in job.steps(loader):
            train(step, x, y)
        validate()
else:
    with torch.distributed.algorithms.Join([network]) if kind == "ddp-join" else contextlib.nullcontext():
        for step, (x, y) in job.steps(cycle(), total=TOTAL) if kind == "cycle" else job.steps(loader, epochs=EPOCHS):
            train(step, x, y)

flat = [tensor.detach().cpu().double() for tensor in network.state_dict().values()]
text = " ".join(float(v).hex() for v in itertools.chain.from_iterable(t.flatten().tolist() for t in flat))
if job.rank == 0:
    Path(out).write_text(f"{text}\n{' '.join(v.hex() for v in seen)}\n{torch.rand(1).item().hex()}\n{job.step}\n")
if distributed:
    torch.distributed.destroy_process_group()
