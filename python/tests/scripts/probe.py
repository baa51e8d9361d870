"""Prints everything that a program can see of how it was started, as JSON."""

import json
import os
import resource
import signal
import sys
import threading


def stream(one):
    about = [type(one).__name__, one.encoding, one.errors, one.line_buffering, one.write_through, type(one.buffer).__name__, one.isatty(), one.name]
    return [str(word) for word in about] + [one.fileno(), one.seekable(), str(one.newlines)]


def words(path):
    with open(path, "rb") as file:
        return [os.fsdecode(word) for word in file.read().rstrip(b"\0").split(b"\0")]


umask = os.umask(0)
os.umask(umask)
print(
    json.dumps(
        {
            "argv": sys.argv,
            "original": getattr(sys, "orig_argv", [])[-2:],
            "path": sys.path,
            "executable": sys.executable,
            "flags": list(sys.flags),
            "main": {name: str(globals()[name]) for name in ("__name__", "__file__", "__spec__", "__package__", "__doc__")},
            "is main": sys.modules["__main__"].__dict__ is globals(),
            "folder": os.getcwd(),
            "umask": umask,
            "variables": dict(os.environ),
            "shown": sorted(word for word in words("/proc/self/environ") if word.startswith(("OEF_", "LATER"))),
            "command": words("/proc/self/cmdline")[1:3],
            "streams": [stream(sys.stdin), stream(sys.stdout), stream(sys.stderr)],
            "handlers": {int(n): str(signal.getsignal(n)).split(" at ")[0] for n in signal.valid_signals()},
            "blocked": [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "limits": [resource.getrlimit(n) for n in range(10)],
            "nice": os.nice(0),
            "processors": sorted(os.sched_getaffinity(0)),
            "descriptors": [int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")],
            "threads": threading.active_count(),
            "bytecode": sys.dont_write_bytecode,
        },
        sort_keys=True,
    )
)
