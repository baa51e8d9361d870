"""A folder of checkpoints. One checkpoint is a file of every worker, all with the same serial number."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import _file
from ._errors import reason

#: One to go on from, and one in case that the newest turns out to be damaged.
KEEP = 2

_NAME = re.compile(r"oef-(\d{8,})-step(\d+)-rank(\d+)\.ckpt")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint that was verified."""

    serial: int
    step: int
    world_size: int
    files: Dict[int, Path]
    """By the worker's rank."""


@dataclass
class Search:
    """What was found in the folder."""

    newest: Optional[Checkpoint] = None
    older: List[int] = field(default_factory=list)
    """Serials of older ones, oldest first; not looked into."""
    last_serial: int = 0
    complaints: List[str] = field(default_factory=list)
    """Why newer ones than `newest` cannot be used."""


class Store:
    """Reads and writes the checkpoints of one worker, and removes old ones."""

    def __init__(self, folder: Path, rank: int, world_size: int) -> None:
        self.folder = folder
        self._rank = rank
        self._world_size = world_size

    def prepare(self) -> Optional[str]:
        """Makes the folder, and clears away what a killed process left. What is wrong, if anything."""
        try:
            self._make_folder()
            for path in self.folder.glob(f"oef-*-rank{self._rank}.ckpt{_file.TEMPORARY}"):
                _file.remove(path)
            probe = self.folder / f".oef-probe-rank{self._rank}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            return f"checkpoints cannot be written to {self.folder}: {reason(error)}"
        return None

    def search(self) -> Search:
        """The newest checkpoint that is complete and whole."""
        result = Search()
        try:
            sets = self._sets()
        except FileNotFoundError:
            return result
        except OSError as error:
            result.complaints.append(f"the folder {self.folder} cannot be read: {reason(error)}")
            return result
        result.last_serial = max(sets, default=0)
        for serial in sorted(sets, reverse=True):
            if result.newest is not None:
                result.older.insert(0, serial)
                continue
            try:
                result.newest = _verified(serial, sets[serial])
            except _file.Damaged as damage:
                result.complaints.append(str(damage))
        return result

    def write(self, serial: int, step: int, epoch: int, contents: Any) -> None:
        """Writes this worker's file of a checkpoint."""
        self._make_folder()
        header = {
            "serial": serial, "step": step, "epoch": epoch, "rank": self._rank, "world_size": self._world_size,
        }
        _file.write(self.folder / f"oef-{serial:08d}-step{step}-rank{self._rank}.ckpt", header, contents)

    def discard(self, serial: int) -> None:
        """Takes this worker's file of a checkpoint away, because another worker has none."""
        for path in self.folder.glob(f"oef-{serial:08d}-step*-rank{self._rank}.ckpt"):
            _file.remove(path)

    def keep_only(self, serials: List[int]) -> None:
        """Removes every other checkpoint of all workers."""
        try:
            for serial, files in self._sets().items():
                if serial not in serials:
                    for path in files.values():
                        _file.remove(path)
        except OSError:
            pass  # A checkpoint too many does no harm; the next save tries again.

    def is_whole(self, serial: int) -> bool:
        """Whether a checkpoint is complete and its checksums right."""
        try:
            _verified(serial, self._sets().get(serial, {}))
        except (_file.Damaged, OSError):
            return False
        return True

    def _make_folder(self) -> None:
        # Only the last level: a missing parent is a file system that is not there, and nothing should be hidden below it.
        try:
            os.mkdir(self.folder)
        except FileExistsError:
            pass
        if not self.folder.is_dir():
            raise NotADirectoryError(20, "it is not a folder", str(self.folder))

    def _sets(self) -> Dict[int, Dict[int, Path]]:
        sets: Dict[int, Dict[int, Path]] = {}
        for name in os.listdir(self.folder):
            match = _NAME.fullmatch(name)
            if match is not None:
                sets.setdefault(int(match[1]), {})[int(match[3])] = self.folder / name
        return sets


def _verified(serial: int, files: Dict[int, Path]) -> Checkpoint:
    first = files.get(0)
    if first is None:
        raise _file.Damaged(f"the checkpoint number {serial} has no file of worker 0")
    header = _header(first)
    world_size = header.get("world_size")
    if not isinstance(world_size, int) or not isinstance(header.get("step"), int):
        raise _file.Damaged(f"{first.name} cannot be used: its header is incomplete")
    for rank in range(1, world_size):
        if rank not in files:
            raise _file.Damaged(f"the checkpoint of step {header['step']} has no file of worker {rank}")
        _header(files[rank])
    return Checkpoint(serial, header["step"], world_size, {rank: files[rank] for rank in range(world_size)})


def _header(path: Path) -> Dict[str, Any]:
    try:
        return _file.verify(path)
    except _file.Damaged as damage:
        raise _file.Damaged(f"{path.name} cannot be used: {damage}") from damage
