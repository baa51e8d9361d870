"""What stands between a client and its worker: forked by the launcher, it forks the worker, passes signals on, and tells how it ended.

So a launcher that is killed harms no worker, and nothing that a client sends can harm the launcher.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from dataclasses import dataclass
from typing import Any, Dict, List, NoReturn, Optional, Set, Tuple

from . import _launch_worker as worker
from ._launch_checks import Stamps, changed, close_all_but, shadowed
from .warm import HELLO, control_group, receive, send, unpack

__all__ = ["Launcher", "Order", "keep"]

#: A client sends its request at once.
_REQUEST_SECONDS = 30.0
#: Standard streams and the folder.
_DESCRIPTORS = 4


@dataclass(frozen=True)
class Launcher:
    """What a launcher knows."""

    tenant: Optional[str]
    identity: List[bytes]
    kept: Set[int]
    stamps: Stamps
    handlers: Dict[int, Any]


@dataclass(frozen=True)
class Order:
    """What a client wants to be run, and how."""

    about: Dict[str, str]
    target: List[str]
    variables: List[bytes]
    identity: List[bytes]
    original: List[str]

    @classmethod
    def parse(cls, data: bytes) -> Order:
        about, target, variables, identity, original = unpack(data)
        pairs = (os.fsdecode(word).partition("=") for word in about)
        return cls(
            {name: value for name, _, value in pairs}, [os.fsdecode(word) for word in target], variables, identity,
            [os.fsdecode(word) for word in original],
        )  # fmt: skip

    @property
    def tenant(self) -> Optional[str]:
        found = [word for word in self.variables if word.startswith(b"OEF_TENANT=")]
        return os.fsdecode(found[0].partition(b"=")[2]) if found else None


def keep(connection: socket.socket, launcher: Launcher) -> Order:
    """Runs in a fork of the launcher. Returns only in the worker."""
    parent = os.getppid()
    try:
        os.setsid()
        close_all_but({connection.fileno()} | launcher.kept)
        connection.settimeout(_REQUEST_SECONDS)
        send(connection, HELLO)
        order, given = _receive(connection)
        os.fchdir(given[-1])
        why = _refusal(order, launcher, parent)
        if why is None:
            worker.set_environment(order.variables)
            worker.enter_group()
            why = _other_group(order) or worker.show(order.variables, order.original)
        if why is not None:
            send(connection, b"no " + why.encode("utf-8", "replace"))
            os._exit(0)
        send(connection, b"ready")
        if receive(connection) != b"go":
            os._exit(0)
    except Exception:
        # It went away, or is no client at all. Whatever it was, nothing runs.
        os._exit(0)
    connection.settimeout(None)
    return _fork_and_watch(connection, order, given, launcher)


def _receive(connection: socket.socket) -> Tuple[Order, List[int]]:
    """The request; before it a byte with the descriptors."""
    head, given, _, _ = socket.recv_fds(connection, 1, _DESCRIPTORS)
    for number in given:
        os.set_inheritable(number, False)
    data = receive(connection) if head and len(given) == _DESCRIPTORS else None
    if data is None:
        raise ValueError("no request")
    return Order.parse(data), list(given)


def _other_group(order: Order) -> Optional[str]:
    """Why this process, which went into the job's group if it has one, is not bounded as a fresh one would be."""
    same = order.about["cgroup"] == control_group()
    return None if same else "the launcher is in another control group, and its limits would not hold"


def _refusal(order: Order, launcher: Launcher, parent: int) -> Optional[str]:
    """Why this launcher cannot stand in for a fresh interpreter."""
    if order.tenant != launcher.tenant:
        return f"the launcher serves {_whose(launcher.tenant)}, and this is {_whose(order.tenant)}"
    if order.identity != launcher.identity:
        ours, theirs = set(launcher.identity), set(order.identity)
        names = sorted({word.partition(b"=")[0].decode("utf-8", "replace")[:80] for word in ours ^ theirs})
        return f"the launcher has another interpreter or other variables ({', '.join(names[:3])})"
    file = changed(launcher.stamps)
    if file is not None:
        # The next one will have it as it is now.
        os.kill(parent, signal.SIGTERM)
        return f"`{file}` has changed since the launcher imported it"
    name = shadowed(worker.script_folder(order.target))
    if name is not None:
        return f"the launcher has imported another module `{name}` than the script would"
    return None


def _whose(tenant: Optional[str]) -> str:
    return "nobody's job" if tenant is None else f"tenant `{tenant}`"


def _fork_and_watch(connection: socket.socket, order: Order, given: List[int], launcher: Launcher) -> Order:
    ended, wake = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    keeper = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        send(connection, f"no the launcher could not fork: {error.strerror}".encode())
        os._exit(0)
    if child == 0:
        signal.set_wakeup_fd(-1)
        try:
            worker.become(order.about, given, launcher.handlers, keeper)
            # By its own method: an object that is freed later must not close what has its number then.
            connection.close()
            close_all_but(launcher.kept)
        except Exception as error:
            worker.begin_again(order, f"{type(error).__name__}: {error}")
        return order
    for number in given:
        os.close(number)
    _watch(connection, ended, child)


def _watch(connection: socket.socket, ended: int, child: int) -> NoReturn:
    while True:
        ready, _, _ = select.select([connection.fileno(), ended], [], [])
        if ended in ready:
            try:
                os.read(ended, 4096)
            except BlockingIOError:
                pass
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            _tell(connection, status)
        if connection.fileno() in ready:
            _pass_on(connection, child)


def _tell(connection: socket.socket, status: int) -> NoReturn:
    word = b"signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else b"exit %d" % os.WEXITSTATUS(status)
    try:
        send(connection, word)
    except OSError:
        pass  # Nobody waits any more.
    os._exit(0)


def _pass_on(connection: socket.socket, child: int) -> None:
    try:
        message = receive(connection)
    except (OSError, ValueError):
        message = None
    if message is not None and message.startswith(b"signal "):
        _signal(child, int(message[7:]))
        return
    # The client was killed, and its worker with it.
    _signal(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os._exit(0)


def _signal(child: int, number: int) -> None:
    """To the worker's whole group. It is not reaped yet, so its number is its own."""
    for send_to in (os.killpg, os.kill):
        try:
            send_to(child, number)
            return
        except ProcessLookupError:
            continue  # It has no group of its own yet.
