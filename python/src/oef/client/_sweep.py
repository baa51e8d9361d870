"""Sweeps: one job for every combination of values, as `oef submit --sweep` makes them."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from typing import Any, Dict, List, Mapping, Sequence

from ._models import JobSpec

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
#: `{{lr}}` stands for the text `{lr}`; `${lr}` is the shell's; other braces are text.
_SLOT = re.compile(rf"\{{\{{(?P<text>{_NAME})\}}\}}|(?<![$\{{])\{{(?P<slot>{_NAME})\}}")
_SCRIPT = re.compile(r"[^-].*\.(py|sh|bash|jl|r|pl|rb|js|lua)", re.IGNORECASE)
#: The fields in which a placeholder may stand.
_FIELDS = ("command", "env", "name", "script", "workdir", "checkpoint_dir")


def expand(template: JobSpec, values: Mapping[str, Sequence[object]]) -> List[JobSpec]:
    """All combinations, the last name fastest. Every placeholder is replaced, and every name used."""
    axes = {name: _axis(name, each) for name, each in values.items()}
    used = {
        found["slot"]
        for name in _FIELDS
        for text in _texts(getattr(template, name))
        for found in _SLOT.finditer(text)
        # The braces of a script may be its own.
        if found["slot"] and (name != "script" or found["slot"] in axes)
    }
    for name in sorted(used - axes.keys()):
        raise ValueError(f"{{{name}}} is not swept; write {{{{{name}}}}} for the text {{{name}}} itself")
    for name in axes:
        if name not in used:
            raise ValueError(f"the sweep of `{name}` changes nothing: write {{{name}}} where its value belongs")
        if name in (template.labels or {}):
            raise ValueError(f"`{name}` is a label and a sweep: name one of them otherwise")
    return [_fill(template, dict(zip(axes, turn))) for turn in itertools.product(*axes.values())]


def called(spec: JobSpec) -> str:
    """What a job is called: by its name, or after its script, its module or its program."""
    if spec.name is not None and _SLOT.search(spec.name) is None:
        return spec.name
    words = [str(word) for word in spec.command or ["script"]]
    if "-m" in words[1:-1]:
        return words[words.index("-m", 1) + 1]
    return os.path.basename(next((word for word in words if _SCRIPT.fullmatch(word)), words[0]))


def _axis(name: str, values: Sequence[object]) -> List[str]:
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"`{name}` cannot be a placeholder: use letters, digits, `_` and `-`, a letter or `_` first")
    if isinstance(values, (str, bytes)):
        raise TypeError(f"the values of `{name}` are a list, not the text {values!r}")
    texts = [str(value) for value in values]
    if not texts or "" in texts:
        raise ValueError(f"`{name}` has no values" if not texts else f"`{name}` has an empty value")
    if len(set(texts)) < len(texts):
        raise ValueError(f"`{name}` has a value twice: the same job would run twice")
    return texts


def _texts(value: Any) -> List[str]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [str(each) for each in value.values()]
    return [str(value)] if isinstance(value, (str, os.PathLike)) else [str(each) for each in value]


def _fill(template: JobSpec, values: Dict[str, str]) -> JobSpec:
    def put(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Mapping):
            return {key: put(each) for key, each in value.items()}
        if not isinstance(value, (str, os.PathLike)) and isinstance(value, Sequence):
            return [put(each) for each in value]
        return _SLOT.sub(lambda found: _replaced(found, values), str(value))

    settings = " ".join(f"{name}={value}" for name, value in values.items())
    changed = {name: put(getattr(template, name)) for name in _FIELDS}
    changed["name"] = changed["name"] or f"{called(template)} {settings}"
    return dataclasses.replace(template, **changed, labels={**(template.labels or {}), **values})


def _replaced(found: "re.Match[str]", values: Mapping[str, str]) -> str:
    slot, text = found["slot"], found["text"]
    return "{" + text + "}" if slot is None else values.get(slot, found[0])
