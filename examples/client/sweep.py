"""Submits a sweep, waits for it, and prints the best: each job writes its result as its last line.

    python examples/client/sweep.py

It needs a daemon that the command line finds too: `oef up --gpus "a=2,b=2"` starts one on any machine.
"""

import json
import sys

from oef.client import Client, JobSpec

# What is trained: a line through points. Your own script would be a file: `["python", "train.py", "--lr", "{lr}"]`.
TRAIN = """
import json, random, sys
lr, weight = float(sys.argv[1]), 0.0
random.seed(1)
for step in range(100):
    x = random.uniform(-1, 1)
    weight -= lr * 2 * (weight - 3) * x * x
print(json.dumps({"lr": lr, "loss": (weight - 3) ** 2}))
"""


def main() -> int:
    client = Client()
    ids = client.sweep(
        JobSpec([sys.executable, "-c", TRAIN, "{lr}"], name="line", max_run_s=600),
        {"lr": [0.001, 0.01, 0.1]},
        at_once=2,
    )
    print(f"submitted {len(ids)} jobs: {ids}")
    results = []
    for job in client.as_completed(ids):
        if not job.is_finished:
            print(f"job {job.id} is {job.state}: {job.reason}", file=sys.stderr)
            continue
        result = json.loads(client.logs(job, stream="out", tail=1))
        print(f"job {job.id}: lr={result['lr']}, loss {result['loss']:.4f}, {job.ran_s:.1f} s")
        results.append(result)
    if len(results) < len(ids):
        return 1
    best = min(results, key=lambda result: result["loss"])
    print(f"best: lr={best['lr']} with loss {best['loss']:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
