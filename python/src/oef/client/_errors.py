"""What can go wrong between a script and the daemon."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from .._errors import OefError


class ClientError(OefError):
    """Any error of the client; its text ends with the way out, where one is known."""

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint


class AccessError(ClientError):
    """It is not known where the daemon is, or which token to show it."""


class Unreachable(ClientError):
    """The daemon cannot be reached, or the connection broke before its answer came."""

    def __init__(self, where: str, cause: str, was_sent: bool, hint: Optional[str] = None) -> None:
        usual = (
            "the request may have been carried out: look before you send it again"
            if was_sent
            else "is the daemon running? `oef up` starts one here; OEF_SERVER names another"
        )
        super().__init__(f"{where} cannot be reached: {cause}", hint or usual)
        #: Whether the request had been sent, so that it may have been carried out.
        self.was_sent = was_sent
        #: Whether it makes sense to try again: a wrong certificate stays wrong.
        self.is_passing = hint is None


class Unexpected(ClientError):
    """What answered is not an OEF daemon that this client understands."""

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(
            f"unexpected reply from {where}: {detail}", "does the address name an OEF daemon of a known version?"
        )


class Refused(ClientError):
    """The daemon refused the request, in its own words."""

    def __init__(self, problem: Mapping[str, Any], retry_after_s: Optional[float] = None) -> None:
        field = problem.get("field")
        detail = str(problem["detail"])
        super().__init__(f"{field}: {detail}" if field else detail, problem.get("hint"))
        #: The kind of problem, a stable word: `unknown_tenant`, `conflict`, `limit_reached`...
        self.kind = str(problem["type"])
        #: The HTTP status.
        self.status = int(problem["status"])
        #: What is wrong, in a sentence.
        self.detail = detail
        #: The field of the request that it is about.
        self.field: Optional[str] = field
        #: After how many seconds the daemon would take it, where it said so.
        self.retry_after_s = retry_after_s


class WaitTimeout(ClientError, TimeoutError):
    """The jobs did not end in time. They keep running."""

    def __init__(self, timeout_s: float, jobs: Sequence[int]) -> None:
        some = ", ".join(str(job) for job in jobs[:10]) + (", ..." if len(jobs) > 10 else "")
        what, verb = ("job", "has") if len(jobs) == 1 else ("jobs", "have")
        super().__init__(
            f"{what} {some} {verb} not ended within {timeout_s:g} s",
            "wait longer, or `client.why(job)` says what a job waits for; cancel it if it is not needed",
        )
        #: The numbers of the jobs that have not ended.
        self.jobs = list(jobs)
