"""Jobs: submit, watch, change, wait."""

from __future__ import annotations

import logging
import os
import secrets
import time
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._base import Base
from ._errors import WaitTimeout
from ._events import EventStream
from ._logs import LogReader
from ._models import ENDED, Job, JobSpec, Moment, Seconds, Why, fields_of, number, numbers
from ._sweep import called, expand

_log = logging.getLogger("oef.client")


class _Unset:
    """A field that is not changed, where `None` removes it."""


_UNSET = _Unset()


class JobRoutes(Base):
    """What a tenant does with jobs. A job is named by its number or as a `Job`."""

    def submit(
        self,
        command: Union[JobSpec, Sequence[object], None] = None,
        *,
        key: Optional[str] = None,
        create_tenant: bool = False,
        **fields: Any,
    ) -> int:
        """Submits a job and gives its number. It is durable then.

        `fields` are those of `JobSpec`. If the answer is lost, the request is sent again with the same key, and the
        daemon takes the job once; pass your own `key` to be safe across runs of your script, for a day.
        """
        spec = command if isinstance(command, JobSpec) else JobSpec(command)
        jobs, create = self._documents([spec.with_fields(**fields)], create_tenant)
        return self._submitted("POST", "/jobs", jobs[0], key, create)[0]

    def submit_all(
        self,
        jobs: Iterable[JobSpec],
        *,
        name: Optional[str] = None,
        at_once: Optional[int] = None,
        key: Optional[str] = None,
        create_tenant: bool = False,
    ) -> List[int]:
        """Submits up to 1000 jobs, all or none, and gives their numbers in the same order.

        Only `at_once` of them run or wait for GPUs at a time. They have the label `array` with this name.
        """
        documents, create = self._documents(list(jobs), create_tenant)
        body: Dict[str, Any] = {"jobs": documents}
        if name is not None:
            body["name"] = name
        if at_once is not None:
            body["at_once"] = at_once
        return self._submitted("POST", "/jobs/batch", body, key, create)

    def sweep(
        self,
        template: Union[JobSpec, Sequence[object]],
        values: Mapping[str, Sequence[object]],
        *,
        at_once: Optional[int] = None,
        key: Optional[str] = None,
        create_tenant: bool = False,
    ) -> List[int]:
        """Submits one job for every combination of values, as `oef submit --sweep` does.

        `{lr}` in the command, environment, name, script and folders is replaced; the values become labels.
        """
        spec = template if isinstance(template, JobSpec) else JobSpec(template)
        jobs = expand(spec, values)
        return self.submit_all(jobs, name=called(spec), at_once=at_once, key=key, create_tenant=create_tenant)

    def jobs(
        self,
        *,
        tenant: Optional[str] = None,
        state: Union[str, Iterable[str], None] = None,
        label: Optional[str] = None,
        sweep: Optional[int] = None,
        all: bool = False,
        page_size: Optional[int] = None,
    ) -> Iterator[Job]:
        """Jobs, the newest first, from as many pages as there are. `all`: ended ones too."""
        states = state if state is None or isinstance(state, str) else ",".join(state)
        query: Dict[str, Any] = {"tenant": tenant, "state": states, "label": label, "sweep": sweep, "all": all or None}
        if page_size is not None:
            query["limit"] = page_size
        return (Job.of(each) for each in self._pages("/jobs", "jobs", query))

    def job(self, job: Union[int, Job]) -> Job:
        """A job with its history and its runs, as it is now."""
        return Job.of(self._do("GET", "/jobs/{id}", {"id": number(job)}))

    def why(self, job: Union[int, Job]) -> Why:
        """Why a job waits, runs or ended."""
        return Why.of(self._do("GET", "/jobs/{id}/why", {"id": number(job)}))

    def curve(self, job: Union[int, Job]) -> Dict[str, Any]:
        """Steps, throughput and loss that a job reported since the daemon was started, as lists."""
        return dict(self._do("GET", "/jobs/{id}/curve", {"id": number(job)}))

    def cancel(self, job: Union[int, Job]) -> Job:
        """Ends a job."""
        return Job.of(self._do("POST", "/jobs/{id}/cancel", {"id": number(job)}, body={}))

    def resubmit(self, job: Union[int, Job]) -> int:
        """Submits a job once more, from the beginning, and gives the number of the new one."""
        answer = self._do("POST", "/jobs/{id}/resubmit", {"id": number(job)}, body={})
        return int(answer["ids"][0])

    def hold(self, job: Union[int, Job]) -> Job:
        """Keeps a job from starting; one that runs saves its work and stops."""
        return self._change(job, {"held": True})

    def release(self, job: Union[int, Job]) -> Job:
        """Lets a held job start."""
        return self._change(job, {"held": False})

    def edit(
        self,
        job: Union[int, Job],
        *,
        name: Optional[str] = None,
        priority: Optional[int] = None,
        labels: Optional[Mapping[str, object]] = None,
        types: Optional[Sequence[str]] = None,
        gpu_memory_gib: Union[float, None, _Unset] = _UNSET,
        now: Optional[bool] = None,
        max_run_s: Union[Seconds, None, _Unset] = _UNSET,
        not_before: Union[Moment, None, _Unset] = _UNSET,
        after: Optional[Sequence[Union[int, Job, Mapping[str, Any]]]] = None,
    ) -> Job:
        """Changes a job that has not ended; what is not named stays.

        A label of `None` is removed, as are `gpu_memory_gib`, `max_run_s` and `not_before`. All but name, priority and
        labels can be changed only while the job has no GPUs.
        """
        removable = {"gpu_memory_gib": gpu_memory_gib, "max_run_s": max_run_s, "not_before": not_before}
        patch = fields_of(
            {
                "name": name, "priority": priority, "labels": labels, "types": types, "now": now, "after": after,
                **{field: value for field, value in removable.items() if value is not _UNSET},
            }
        )  # fmt: skip
        removed = {field: None for field, value in removable.items() if value is None}
        return self._change(job, {**patch, **removed})

    def logs(
        self,
        job: Union[int, Job],
        *,
        run: Optional[int] = None,
        rank: Optional[int] = None,
        stream: Optional[str] = None,
        tail: Optional[int] = None,
    ) -> str:
        """What a job wrote: both streams of all workers in all its runs, in the order of writing.

        `stream` is `all`, `out` or `err`; with a `rank` it is `out` by default. `tail` gives that many lines of the
        last run. The lines of several workers begin with their worker: `[3] `, or `[3 err] ` for the error stream.
        """
        return self._log_reader(job, rank, stream).text(run, tail)

    def follow(
        self,
        job: Union[int, Job],
        *,
        run: Optional[int] = None,
        rank: Optional[int] = None,
        stream: Optional[str] = None,
    ) -> Iterator[str]:
        """The lines that a job writes, from the first on, across preemptions, until it has ended."""
        return self._log_reader(job, rank, stream).follow(run)

    def events(self, after: Optional[int] = None) -> EventStream:
        """Events as they happen, without end: from now on, or those after this number and then what happens."""
        return EventStream(self._transport, after)

    def wait(self, job: Union[int, Job], timeout_s: Optional[float] = None) -> Job:
        """Waits until a job has ended. Raises `WaitTimeout` if it takes longer; the job keeps running."""
        return self.wait_all([job], timeout_s)[0]

    def wait_all(self, jobs: Iterable[Union[int, Job]], timeout_s: Optional[float] = None) -> List[Job]:
        """Waits until all jobs have ended, and gives them in the same order."""
        ids = numbers(jobs)
        ended = {job.id: job for job in self.as_completed(ids, timeout_s)}
        return [ended[id] for id in ids]

    def as_completed(self, jobs: Iterable[Union[int, Job]], timeout_s: Optional[float] = None) -> Iterator[Job]:
        """The jobs, each as soon as it has ended."""
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        waiting = dict.fromkeys(numbers(jobs))
        # Listening begins before the first look, so that no end falls between the two.
        with self.events() as events:
            look = list(waiting)
            while True:
                for id in look:
                    job = self.job(id)
                    if job.is_ended:
                        del waiting[id]
                        yield job
                if not waiting:
                    return
                event = events.next_before(deadline)
                if event is None:
                    raise WaitTimeout(timeout_s or 0.0, list(waiting))
                if event.topic == "reset":
                    look = list(waiting)
                else:
                    look = [event.job] if event.job in waiting and event.state in ENDED else []

    def _documents(self, specs: Sequence[JobSpec], create_tenant: bool) -> Tuple[List[Dict[str, Any]], bool]:
        """The jobs as they are sent, and whether their tenant is created at need: an admin's own is."""
        documents = [spec.document() for spec in specs]
        if all("tenant" in each for each in documents):
            return documents, create_tenant
        info = self._do("GET", "/info")
        if info["role"] != "admin":
            return documents, create_tenant  # The token says whose jobs they are.
        names = (os.environ.get(name) for name in ("OEF_TENANT", "USER", "LOGNAME"))
        own = info.get("tenant") or next(filter(None, names), "default")
        # A name that somebody wrote may be a typing mistake.
        is_own = not any("tenant" in each for each in documents)
        return [{"tenant": own, **each} for each in documents], create_tenant or is_own

    def _submitted(self, method: str, path: str, body: Any, key: Optional[str], create_tenant: bool) -> List[int]:
        headers = {"Idempotency-Key": key or f"oef-py-{secrets.token_hex(16)}"}
        query = {"create_tenant": create_tenant or None}
        answer = self._do(method, path, query=query, body=body, headers=headers, is_repeatable=True)
        for note in answer["notes"]:
            _log.info("%s", note)
        return [int(id) for id in answer["ids"]]

    def _change(self, job: Union[int, Job], patch: Mapping[str, Any]) -> Job:
        # To set the same twice changes nothing.
        return Job.of(self._do("PATCH", "/jobs/{id}", {"id": number(job)}, body=dict(patch), is_repeatable=True))

    def _log_reader(self, job: Union[int, Job], rank: Optional[int], stream: Optional[str]) -> LogReader:
        id = number(job)

        def part(query: Dict[str, Any]) -> Dict[str, Any]:
            return dict(self._do("GET", "/jobs/{id}/logs", {"id": id}, query=query))

        return LogReader(part, lambda: self.job(id), rank, stream)
