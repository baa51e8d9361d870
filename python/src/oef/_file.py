"""One checkpoint file: written so that it is whole or not there, read only when its checksum is right.

    oef-checkpoint 1
    {"serial": 7, "step": 1200, ...}      a line of JSON that people can read
    the contents, pickled
    32 bytes: SHA-256 of everything before
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any, BinaryIO, Dict

from ._errors import OefError, reason

_MAGIC = b"oef-checkpoint 1\n"
_DIGEST_BYTES = 32
#: Large enough that reading is bound by the disk, small beside any model.
_CHUNK_BYTES = 4 << 20
#: A header is a few numbers; whatever is longer is not a header.
_HEADER_BYTES_MAX = 64 << 10

TEMPORARY = ".tmp"


class Damaged(Exception):
    """A file that is not what was written."""


def write(path: Path, header: Dict[str, Any], contents: Any) -> None:
    """Writes a file that is there in full, under its name and on the disk, or not at all."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with open(temporary, "wb", buffering=_CHUNK_BYTES) as file:
            hashing = _Hashing(file)
            hashing.write(_MAGIC)
            hashing.write(json.dumps(header, sort_keys=True).encode() + b"\n")
            _Pickler(hashing, protocol=5).dump(contents)
            file.write(hashing.sha256.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        remove(temporary)
        raise


def verify(path: Path) -> Dict[str, Any]:
    """The header of a file whose checksum is right."""
    try:
        size = path.stat().st_size
        with open(path, "rb", buffering=0) as file:
            return _verify(file, size)
    except FileNotFoundError:
        raise Damaged("it is missing") from None
    except OSError as error:
        raise Damaged(f"it cannot be read: {reason(error)}") from error


def read(path: Path) -> Any:
    """The contents of a file that was verified."""
    try:
        with open(path, "rb", buffering=_CHUNK_BYTES) as file:
            file.seek(len(_MAGIC))
            file.readline(_HEADER_BYTES_MAX)
            return pickle.load(file)
    except OSError as error:
        raise OefError(f"the checkpoint {path} was whole and cannot be read any more: {reason(error)}") from error
    except Exception as error:
        raise OefError(
            f"the checkpoint {path} is whole but cannot be loaded ({reason(error)}): "
            "import what it uses before restore(), or use the script that made it"
        ) from error


def remove(path: Path) -> None:
    """Removes a file if it can be; what stays does no harm."""
    try:
        path.unlink()
    except OSError:
        pass


def sync_folder(folder: Path) -> None:
    """Makes names in a folder durable."""
    if sys.platform == "win32":
        return  # There a folder cannot be opened, and renaming is as durable as it gets.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _verify(file: Any, size: int) -> Dict[str, Any]:
    if size < len(_MAGIC) + _DIGEST_BYTES:
        raise Damaged(f"it has only {size} bytes")
    start = file.read(len(_MAGIC) + _HEADER_BYTES_MAX)
    if not start.startswith(_MAGIC):
        raise Damaged("it is not a checkpoint, or one of a newer version")
    file.seek(0)
    sha256, left = hashlib.sha256(), size - _DIGEST_BYTES
    while left > 0:
        chunk = file.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise Damaged("it became shorter while it was read")
        sha256.update(chunk)
        left -= len(chunk)
    if file.read(_DIGEST_BYTES) != sha256.digest():
        raise Damaged("its checksum is wrong")
    try:
        header = json.loads(start[len(_MAGIC):].split(b"\n", 1)[0])
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise Damaged("its header cannot be read")
    return header


class _Hashing:
    """Passes everything on, and knows the checksum of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return self._file.write(data)


class _Pickler(pickle.Pickler):
    """Pickles tensors as tensors of the CPU: the next start may be on another GPU, or need the memory of this one."""

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
            return NotImplemented
        if value.device.type != "cpu":
            tensor = value.detach().cpu()
        elif value.untyped_storage().nbytes() > value.numel() * value.element_size():
            tensor = value.detach().clone()  # A view would bring along everything that it is a view of.
        else:
            return NotImplemented
        if type(value) is torch.nn.Parameter:
            tensor = torch.nn.Parameter(tensor, requires_grad=value.requires_grad)
        elif value.requires_grad:
            tensor.requires_grad_()
        return tensor.__reduce_ex__(5)
