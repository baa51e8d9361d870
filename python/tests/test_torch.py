"""The same promise with PyTorch: bit-identical weights after preemptions, whatever the loader; gangs under DDP."""

from __future__ import annotations

import socket
import unittest
from typing import List

from .harness import Case, FakeRun, have, seeded

TORCH = have("torch")
STEPS = 36


@unittest.skipUnless(TORCH, "not run: PyTorch is not installed")
class Torch(Case):
    def check(self, kind: str, workers: int = 1, device: str = "cpu", lives_min: int = 2) -> None:
        expected = self.finish(kind, "whole", workers, device, [])
        chance = seeded("torch", kind, device)
        stops, at = [], chance.randint(0, 6)
        while at < STEPS - 2:
            stops.append(at)
            at += chance.randint(9, 16)
        self.assertGreaterEqual(len(stops), lives_min)
        self.assertEqual(self.finish(kind, "stopped", workers, device, stops), expected, f"{kind} {device} {stops}")

    def finish(self, kind: str, name: str, workers: int, device: str, stops: List[int]) -> str:
        out = self.folder / f"{name}-{kind}"
        extra = {"TEST_DEVICE": device, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        run = FakeRun(self, self.folder / f"job-{name}-{kind}", "train_torch.py", [kind, str(out)], workers=workers, extra=extra)
        for at in stops:
            run.extra["MASTER_PORT"] = free_port()
            self.assertEqual(run.life(TEST_STOP_STEP=str(at)), [75] * workers, run.errors)
        run.extra["MASTER_PORT"] = free_port()
        self.assertEqual(run.life(), [0] * workers, run.errors)
        return out.read_text()

    def test_data_loader(self) -> None:
        self.check("plain")

    def test_data_loader_with_workers_that_get_the_signal_too(self) -> None:
        self.check("workers")

    def test_data_loader_with_a_generator_of_its_own(self) -> None:
        self.check("generator")

    def test_generator_that_cycles_through_a_loader(self) -> None:
        self.check("cycle")

    @unittest.skipUnless(have("torchdata"), "not run: torchdata is not installed")
    def test_stateful_data_loader(self) -> None:
        self.check("stateful")

    def test_distributed_data_parallel(self) -> None:
        self.check("ddp", workers=2)

    def test_what_becomes_of_tensors_in_a_checkpoint(self) -> None:
        import torch

        from oef import _file

        base = torch.arange(1000.0)
        layer = torch.nn.Linear(2, 2)
        saved = {"view": base[3:5], "model": layer, "grad": torch.ones(3, requires_grad=True), "half": torch.ones(2).bfloat16()}
        path = self.folder / "file"
        _file.write(path, {}, saved)
        self.assertLess(path.stat().st_size, 4000 + 4000, "a view does not bring along what it is a view of")
        found = _file.read(path)
        self.assertTrue(torch.equal(found["view"], base[3:5]))
        self.assertTrue(found["grad"].requires_grad)
        self.assertEqual(found["half"].dtype, torch.bfloat16)
        self.assertIsInstance(found["model"].weight, torch.nn.Parameter)
        self.assertTrue(torch.equal(found["model"].weight, layer.weight))

    def test_on_a_gpu(self) -> None:
        import torch

        if not torch.cuda.is_available():
            self.skipTest("not run: there is no GPU")
        self.check("plain", device="cuda")


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])
