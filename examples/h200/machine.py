"""Names that say nothing about the machine on which results were made."""

from __future__ import annotations

import platform
import re


def without_machine(text: str) -> str:
    """The same text, where nodes that are named after this machine are called `gpu-`."""
    name = re.sub(r"[^A-Za-z0-9_-]", "", platform.node().split(".")[0])
    return re.sub(rf"(?<![A-Za-z0-9_-]){re.escape(name)}-", "gpu-", text) if name else text
