"""A convolutional network in PyTorch on random data of the shape of CIFAR-100.

    python examples/train/torch_cifar.py --steps 200
    oef submit -- python examples/train/torch_cifar.py --steps 200

Needs PyTorch, and the package `oef` (`pip install ./python`).
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import oef

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--images", type=int, default=2048)
parser.add_argument("--checkpoints", help="save there when OEF does not say where")
options = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
data = TensorDataset(torch.randn(options.images, 3, 32, 32), torch.randint(100, (options.images,)))
loader = DataLoader(data, batch_size=options.batch, shuffle=True, drop_last=True)


def block(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]


model = nn.Sequential(
    *block(3, 32), *block(32, 64), *block(64, 128), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128 * 16, 100)
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.steps)

job = oef.job(checkpoint_dir=options.checkpoints)
job.restore(model=model, optimizer=optimizer, schedule=schedule)
for step, (images, labels) in job.steps(loader, total=options.steps):
    loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    job.log(loss=loss)
with torch.no_grad():
    print(f"{job.step} steps, weights {sum(p.double().abs().sum().item() for p in model.parameters()):.12f}")
