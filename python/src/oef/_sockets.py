"""Agreement between workers without any framework: worker 0 listens, the others connect.

The port and a secret word are in a file of a folder that all workers see. Worker 0 collects the votes of a round and sends
the outcome to everybody.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import time
from pathlib import Path
from typing import Callable, Dict, Optional, Tuple

from ._agreement import PeerGone, Rounds, Vote
from ._environment import Environment
from ._errors import OefError, reason

#: Workers start together, but one may have to read its data from a slow disk first.
MEETING_SECONDS_MAX = 900.0
#: How often a worker looks whether the others are there.
_LOOK_SECONDS = 0.02
#: A greeting is two short words; who needs longer is not one of us.
_GREETING_SECONDS_MAX = 5.0
_GREETING_BYTES_MAX = 200

_VOTE = struct.Struct("!5q")


class GivenUp(OefError):
    """The job was told to stop before its workers had met."""


class SocketAgreement(Rounds):
    """The vote of workers that are connected by sockets."""

    def __init__(self, environment: Environment, folder: Path, give_up: Callable[[], bool]) -> None:
        super().__init__()
        self._rank = environment.rank
        self._own = Vote()
        meeting = _Meeting(environment, folder, give_up)
        self._peers: Dict[int, socket.socket] = {}
        if self._rank == 0:
            self._peers = meeting.host()
        else:
            self._peers = {0: meeting.join()}

    def _start(self, vote: Vote) -> None:
        self._own = vote
        if self._rank != 0:
            self._send(0, vote)

    def _finish(self) -> Vote:
        if self._rank != 0:
            return self._receive(0)
        votes = [self._own] + [self._receive(rank) for rank in sorted(self._peers)]
        outcome = Vote(*(max(figures) for figures in zip(*votes)))
        for rank in sorted(self._peers):
            self._send(rank, outcome)
        return outcome

    def _send(self, rank: int, vote: Vote) -> None:
        try:
            self._peers[rank].sendall(_VOTE.pack(*vote))
        except OSError as error:
            raise PeerGone(f"worker {rank} is gone: {reason(error)}") from error

    def _receive(self, rank: int) -> Vote:
        data = b""
        while len(data) < _VOTE.size:
            try:
                part = self._peers[rank].recv(_VOTE.size - len(data))
            except OSError as error:
                raise PeerGone(f"worker {rank} is gone: {reason(error)}") from error
            if not part:
                raise PeerGone(f"worker {rank} is gone: it has closed its connection")
            data += part
        return Vote(*_VOTE.unpack(data))


class _Meeting:
    """How the workers find each other."""

    def __init__(self, environment: Environment, folder: Path, give_up: Callable[[], bool]) -> None:
        self._environment = environment
        self._file = folder / f".oef-meeting-{environment.generation}"
        self._give_up = give_up
        self._deadline = time.monotonic() + MEETING_SECONDS_MAX

    def host(self) -> Dict[int, socket.socket]:
        word = secrets.token_hex(16)
        peers: Dict[int, socket.socket] = {}
        with _listen(self._environment.master_addr) as listener:
            listener.settimeout(_LOOK_SECONDS)
            self._announce(listener.getsockname()[1], word)
            while len(peers) < self._environment.world_size - 1:
                self._check(f"only {len(peers) + 1} of {self._environment.world_size} workers have come")
                try:
                    connection, _ = listener.accept()
                except socket.timeout:
                    continue
                rank = self._greet(connection, word)
                if rank is None:
                    connection.close()
                else:
                    peers[rank] = connection
        try:
            self._file.unlink()
        except OSError:
            pass
        return peers

    def join(self) -> socket.socket:
        while True:
            self._check("worker 0 has not come")
            invitation = self._invitation()
            if invitation is not None:
                connection = self._connect(*invitation)
                if connection is not None:
                    return connection
            time.sleep(_LOOK_SECONDS)

    def _check(self, what: str) -> None:
        if self._give_up():
            raise GivenUp("told to stop before all workers had come")
        if time.monotonic() > self._deadline:
            raise OefError(
                f"{what} within {MEETING_SECONDS_MAX:.0f} s: every worker has to call steps(), "
                f"and all have to see the folder {self._file.parent}"
            )

    def _announce(self, port: int, word: str) -> None:
        temporary = self._file.with_name(self._file.name + ".tmp")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump({"port": port, "word": word}, file)
            os.replace(temporary, self._file)
        except OSError as error:
            raise OefError(f"the workers cannot meet in {self._file.parent}: {reason(error)}") from error

    def _invitation(self) -> Optional[Tuple[int, str]]:
        try:
            found = json.loads(self._file.read_text())
            return int(found["port"]), str(found["word"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # Not there yet, or of an earlier start.

    def _connect(self, port: int, word: str) -> Optional[socket.socket]:
        try:
            connection = socket.create_connection((self._environment.master_addr, port), _GREETING_SECONDS_MAX)
        except OSError:
            return None
        try:
            connection.sendall(f"{word} {self._environment.rank}\n".encode())
            if connection.recv(1) == b"+":
                return _ready(connection)
        except OSError:
            pass
        connection.close()
        return None

    def _greet(self, connection: socket.socket, word: str) -> Optional[int]:
        try:
            connection.settimeout(_GREETING_SECONDS_MAX)
            line = b""
            while not line.endswith(b"\n") and len(line) < _GREETING_BYTES_MAX:
                part = connection.recv(1)
                if not part:
                    return None
                line += part
            said, _, rank = line.decode("ascii", "replace").strip().partition(" ")
            if not secrets.compare_digest(said.encode(), word.encode()) or not rank.isdigit():
                return None
            connection.sendall(b"+")
            _ready(connection)
        except OSError:
            return None
        return int(rank)


def _listen(address: str) -> socket.socket:
    if address == "localhost" or address.startswith("127."):
        return socket.create_server((address, 0))
    # On all addresses, because a machine's own name often means another address to itself than to the others. Who does not
    # know the word is sent away.
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def _ready(connection: socket.socket) -> socket.socket:
    # A step may take any time; a worker that ends closes its connection, and that is noticed at once.
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
