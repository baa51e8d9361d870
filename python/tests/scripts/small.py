"""Very small scripts: small.py NAME."""

from __future__ import annotations

import os
import signal
import sys

import oef


def never_steps() -> None:
    oef.job()


def fails_before_steps() -> None:
    oef.job().restore(number=1)


def stopped_before_steps() -> None:
    oef.job()
    os.kill(os.getpid(), signal.SIGTERM)


def stopped_after_steps() -> None:
    job = oef.job()
    for _ in job.steps([1, 2]):
        pass
    print("steps done", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


def stopped_twice() -> None:
    job = oef.job()
    try:
        for step, _ in job.steps(range(100)):
            if step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
    finally:  # A second signal on the way out changes nothing.
        os.kill(os.getpid(), signal.SIGTERM)


def keeps_handlers() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)]
    for _ in oef.job().steps([1, 2]):
        now = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)]
        assert now == before
    print("kept")


def unpicklable() -> None:
    job = oef.job(checkpoint_every=1e-9)
    job.state["function"] = lambda: None
    for step, _ in job.steps(range(5)):
        if step == 3:
            os.kill(os.getpid(), signal.SIGTERM)


globals()[sys.argv[1]]()
