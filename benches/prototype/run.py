#!/usr/bin/env python3
"""The paper's way to compute shares: cvxpy with ECOS on the full program.

    python3 benches/prototype/run.py --problem FILE.json --mechanism cooperative --form vectorised

prints one line of JSON. It is the yardstick of `oef bench shares --with-prototype`, and deliberately
nothing more: no demands, no audit, no canonical answer.

The packages it needs live in a virtual environment of its own, made on the first run (or by --setup)
and used again afterwards. `seconds` covers building the program and solving it, as a scheduler that calls
it every round would pay; starting Python and importing the packages are not counted.
"""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = ["cvxpy", "ecos", "numpy", "scipy"]
# Set in the process that runs inside the environment, so that it never starts itself a second time.
INSIDE = "OEF_PROTOTYPE_INSIDE"


def main():
    args = arguments()
    if os.environ.get(INSIDE) != "1":
        python = environment()
        if args.setup and args.problem is None:
            return 0
        env = dict(os.environ, **{INSIDE: "1"})
        # One core, as the bars of the benchmark are stated.
        for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            env.setdefault(threads, "1")
        return subprocess.run([python, *sys.argv], env=env, check=False).returncode
    counts, weights, speedups = read_problem(args.problem)
    result = solve(counts, weights, speedups, args.mechanism, args.form)
    print(json.dumps(result))
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", type=Path, help="problem file in JSON, with all entries present")
    parser.add_argument("--mechanism", choices=["cooperative", "noncooperative"], default="cooperative")
    parser.add_argument(
        "--form",
        choices=["per-pair", "vectorised"],
        default="vectorised",
        help="cooperative: one envy constraint per pair in a loop, or one matrix constraint per tenant",
    )
    parser.add_argument("--setup", action="store_true", help="make the environment; enough by itself")
    args = parser.parse_args()
    if args.problem is None and not args.setup:
        parser.error("--problem is needed (or --setup)")
    return args


def environment():
    """The Python of the virtual environment, which is made if it is not there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(os.environ.get("OEF_PROTOTYPE_VENV") or cache / "oef" / "prototype-venv")
    python = root / "bin" / "python"
    ready = root / "packages-installed"
    if ready.exists() and python.exists():
        return str(python)
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{root}.lock", "w") as lock:
        # Two runs at once: the second waits for the first one's environment.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ready.exists() and python.exists()):
            print(f"making a virtual environment with {', '.join(PACKAGES)} ...", file=sys.stderr)
            run_quietly([sys.executable, "-m", "venv", "--clear", str(root)])
            run_quietly([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])
            ready.write_text("\n".join(PACKAGES) + "\n")
    return str(python)


def run_quietly(command):
    """Runs a command; stdout stays free for the result."""
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        sys.exit(f"run.py: `{' '.join(command)}` failed")


def read_problem(path):
    """Counts, weights and speedups of a problem file, normalised to its reference type.

    Every workload is a virtual tenant with its part of the tenant's weight.
    """
    problem = json.loads(path.read_text())
    types = [gpu["type"] for gpu in problem["gpu"]]
    counts = [float(gpu["count"]) for gpu in problem["gpu"]]
    weights, rows = [], []
    for tenant in problem["tenant"]:
        if tenant.get("demand") is not None:
            sys.exit(f"run.py: {path}: tenant `{tenant['name']}` has a demand, which the prototype does not know")
        parts = [float(w.get("weight", 1.0)) for w in tenant["workload"]]
        for workload, part in zip(tenant["workload"], parts):
            row = [float(workload["throughput"].get(t, 0.0)) for t in types]
            if min(row) <= 0.0:
                who = f"`{workload['name']}` of `{tenant['name']}`"
                sys.exit(f"run.py: {path}: {who} lacks a gpu type; the prototype needs all of them")
            weights.append(float(tenant.get("weight", 1.0)) * part / sum(parts))
            rows.append(row)
    reference = types.index(problem.get("reference") or derive_reference(types, weights, rows))
    return counts, weights, [[value / row[reference] for value in row] for row in rows]


def derive_reference(types, weights, rows):
    """The type that is slowest for the most weight; of equals the first by name."""
    slowest = {t: 0.0 for t in types}
    for weight, row in zip(weights, rows):
        for t, value in zip(types, row):
            if value == min(row):
                slowest[t] += weight
    return min(types, key=lambda t: (-slowest[t], t))


def solve(counts, weights, speedups, mechanism, form):
    import cvxpy as cp
    import numpy as np

    capacity, weight, w = np.array(counts), np.array(weights), np.array(speedups)
    start = time.perf_counter()
    program, x = build(cp, capacity, weight, w, mechanism, form)
    built = time.perf_counter()
    status = "error"
    try:
        program.solve(solver=cp.ECOS)
        status = program.status
    except cp.SolverError as error:
        print(f"run.py: {error}", file=sys.stderr)
    end = time.perf_counter()
    total = None if x.value is None else float(np.sum(w * x.value))
    return {
        "seconds": end - start,
        "solve_seconds": end - built,
        "total": total,
        "status": status,
        "solver": "ECOS",
        "n": len(weights),
        "k": len(counts),
    }


def build(cp, capacity, weight, w, mechanism, form):
    """The full program, as the paper states it; weights divide the bundles."""
    n, k = w.shape
    x = cp.Variable((n, k), nonneg=True)
    within = cp.sum(x, axis=0) <= capacity
    throughput = cp.sum(cp.multiply(w, x), axis=1)
    if mechanism == "noncooperative":
        level = cp.Variable()
        return cp.Problem(cp.Maximize(level), [within, throughput == weight * level]), x
    constraints = [within]
    if form == "per-pair":
        for tenant in range(n):
            for other in range(n):
                if tenant != other:
                    own = w[tenant] @ x[tenant] / weight[tenant]
                    constraints.append(own >= w[tenant] @ x[other] / weight[other])
    else:
        # values[l, i]: what tenant l would make of tenant i's bundle, per weight.
        values = w @ cp.multiply(x, (1.0 / weight)[:, None]).T
        constraints.append(cp.reshape(cp.diag(values), (n, 1), order="C") >= values)
    return cp.Problem(cp.Maximize(cp.sum(throughput)), constraints), x


if __name__ == "__main__":
    sys.exit(main())
