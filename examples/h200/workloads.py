"""The four tenants and what each trains."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Union

HERE = Path(__file__).resolve().parent

#: More than any run comes to: jobs end because they are cancelled.
ENDLESS = 100_000_000
#: A start on a crowded GPU may fail once; the report says so, and the experiment goes on.
RETRIES = 2
#: A step on the slowest emulated type, in ms: long against what a tiny network needs, short against a second.
PACE_MS = 60.0
#: The same where a dozen whole networks share one GPU by turns: so long that the GPU has time for all.
PACE_SHARED_MS = 300.0
#: Below this memory (MiB) a dozen jobs do not fit with whole batches: half of them, then a quarter.
WHOLE_BATCHES, HALF_BATCHES = 40_000, 24_000


@dataclass(frozen=True)
class Workload:
    """A tenant with its one kind of job."""

    tenant: str
    name: str
    model: str
    batch: int

    @property
    def path(self) -> str:
        """As the client writes it."""
        return f"{self.tenant}/{self.name}"


WORKLOADS = (
    Workload("vision-vgg", "vgg16-cifar100", "vgg", 128),
    Workload("vision-resnet", "resnet18-cifar100", "resnet", 128),
    Workload("language-lstm", "lstm-wikitext2", "lstm", 64),
    Workload("language-transformer", "transformer-wikitext2", "transformer", 16),
)


@dataclass(frozen=True)
class Form:
    """How jobs run here: on parts of a GPU, or emulated."""

    small: bool
    pace_ms: Optional[float]
    device: str
    gpu: Optional[str]
    memory_mib: Optional[int]
    warm: bool = False
    """Whether jobs are forked from a process that has imported PyTorch already."""

    def command(self, work: Workload, traces: Path, steps: int = ENDLESS) -> List[str]:
        """The program of one job; the same for all jobs of a workload, so that their speeds can be compared."""
        command = [sys.executable, str(HERE / "train.py"), "--model", work.model, "--device", self.device]
        command += ["--steps", str(steps), "--trace", str(traces)]
        if self.small:
            command.append("--small")
        else:
            command += ["--batch", str(self._batch(work))]
        command += ["--pace", f"{self.pace_ms:g}"] if self.pace_ms is not None else []
        command += ["--gpu", self.gpu] if self.gpu is not None else []
        return command

    def _batch(self, work: Workload) -> int:
        memory = self.memory_mib or WHOLE_BATCHES
        return work.batch // (1 if memory >= WHOLE_BATCHES else 2 if memory >= HALF_BATCHES else 4)

    def job_file(self, work: Workload, number: int, traces: Path, folder: Path) -> Path:
        """A file for `oef submit --file` and for `oef profile`."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{work.model}-{number}.toml"
        lines: Dict[str, Union[int, str, List[str]]] = {
            "name": f"{work.model}-{number}",
            "tenant": work.tenant,
            "workload": work.name,
            "command": self.command(work, traces),
            "retries": RETRIES,
        }
        if self.warm:
            lines["warm"] = ["torch"]
        # Numbers, strings and lists of strings are written alike in JSON and TOML.
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
        path.write_text(text, encoding="utf-8")
        return path
