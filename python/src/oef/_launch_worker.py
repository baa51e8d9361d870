"""How a fork of the launcher becomes what `python script.py` would be."""

from __future__ import annotations

import builtins
import ctypes
import importlib
import io
import os
import resource
import runpy
import signal
import sys
import time
import types
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional

from .warm import is_safe_path

if TYPE_CHECKING:
    from ._launch_keeper import Order

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
#: By this OEF finds the processes of a job, so it must be there to be seen.
_FOUND_BY = b"OEF_RUN_DIR="


def set_environment(variables: List[bytes]) -> None:
    """Replaces all variables, for Python and for C."""
    os.environ.clear()
    for word in variables:
        name, _, value = word.partition(b"=")
        if name:
            os.environb[name] = value
    time.tzset()


def enter_group() -> None:
    """Goes into the control group of the job, where it has one: it is ended as a whole by it."""
    group = os.environ.get("OEF_CGROUP")
    if group:
        try:
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write("0")
        except OSError:
            pass  # Its processes are found by their variables then.


def show(variables: List[bytes], command: List[str]) -> Optional[str]:
    """Lets others see, in the list of processes, what this is: a fork would show the variables and the command of its parent.

    The memory in which they were given to the launcher is written over. Nothing points into it since the variables were replaced.
    Returns why not, if the most important one does not fit.
    """
    arg_start, arg_end, env_start, env_end = _areas()
    if not 0 < arg_start < arg_end <= env_start < env_end:
        return "this system does not say where a process keeps its variables"
    room = env_end - env_start
    text = b""
    for word in sorted(variables, key=lambda word: not word.startswith(_FOUND_BY)):
        if len(text) + len(word) < room:
            text += word + b"\0"
        elif word.startswith(_FOUND_BY):
            return "the launcher was started with too few variables to show the folder of this start"
    ctypes.memmove(env_start, text.ljust(room, b"\0"), room)
    length = arg_end - arg_start
    line = b"\0".join(os.fsencode(word) for word in command)[: length - 1]
    ctypes.memmove(arg_start, line.ljust(length, b"\0"), length)
    name = os.path.basename(os.fsencode(command[0] if command else "python"))[:15]
    _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)
    return None


def _areas() -> List[int]:
    """Where command and variables lie in this process's memory."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    # The manual counts them from 48 to 51; the first here is its third.
    return [int(field) for field in fields[45:49]]


def become(about: Dict[str, str], given: List[int], handlers: Dict[int, Any], keeper: int) -> None:
    """Takes on everything of the client that a process hands to a program that it executes."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != keeper:
        os._exit(1)  # It was killed before this line, and sends nothing any more.
    os.setsid()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for word in about["ignored"].split():
        signal.signal(int(word), signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [int(word) for word in about["blocked"].split()])
    for number, stream in enumerate(given[:3]):
        os.dup2(stream, number)
    os.umask(int(about["umask"]))
    _bounds(about)
    _streams(about)
    _refresh()
    sys.executable = about["executable"]


def _bounds(about: Dict[str, str]) -> None:
    """What cannot be set is no worse than the launcher's own, which is the same user's."""
    for word in about["limits"].split():
        number, soft, hard = (int(part) for part in word.split(":"))
        try:
            if resource.getrlimit(number) != (soft, hard):
                resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError):
            pass
    try:
        os.nice(int(about["nice"]) - os.nice(0))
        os.sched_setaffinity(0, {int(word) for word in about["processors"].split()})
    except OSError:
        pass


def _streams(about: Dict[str, str]) -> None:
    """Opens the standard streams as the interpreter does. The launcher's know what they were connected to."""
    unbuffered = bool(about["unbuffered"])
    replaced: Dict[int, io.TextIOWrapper] = {}
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        raw: Any = io.FileIO(number, "w" if number else "r", closefd=False)
        binary = raw if unbuffered and number else io.BufferedWriter(raw) if number else io.BufferedReader(raw)
        errors = "backslashreplace" if number == 2 else about["errors"]
        by_line = not unbuffered and (number == 2 or raw.isatty())
        stream = io.TextIOWrapper(binary, about["encoding"], errors, "\n" if number else None, by_line, unbuffered)
        raw.name = f"<{name}>"
        replaced[id(getattr(sys, name))] = stream
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    logging = sys.modules.get("logging")
    for reference in getattr(logging, "_handlerList", []):
        kept = getattr(reference(), "__dict__", {})
        kept.update({name: replaced[id(value)] for name, value in kept.items() if id(value) in replaced})


def _refresh() -> None:
    """Chance and memories that a fresh interpreter would not share with another."""
    for name, renew in (
        ("random", lambda module: module.seed()),
        ("numpy.random", lambda module: module.seed()),
        # Those of GPUs are made with CUDA, after the fork.
        ("torch", lambda module: module.default_generator.seed()),
        ("tempfile", lambda module: setattr(module, "tempdir", None)),
        ("multiprocessing.process", lambda module: setattr(module.current_process(), "authkey", os.urandom(32))),
    ):
        module = sys.modules.get(name)
        if module is not None:
            renew(module)
    importlib.invalidate_caches()


def begin_again(order: Order, why: str) -> NoReturn:
    """Becomes a fresh interpreter after all: no job is to fail because of how it is started."""
    os.write(2, os.fsencode(f"oef: started without a launcher: {why}\n"))
    os.execv(order.about["executable"], order.original)


def script_folder(target: List[str]) -> str:
    """Where the modules beside the script are."""
    return os.getcwd() if target[0] == "-m" else os.path.dirname(os.path.realpath(target[0]))


def run(order: Order) -> None:
    """Runs the script as the main module. What it raises ends the interpreter, as it always does."""
    sys.argv = order.target[:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = order.original[:]
    if not is_safe_path():
        sys.path.insert(0, script_folder(order.target))
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    try:
        if order.target[0] == "-m":
            del sys.argv[1]
            _run_module(order.target[1])
        else:
            _run_script(order.target[0], main)
    except SystemExit:
        raise
    except BaseException as error:
        _leave(error)


def _run_module(name: str) -> None:
    run_as_main: Any = getattr(runpy, "_run_module_as_main")  # Python's own `-m`.
    run_as_main(name)


def _run_script(path: str, main: types.ModuleType) -> None:
    whole = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    main.__dict__.update(__file__=whole, __cached__=None, __loader__=SourceFileLoader("__main__", whole))
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, whole, "exec", dont_inherit=True), main.__dict__)


def _leave(error: BaseException) -> NoReturn:
    """Shows an error as the script's own, without the frames of this file, and ends as the interpreter does."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and trace is None:
        error.__traceback__ = None
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    # It is shown: the way out is the interpreter's, with its exit code or its signal.
    sys.excepthook = lambda *_: None
    raise error
