"""The same promise with PyTorch: bit-identical weights after preemptions, whatever the loader; gangs under DDP."""

from __future__ import annotations

import unittest
from typing import List, Optional

from .harness import Case, FakeRun, have, seeded

TORCH = have("torch")
STEPS = 36


@unittest.skipUnless(TORCH, "not run: PyTorch is not installed")
class Torch(Case):
    def check(self, kind: str, workers: int = 1, device: str = "cpu", stops: Optional[List[int]] = None) -> None:
        expected = self.finish(kind, "whole", workers, device, [])
        if stops is None:
            chance = seeded("torch", kind, device)
            stops, at = [], chance.randint(0, 6)
            while at < STEPS - 2:
                stops.append(at)
                at += chance.randint(9, 16)
            self.assertGreaterEqual(len(stops), 2)
        self.assertEqual(self.finish(kind, "stopped", workers, device, stops), expected, f"{kind} {device} {stops}")

    def finish(self, kind: str, name: str, workers: int, device: str, stops: List[int]) -> str:
        out = self.folder / f"{name}-{kind}"
        extra = {"TEST_DEVICE": device, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        run = FakeRun(self, self.folder / f"job-{name}-{kind}", "train_torch.py", [kind, str(out)], workers=workers, extra=extra)
        for at in stops:
            self.assertEqual(run.life(TEST_STOP_STEP=str(at)), [75] * workers, run.errors)
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

    def test_gradients_that_were_gathered_and_not_used_yet(self) -> None:
        self.check("gathered", stops=[0, 4, 5, 18])

    def test_a_validation_whose_workers_get_the_signal_too(self) -> None:
        self.check("validated", stops=[3, 15])

    def test_distributed_data_parallel(self) -> None:
        self.check("ddp", workers=2)

    def test_distributed_data_parallel_that_gathers_gradients(self) -> None:
        self.check("ddp-gathered", workers=2, stops=[3, 16])

    def test_join_is_refused(self) -> None:
        run = self.job("train_torch.py", "ddp-join", str(self.folder / "out"), workers=2)
        self.assertEqual(run.life(), [1, 1], run.errors)
        self.assertIn("steps() is used inside of Join with network", run.errors)

    def test_gradients_that_were_used_are_not_saved(self) -> None:
        import torch

        from oef._gradients import Gradients

        layer = torch.nn.Linear(2, 1)
        optimizer, gradients = torch.optim.SGD(layer.parameters(), 0.1), Gradients()
        gradients.watch("optimizer", optimizer)

        def backward() -> None:
            layer(torch.ones(1, 2)).sum().backward()

        for name, calls, pending in [
            ("nothing yet", [], False), ("one step", [backward, optimizer.step], False), ("gathered", [backward], True),
            ("cleared", [optimizer.zero_grad], False), ("used, then more", [backward, optimizer.step, backward], True),
            ("used and cleared, then more", [optimizer.step, optimizer.zero_grad, backward], True),
            ("once more", [optimizer.step, optimizer.zero_grad, backward], True),
        ]:
            with self.subTest(name):
                gradients.step_begins()
                for call in calls:
                    call()
                self.assertEqual(bool(gradients.pending()), pending)

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
