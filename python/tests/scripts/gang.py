"""One worker of a gang that trains without any framework: gang.py LENGTH[,LENGTH...] (batches of each rank, two epochs).

TEST_STOP: "RANK:STEP", that worker sends itself the stop signal in that step. TEST_DIE: the same with kill -9.
TEST_UNSAVABLE: the rank whose state cannot be pickled. TEST_BLIND: the rank that sees another folder. TEST_LATE: all but the first worker wait for a file `go`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import oef

rank = int(os.environ["RANK"])
lengths = [int(n) for n in sys.argv[1].split(",")]
stop_rank, _, stop_step = os.environ.get("TEST_STOP", "-1:0").partition(":")
die_rank, _, die_step = os.environ.get("TEST_DIE", "-1:0").partition(":")
random.seed(rank)
while "TEST_LATE" in os.environ and rank > 0 and not os.path.exists("go"):
    time.sleep(0.005)
if os.environ.get("TEST_BLIND") == str(rank):
    os.environ["OEF_CHECKPOINT_DIR"] += "-elsewhere"
job = oef.job(sync_every=int(os.environ.get("TEST_SYNC", "1")))
weights = [0.0]
own = [float(rank)]
job.restore(weights=weights)
job.restore_own(own=own)
if os.environ.get("TEST_UNSAVABLE") == str(rank):
    job.restore_own(broken=[lambda: None])


class Data:
    def __iter__(self):  # type: ignore[no-untyped-def]
        order = list(range(lengths[rank % len(lengths)]))
        random.shuffle(order)
        return iter(order)


for step, batch in job.steps(Data(), epochs=2):
    weights[0] += 1.0
    own[0] = own[0] * 0.5 + batch + random.random()
    if rank == int(die_rank) and step == int(die_step):
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == int(stop_rank) and step == int(stop_step):
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(random.Random(step * 7 + rank).uniform(0, 0.01))  # Of its own, so that it draws from nothing that counts.
    print(job.step + 1, flush=True)
print("end", rank, job.step, weights[0].hex(), own[0].hex(), random.random().hex(), flush=True)
