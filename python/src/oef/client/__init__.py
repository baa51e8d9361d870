"""A client of the REST interface: submit jobs, wait for them, read their output, ask about the cluster.

    from oef.client import Client

    client = Client()
    job = client.wait(client.submit(["python", "train.py"], workers=2))
    print(job.state, client.logs(job))
"""

from ._access import Access
from ._client import Client
from ._errors import AccessError, ClientError, Refused, Unexpected, Unreachable, WaitTimeout
from ._events import EventStream
from ._models import ENDED, Event, Job, JobSpec, Why

__all__ = [
    "ENDED",
    "Access",
    "AccessError",
    "Client",
    "ClientError",
    "Event",
    "EventStream",
    "Job",
    "JobSpec",
    "Refused",
    "Unexpected",
    "Unreachable",
    "WaitTimeout",
    "Why",
]
