"""Several workers with DistributedDataParallel: all stop at the same step.

    torchrun --nproc-per-node 2 examples/train/torch_ddp.py
    oef submit --workers 2 -- python examples/train/torch_ddp.py

Needs PyTorch, and the package `oef` (`pip install ./python`).
"""

import argparse

import torch
from torch import distributed, nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import oef

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
options = parser.parse_args()

# OEF gives every worker a GPU of its own, which is number 0 in its process.
device = "cuda:0" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")
torch.manual_seed(distributed.get_rank())

inputs = torch.randn(4096, 32, generator=torch.Generator().manual_seed(1))
data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin())
loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data))
model = nn.parallel.DistributedDataParallel(
    nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 1)).to(device)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

job = oef.job()
job.restore(model=model, optimizer=optimizer)
for epoch in job.epochs(options.epochs):
    for step, (x, y) in job.steps(loader):  # Calls set_epoch() of the sampler.
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.log(loss=loss)
    if job.rank == 0:
        print(f"epoch {epoch}: loss {loss.item():.6f}", flush=True)
if job.rank == 0:
    print(f"{job.step} steps, weights {sum(p.double().abs().sum().item() for p in model.parameters()):.12f}")
distributed.destroy_process_group()
