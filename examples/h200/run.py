"""One GPU cut into a dozen, four tenants that train, two mechanisms, and a report: one command does it all.

    python3 examples/h200/run.py                                    on a machine with an NVIDIA GPU
    python3 examples/h200/run.py --cpu                              a small form of it anywhere, in a minute or two

In parts, each within a time limit, with the same folder:

    python3 examples/h200/run.py --out X --mechanisms noncooperative
    python3 examples/h200/run.py --out X --mechanisms cooperative --profiles X/profiles.json
    python3 examples/h200/run.py --out X --report-only
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import experiment
import report
from check import check
from cluster import Cluster, ClusterError
from collect import conditions, gpu_facts, say, write
from workloads import PACE_MS, PACE_SHARED_MS, WORKLOADS, Form

MPS = "small=4x5%,mid=4x8%,big=4x12%"
EMULATED = "small=4,mid=4,big=4"
EMULATED_SMALL = "small=1,mid=1,big=1"
#: Ending jobs, collecting and reporting take this much of a time limit.
END_SECONDS = 35.0


#: The names of the mechanisms, which are also those of the folders with their results.
MECHANISMS = ("noncooperative", "cooperative", "nash", "incentive", "max-min", "efficiency", "gavel", "gandiva-fair")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n", 1)[0],
        epilog="See examples/h200/README.md.",
    )
    parser.add_argument("--cpu", action="store_true", help="emulated GPUs and tiny networks")
    parser.add_argument(
        "--emulate", action="store_true", help="without MPS: emulated types that share one GPU by turns"
    )
    parser.add_argument("--minutes", type=_positive, help="under each mechanism [10; with --cpu 1, without PyTorch 0.5]")
    parser.add_argument(
        "--round", type=_positive, metavar="S", help="length of a round in seconds [40; with --cpu 10, without PyTorch 3]"
    )
    parser.add_argument("--mechanisms", type=_mechanisms, default="noncooperative,cooperative", help="one after the other [both]")
    parser.add_argument("--jobs", type=_count, help="jobs of each tenant [5; with --cpu 2]")
    parser.add_argument("--out", type=Path, default=Path("h200-results"), help="where results go [h200-results]")
    parser.add_argument("--oef", type=Path, help="the binary [built with cargo, or the one in PATH]")
    parser.add_argument("--mps", default=MPS, help=f"the parts of the GPU [{MPS}]".replace("%", "%%"))
    parser.add_argument("--profiles", type=Path, help="take profiles from this file instead of measuring them")
    parser.add_argument(
        "--lie", metavar="TENANT=FACTOR", help="late in the run a tenant says its fastest type is FACTOR times as fast"
    )
    parser.add_argument(
        "--warm", action="store_true", help="fork jobs from a process that has imported PyTorch already"
    )
    parser.add_argument(
        "--limit", type=_positive, metavar="S", help="be done after so many seconds, with less time for training"
    )
    parser.add_argument("--check", action="store_true", help="only try one short job on each gpu type")
    parser.add_argument("--report-only", action="store_true", help="only write the report again")
    return parser.parse_args()


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return number


def _mechanisms(text: str) -> List[str]:
    names = text.split(",")
    for name in names:
        if name not in MECHANISMS:
            raise argparse.ArgumentTypeError(f"`{name}` is not a mechanism; there are {', '.join(MECHANISMS)}")
    return names


def main() -> int:
    options = arguments()
    began = time.monotonic()
    # A time limit that ends this program ends it as Ctrl-C does: in order.
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())
    try:
        if not options.report_only:
            measure(options, began)
        return 0 if options.check else report.write_report(options.out)
    except KeyboardInterrupt:
        say("stopped; everything was ended, and what there is was kept")
        return 130
    except (ClusterError, OSError) as error:
        say(f"error: {error}")
        return 1


def measure(options: argparse.Namespace, began: float) -> None:
    """Everything but the report."""
    form, gpus = _form(options)
    oef = _binary(options.oef)
    options.out.mkdir(parents=True, exist_ok=True)
    # Where every start imports PyTorch on few cores, short rounds would see nothing but starts.
    minutes, seconds_of_round = ((1.0, 10.0) if _has("torch") else (0.5, 3.0)) if options.cpu else (10.0, 40.0)
    seconds = 60 * (options.minutes or minutes)
    round_seconds = options.round or seconds_of_round
    mechanisms: List[str] = options.mechanisms
    # Before anything of an earlier call is touched.
    lie, known = _lie(options.lie), _known_profiles(options.profiles)
    # Paths are this machine's own.
    given = {name: value for name, value in vars(options).items() if value not in (None, False)}
    given["mechanisms"] = ",".join(mechanisms)
    given = {name: value for name, value in given.items() if not isinstance(value, Path)}
    for number, mechanism in enumerate(mechanisms):
        folder = options.out / ("check" if options.check else mechanism)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        facts = conditions(
            oef, {**given, "gpus": gpus[1], "round": round_seconds, "form": gpus[0], "warm": options.warm}
        )
        write(folder / "conditions.json", facts)
        say(f"{mechanism}: starting `oef up {' '.join(gpus)}`")
        with Cluster(oef, gpus, mechanism, round_seconds, folder / "daemon.log") as cluster:
            if options.check:
                check(cluster, form, options.out)
                return
            experiment.prepare(cluster)
            # The other mechanisms of this call use the same.
            profiles = known = _profiles(options, known, cluster, form)
            if options.limit is not None:
                left = options.limit - END_SECONDS - (time.monotonic() - began)
                if left <= 0:
                    raise ClusterError(f"--limit {options.limit:g} leaves no time for training: allow more")
                seconds = min(seconds, left / (len(mechanisms) - number))
            jobs = options.jobs or (2 if options.cpu else 5)
            plan = experiment.Plan(mechanism, seconds, jobs, form, options.out, lie)
            experiment.run(cluster, plan, profiles)


def _form(options: argparse.Namespace) -> Tuple[Form, List[str]]:
    """How jobs run, and what `oef up` is told about GPUs."""
    if options.cpu:
        if not _has("torch") and not _has("numpy"):
            raise ClusterError(
                f"neither PyTorch nor NumPy is installed for {sys.executable}. This gives you one that has it: "
                "`python3 -m venv venv && venv/bin/pip install numpy && venv/bin/python examples/h200/run.py --cpu`"
            )
        return Form(small=True, pace_ms=PACE_MS, device="cpu", gpu=None, memory_mib=None, warm=options.warm), [
            "--gpus",
            EMULATED_SMALL,
        ]
    if not _has("torch"):
        raise ClusterError(f"PyTorch is not installed for {sys.executable}: install it, or run with --cpu")
    facts = gpu_facts()
    if facts is None:
        raise ClusterError("`nvidia-smi` shows no GPU: run this on a machine that has one, or with --cpu")
    memory = facts["memory_mib"]
    if options.emulate:
        return Form(
            small=False, pace_ms=PACE_SHARED_MS, device="cuda", gpu="0", memory_mib=memory, warm=options.warm
        ), ["--gpus", EMULATED]
    return Form(small=False, pace_ms=None, device="cuda", gpu=None, memory_mib=memory, warm=options.warm), [
        "--mps",
        options.mps,
    ]


def _binary(given: Optional[Path]) -> Path:
    if given is not None:
        if not given.is_file():
            raise ClusterError(f"there is no {given}")
        return given.resolve()
    if shutil.which("cargo") and (ROOT / "Cargo.toml").exists():
        say("building oef (cargo build --release)")
        built = subprocess.run(["cargo", "build", "--release", "-p", "oef-cli"], cwd=ROOT, check=False)
        if built.returncode != 0:
            raise ClusterError("oef could not be built; see above")
        facts = subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, capture_output=True, check=True
        )
        return Path(json.loads(facts.stdout)["target_directory"]) / "release" / "oef"
    found = shutil.which("oef")
    if found is None:
        raise ClusterError("there is neither cargo nor `oef` in PATH: name the binary with --oef")
    return Path(found).resolve()


def _known_profiles(path: Optional[Path]) -> Optional[experiment.Profiles]:
    """Profiles from a file of an earlier call, checked."""
    if path is None:
        return None
    try:
        known: experiment.Profiles = json.loads(path.read_text(encoding="utf-8"))
        missing = [work.path for work in WORKLOADS if not known[work.path]["throughput"]]
    except KeyError as error:
        raise ClusterError(f"{path} has no profile of {error.args[0]}: measure them again, without --profiles") from None
    except (ValueError, TypeError) as error:
        raise ClusterError(f"{path} is no file of profiles ({error}): measure them again, without --profiles") from None
    if missing:
        raise ClusterError(f"{path} has no profile of {', '.join(missing)}: measure them again, without --profiles")
    return known


def _profiles(
    options: argparse.Namespace, known: Optional[experiment.Profiles], cluster: Cluster, form: Form
) -> experiment.Profiles:
    if known is not None:
        write(options.out / "profiles.json", known)
        experiment.declare(cluster, known)
        return known
    say("measuring every workload on every gpu type")
    profiles = experiment.profile(cluster, form, options.out)
    write(options.out / "profiles.json", profiles)
    return profiles


def _lie(given: Optional[str]) -> Optional[Tuple[str, float]]:
    if given is None:
        return None
    tenant, _, factor = given.partition("=")
    known = [work.tenant for work in WORKLOADS]
    try:
        if tenant in known and float(factor) > 0:
            return tenant, float(factor)
    except ValueError:
        pass
    raise ClusterError(f"--lie {given}: write TENANT=FACTOR with one of {', '.join(known)} and a number above 0")


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _interrupt() -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
