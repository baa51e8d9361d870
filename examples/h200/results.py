"""The collected files of one mechanism, read into values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

#: Words by which the guard against false profiles is known in events.
_GUARD = re.compile(r"its jobs.* showed|jobs of .* show |what was seen counts|wait for their data|became much slower")


@dataclass
class Run:
    """One start of a job that came as far as its training loop."""

    job: int
    restart: int
    gpu: str
    gpu_type: str
    start: Dict[str, Any]
    first: Optional[float] = None
    early: List[float] = field(default_factory=list)
    points: List[Tuple[float, int, float]] = field(default_factory=list)
    end: Optional[Dict[str, Any]] = None

    @property
    def from_step(self) -> int:
        """Where it began."""
        return int(self.start["step"])

    def training(self) -> Tuple[float, float]:
        """From when to when it trained; nothing of a time when it did no step."""
        told = self.progress()
        return (told[0][0] if self.first is not None else told[-1][0], told[-1][0])

    def progress(self) -> List[Tuple[float, int]]:
        """When it had done how many steps."""
        told = [(self.start["times"]["restored"], self.from_step)]
        told += [(at, step) for at, step, _ in self.points]
        if self.end is not None:
            told.append((self.end["at"] - self.end["save_s"], self.end["step"]))
        return sorted(told)


@dataclass
class Results:
    """All of one mechanism."""

    mechanism: str
    conditions: Dict[str, Any]
    times: Dict[str, float]
    rounds: List[Dict[str, Any]]
    fairness: Dict[str, Any]
    jobs: List[Dict[str, Any]]
    events: List[Dict[str, Any]]
    workloads: List[Dict[str, Any]]
    settings: Dict[str, Any]
    runs: Dict[int, List[Run]]

    def tenant_of(self, job: int) -> str:
        """Who owns it."""
        return next(str(entry["tenant"]) for entry in self.jobs if entry["id"] == job)

    def whole_rounds(self) -> List[Dict[str, Any]]:
        """Rounds that lie within the measured time, all of them."""
        inside = [(seconds(entry["began"]), entry) for entry in self.rounds]
        begin, end = self.times["began"], self.times["ended"]
        return [entry for at, entry in inside if at >= begin - 0.5 and at + entry["length_s"] <= end + 0.5]

    def guard_events(self) -> List[Dict[str, Any]]:
        """What the guard against false profiles said."""
        return [event for event in self.events if _GUARD.search(event["message"])]

    def starts(self) -> int:
        """How often a job was started in all."""
        return sum(len(job.get("runs") or []) for job in self.jobs)


def read(folder: Path) -> Optional[Results]:
    """The results in a folder; nothing when there are none."""
    if not (folder / "jobs.json").exists():
        return None
    names = ("conditions", "times", "rounds", "fairness", "jobs", "events", "workloads", "settings")
    documents = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    documents["jobs"] = [job for job in documents["jobs"] if not _is_probe(job)]
    runs = {}
    for path in (folder / "traces").glob("losses-*.jsonl"):
        number = int(path.stem.split("-")[1])
        runs[number] = read_trace(number, path.read_text(encoding="utf-8").splitlines())
    known = {job["id"] for job in documents["jobs"]}
    return Results(folder.name, runs={job: runs[job] for job in sorted(runs) if job in known}, **documents)


def _is_probe(job: Dict[str, Any]) -> bool:
    """A job that only measured a profile; its number is 0."""
    return bool((job.get("spec") or {}).get("probe")) or str(job["name"]).endswith("-0")


def read_trace(job: int, lines: List[str]) -> List[Run]:
    """The runs of one job, the oldest first. A line that was cut off, because the job was killed, is left out."""
    runs: List[Run] = []
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        event = line.get("event")
        if event == "start":
            runs.append(Run(job, line["restart"], line["gpu"], line["type"], line))
        elif not runs:
            continue
        elif event == "first":
            runs[-1].first = line["at"]
        elif event == "early":
            runs[-1].early = line["losses"]
        elif event == "end":
            runs[-1].end = line
        else:
            runs[-1].points.append((line["at"], line["step"], line["loss"]))
    return runs


def seconds(timestamp: str) -> float:
    """A time of the interface as seconds since 1970."""
    # Python before 3.11 knows only fractions of 3 or 6 digits.
    whole, _, fraction = timestamp.rstrip("Z").partition(".")
    return datetime.fromisoformat(whole + "+00:00").timestamp() + (float("0." + fraction) if fraction else 0.0)
