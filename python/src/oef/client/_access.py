"""Finding the daemon, as the command line does: the environment, then the access file, then the local socket."""

from __future__ import annotations

import json
import os
import socket
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Mapping, Optional

from ._errors import AccessError

#: Where a daemon listens for the users of its machine.
SOCKET = "/run/oef/oef.sock"
#: How an address begins that is a path.
UNIX = "unix://"
#: An access file has a few short lines; a larger file is something else.
_FILE_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True)
class Access:
    """Where the daemon is, and the token to show it."""

    server: str
    token: str = field(default="", repr=False)
    ca: Optional[str] = None
    #: The daemon's folder, where the access file says it.
    state: Optional[str] = None
    #: What named this server, for messages.
    source: str = ""

    @property
    def where(self) -> str:
        """The server and what named it."""
        return f"{self.server} (from {self.source})" if self.source else self.server


def find(env: Mapping[str, str], local_socket: str = SOCKET) -> Access:
    """The daemon that the environment names, else the one of the access file, else the one on the local socket."""
    server, token, ca = env.get("OEF_SERVER"), env.get("OEF_TOKEN"), env.get("OEF_CA") or None
    if server and server.startswith("unix:/") and not server.startswith(UNIX):
        server = UNIX + server[len("unix:") :]
    if server and (token or server.startswith(UNIX)):
        return Access(_trimmed(server), token or "", ca, source="OEF_SERVER")
    path = Path(env["OEF_ACCESS"]) if env.get("OEF_ACCESS") else _usual_file(env)
    if server:
        # The token of one server is not shown to another.
        try:
            found = _read(path) if path else None
        except AccessError:
            found = None
        if found is None or found.server != _trimmed(server):
            raise AccessError(
                f"there is no token for {server}: OEF_TOKEN is not set",
                "set OEF_TOKEN to a token of that server (its operator makes one with `oef token create`)",
            )
        return replace(found, ca=ca or found.ca, source="OEF_SERVER")
    found = _read(path) if path else None
    if found is not None:
        return replace(found, token=token or found.token, ca=ca or found.ca)
    if _listens(local_socket):
        return Access(UNIX + local_socket, source="the local socket")
    tried = f"there is no {path}" if path else "neither XDG_STATE_HOME nor HOME is set"
    raise AccessError(
        f"no daemon is known: OEF_SERVER is not set, {tried}, and nothing listens on {local_socket}",
        "start a daemon on this machine with `oef up`, or set OEF_SERVER and OEF_TOKEN",
    )


def _usual_file(env: Mapping[str, str]) -> Optional[Path]:
    state = env.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return Path(state, "oef/access.json")
    return Path(env["HOME"], ".local/state/oef/access.json") if env.get("HOME") else None


def _read(path: Path) -> Optional[Access]:
    """What the file says; `None`: it is not there."""
    try:
        status = path.stat()
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise AccessError(
                f"{path} can be read by others (mode {mode:03o})",
                f"it holds a token: run `chmod 600 {path}`, and make a new token if somebody may have seen it",
            )
        if not stat.S_ISREG(status.st_mode) or status.st_size > _FILE_BYTES_MAX:
            raise ValueError("a small file is expected there")
        said = json.loads(path.read_text("utf-8"))
        return Access(_trimmed(said["server"]), str(said["token"]), said.get("ca"), said.get("state"), str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "run as the user who started the daemon, or set OEF_SERVER and OEF_TOKEN"
        raise AccessError(f"{path} cannot be read: {error.strerror}", hint) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "remove it and start the daemon again, which writes a new one"
        raise AccessError(f"{path} is not an access file: {error}", hint) from error


def _trimmed(server: str) -> str:
    server = server.strip()
    return (server if "://" in server else f"http://{server}").rstrip("/")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(2)
        return end.connect_ex(path) == 0
