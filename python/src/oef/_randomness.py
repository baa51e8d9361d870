"""The states of everything that draws random numbers."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import random
import sys
from typing import Any, Dict, Mapping

from ._errors import say

#: Name of a source of random numbers, and its state.
RandomStates = Dict[str, Any]

_OWN = "own:"


def is_source(value: object) -> bool:
    """Whether this is a generator of random numbers: of `random`, NumPy or PyTorch."""
    if isinstance(value, random.Random):
        return True
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
        return True
    return torch is not None and isinstance(value, torch.Generator)


def capture(sources: Mapping[str, Any]) -> RandomStates:
    """The states of the global generators of all libraries that are imported, and of the given ones."""
    states = capture_cpu()
    torch = sys.modules.get("torch")
    # Asking earlier would make a CUDA context in a program that may only want to fork.
    if torch is not None and torch.cuda.is_initialized():
        states["torch.cuda"] = torch.cuda.get_rng_state_all()
    for name, source in sources.items():
        states[_OWN + name] = _read(source)
    return states


def capture_cpu() -> RandomStates:
    """The states of the global generators, without those of GPUs."""
    states: RandomStates = {"random": random.getstate()}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        states["numpy"] = numpy.random.get_state()
    if torch is not None:
        states["torch"] = torch.get_rng_state()
    return states


def in_plain_values(states: RandomStates) -> RandomStates:
    """The same states without arrays of NumPy, which `torch.load` refuses where it reads nothing but weights."""
    if "numpy" not in states:
        return states
    kind, keys, *others = states["numpy"]
    return {**states, "numpy": (kind, [int(key) for key in keys], *others)}


def offspring(states: RandomStates) -> RandomStates:
    """States that follow from the given ones and have nothing in common with them. The global generators keep theirs."""
    # Each from its own library's alone: a script may have seeded one of them and not another.
    before = capture_cpu()
    random.seed(_digest(pickle.dumps(states["random"], protocol=5)))
    if "numpy" in states:
        _module("numpy").random.seed(list(_digest(states["numpy"][1].tobytes())))
    if "torch" in states:
        seed = _digest(bytes(states["torch"].tolist()))
        _module("torch").default_generator.manual_seed(int.from_bytes(seed[:7], "big"))
    fresh = capture_cpu()
    put_back(before, {})
    return fresh


def put_back(states: RandomStates, sources: Mapping[str, Any]) -> None:
    """Sets what `capture` saw. A source that is no longer there is left out."""
    random.setstate(states["random"])
    if "numpy" in states:
        _module("numpy").random.set_state(states["numpy"])
    if "torch" in states:
        torch = _module("torch")
        torch.set_rng_state(states["torch"])
        if "torch.cuda" in states:
            _put_back_cuda(torch, states["torch.cuda"])
    for name, source in sources.items():
        if _OWN + name in states:
            _write(source, states[_OWN + name])


def _digest(state: bytes) -> bytes:
    return hashlib.sha256(state).digest()


def _put_back_cuda(torch: Any, saved: Any) -> None:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count != len(saved):
        say(f"the checkpoint has the random state of {len(saved)} GPUs, this start has {count}: as many as fit are set")
    for index, state in enumerate(saved[:count]):
        torch.cuda.set_rng_state(state, index)


def _module(name: str) -> Any:
    # The run that saved had imported it. This one will, perhaps in the middle of a step.
    return importlib.import_module(name)


def _read(source: Any) -> Any:
    if isinstance(source, random.Random):
        return source.getstate()
    if hasattr(source, "bit_generator"):
        return source.bit_generator.state
    return source.get_state()


def _write(source: Any, state: Any) -> None:
    if isinstance(source, random.Random):
        source.setstate(state)
    elif hasattr(source, "bit_generator"):
        source.bit_generator.state = state
    else:
        source.set_state(state)
