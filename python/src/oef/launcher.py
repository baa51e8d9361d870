"""A process that has imported what scripts need, and forks a worker whenever `oef.warm` asks for one.

    python -m oef.launcher --preload torch,torchvision [--socket PATH] [--idle SECONDS]

It belongs to one user and, under OEF, to one tenant. It never touches a GPU: if an import does, or leaves a thread behind, it says so and
ends, and scripts run the plain way. A worker that runs needs it no more.
"""

from __future__ import annotations

import argparse
import faulthandler
import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, Dict, List, NoReturn, Optional

from . import _launch_worker as worker
from ._launch_checks import Unsafe, check_before_forking, close_all_but, resident_megabytes, stamps
from ._launch_keeper import Launcher, Order, keep
from .warm import READY, SocketPath, default_socket, identity, is_safe_path, search_path

#: How often it is looked whether the launcher is still wanted.
_LOOK_SECONDS = 1.0
#: Without a request for so long it makes room. Restarts come within minutes.
_IDLE_SECONDS = 1800.0
#: Imports that take longer hang. The slowest network disks need minutes.
_IMPORT_SECONDS = 600.0
#: A thread that has nothing more to do is gone in a moment.
_THREAD_ENDS_SECONDS = 5.0
#: A lock that is only looked at is free again after this.
_LOOKED_AT = 1.0
#: Clients that ask at the same moment, before one is turned away.
_BACKLOG = 1024


def main(arguments: Optional[List[str]] = None) -> Order:
    """Serves until it is not wanted any more. Returns only in workers, with what they are to run."""
    options = _options().parse_args(arguments)
    # What it was started with is not what an import has opened, and no worker is to have it.
    close_all_but(set())
    folder = _own_folder(os.path.dirname(os.path.abspath(options.socket)))
    lock = _lock(folder, options.socket)
    _write(folder, "client", os.path.join(os.path.dirname(os.path.abspath(__file__)), "warm.py"))
    _forget(folder, "refused")
    _forget(folder, READY)
    listener, inode = _listen(options.socket)
    if options.detach:
        _detach()
    modules = [name for name in options.preload.split(",") if name]
    # Should this process not live to say more, then that is why.
    limit = options.import_limit
    _write(folder, "refused", f"the launcher did not survive its imports ({options.preload}): they crashed, hung for {limit:g} s, or it was killed")
    try:
        launcher = _prepare(modules, options.tenant, [lock, listener.fileno()], limit)
    except Unsafe as error:
        _refuse(folder, options.socket, str(error))
    _forget(folder, "refused")
    _write(folder, READY, str(os.getpid()))
    last = time.monotonic()
    while True:
        ready, _, _ = select.select([listener], [], [], _LOOK_SECONDS)
        if _inode(options.socket) != inode:
            _end("its socket is gone")
        if ready:
            last = time.monotonic()
            order = _answer(listener, launcher)
            if order is not None:
                return order
        elif time.monotonic() - last > options.idle:
            os.unlink(options.socket)
            _end(f"nobody asked for {options.idle:g} s")


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m oef.launcher", description="Forks workers that have their imports done.")
    parser.add_argument("--preload", required=True, metavar="MODULE,...", help="what is imported before")
    parser.add_argument("--socket", default=default_socket(), metavar="PATH", help="where it listens [%(default)s]")
    parser.add_argument("--tenant", metavar="NAME", help="whose jobs it may start; without it, only what is no job of OEF")
    parser.add_argument("--idle", type=float, default=_IDLE_SECONDS, metavar="SECONDS", help="end after so long without a request [%(default)g]")
    parser.add_argument(
        "--import-limit", type=float, default=_IMPORT_SECONDS, metavar="SECONDS", help="give up imports that take longer [%(default)g]"
    )
    parser.add_argument("--detach", action="store_true", help="go on in the background")
    return parser


def _own_folder(folder: str) -> str:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.stat(folder)
    if about.st_uid != os.getuid() or about.st_mode & 0o077:
        sys.exit(f"oef: `{folder}` can be entered by others: a launcher needs a folder of its own (mode 0700)")
    return folder


def _lock(folder: str, path: str) -> int:
    """One launcher for each folder; the lock goes with the process, however it ends."""
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # Who only looks at the lock, and what it forks meanwhile, has it for a moment and has no socket.
    until = time.monotonic() + _LOOKED_AT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            if os.path.exists(path) or time.monotonic() > until:
                print(f"oef: a launcher serves `{folder}` already", file=sys.stderr)
                os._exit(0)
            time.sleep(0.01)


def _write(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text + "\n")
    os.replace(path + ".new", path)


def _forget(folder: str, name: str) -> None:
    try:
        os.unlink(os.path.join(folder, name))
    except FileNotFoundError:
        pass


def _detach() -> None:
    """Goes on as nobody's child, in a session of its own."""
    if os.fork() != 0:
        os._exit(0)
    os.setsid()


def _listen(path: str) -> "tuple[socket.socket, Optional[int]]":
    """Listens before anything is imported: who comes early waits as long as the imports would take it."""
    _forget(os.path.dirname(os.path.abspath(path)), os.path.basename(path))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    with SocketPath(path) as short:
        listener.bind(short)
    os.umask(before)
    listener.listen(_BACKLOG)
    return listener, _inode(path)


def _inode(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _prepare(modules: List[str], tenant: Optional[str], own: List[int], limit: float) -> Launcher:
    """Imports everything, and makes sure that forking is safe after it."""
    known = identity(search_path())
    if not is_safe_path():
        # The folder that this was started in is nobody's script folder.
        del sys.path[0]
    before = time.monotonic()
    watchdog = _watch_imports(limit)
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:  # An import may call sys.exit.
            raise Unsafe(f"`import {name}` failed in the launcher: {type(error).__name__}: {error}") from error
    _imports_are_done(watchdog)
    kept = check_before_forking(own)
    # What is there now stays: not looking at it keeps its memory shared.
    gc.collect()
    gc.freeze()
    took = time.monotonic() - before
    _say(f"ready: {', '.join(modules)} imported in {took:.1f} s, {resident_megabytes():.0f} MB, process {os.getpid()}")
    # Keepers are not waited for, and Ctrl-C ends a launcher without many words. Workers get back what was there.
    handlers: Dict[int, Any] = {
        signal.SIGCHLD: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_DFL),
    }
    return Launcher(tenant, known, kept, stamps(), handlers)


def _watch_imports(limit: float) -> List[str]:
    """An import that hangs may hang in C, where no handler of Python's runs: a thread ends the process then, and says where it was."""
    before = set(os.listdir("/proc/self/task"))
    faulthandler.dump_traceback_later(limit, exit=True, file=2)
    return [f"/proc/self/task/{task}" for task in os.listdir("/proc/self/task") if task not in before]


def _imports_are_done(watchdog: List[str]) -> None:
    faulthandler.cancel_dump_traceback_later()
    # It has ended for Python; the system needs a moment more.
    until = time.monotonic() + _THREAD_ENDS_SECONDS
    while any(map(os.path.exists, watchdog)) and time.monotonic() < until:
        time.sleep(0.001)


def _answer(listener: socket.socket, launcher: Launcher) -> Optional[Order]:
    try:
        connection, _ = listener.accept()
    except OSError:
        return None  # It went away.
    pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    # Process 0 is one that cannot be seen from here: it lives in another container.
    if (uid, gid) == (os.getuid(), os.getgid()) and pid != 0:
        launcher_pid = os.getpid()
        try:
            child = os.fork()
        except OSError as error:
            _say(f"cannot fork: {error.strerror}")
            child = -1
        if child == 0:
            if os.getppid() != launcher_pid:
                os._exit(0)  # It was killed just now, and its number may soon be another's.
            listener.close()
            return keep(connection, launcher)
    else:
        _say(f"turned away: process {pid} of user {uid}, group {gid}")
    connection.close()
    return None


def _refuse(folder: str, path: str, why: str) -> NoReturn:
    _write(folder, "refused", why)
    _forget(folder, os.path.basename(path))
    _say(why)
    os._exit(1)


def _end(why: str) -> NoReturn:
    _say(f"ended: {why}")
    os._exit(0)


def _say(message: str) -> None:
    print(f"oef: launcher: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Nothing of the launcher is on the stack when the script runs.
    worker.run(main())
