"""When forking is safe: no thread, no CUDA, nothing that two workers would share unawares; and when it is not any more."""

from __future__ import annotations

import os
import stat
import sys
from typing import Dict, List, Optional, Sequence, Set, Tuple

Stamps = Dict[str, Tuple[int, int]]


class Unsafe(Exception):
    """A launcher with these modules would not be safe, and why."""


def check_before_forking(own: Sequence[int]) -> Set[int]:
    """Refuses what would not survive a fork. Returns descriptors that belong to imported modules."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise Unsafe("an import has started CUDA, which does not survive a fork: leave that module out")
    _try_fork()
    threads = _threads()
    if len(threads) > 1:
        raise Unsafe(f"the imports left {len(threads) - 1} threads behind ({', '.join(threads[1:])}), which do not survive a fork")
    return _foreign_descriptors(own)


def _try_fork() -> None:
    """Libraries that know about forks, such as OpenBLAS, end their threads before the first one."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _threads() -> List[str]:
    names = []
    for task in sorted(os.listdir("/proc/self/task"), key=int):
        try:
            with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
                names.append(file.read().strip())
        except OSError:
            continue  # It ended.
    return names


def _foreign_descriptors(own: Sequence[int]) -> Set[int]:
    found = set()
    for number in descriptors():
        if number <= 2 or number in own:
            continue
        try:
            kind, link = os.fstat(number).st_mode, os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # That of the folder that was just listed.
        if link.startswith("/dev/nvidia"):
            raise Unsafe(f"an import has started CUDA (`{link}` is open), which does not survive a fork: leave that module out")
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISCHR(kind)):
            raise Unsafe(f"an import left `{link}` open, which workers would share")
        found.add(number)
    return found


def descriptors() -> List[int]:
    """Those that are open, and the one by which they are found."""
    return [int(name) for name in os.listdir("/proc/self/fd")]


def close_all_but(kept: Set[int]) -> None:
    """Closes every descriptor but the standard streams and these."""
    for number in descriptors():
        if number > 2 and number not in kept:
            try:
                os.close(number)
            except OSError:
                pass  # That of the folder that was just listed.


def stamps() -> Stamps:
    """The files of all modules, so that a change shows."""
    found: Stamps = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            about = _stamp(path)
            if about is not None:
                found[path] = about
    return found


def changed(known: Stamps) -> Optional[str]:
    """A file that is another than when it was imported."""
    return next((path for path, about in known.items() if _stamp(path) != about), None)


def _stamp(path: str) -> Optional[Tuple[int, int]]:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def shadowed(folder: str) -> Optional[str]:
    """A module that was imported from elsewhere although a script in this folder would find its own."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        stem, dot, ending = name.partition(".")
        module = sys.modules.get(stem)
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or os.path.dirname(path) in (folder, os.path.join(folder, stem)):
            continue
        is_module = ending in ("py", "so") or ending.endswith((".so", "pyc"))
        if is_module or (not dot and os.path.isfile(os.path.join(folder, name, "__init__.py"))):
            return stem
    return None


def resident_megabytes() -> float:
    """What this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
