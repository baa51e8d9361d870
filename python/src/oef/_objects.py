"""The states of what a script passes to `restore`, taken and put back in place."""

from __future__ import annotations

import sys
from typing import Any

from ._errors import OefError, reason


def check(name: str, value: object) -> None:
    """Refuses what cannot be changed in place, because it could not be restored."""
    if _has_state_dict(value) or _is_array(value) or _is_tensor(value):
        return
    if isinstance(value, (dict, list, set, bytearray)):
        return
    raise OefError(
        f"restore({name}=...) got a value of type `{type(value).__name__}`, which cannot be restored in place: give it "
        f"state_dict() and load_state_dict(), or keep the value in job.state[{name!r}]"
    )


def capture(value: Any) -> Any:
    """The state as something that can be pickled at once; it may share memory with the object."""
    return value.state_dict() if _has_state_dict(value) else value


def put_back(name: str, value: Any, state: Any) -> None:
    """Gives the object the state that was saved."""
    try:
        if _has_state_dict(value):
            value.load_state_dict(state)
        else:
            _copy_into(value, state)
    except Exception as error:
        raise OefError(
            f"the checkpoint's `{name}` does not fit the one of this script ({reason(error)}): "
            "use the script that made it, or another checkpoint folder"
        ) from error


def _copy_into(value: Any, state: Any) -> None:
    """In place, so that every other name of the same array, tensor or collection sees it, too."""
    if _is_array(value) or _is_tensor(value):
        if value.shape != state.shape or value.dtype != state.dtype:
            raise ValueError(f"it is {state.dtype} of shape {tuple(state.shape)}, "
                             f"the script's is {value.dtype} of shape {tuple(value.shape)}")
        if _is_tensor(value):
            with sys.modules["torch"].no_grad():
                value.copy_(state)
        else:
            value[...] = state
    elif type(value) is not type(state):
        raise TypeError(f"it is of type `{type(state).__name__}`, the script's is of type `{type(value).__name__}`")
    elif isinstance(value, dict):
        fresh = {key: _merged(value[key], item) if key in value else item for key, item in state.items()}
        value.clear()
        value.update(fresh)
    elif isinstance(value, list):
        value[:] = [_merged(value[i], item) if i < len(value) else item for i, item in enumerate(state)]
    elif isinstance(value, set):
        value.clear()
        value.update(state)
    else:
        value[:] = state


def _merged(value: Any, state: Any) -> Any:
    """The old object with the new state where that is possible, otherwise the new object."""
    alike = (_is_array(value) and _is_array(state)) or (_is_tensor(value) and _is_tensor(state))
    if alike and value.shape == state.shape and value.dtype == state.dtype:
        _copy_into(value, state)
        return value
    if isinstance(value, (dict, list, set, bytearray)) and type(value) is type(state):
        _copy_into(value, state)
        return value
    return state


def _has_state_dict(value: object) -> bool:
    return callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None))


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
