"""Gradients that were gathered over several steps and that no optimizer has used yet.

A script may call `backward()` several times for one step of its optimizer, and be stopped in between. No `state_dict` has
what was gathered. Every worker has its own.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Dict, List, Optional, Tuple

from ._errors import OefError, reason

#: A gradient, which it does not keep alive, and how often it was changed.
_Mark = Optional[Tuple["weakref.ref[Any]", int]]


class Gradients:
    """Those of the optimizers that a script passes to `restore`.

    In most scripts every step uses its gradients, and what is left of them at its end is of no use: that is not saved.
    """

    def __init__(self) -> None:
        self._optimizers: Dict[str, Any] = {}
        self._used: Dict[str, _Mark] = {}
        """What each optimizer saw when it made its step, of those that made one since `step_begins`."""

    def watch(self, name: str, value: Any) -> None:
        """Takes note of an optimizer of PyTorch; does nothing for anything else."""
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.optim.Optimizer):
            return

        def used(*_: Any) -> None:
            self._used[name] = _mark(value)

        value.register_step_post_hook(used)
        self._optimizers[name] = value

    def step_begins(self) -> None:
        """A step of the script begins."""
        self._used.clear()

    def pending(self) -> Dict[str, List[Any]]:
        """What was gathered since the last use, by the name of the optimizer and in the order of its parameters."""
        found: Dict[str, List[Any]] = {}
        for name, optimizer in self._optimizers.items():
            now, used = _mark(optimizer), self._used.get(name)
            # One gradient stands for all: whoever calls backward() after the optimizer's step changes it.
            if now is not None and (used is None or now[0]() is not used[0]() or now[1] != used[1]):
                found[name] = [parameter.grad for parameter in _parameters(optimizer)]
        return found

    def put_back(self, saved: Dict[str, List[Any]]) -> None:
        """Sets what `pending` gave."""
        for name, gradients in saved.items():
            parameters = _parameters(self._optimizers[name]) if name in self._optimizers else []
            try:
                for parameter, gradient in zip(parameters, gradients):
                    parameter.grad = None if gradient is None else gradient.to(parameter.device)
            except RuntimeError as error:
                raise OefError(
                    f"the gradients of the checkpoint's `{name}` do not fit the parameters of this script ({reason(error)}): "
                    "use the script that made it, or another checkpoint folder"
                ) from error


def _parameters(optimizer: Any) -> List[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _mark(optimizer: Any) -> _Mark:
    """Of the first parameter that has a gradient."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                return weakref.ref(parameter.grad), int(parameter.grad._version)
    return None
