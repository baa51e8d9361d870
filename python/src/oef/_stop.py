"""Notices the stop signal, and does nothing else about it: the loop looks at the flag between two steps."""

from __future__ import annotations

import multiprocessing.util
import signal
import threading
from contextlib import contextmanager
from types import FrameType
from typing import Any, Iterator, Optional

from ._errors import say_once

#: Where the processes begin that a DataLoader starts.
_LOADER_MODULES = ("torch.utils.data.", "torchdata.")


class StopFlag:
    """Set by the stop signal while it is installed. Without a signal it is never set."""

    def __init__(self, stop_signal: Optional[signal.Signals]) -> None:
        self._signal = stop_signal
        self._before: Any = None
        self._installed = False
        self.requested = False
        if stop_signal is not None:
            multiprocessing.util.register_after_fork(self, StopFlag._in_forked_process)

    def install(self) -> None:
        """Takes the signal over. Before this a stop simply ends the process: nothing would be lost."""
        if self._signal is None or self._installed:
            return
        if threading.current_thread() is not threading.main_thread():
            say_once("steps() runs outside of the main thread: the stop signal cannot be noticed there")
            return
        self._before = signal.signal(self._signal, self._on_signal)
        self._installed = True

    def reinstall(self) -> None:
        """Takes the signal back from a framework that took it in the meantime."""
        if self._signal is not None and self._installed and signal.getsignal(self._signal) != self._on_signal:
            signal.signal(self._signal, self._on_signal)

    def uninstall(self) -> None:
        """Gives the signal its former meaning back, if it is still ours."""
        if self._signal is None or not self._installed:
            return
        if threading.current_thread() is not threading.main_thread():
            return
        self._installed = False
        if signal.getsignal(self._signal) == self._on_signal:
            signal.signal(self._signal, signal.SIG_DFL if self._before is None else self._before)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Holds the signal back while helpers of a loader are started.

        The signal goes to every process of the job. A DataLoader's worker would die of it, and its death would end the job
        in the middle of a step. A process inherits what is held back, so the workers never see the signal.
        """
        if self._signal is None or not self._installed:
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {self._signal})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _in_forked_process(self) -> None:
        """Holds the signal back in the workers of every DataLoader, also of one that `steps` does not know.

        Those of a validation, or of a framework. Other processes of the script keep the signal: they may be ended by it.
        """
        target = getattr(multiprocessing.current_process(), "_target", None)
        if self._signal is not None and str(getattr(target, "__module__", "")).startswith(_LOADER_MODULES):
            signal.pthread_sigmask(signal.SIG_BLOCK, {self._signal})

    def _on_signal(self, _number: int, _frame: Optional[FrameType]) -> None:
        self.requested = True
