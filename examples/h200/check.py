"""A first look at a machine: one short job on each gpu type, and what it saw of the GPU."""

from __future__ import annotations

import json
from pathlib import Path

from cluster import Cluster, ClusterError
from collect import say
from workloads import WORKLOADS, Form

#: Enough to be past the first, slow steps.
STEPS = 60
#: The first start of a framework on a machine may read a lot from a slow disk.
SECONDS = 180.0


def check(cluster: Cluster, form: Form, out: Path) -> None:
    """Runs them one after the other and tells what each found."""
    traces = (out / "check").resolve()
    for found in cluster.ask("cluster")["types"]:
        gpu_type = found["type"]
        command = form.command(WORKLOADS[0], traces, STEPS)
        document = cluster.ask(
            "submit",
            "--wait",
            "--create-tenant",
            "--tenant",
            "check",
            "--workload",
            gpu_type,
            "--types",
            gpu_type,
            "--",
            *command,
            seconds=SECONDS,
        )
        job = document["jobs"][0]
        trace = traces / f"losses-{job['id']}.jsonl"
        if not trace.exists():
            raise ClusterError(f"the job on {gpu_type} is {job['state']}: {job['reason']}")
        lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
        start, end = lines[0], lines[-1]
        first = next(line for line in lines if line.get("event") == "first")
        rate = (end["step"] - first["step"]) / (end["at"] - end["save_s"] - first["at"])
        times = start["times"]
        say(
            f"{gpu_type}: {job['state']}; {start['device']}, multiprocessors {start.get('multiprocessors')}, "
            f"memory {end.get('memory_mib')} MiB; to import {times['imported'] - times['process']:.1f} s, "
            f"to build {times['built'] - times['imported']:.1f} s, to the first step "
            f"{first['at'] - times['restored']:.1f} s; {rate:.1f} steps/s; loss {end['losses'][-1]:.2f}"
        )
