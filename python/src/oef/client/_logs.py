"""A job's output as lines: of all its runs, and as it grows."""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

from ._errors import Refused
from ._models import Job

#: As much at once as the daemon gives.
_CHUNK_BYTES = 1024 * 1024
#: A line that is longer is given in parts.
_LINE_MAX = 1024 * 1024
#: A log that does not grow is looked at again after this long, and after ever longer pauses.
_PAUSE_S, _PAUSE_MAX_S = 0.3, 3.0

#: Reads a part of a log, and a job.
ReadPart = Callable[[Dict[str, Any]], Dict[str, Any]]
ReadJob = Callable[[], Job]


class LogReader:
    """Reads what one job wrote."""

    def __init__(self, part: ReadPart, job: ReadJob, rank: Optional[int], stream: Optional[str]) -> None:
        self._part, self._job = part, job
        stream = stream or ("all" if rank is None else "out")
        self._query: Dict[str, Any] = {"rank": rank, "stream": stream, "limit": _CHUNK_BYTES}
        # With one worker nobody needs to know which one wrote a line.
        self._has_marks = stream == "all" and job().workers == 1

    def text(self, run: Optional[int], tail: Optional[int]) -> str:
        """All that is there now, of one run or of all; with `tail` the end of the last run."""
        runs = generations(self._job())
        if run is not None or tail is not None or len(runs) < 2:
            return "".join(self._lines({"generation": run, "tail": tail}, is_followed=False))
        found: List[str] = []
        for each in runs:
            try:
                found.extend(self._lines({"generation": each}, is_followed=False))
            except Refused as error:
                if error.status != 404:  # The output of old runs is removed.
                    raise
        return "".join(found)

    def follow(self, run: Optional[int]) -> Iterator[str]:
        """Lines as they are written, run after run, until the job has ended or the one run that is asked for."""
        if run is not None:
            yield from self._lines({"generation": run}, is_followed=True)
            return
        done, pause = 0, _PAUSE_S
        while True:
            job = self._job()
            newer = [each for each in generations(job) if each > done]
            if newer:
                try:
                    yield from self._lines({"generation": newer[0]}, is_followed=True)
                except Refused as error:
                    if error.status != 404:
                        raise
                    if len(newer) == 1 and not job.is_ended:
                        pause = _rest(pause)  # It has written nothing yet.
                        continue
                done, pause = newer[0], _PAUSE_S
            elif job.is_ended:
                return
            else:
                pause = _rest(pause)

    def _lines(self, query: Dict[str, Any], is_followed: bool) -> Iterator[str]:
        """The lines of one run, with their ends."""
        query = {**self._query, **query}
        rest, pause = "", _PAUSE_S
        while True:
            part = self._part(query)
            pieces = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", rest + part["text"])
            is_over = part["complete"] or (not is_followed and not part["text"])
            # A progress bar ends its lines with `\\r`; at the end of a part it may be half of `\\r\\n`.
            is_whole = is_over or not pieces or pieces[-1].endswith("\n") or len(pieces[-1]) > _LINE_MAX
            rest = "" if is_whole else pieces.pop()
            for piece in pieces:
                yield self._unmarked(piece)
            if is_over:
                return
            query = {**query, "generation": part["generation"], "offset": part["next_offset"], "tail": None}
            pause = _PAUSE_S if part["text"] else _rest(pause)

    def _unmarked(self, line: str) -> str:
        if self._has_marks:
            for mark in ("[0] ", "[0 err] "):
                if line.startswith(mark):
                    return line[len(mark) :]
        return line


def generations(job: Job) -> List[int]:
    """The runs of a job, the oldest first."""
    return sorted(run["generation"] for run in job.document.get("runs") or [])


def _rest(pause: float) -> float:
    """Waits, and gives the next pause."""
    time.sleep(pause)
    return min(1.5 * pause, _PAUSE_MAX_S)
