"""Jobs and events as Python sees them. Everything else is the interface's own JSON, as dicts."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

#: The states of a job that has ended.
ENDED = frozenset({"finished", "failed", "timed_out", "cancelled"})

#: A time limit: seconds or a `timedelta`.
Seconds = Union[float, timedelta]
#: An instant: a `datetime` (local time if it has no zone), a day (UTC), a `timedelta` from now, or text in RFC 3339.
Moment = Union[datetime, date, timedelta, str]


@dataclass(frozen=True)
class Job:
    """A job as it stood when the daemon was asked."""

    id: int
    name: str
    tenant: str
    workload: str
    #: `queued`, `starting`, `running`, `stopping`, `finished`, `failed`, `timed_out` or `cancelled`.
    state: str
    #: Why, in a sentence.
    reason: str
    #: The same as data: `kind` and the figures of that kind.
    reason_data: Mapping[str, Any] = field(hash=False)
    workers: int
    priority: int
    labels: Mapping[str, str] = field(hash=False)
    submitted: datetime
    started: Optional[datetime]
    ended: Optional[datetime]
    #: Seconds that it has run, over all its runs.
    ran_s: float
    #: How often it had to start again.
    restarts: int
    #: What it last reported.
    steps: float
    loss: Optional[float]
    #: What keeps it from starting even if GPUs are free: `held`, `dependency`...
    blocked: Optional[str]
    #: The number of its sweep's first job.
    sweep: Optional[int]
    #: The whole answer: `gpus`, `progress`, `spec`, `history`, `runs` and what newer daemons add. Lists have no history.
    document: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"job {self.id} ({self.name}) is {self.state.replace('_', ' ')}: {self.reason}"

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDED

    @property
    def is_finished(self) -> bool:
        """Whether it did all its work."""
        return self.state == "finished"

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Job":
        """A job of the interface."""
        progress = said["progress"]
        return cls(
            id=said["id"], name=said["name"], tenant=said["tenant"], workload=said["workload"],
            state=said["state"], reason=said["reason"], reason_data=said.get("reason_data") or {},
            workers=said["workers"], priority=said["priority"],
            labels=said["labels"], submitted=_instant(said["submitted"]), started=_maybe(said.get("started")),
            ended=_maybe(said.get("ended")), ran_s=said["ran_s"], restarts=said["restarts"], steps=progress["steps"],
            loss=progress.get("loss"), blocked=said.get("blocked"), sweep=said.get("sweep"), document=said,
        )  # fmt: skip


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    #: Its number, growing.
    id: int
    at: Optional[datetime]
    #: `job`, `round`, `tenant` or `cluster`; `reset`: events were missed.
    topic: str
    message: str
    job: Optional[int] = None
    #: The job's new state.
    state: Optional[str] = None
    tenant: Optional[str] = None
    round: Optional[int] = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Event":
        """An event of the interface."""
        return cls(
            said["id"], _instant(said["at"]), said["topic"], said["message"],
            said.get("job"), said.get("state"), said.get("tenant"), said.get("round"),
        )  # fmt: skip

    @classmethod
    def reset(cls, upto: int) -> "Event":
        """Says that events were missed."""
        return cls(upto, None, "reset", "events were missed: read the state again")


@dataclass(frozen=True)
class Why:
    """Why a job waits, runs or ended. As text it is the sentence."""

    state: str
    #: The kind of reason, a word for scripts.
    kind: str
    sentence: str
    details: Sequence[str]
    expected_start: Optional[datetime]
    #: The reason as data: `kind` and the figures of that kind.
    reason_data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.sentence

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Why":
        """A reason of the interface."""
        expected = _maybe(said.get("expected_start"))
        data = said.get("reason_data") or {}
        return cls(said["state"], said["kind"], said["sentence"], tuple(said["details"]), expected, data)


@dataclass(frozen=True)
class JobSpec:
    """A job to be submitted: the fields of the interface, under the same names. What is `None` is left to the daemon."""

    #: The program and its arguments. Either this or `script`.
    command: Optional[Sequence[object]] = None
    #: A shell script, run by `/bin/sh` or by what its first line names.
    script: Optional[str] = None
    tenant: Optional[str] = None
    workload: Optional[str] = None
    name: Optional[str] = None
    workers: Optional[int] = None
    types: Optional[Sequence[str]] = None
    gpu_memory_gib: Optional[float] = None
    one_type: Optional[bool] = None
    priority: Optional[int] = None
    now: Optional[bool] = None
    labels: Optional[Mapping[str, object]] = None
    env: Optional[Mapping[str, object]] = None
    #: Where it runs; by default the current folder.
    workdir: Optional[Union[str, "os.PathLike[str]"]] = None
    checkpoint_dir: Optional[Union[str, "os.PathLike[str]"]] = None
    max_run_s: Optional[Seconds] = None
    min_run_s: Optional[Seconds] = None
    grace_s: Optional[Seconds] = None
    stop_signal: Optional[str] = None
    retries: Optional[int] = None
    steps: Optional[float] = None
    warm: Optional[Sequence[str]] = None
    held: Optional[bool] = None
    not_before: Optional[Moment] = None
    #: Jobs that have to finish before it starts: numbers, jobs, or `{"job": 17, "when": "failed"}`.
    after: Optional[Sequence[Union[int, Job, Mapping[str, Any]]]] = None
    #: A profile run: `{"batches": 20, "warmup": 5}`.
    probe: Optional[Mapping[str, Any]] = None
    #: The person who submits it; only with an admin's token. By default the daemon fills it in.
    user: Optional[str] = None
    #: It runs in a terminal that the daemon passes on, as `oef run` has it: `{"pty": True, "key_hash": ...}`.
    terminal: Optional[Mapping[str, Any]] = None

    def with_fields(self, **fields: Any) -> "JobSpec":
        """The same job with other fields."""
        known = [each.name for each in dataclasses.fields(self)]
        for name in fields.keys() - set(known):
            [near] = difflib.get_close_matches(name, known, 1) or [", ".join(known)]
            raise TypeError(f"a job has no field `{name}`; there is {near}")
        return dataclasses.replace(self, **fields)

    def document(self) -> Dict[str, Any]:
        """The job as the interface takes it."""
        given = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return fields_of({**given, "workdir": os.fspath(self.workdir or ".")})


def fields_of(given: Mapping[str, Any]) -> Dict[str, Any]:
    """What is given of a job's fields, in the form of the interface."""
    return {name: _field(name, value) for name, value in given.items() if value is not None}


def _field(name: str, value: Any) -> Any:
    if name in ("command", "types", "warm"):
        if isinstance(value, (str, bytes)):
            other = "; a line for a shell goes into `script`" if name == "command" else ""
            raise TypeError(f"{name} is a list of words, not the text {value!r}{other}")
        return [str(word) for word in value]
    if name == "env":
        return {key: str(each) for key, each in value.items()}
    if name == "labels":
        return {key: None if each is None else str(each) for key, each in value.items()}
    if name in ("workdir", "checkpoint_dir"):
        return os.path.abspath(value)
    if name.endswith("_s"):
        return seconds(value)
    if name == "not_before":
        return moment(value)
    if name == "after":
        return [each if isinstance(each, Mapping) else {"job": number(each)} for each in value]
    return value


def number(job: Union[int, Job]) -> int:
    """A job's number."""
    return job.id if isinstance(job, Job) else int(job)


def numbers(jobs: Iterable[Union[int, Job]]) -> List[int]:
    """The numbers of jobs, each once, in their order."""
    return list(dict.fromkeys(number(job) for job in jobs))


def seconds(value: Seconds) -> float:
    """A time limit in seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def moment(value: Optional[Moment], is_past: bool = False) -> Optional[str]:
    """An instant in RFC 3339. `is_past`: a `timedelta` counts back from now."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        now = datetime.now(timezone.utc)
        value = now - value if is_past else now + value
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _maybe(text: Optional[str]) -> Optional[datetime]:
    return None if text is None else _instant(text)


def _instant(text: str) -> datetime:
    """`2026-11-16T16:56:38.1Z`, with any number of digits after the point; older Pythons read only six."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z", text)
    if found is None:
        raise ValueError(f"`{text}` is not a time in UTC")
    whole, fraction = found.groups()
    at = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return at.replace(microsecond=int((fraction or "0").ljust(6, "0")[:6]))
