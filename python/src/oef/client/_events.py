"""Events as they happen: server-sent events that are resumed where they broke off."""

from __future__ import annotations

import http.client
import json
import time
from types import TracebackType
from typing import Dict, Iterator, Optional, Tuple, Type

from ._errors import Unexpected
from ._models import Event
from ._transport import Connection, Transport

#: The daemon says something at least every 15 seconds; a connection that is silent for longer than this is dead.
_SILENCE_S = 60.0
#: An event is a sentence with a few names.
_LINE_BYTES_MAX = 1024 * 1024

Stream = Tuple[Connection, http.client.HTTPResponse]


class EventStream(Iterator[Event]):
    """Events without end. It can be closed, also from another thread, and used in a `with` statement.

    A broken connection is made again, and nothing is missed. Where the daemon no longer has the events in between, one
    with the topic `reset` comes first: read the state again, then continue.
    """

    def __init__(self, transport: Transport, after: Optional[int]) -> None:
        self._transport = transport
        #: The number of the last event that came; `client.events(after=...)` continues there.
        self.last = after
        self._is_closed = False
        self._open: Optional[Stream] = self._connect(float("inf"))

    def __next__(self) -> Event:
        event = self.next_before(float("inf"))
        if event is None:
            raise StopIteration
        return event

    def next_before(self, deadline: float) -> Optional[Event]:
        """The next event; `None`: it is this time of `time.monotonic()`, or the stream was closed."""
        while not self._is_closed:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if self._open is None:
                self._open = self._connect(deadline)
                if self.last is None:
                    # Nobody knows what happened while the connection was down.
                    return Event.reset(0)
            self._open[0].set_timeout(min(left, _SILENCE_S))
            try:
                fields = _read_block(self._open[1])
            except (OSError, ValueError, AttributeError, http.client.HTTPException):
                fields = None  # Broken, silent for too long, or closed by another thread.
            except BaseException:  # Ctrl-C in the middle of a line.
                self._drop()
                raise
            if fields is None:
                self._drop()
                continue
            event = self._understand(fields)
            if event is not None:
                return event
        return None

    def close(self) -> None:
        """Ends the stream and its connection."""
        self._is_closed = True
        self._drop()

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _drop(self) -> None:
        stream, self._open = self._open, None
        if stream is not None:
            stream[0].close()

    def _connect(self, deadline: float) -> Stream:
        headers = {} if self.last is None else {"Last-Event-ID": str(self.last)}

        def once() -> Stream:
            timeout = min(deadline - time.monotonic(), _SILENCE_S)
            return self._transport.open("GET", "/events", None, headers, timeout)

        return self._transport.retrying(once, is_repeatable=True, until=deadline)

    def _understand(self, fields: Dict[str, str]) -> Optional[Event]:
        try:
            if fields.get("event") == "reset":
                self.last = int(fields.get("id", self.last or 0))
                return Event.reset(self.last)
            if "data" not in fields:
                return None  # A comment: a sign of life.
            event = Event.of(json.loads(fields["data"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unexpected(self._transport.access.where, f"an event cannot be read: {error}") from error
        self.last = event.id
        return event


def _read_block(response: http.client.HTTPResponse) -> Optional[Dict[str, str]]:
    """The fields of the next event that is whole; `None`: the connection is over."""
    fields: Dict[str, str] = {}
    while True:
        raw = response.readline(_LINE_BYTES_MAX)
        if not raw.endswith(b"\n"):
            return None
        line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not line:
            return fields
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data" and name in fields:
            value = f"{fields[name]}\n{value}"
        if name:
            fields[name] = value
