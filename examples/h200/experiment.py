"""One mechanism, from an empty cluster to collected results."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from cluster import Cluster, ClusterError
from collect import collect, say, write
from workloads import WORKLOADS, Form, Workload

#: Profiling is a minute on a GPU. Where one device of each type serves all workloads in turn, it is several.
PROFILE_SECONDS = 400.0
#: Profile runs that share a GPU begin and end within a few seconds of one another. Most of each must have all neighbours.
LEAST_SHARED = ("--least", "15s")
#: How often somebody who watches hears something.
SAY_SECONDS = 5.0
#: The last tenant comes when so much of the time is over: the others have to make room.
LATE = 0.15
#: A tenant that lies begins when so much of the time is over: until then it is known what is true.
LIE = 0.65

Profiles = Dict[str, Dict[str, Any]]


@dataclass(frozen=True)
class Plan:
    """What is to be done under one mechanism."""

    mechanism: str
    seconds: float
    jobs_per_tenant: int
    form: Form
    out: Path
    lie: Optional[Tuple[str, float]]

    @property
    def folder(self) -> Path:
        """Where its results go."""
        return self.out / self.mechanism


def profile(cluster: Cluster, form: Form, out: Path) -> Profiles:
    """Measures every workload on every gpu type, all of them at once."""

    # Written before the threads begin: where one of them fails, the others may outlive this call and its folders.
    traces, folder = (out / "probes").resolve(), cluster.folder / "files"
    files = {work.path: form.job_file(work, 0, traces, folder) for work in WORKLOADS}

    def one(work: Workload) -> Tuple[str, Dict[str, Any]]:
        document = None
        try:
            least = LEAST_SHARED if form.device == "cuda" else ()
            words = ("profile", str(files[work.path]), "--create-tenant", "--types", "all", "--workers", "1", *least)
            document = cluster.ask(*words, seconds=PROFILE_SECONDS)
        except ClusterError as error:
            # One type may have failed, and the others are known: that is enough to go on.
            say(f"warning: {error}")
        measured = cluster.ask("profile", "show", work.path)["profile"]
        marks: Dict[str, Dict[str, Any]] = measured.get("marks", {})
        if not {measured["provenance"], *(mark["provenance"] for mark in marks.values())} & {"measured"}:
            raise ClusterError(f"{work.path} could not be profiled; nothing of it was measured")
        say(f"{work.path}: " + ", ".join(f"{name} {value:.3g}/s" for name, value in measured["throughput"].items()))
        return work.path, {"throughput": measured["throughput"], "marks": marks, "said": document}

    threads = ThreadPoolExecutor(len(WORKLOADS))
    try:
        return dict(threads.map(one, WORKLOADS))
    finally:
        # After Ctrl-C nobody waits for them: they end when the daemon does.
        threads.shutdown(wait=False, cancel_futures=True)


def run(cluster: Cluster, plan: Plan, profiles: Profiles) -> None:
    """Submits the jobs, lets them train, and collects; also what there is after Ctrl-C."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    marks: Dict[str, float] = {"began": began}
    try:
        _follow(cluster, plan, profiles, marks)
    finally:
        marks["ended"] = time.time()
        write(plan.folder / "times.json", marks)
        collect(cluster, plan.folder)


def declare(cluster: Cluster, profiles: Profiles) -> None:
    """Profiles that were measured before count as such."""
    for work in WORKLOADS:
        told = figures(profiles[work.path]["throughput"])
        cluster.call("workload", "set", work.path, "--measured", "--throughput", told)


def prepare(cluster: Cluster) -> None:
    """The tenants, all of the same weight."""
    for work in WORKLOADS:
        cluster.call("tenant", "create", work.tenant)


def _follow(cluster: Cluster, plan: Plan, profiles: Profiles, marks: Dict[str, float]) -> None:
    *early, late = WORKLOADS
    _submit(cluster, plan, early)
    steps: List[Tuple[float, str]] = [(LATE, "late")]
    steps += [(LIE, "lie")] if plan.lie else []
    next_word = 0.0
    while (part := (time.time() - marks["began"]) / plan.seconds) < 1:
        if steps and part >= steps[0][0]:
            name = steps.pop(0)[1]
            marks[name] = time.time()
            if name == "late":
                _submit(cluster, plan, [late])
            elif plan.lie:
                _lie(cluster, profiles, *plan.lie)
        if time.monotonic() >= next_word:
            next_word = time.monotonic() + SAY_SECONDS
            say(f"{plan.mechanism}: {100 * part:3.0f} %, {_standing(cluster)}")
            _check_failures(cluster, plan.jobs_per_tenant)
        time.sleep(0.25)


def _check_failures(cluster: Cluster, many: int) -> None:
    """Where so many jobs fail, waiting shows nothing: their reason does."""
    failed = [job for job in cluster.jobs(everything=True) if job["state"] == "failed"]
    if len(failed) >= many:
        raise ClusterError(f"{len(failed)} jobs failed; job {failed[0]['id']}: {failed[0]['reason']}")


def _submit(cluster: Cluster, plan: Plan, workloads: List[Workload]) -> None:
    # By turns, so that nobody has all GPUs only because it came first.
    for number in range(1, plan.jobs_per_tenant + 1):
        for work in workloads:
            traces = (plan.folder / "traces").resolve()
            cluster.call("submit", "--file", str(plan.form.job_file(work, number, traces, cluster.folder / "files")))


def _lie(cluster: Cluster, profiles: Profiles, tenant: str, factor: float) -> None:
    """The tenant itself declares that its fastest type is `factor` times as fast as it is."""
    work = next(work for work in WORKLOADS if work.tenant == tenant)
    true: Dict[str, float] = profiles[work.path]["throughput"]
    fastest = max(true, key=lambda name: true[name])
    false = {name: value * (factor if name == fastest else 1) for name, value in true.items()}
    token = cluster.ask("token", "create", "--role", "tenant", "--tenant", tenant)["secret"]
    cluster.call("workload", "set", work.path, "--throughput", figures(false), token=token)
    say(f"{tenant} now says {figures(false)}; true is {figures(true)}")


def figures(throughput: Dict[str, float]) -> str:
    """As the client takes it."""
    return ",".join(f"{name}={value:.6g}" for name, value in sorted(throughput.items()))


def _standing(cluster: Cluster) -> str:
    words = []
    jobs = cluster.jobs()
    for work in WORKLOADS:
        own = [job for job in jobs if job["tenant"] == work.tenant]
        running = sum(job["state"] == "running" for job in own)
        words.append(
            f"{work.model} {running} of {len(own)} run, {sum(job['progress']['steps'] for job in own):.0f} steps"
        )
    return "; ".join(words)
