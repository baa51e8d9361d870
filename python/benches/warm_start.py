"""How long a script takes to start, the plain way and forked from a launcher.

    PYTHONPATH=python/src python python/benches/warm_start.py --preload torch --times 20
    ... -- train.py --lr 0.1        with a script of your own, up to the first line that it prints

A start is measured from the request until the first line of the script runs, until its imports are done, and, with --cuda, until a first
tensor is on the GPU. Both ways take turns, so that what else happens on the machine happens to both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List

PACKAGE = Path(__file__).resolve().parent.parent / "src"
#: Generous: an import from a cold disk takes long.
PATIENCE_SECONDS = 300

SCRIPT = """
import time
print("first line", time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
{imports}
print("imports done", time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
{cuda}
"""
CUDA = """
import torch
torch.zeros(1, device="cuda").item()
print("tensor on the GPU", time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
"""


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="oef-bench-") as folder:
        script = Path(folder) / "script.py"
        imports = "\n".join(f"import {name}" for name in options.preload.split(","))
        script.write_text(SCRIPT.format(imports=imports, cuda=CUDA if options.cuda else ""))
        target = options.script or [str(script)]
        path = Path(folder) / "warm" / "socket"
        command = [sys.executable, "-m", "oef.launcher", "--preload", options.preload, "--socket", str(path)]
        before = time.monotonic()
        launcher = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        assert launcher.stderr is not None
        said = launcher.stderr.readline().strip()
        print(f"{said}; answers after {time.monotonic() - before:.2f} s")
        try:
            if "ready" not in said:
                sys.exit("there is nothing to compare")
            ways = {
                "plain": [sys.executable, *target],
                "warm": [sys.executable, str(PACKAGE / "oef" / "warm.py"), "--socket", str(path), *target],
            }
            measured: Dict[str, Dict[str, List[float]]] = {way: {} for way in ways}
            for _ in range(options.times):
                for way, words in ways.items():
                    for what, seconds in once(words).items():
                        measured[way].setdefault(what, []).append(seconds)
        finally:
            launcher.kill()
            launcher.wait()
    show(measured, options.times)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures starts, plain and warm.")
    parser.add_argument("--preload", default="torch", metavar="MODULE,...")
    parser.add_argument("--times", type=int, default=10, metavar="N")
    parser.add_argument("--cuda", action="store_true", help="also until a first tensor is on the GPU")
    parser.add_argument("script", nargs="*", help="a script of your own, behind --")
    return parser.parse_args()


def environment() -> Dict[str, str]:
    # The same for both: a launcher serves only who imports alike. The room is for what a worker shows of itself.
    path = f"{PACKAGE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path, "OEF_WARM_ROOM": "x" * 8192}


def once(command: List[str]) -> Dict[str, float]:
    """Seconds from the request to each word of the script, or to its first line, and to its end."""
    begun = time.clock_gettime(time.CLOCK_MONOTONIC)
    found: Dict[str, float] = {}
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        what, _, number = line.rstrip().rpartition(" ")
        if what in ("first line", "imports done", "tensor on the GPU"):
            found[what] = float(number) - begun
        elif not found:
            found["first line printed"] = time.clock_gettime(time.CLOCK_MONOTONIC) - begun
    if process.wait(PATIENCE_SECONDS) != 0:
        sys.exit(f"`{' '.join(command)}` ended with {process.returncode}")
    found["ended"] = time.clock_gettime(time.CLOCK_MONOTONIC) - begun
    return found


def show(measured: Dict[str, Dict[str, List[float]]], times: int) -> None:
    print(f"seconds from the request, median of {times} (least to most)")
    for what in measured["plain"]:
        cells = []
        for way in ("plain", "warm"):
            values = measured[way][what]
            cells.append(f"{way} {statistics.median(values):6.3f} ({min(values):.3f} to {max(values):.3f})")
        ratio = statistics.median(measured["plain"][what]) / statistics.median(measured["warm"][what])
        print(f"{what:20} {'   '.join(cells)}   {ratio:.1f} times")


if __name__ == "__main__":
    main()
