"""Saves after every step, and kills itself at a chosen point of the writing: saver.py STEPS.

TEST_KILL: "write:N" (the N-th write to a file), "sync:N" (the N-th fsync), "rename:N", "after-rename:N", "remove:N".
"""

from __future__ import annotations

import os
import signal
import sys

import oef
from oef import _file

kind, _, count = os.environ.get("TEST_KILL", "never:0").partition(":")
left = int(count)


def maybe_die(what: str) -> None:
    global left
    if what == kind:
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Dying(_file._Hashing):
    def write(self, data: object) -> int:
        half = memoryview(data)[: len(data) // 2]  # type: ignore[arg-type]
        if kind == "write" and left == 1:
            self._file.write(half)
            self._file.flush()
        maybe_die("write")
        return super().write(data)


def wrap(name: str, before: str, after: str = "") -> None:
    real = getattr(os, name)

    def wrapped(*arguments: object, **options: object) -> object:
        maybe_die(before)
        result = real(*arguments, **options)
        maybe_die(after)
        return result

    setattr(os, name, wrapped)


_file._Hashing = Dying  # type: ignore[misc]
wrap("fsync", "sync")
wrap("replace", "rename", "after-rename")
real_remove = _file.remove
_file.remove = lambda path: (maybe_die("remove"), real_remove(path))[1]  # type: ignore[func-returns-value]

job = oef.job(checkpoint_every=1e-9)
ballast = [os.urandom(10000).hex() for _ in range(20)]
counter = [0]
job.restore(counter=counter, ballast=ballast)
print("from", job.step, flush=True)
assert counter == [job.step], (counter, job.step)
for step, _ in job.steps(range(int(sys.argv[1]))):
    counter[0] += 1
    print("did", step, flush=True)
