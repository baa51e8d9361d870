"""Training in PyTorch: a network, its optimizer, and random data from which it can learn something."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor, nn

from batches import CHANNELS, CLASSES, MISLABELLED, SIDE, SMALL_WORDS, SUCCESSORS, USED_WORDS, VOCABULARY, Batches
from models import Lstm, Transformer, resnet, vgg

#: A dozen processes share one GPU, and each has a CUDA context beside this.
MEMORY_MAX = 4 * 2**30
#: Words in a sequence.
LENGTHS = {"lstm": 35, "transformer": 128}
#: Examples in a batch: of the usual sizes, and small enough for a dozen at once.
BATCHES = {"vgg": 128, "resnet": 128, "resnet50": 64, "lstm": 64, "transformer": 16}
#: Learning rates that let the loss fall within a minute.
RATES = {"vgg": 0.02, "resnet": 0.05, "resnet50": 0.05, "lstm": 2e-3, "transformer": 5e-4}
#: Sequences in the text that is made up at the start; later batches begin again.
TEXT_ROWS = 4_096


class TorchTraining:
    """One model with what it needs for a step."""

    engine = f"PyTorch {torch.__version__}"

    def __init__(self, model: str, batch: Optional[int], device: Optional[str], small: bool, seed: int) -> None:
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        _set_up(self._device)
        torch.manual_seed(seed)
        self._seed = seed
        self._size = batch or (8 if small else BATCHES[model])
        self._length = LENGTHS.get(model, 0) // (4 if small else 1)
        self._words, self._vocabulary = (SMALL_WORDS, SMALL_WORDS) if small else (USED_WORDS, VOCABULARY)
        self._model = self._build(model, small).to(self._device)
        self._optimizer: torch.optim.Optimizer
        if self._length:
            self._optimizer = torch.optim.Adam(self._model.parameters(), lr=RATES[model] * (10 if small else 1))
            self._text = self._make_text()
            self.batches: Batches[Tuple[Tensor, Tensor]] = Batches(self._words_batch)
        else:
            self._optimizer = torch.optim.SGD(self._model.parameters(), lr=RATES[model], momentum=0.9)
            self._means = self._make_means()
            self._random = torch.Generator(self._device)
            self.batches = Batches(self._image_batch)

    def restorable(self) -> Dict[str, Any]:
        return {"model": self._model, "optimizer": self._optimizer}

    def step(self, batch: Tuple[Tensor, Tensor]) -> Tensor:
        """One step; the loss, which may still be computed when this returns."""
        inputs, targets = batch
        loss: Tensor = nn.functional.cross_entropy(self._model(inputs).flatten(0, -2), targets.flatten())
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self._length:
            nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        return loss.detach()

    def wait(self) -> None:
        """Until the GPU has done what it was told."""
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def device_facts(self) -> Dict[str, Any]:
        if self._device.type != "cuda":
            return {"device": "cpu"}
        found = torch.cuda.get_device_properties(0)
        return {"device": found.name, "multiprocessors": found.multi_processor_count}

    def memory_facts(self) -> Dict[str, Any]:
        if self._device.type != "cuda":
            return {}
        return {"memory_mib": torch.cuda.max_memory_reserved() // 2**20}

    def _build(self, model: str, small: bool) -> nn.Module:
        if model == "lstm":
            return Lstm(self._vocabulary, small)
        if model == "transformer":
            return Transformer(self._vocabulary, self._length, small)
        return vgg(small) if model == "vgg" else resnet(small, bottleneck=model == "resnet50")

    def _make_means(self) -> Tensor:
        """A coarse pattern for each class, which images of the class have under their noise."""
        random = torch.Generator().manual_seed(self._seed)
        coarse = 0.7 * torch.randn(CLASSES, CHANNELS, SIDE // 4, SIDE // 4, generator=random)
        return nn.functional.interpolate(coarse, size=SIDE, mode="nearest").to(self._device)

    def _image_batch(self, number: int) -> Tuple[Tensor, Tensor]:
        random, device = self._random.manual_seed(self._seed * 1_000_003 + number), self._device
        labels = torch.randint(CLASSES, (self._size,), generator=random, device=device)
        noise = torch.randn(self._size, CHANNELS, SIDE, SIDE, generator=random, device=device)
        others = torch.randint(CLASSES, (self._size,), generator=random, device=device)
        wrong = torch.rand(self._size, generator=random, device=device) < MISLABELLED
        return self._means[labels] + noise, torch.where(wrong, others, labels)

    def _make_text(self) -> Tensor:
        """A Markov chain: each word that occurs has a few that may follow it."""
        random = torch.Generator().manual_seed(self._seed)
        names = torch.randperm(self._vocabulary, generator=random)[: self._words]
        followers = torch.randint(self._words, (self._words, SUCCESSORS), generator=random)
        words = [torch.randint(self._words, (TEXT_ROWS,), generator=random)]
        for _ in range(self._length):
            choice = torch.randint(SUCCESSORS, (TEXT_ROWS,), generator=random)
            words.append(followers[words[-1], choice])
        return names[torch.stack(words, dim=1)].to(self._device)

    def _words_batch(self, number: int) -> Tuple[Tensor, Tensor]:
        first = number * self._size % (TEXT_ROWS - self._size + 1)
        rows = self._text[first : first + self._size]
        return rows[:, :-1], rows[:, 1:]


def _set_up(device: torch.device) -> None:
    if device.type != "cuda":
        # Several jobs share the cores.
        torch.set_num_threads(1)
        return
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, MEMORY_MAX / whole))
