"""What all routes share: paths with names in them, queries, pages."""

from __future__ import annotations

import dataclasses
import os
import urllib.parse
from typing import Any, Dict, Iterator, Mapping, Optional

from ._access import Access, find
from ._transport import Transport

#: Requests that may be sent twice without harm.
_REPEATABLE = ("GET", "PUT")
#: How many entries are asked for at once.
_PAGE = 500


class Base:
    """A connection to one daemon. It may be used by several threads."""

    def __init__(
        self,
        server: Optional[str] = None,
        token: Optional[str] = None,
        *,
        ca: Optional[str] = None,
        access_file: Optional["os.PathLike[str]"] = None,
        timeout_s: float = 120.0,
        patience_s: float = 60.0,
    ) -> None:
        """Finds the daemon as the command line does; nothing is sent yet.

        `server`, `token`, `ca` and `access_file` go before OEF_SERVER, OEF_TOKEN, OEF_CA and OEF_ACCESS. An answer may
        take `timeout_s`. A daemon that was there and went away is waited for as long as `patience_s`.
        """
        env = dict(os.environ)
        if access_file is not None:
            env["OEF_ACCESS"] = os.fspath(access_file)
            env.pop("OEF_SERVER", None)
            env.pop("OEF_TOKEN", None)
        given = {"OEF_SERVER": server, "OEF_TOKEN": token, "OEF_CA": ca}
        env.update({name: value for name, value in given.items() if value is not None})

        def found() -> Access:
            access = find(env)
            return access if server is None else dataclasses.replace(access, source="the argument `server`")

        self._transport = Transport(found, timeout_s, patience_s)

    @property
    def access(self) -> Access:
        """Where the daemon is."""
        return self._transport.access

    def __repr__(self) -> str:
        return f"Client({self.access.server!r})"

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        is_repeatable: Optional[bool] = None,
    ) -> Any:
        """Any request: `path` follows `/api/v1` and is escaped already. The answer is JSON, or `None` if it is empty.

        `is_repeatable` says that it may be sent again if its answer is lost; by default GET and PUT are.
        """
        method = method.upper()
        repeatable = method in _REPEATABLE if is_repeatable is None else is_repeatable
        return self._transport.ask(method, path + _query(query or {}), body, headers or {}, repeatable)

    def _do(self, method: str, path: str, names: Optional[Mapping[str, object]] = None, **more: Any) -> Any:
        """A request to a path of the OpenAPI document, with the names that it needs."""
        return self.request(method, path.format(**{key: _segment(each) for key, each in (names or {}).items()}), **more)

    def _pages(self, path: str, entries: str, query: Optional[Mapping[str, Any]] = None) -> Iterator[Dict[str, Any]]:
        """The entries of all pages of a list."""
        after: Optional[str] = None
        while True:
            page = self._do("GET", path, query={"limit": _PAGE, **(query or {}), "after": after})
            yield from page[entries]
            after = page.get("next")
            if after is None:
                return


def given(**fields: Any) -> Dict[str, Any]:
    """The fields that are not `None`."""
    return {name: value for name, value in fields.items() if value is not None}


def _segment(name: object) -> str:
    """A name as one segment of a path, which it cannot leave."""
    text = urllib.parse.quote(str(name), safe="")
    if not text:
        raise ValueError("a name must not be empty")
    return text.replace(".", "%2E") if text in (".", "..") else text


def _query(fields: Mapping[str, Any]) -> str:
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in fields.items()
        if value is not None
    }
    return "?" + urllib.parse.urlencode(texts, quote_via=urllib.parse.quote) if texts else ""
