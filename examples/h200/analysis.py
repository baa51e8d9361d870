"""Figures of the report: what was promised, held and done, and what restarts cost."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, Dict, List, Optional, Tuple

from results import Results, Run, seconds

Profiles = Dict[str, Dict[str, Any]]

#: The parts of a switch from one job to another on a GPU, in order.
PARTS = (
    ("save", "the old job saves its checkpoint"),
    ("hand over", "its process ends, the daemon starts the next"),
    ("import", "the next process starts and imports its framework"),
    ("build", "it sets up the GPU and builds its model"),
    ("restore", "it reads its checkpoint"),
    ("first step", "until its first step is done"),
)


@dataclass
class Point:
    """A tenant in one round, in units of one GPU of the reference type."""

    round: int
    promised: float
    """What its share is worth."""
    held: float
    """What the GPUs that its jobs held are worth, by the daemon's accounts."""
    trained: float
    """What those GPUs are worth while jobs really trained on them: held, less what switches cost."""
    done: float
    """Steps that its jobs did, over what one reference GPU does by the measured profile."""


def points(results: Results, profiles: Profiles) -> Dict[str, List[Point]]:
    """Every tenant over the whole rounds."""
    found: Dict[str, List[Point]] = {tenant: [] for tenant in tenants(results)}
    accounts = {
        entry["tenant"]: {point["round"]: point for point in entry["history"]} for entry in results.fairness["tenants"]
    }
    for entry in results.whole_rounds():
        begin, number = seconds(entry["began"]), entry["round"]
        for tenant, line in found.items():
            account = accounts.get(tenant, {}).get(number)
            if account is None:
                continue
            span = (begin, begin + entry["length_s"])
            # Both in steps by the profile: what training GPUs should do, and what was done.
            whole = entry["length_s"] * _throughput(profiles, tenant).get(entry["reference"], 0.0)
            trained, done = (
                steps / whole if whole else float("nan")
                for steps in (steps_expected(results, profiles, tenant, *span), steps_between(results, tenant, *span))
            )
            line.append(Point(number, account["promised"], account["delivered"], trained, done))
    return found


def tenants(results: Results) -> List[str]:
    """All that had jobs, in the order in which they came."""
    return list(dict.fromkeys(job["tenant"] for job in results.jobs))


def _throughput(profiles: Profiles, tenant: str) -> Dict[str, float]:
    """Steps a second of the tenant's one workload on each gpu type."""
    for path, profile in profiles.items():
        if path.split("/")[0] == tenant:
            return dict(profile["throughput"])
    return {}


def steps_expected(results: Results, profiles: Profiles, tenant: str, begin: float, end: float) -> float:
    """Steps that the tenant's jobs would have done while they trained in that time, at the speed of the profile."""
    throughput, total = _throughput(profiles, tenant), 0.0
    for job, runs in results.runs.items():
        if results.tenant_of(job) == tenant:
            for run in runs:
                first, last = run.training()
                total += max(0.0, min(last, end) - max(first, begin)) * throughput.get(run.gpu_type, 0.0)
    return total


def speeds(results: Results) -> Dict[Tuple[str, str], float]:
    """Steps a second of each tenant on each gpu type, from the first to the last word of each run."""
    steps: Dict[Tuple[str, str], float] = {}
    time: Dict[Tuple[str, str], float] = {}
    for job, runs in results.runs.items():
        for run in (run for run in runs if len(run.points) > 1):
            place = (results.tenant_of(job), run.gpu_type)
            (began, low, _), (ended, high, _) = run.points[0], run.points[-1]
            steps[place] = steps.get(place, 0.0) + high - low
            time[place] = time.get(place, 0.0) + ended - began
    return {place: done / time[place] for place, done in steps.items() if time[place] > 0}


def steps_between(results: Results, tenant: str, begin: float, end: float) -> float:
    """Steps that the tenant's jobs did in that time, by their traces."""
    total = 0.0
    for job, runs in results.runs.items():
        if results.tenant_of(job) == tenant:
            total += sum(_at(run.progress(), end) - _at(run.progress(), begin) for run in runs)
    return total


def _at(progress: List[Tuple[float, int]], time: float) -> float:
    """Steps at a time, in a straight line between what was told."""
    if time <= progress[0][0]:
        return float(progress[0][1])
    for (before, low), (after, high) in zip(progress, progress[1:]):
        if time <= after:
            return low + (high - low) * (time - before) / (after - before) if after > before else float(high)
    return float(progress[-1][1])


def everybody_there(results: Results, line: List[Point]) -> List[Point]:
    """The rounds with all tenants and true profiles: after the last came, before somebody lied."""
    begin = {entry["round"]: seconds(entry["began"]) for entry in results.rounds}
    first, last = results.times.get("late", 0.0), results.times.get("lie", float("inf"))
    length = results.rounds[-1]["length_s"] if results.rounds else 0.0
    return [point for point in line if begin[point.round] >= first and begin[point.round] + length <= last + 0.5]


def average(line: List[Point], name: str) -> float:
    """The mean of one figure over rounds; not a number for none."""
    return sum(getattr(point, name) for point in line) / len(line) if line else float("nan")


def switches(results: Results) -> List[Dict[str, float]]:
    """What each change of jobs on a GPU took, by its parts; only where the next one came at once."""
    length = results.rounds[-1]["length_s"] if results.rounds else 0.0
    by_gpu: Dict[str, List[Run]] = {}
    for run in (run for runs in results.runs.values() for run in runs):
        by_gpu.setdefault(run.gpu, []).append(run)
    found = []
    for runs in by_gpu.values():
        runs.sort(key=lambda run: run.start["times"]["process"])
        for before, after in zip(runs, runs[1:]):
            if before.end is None or after.first is None:
                continue
            times = after.start["times"]
            gap = times["process"] - before.end["at"]
            if 0 <= gap < length / 2:
                found.append({"save": before.end["save_s"], "hand over": gap, **start_parts(after)})
    return found


def start_parts(run: Run) -> Dict[str, float]:
    """What a start took, from the process to the first step."""
    times = run.start["times"]
    marks = [times["process"], times["imported"], times["built"], times["restored"], run.first or times["restored"]]
    return dict(zip(("import", "build", "restore", "first step"), (b - a for a, b in zip(marks, marks[1:]))))


def spread(values: List[float]) -> Tuple[float, float, float]:
    """Median, least, greatest."""
    return (median(values), min(values), max(values)) if values else (float("nan"),) * 3


@dataclass
class Counts:
    """What became of starts."""

    starts: int
    stopped_with_checkpoint: int
    stopped_before: int
    """Told to stop before they had anything to save: while they were importing, say."""
    moved: int
    """Went on with another gpu type than before."""
    failed: int
    without_step: int


def counts(results: Results) -> Counts:
    """By the daemon's own records of runs, and the traces."""
    runs = [run for job in results.jobs for run in job.get("runs") or []]
    endings = [run.get("ending") for run in runs]
    trained = sum(run.first is not None for all_runs in results.runs.values() for run in all_runs)
    moved = 0
    for job in results.jobs:
        types = [run["gpus"][0]["type"] for run in job.get("runs") or [] if run["gpus"]]
        moved += sum(a != b for a, b in zip(types, types[1:]))
    bad = sum(ending in ("failed", "lost", "timed_out") for ending in endings)
    return Counts(len(runs), endings.count("checkpointed"), endings.count("stopped"), moved, bad, len(runs) - trained)
