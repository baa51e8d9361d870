"""HTTP requests to one daemon. Each has its own connection, so that a client can be used by several threads."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
import urllib.parse
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar

from ._access import UNIX, Access
from ._errors import AccessError, Refused, Unexpected, Unreachable

T = TypeVar("T")

PREFIX = "/api/v1"
#: A daemon that takes longer to accept a connection is not there.
CONNECT_S = 10.0
#: The largest answers are rounds of clusters with thousands of tenants: a few megabytes.
_ANSWER_BYTES_MAX = 256 * 1024 * 1024
#: The pause before the second try, twice as long every time, and the longest.
_PAUSE_S, _PAUSE_MAX_S = 0.2, 5.0


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(CONNECT_S)
        self.sock.connect(self._path)


class _Address:
    """Where requests go."""

    def __init__(self, access: Access) -> None:
        self.access = access
        parts = urllib.parse.urlsplit(access.server)
        self._unix = access.server[len(UNIX) :] if access.server.startswith(UNIX) else None
        try:
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            self._host = ""
        if self._unix is None and (parts.scheme not in ("http", "https") or not self._host):
            raise AccessError(f"{access.where} is not an address", "write it as https://cluster.example:7733")
        self.base = PREFIX if self._unix is not None else parts.path.rstrip("/") + PREFIX
        self._tls = _tls(access) if parts.scheme == "https" else None

    def connection(self) -> http.client.HTTPConnection:
        """A connection that is still to be made."""
        if self._unix is not None:
            return _UnixConnection(self._unix)
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_S, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_S)

    def headers(self, data: Optional[bytes], more: Mapping[str, str]) -> Dict[str, str]:
        """What goes before the body; the token is only shown to its own server."""
        headers = {"Accept": "application/json, application/problem+json, text/event-stream", **more}
        if self.access.token:  # The local socket knows who asks.
            if not (self.access.token.isascii() and self.access.token.isprintable()):
                raise AccessError(f"the token for {self.access.where} has characters that cannot be sent")
            headers["Authorization"] = f"Bearer {self.access.token}"
        if data is not None:
            headers["Content-Type"] = "application/json"
        return headers


class Transport:
    """Sends requests, and sends those again that are safe to repeat."""

    def __init__(self, find: Callable[[], Access], timeout_s: float, patience_s: float) -> None:
        self._find = find
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        # A daemon that was never there is reported at once; one that went away may come back.
        self._was_reached = False
        self._to = _Address(find())

    @property
    def access(self) -> Access:
        """Where the daemon is."""
        return self._to.access

    def ask(self, method: str, path: str, body: Any, headers: Mapping[str, str], is_repeatable: bool) -> Any:
        """The answer as JSON; `None` where there is none."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        # A key counts for one token: what may have been carried out is never sent with another.
        is_keyed = "Idempotency-Key" in headers
        sent_to: Optional[_Address] = None

        def once() -> Any:
            nonlocal sent_to
            to = sent_to or self._to
            try:
                connection, response = self.open(method, path, data, headers, self._timeout_s, to)
                try:
                    text = self._read(response)
                finally:
                    connection.close()
            except Unreachable as error:
                sent_to = to if is_keyed and error.was_sent else sent_to
                raise
            if not text:
                return None
            try:
                return json.loads(text)
            except ValueError as error:
                raise Unexpected(self.access.where, f"{error}; it begins with: {_beginning(text)}") from None

        return self.retrying(once, is_repeatable, may_move=lambda: sent_to is None)

    def retrying(
        self,
        action: Callable[[], T],
        is_repeatable: bool,
        until: float = float("inf"),
        may_move: Callable[[], bool] = lambda: True,
    ) -> T:
        """What the action gives; it is tried again while the client is patient and that is safe."""
        until = min(until, time.monotonic() + self._patience_s)
        pause = _PAUSE_S
        while True:
            try:
                return action()
            except (Unreachable, Refused) as error:
                is_safe = is_repeatable or not (isinstance(error, Unreachable) and error.was_sent)
                if is_safe and may_move() and self._is_moved(error):
                    continue
                wait = self._wait(error, is_repeatable, pause)
                if wait is None or time.monotonic() + wait > until:
                    raise
            time.sleep(wait)
            pause = min(2 * pause, _PAUSE_MAX_S)

    def _is_moved(self, error: Exception) -> bool:
        """Whether the daemon was started again with another token or address, which is used from now on."""
        if isinstance(error, Refused) and error.status != 401:
            return False
        try:
            found = self._find()
            # Another daemon has other jobs under the same numbers.
            if found == self.access or found.state is None or found.state != self.access.state:
                return False
            self._to = _Address(found)
        except AccessError:
            return False
        return True

    def _wait(self, error: Exception, is_repeatable: bool, pause: float) -> Optional[float]:
        """How long to wait before it is tried again; `None`: it is not."""
        if isinstance(error, Unreachable):
            is_known = self._was_reached and error.is_passing
            return pause if is_known and (is_repeatable or not error.was_sent) else None
        if isinstance(error, Refused) and error.status == 429 and error.retry_after_s is not None:
            return max(pause, error.retry_after_s)  # Nothing was done.
        if isinstance(error, Refused) and error.status == 503 and is_repeatable:
            return pause
        return None

    def open(
        self,
        method: str,
        path: str,
        data: Optional[bytes],
        headers: Mapping[str, str],
        timeout_s: float,
        to: Optional[_Address] = None,
    ) -> Tuple["Connection", http.client.HTTPResponse]:
        """Sends a request, once. The answer's body is still to be read; one that says no is an error."""
        to = to or self._to  # Another thread may find that the daemon has moved.
        connection = self._connect(to)
        try:
            connection.set_timeout(timeout_s)
            connection.http.request(method, to.base + path, data, to.headers(data, headers))
            response = connection.http.getresponse()
            if 200 <= response.status < 300:
                return connection, response
            raise self._refusal(response)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._failed(error) from error
        except BaseException:
            connection.close()
            raise

    def _connect(self, to: _Address) -> "Connection":
        raw = to.connection()
        try:
            raw.connect()
        except (OSError, UnicodeError) as error:  # The latter from a name that cannot be one of a host.
            raw.close()
            hint = None
            if isinstance(error, ssl.SSLCertVerificationError):
                hint = "OEF_CA names a file with the certificate of a server whose certificate is self-signed"
            raise Unreachable(to.access.where, _cause(error), False, hint) from error
        self._was_reached = True
        return Connection(raw)

    def _read(self, response: http.client.HTTPResponse) -> str:
        try:
            is_known = response.length is not None and response.length <= _ANSWER_BYTES_MAX
            data = response.read() if is_known else response.read(_ANSWER_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(error) from error
        if len(data) > _ANSWER_BYTES_MAX:
            raise Unexpected(self.access.where, f"it is longer than {_ANSWER_BYTES_MAX} bytes")
        if not data and response.status != 204:
            # Headers that are cut look like headers that are over.
            raise Unreachable(self.access.where, "the answer was cut off", was_sent=True)
        return data.decode("utf-8", "replace")

    def _refusal(self, response: http.client.HTTPResponse) -> Exception:
        text = self._read(response)
        after = response.getheader("Retry-After", "")
        try:
            return Refused(json.loads(text), float(after) if after.isdigit() else None)
        except (ValueError, KeyError, TypeError, AttributeError):
            said = f"HTTP status {response.status} without a problem document: {_beginning(text)}"
            return Unexpected(self.access.where, said)

    def _failed(self, error: Exception) -> Exception:
        if isinstance(error, http.client.HTTPException) and not isinstance(error, (OSError, http.client.IncompleteRead)):
            return Unexpected(self.access.where, f"not HTTP: {_beginning(str(error))}")
        return Unreachable(self.access.where, _cause(error), was_sent=True)


class Connection:
    """One open connection whose time limit can be changed, also while its answer is read."""

    def __init__(self, raw: http.client.HTTPConnection) -> None:
        self.http = raw
        self._socket: socket.socket = raw.sock

    def set_timeout(self, seconds: float) -> None:
        """A read that waits for longer fails."""
        self._socket.settimeout(max(seconds, 0.001))

    def close(self) -> None:
        """Ends it; whoever reads from it in another thread is woken up."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It is over already.
        self.http.close()
        self._socket.close()


def _tls(access: Access) -> ssl.SSLContext:
    """The system's certificates, or only those that were named: as PEM text or as a file."""
    ca = access.ca
    try:
        if ca is not None and ca.lstrip().startswith("-----BEGIN"):
            return ssl.create_default_context(cadata=ca)
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise AccessError(f"the certificates in {ca} cannot be read: {error}", "OEF_CA names a PEM file") from error


def _cause(error: Exception) -> str:
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _beginning(text: str) -> str:
    text = text.strip()
    return (text[:200] + "..." if len(text) > 200 else text) or "nothing"
