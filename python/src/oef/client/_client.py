"""The client as scripts see it."""

from __future__ import annotations

from ._cluster import ClusterRoutes
from ._jobs import JobRoutes


class Client(JobRoutes, ClusterRoutes):
    """A connection to one daemon: `Client()` finds it as the command line does."""
