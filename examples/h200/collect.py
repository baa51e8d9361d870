"""Everything the report needs, taken from the running daemon into files."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from cluster import Cluster
from machine import without_machine


def write(path: Path, document: Any) -> None:
    """A JSON file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(path.name + ".new")
    text = json.dumps(document, indent=1) + "\n"
    if isinstance(document, list):
        # A line for each entry: long lists stay small, and can still be read.
        text = "[\n" + ",\n".join(json.dumps(entry) for entry in document) + "\n]\n"
    other.write_text(without_machine(text), encoding="utf-8")
    other.replace(path)


def collect(cluster: Cluster, folder: Path) -> None:
    """Rounds, fairness, jobs with their histories, events, workloads and settings, a file each."""
    newest = cluster.ask("round")["round"]
    write(folder / "rounds.json", [cluster.ask("round", str(number)) for number in range(1, newest + 1)])
    write(folder / "fairness.json", cluster.ask("fairness", "--history"))
    jobs = [cluster.ask("job", str(job["id"])) for job in cluster.jobs(everything=True)]
    write(folder / "jobs.json", sorted((without_paths(job) for job in jobs), key=lambda job: int(job["id"])))
    write(folder / "events.json", cluster.ask("events")["events"])
    write(folder / "workloads.json", cluster.ask("workloads")["workloads"])
    write(folder / "settings.json", cluster.ask("settings"))


def without_paths(job: Dict[str, Any]) -> Dict[str, Any]:
    """A job without the folders of the machine that it ran on, which say nothing to others."""
    spec = dict(job.get("spec") or {})
    spec.pop("workdir", None)
    spec["command"] = [os.path.basename(part) if "/" in part else part for part in spec.get("command", [])]
    return {**job, "spec": spec}


def conditions(oef: Path, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """The machine and the programs, as far as they can be asked."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "oef": _said([str(oef), "--version"]),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": len(os.sched_getaffinity(0)),
        "gpu": gpu_facts(),
        "arguments": arguments,
    }


def gpu_facts() -> Optional[Dict[str, Any]]:
    """Name, driver and memory of the first GPU; none where there is none."""
    line = _said(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader,nounits"])
    parts: List[str] = [part.strip() for part in (line or "").splitlines()[:1] for part in part.split(",")]
    if len(parts) != 3 or not parts[2].isdigit():
        return None
    return {"name": parts[0], "driver": parts[1], "memory_mib": int(parts[2])}


def _said(command: List[str]) -> Optional[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def say(text: str) -> None:
    """Progress, on the error stream."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
