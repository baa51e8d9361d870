"""Training jobs that can be preempted at any time and lose nothing.

    import oef

    job = oef.job()
    job.restore(model=model, optimizer=optimizer)
    for step, batch in job.steps(loader, epochs=3):
        ...

The same script runs unchanged without OEF.
"""

from ._errors import OefError
from ._job import Job, job

__all__ = ["Job", "OefError", "__version__", "job"]

__version__ = "0.1.0"
