"""Runs a script in a process that has imported its modules already, forked by a launcher (`python -m oef.launcher`).

    python -m oef.warm [--socket PATH] [--wait SECONDS] script.py arguments...
    python -m oef.warm [--socket PATH] [--wait SECONDS] -m module arguments...

To whoever started it, this process looks like the script: the same streams, folder and variables, signals go through, and it ends as the
script ends. Where no launcher can do it, a line says why and the script runs the plain way.

This file uses nothing else of the package, so that it starts quickly and can also be run by its path.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing it takes longer than all the rest.
    from typing import Dict, List, NoReturn, Optional, Sequence, Tuple

#: Said first by the launcher; another one is not understood.
HELLO = b"oef-warm 1"
#: A launcher that still imports is waited for so long: about what the imports would take here.
WAIT_SECONDS = 60.0
#: A launcher that has its imports done answers at once; one that does not for so long hangs.
ANSWER_SECONDS = 20.0
#: The file beside the socket that says that the imports are done.
READY = "ready"
#: More than arguments and variables can have on Linux together.
FRAME_MAX_BYTES = 16 << 20

#: Forwarded to the script. SIGCONT too: whoever is told to stop is woken first.
_FORWARDED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGCONT", "SIGALRM", "SIGWINCH")

#: Variables that modules read while they are imported: client and launcher must agree on them.
_AT_IMPORT = (
    "PYTHON", "LD_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_", "TORCH", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_",
    "NCCL_", "NVIDIA_", "TF_", "XLA_", "JAX_", "HF_", "TRANSFORMERS_", "MALLOC_", "GLIBC_", "LC_", "XDG_", "LANG", "HOME", "VIRTUAL_ENV",
    "CONDA_PREFIX",
)  # fmt: skip
#: These are read later, when CUDA starts or a stream is opened.
_AFTER_IMPORT = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_", "PYTHONUNBUFFERED")


class Unanswered(Exception):
    """No launcher can run this, and why."""


def default_socket() -> str:
    """Where a launcher listens if nobody says where."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "oef-warm", "socket") if runtime else f"/tmp/oef-warm-{os.getuid()}/socket"


def identity(search_path: Sequence[str]) -> List[bytes]:
    """What must be the same in an interpreter that is to stand in for this one."""
    words = [sys.version, sys.prefix, sys.base_prefix, repr(tuple(sys.flags)), repr(sys.warnoptions), repr(sys._xoptions)]
    words += search_path
    seen = [
        name + b"=" + value
        for name, value in os.environb.items()
        if name.decode("latin-1").startswith(_AT_IMPORT) and not name.decode("latin-1").startswith(_AFTER_IMPORT)
    ]
    return [os.fsencode(word) for word in words] + sorted(seen)


def search_path() -> List[str]:
    """Where modules are looked for, without the folder of what is run."""
    return sys.path[:] if is_safe_path() else sys.path[1:]


def is_safe_path() -> bool:
    """Whether the interpreter was told not to look into the script's folder."""
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def pack(sections: Sequence[Sequence[bytes]]) -> bytes:
    """Lists of words as bytes."""
    parts = [struct.pack("!I", len(sections))]
    for words in sections:
        parts.append(struct.pack("!I", len(words)))
        for word in words:
            parts += (struct.pack("!I", len(word)), word)
    return b"".join(parts)


def unpack(data: bytes) -> List[List[bytes]]:
    """The lists of words; ValueError where it is something else."""
    at = 0

    def number() -> int:
        nonlocal at
        at += 4
        if at > len(data):
            raise ValueError("cut short")
        return int(struct.unpack_from("!I", data, at - 4)[0])

    def word() -> bytes:
        nonlocal at
        length = number()
        at += length
        if at > len(data):
            raise ValueError("cut short")
        return data[at - length : at]

    sections = [[word() for _ in range(number())] for _ in range(number())]
    if at != len(data):
        raise ValueError("too long")
    return sections


def send(connection: socket.socket, data: bytes) -> None:
    """Sends one message."""
    connection.sendall(struct.pack("!I", len(data)) + data)


def receive(connection: socket.socket) -> Optional[bytes]:
    """The next message; nothing at the end."""
    head = _exactly(connection, 4)
    if head is None:
        return None
    length = int(struct.unpack("!I", head)[0])
    if length > FRAME_MAX_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> Optional[bytes]:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(length - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


class SocketPath:
    """A socket's path in a form that fits into its address, however long the folder's path is."""

    def __init__(self, path: str) -> None:
        folder, self.name = os.path.split(os.path.abspath(path))
        self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> str:
        return f"/proc/self/fd/{self.folder}/{self.name}"

    def __exit__(self, *_: object) -> None:
        os.close(self.folder)


def _connect(path: str, wait_seconds: float) -> socket.socket:
    """A connection to a launcher that has said hello."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    is_ready = os.path.exists(os.path.join(os.path.dirname(path), READY))
    if is_ready:
        wait_seconds = min(wait_seconds, ANSWER_SECONDS)
    try:
        connection.settimeout(wait_seconds)
        with SocketPath(path) as short:
            connection.connect(short)
        hello = receive(connection)
    except socket.timeout:
        connection.close()
        if is_ready and wait_seconds >= ANSWER_SECONDS:
            _give_up(path)
        raise Unanswered(f"the launcher at `{path}` did not answer within {wait_seconds:g} s") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Unanswered(_refusal(path) or f"no launcher answers at `{path}` ({why})") from None
    if hello != HELLO:
        raise Unanswered(_refusal(path) or f"the launcher at `{path}` ended or is of another version")
    return connection


def _give_up(path: str) -> None:
    """Lets nobody else wait for a launcher that hangs. It ends when it finds its socket gone, and the next start has another."""
    try:
        os.unlink(path)
    except OSError:
        pass


def _refusal(path: str) -> Optional[str]:
    """What a launcher that gave up left as its reason."""
    try:
        with open(os.path.join(os.path.dirname(path), "refused"), encoding="utf-8") as file:
            return file.read().strip() or None
    except (OSError, ValueError):
        return None


def _request(target: List[str]) -> bytes:
    numbers = sorted(signal.valid_signals())
    ignored = [n for n in numbers if signal.getsignal(n) == signal.SIG_IGN]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    umask = os.umask(0o077)
    os.umask(umask)
    about = {
        "umask": str(umask),
        "ignored": " ".join(str(int(n)) for n in ignored),
        "blocked": " ".join(str(int(n)) for n in blocked),
        "unbuffered": "1" if getattr(sys.stdout, "write_through", False) else "",
        "encoding": getattr(sys.stdout, "encoding", None) or "utf-8",
        "errors": getattr(sys.stdout, "errors", None) or "strict",
        "nice": str(os.nice(0)),
        "processors": " ".join(str(n) for n in sorted(os.sched_getaffinity(0))),
        "limits": _limits(),
        "cgroup": control_group(),
        "executable": sys.executable,
    }
    variables = [name + b"=" + value for name, value in os.environb.items()]
    words = [os.fsencode(f"{name}={value}") for name, value in about.items()]
    original = [os.fsencode(word) for word in _interpreter() + target]
    return pack([words, [os.fsencode(word) for word in target], variables, identity(search_path()), original])


def _limits() -> str:
    import resource

    limits: Dict[int, Tuple[int, int]] = {}
    for name in dir(resource):
        if name.startswith("RLIMIT_"):
            number = getattr(resource, name)
            limits[number] = resource.getrlimit(number)
    return " ".join(f"{number}:{soft}:{hard}" for number, (soft, hard) in sorted(limits.items()))


def control_group() -> str:
    """What bounds this process's memory and processors."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _interpreter() -> List[str]:
    """The interpreter with its options, as this process was started."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return [sys.executable]
    own = words[: len(words) - (len(sys.argv) - 1)]
    if not own:
        return [sys.executable]
    return own[: -2 if len(own) > 2 and own[-2] == "-m" else -1]


def _hand_over(path: str, wait_seconds: float, target: List[str]) -> NoReturn:
    """Has a launcher run it, and ends as it ends."""
    _check(target)
    connection = _connect(path, wait_seconds)
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Streams and folder come with a byte of their own.
        socket.send_fds(connection, [b"+"], [0, 1, 2, here])
        send(connection, _request(target))
        answer = receive(connection)
    except socket.timeout:
        raise Unanswered(f"the launcher at `{path}` did not answer within {wait_seconds:g} s") from None
    except (OSError, ValueError) as error:
        raise Unanswered(f"the launcher at `{path}` broke off: {error}") from None
    os.close(here)
    if answer != b"ready":
        said = answer[3:].decode("utf-8", "replace") if answer else "its process ended"
        raise Unanswered(said)
    # From here on the script may run there: it must not run here as well.
    connection.settimeout(None)
    for name in _FORWARDED:
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: _forward(connection, number))
    try:
        send(connection, b"go")
    except OSError:
        raise Unanswered("the launcher's process is gone") from None
    try:
        ending = receive(connection)
    except (OSError, ValueError):
        ending = None
    if ending is not None and ending.startswith(b"no "):
        raise Unanswered(ending[3:].decode("utf-8", "replace"))
    _end_as(ending)


def _forward(connection: socket.socket, number: int) -> None:
    try:
        send(connection, b"signal %d" % number)
    except OSError:
        pass  # It has ended: that is what is read next.


def _end_as(ending: Optional[bytes]) -> NoReturn:
    kind, _, text = (ending or b"").partition(b" ")
    if kind == b"exit":
        os._exit(int(text))
    if kind != b"signal":
        _say("the process that watched over the worker was killed")
    number = int(text) if kind == b"signal" else int(signal.SIGKILL)
    import resource

    # The script has left its core already, if it was to leave one.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _check(target: List[str]) -> None:
    """Refuses what only an interpreter from the beginning can run."""
    first = target[0]
    if first == "-m":
        return
    if first.startswith("-"):
        raise Unanswered(f"`{first}` is neither a script nor `-m`")
    if not os.path.isfile(first) or first.endswith((".pyc", ".pyz", ".zip", ".egg")):
        raise Unanswered(f"`{first}` is not a file of source code")
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            raise Unanswered(f"stream {number} is closed") from None


def _plainly(target: List[str], why: str) -> NoReturn:
    """Runs it as if this had never been."""
    _say(f"started without a launcher: {why}")
    command = _interpreter()
    os.execv(sys.executable or "/proc/self/exe", [*command, *target])


def _say(message: str) -> None:
    try:
        os.write(2, os.fsencode(f"oef: {message}\n"))
    except OSError:
        pass


def main(arguments: List[str]) -> NoReturn:
    """Runs what the arguments say."""
    path, wait_seconds = "", WAIT_SECONDS
    rest = arguments[:]
    while rest and rest[0] in ("--socket", "--wait", "--help"):
        option = rest.pop(0)
        if option == "--help" or not rest:
            break
        value = rest.pop(0)
        if option == "--socket":
            path = value
        else:
            try:
                wait_seconds = float(value)
            except ValueError:
                rest = []
    if not rest or rest == ["-m"]:
        sys.stderr.write("usage: python -m oef.warm [--socket PATH] [--wait SECONDS] (script.py | -m MODULE) [ARGUMENTS]\n")
        raise SystemExit(2)
    try:
        _hand_over(path or default_socket(), wait_seconds, rest)
    except Unanswered as error:
        _plainly(rest, str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
