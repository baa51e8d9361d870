"""Writes `report.html`, `report.md` and `summary.json` from the collected files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

import analysis
from charts import Chart, number
from collect import say, write
from continuity import RULE, Restart, Verdict, restarts
from document import Charts, Document, Items, Key, Section, Table, Text
from results import Results, read

#: The order in which mechanisms are shown; others come after them.
MECHANISMS = ("noncooperative", "cooperative")
#: The lines of charts, by what they show.
#: What is compared of a tenant, in the order in which something is lost on the way.
FIGURES = ("promised", "held", "trained", "done")
CLASSES = {"small": "c", "mid": "b", "big": "a"}


def write_report(out: Path) -> int:
    """The exit code: 1 when there is nothing to report, a job failed, or a step was lost."""
    found = [read(folder) for folder in sorted(out.iterdir(), key=_order) if folder.is_dir()] if out.is_dir() else []
    everything = [results for results in found if results is not None]
    if not everything:
        say(f"error: there are no results in {out}; run this without --report-only first")
        return 1
    profiles: analysis.Profiles = json.loads((out / "profiles.json").read_text(encoding="utf-8"))
    summary = {results.mechanism: summarise(results, profiles) for results in everything}
    document = build(everything, profiles, summary)
    (out / "report.md").write_text(document.markdown(), encoding="utf-8")
    (out / "report.html").write_text(document.html(), encoding="utf-8")
    write(out / "summary.json", summary)
    say(f"the report is {out / 'report.html'}")
    return 1 if any(entry["failed"] or entry["steps_lost"] for entry in summary.values()) else 0


def _order(folder: Path) -> Any:
    known = folder.name in MECHANISMS
    return (MECHANISMS.index(folder.name) if known else len(MECHANISMS), folder.name)


def summarise(results: Results, profiles: analysis.Profiles) -> Dict[str, Any]:
    """The figures that decide whether it worked."""
    found, counted = restarts(results), analysis.counts(results)
    lines = analysis.points(results, profiles)
    there = {tenant: analysis.everybody_there(results, line) for tenant, line in lines.items()}
    total = {
        name: sum(analysis.average(line, name) for line in there.values() if line)
        for name in FIGURES
    }
    return {
        "rounds": len(results.whole_rounds()),
        "rounds_with_everybody": max((len(line) for line in there.values()), default=0),
        "total": {name: round(value, 4) for name, value in total.items()},
        "starts": counted.starts,
        "preempted": counted.stopped_with_checkpoint + counted.stopped_before,
        "moved": counted.moved,
        "failed": counted.failed,
        "restarts_judged": len(found),
        "steps_exact": sum(restart.step_exact is True for restart in found),
        "steps_lost": sum(restart.step_exact is False for restart in found),
        "ends_not_traced": sum(restart.step_exact is None for restart in found),
        "losses_go_on": sum(restart.loss is Verdict.GOES_ON for restart in found),
        "losses_telling": sum(restart.loss is Verdict.GOES_ON and restart.telling for restart in found),
        "losses_jump": sum(restart.loss is Verdict.JUMPS for restart in found),
        "guard_events": len(results.guard_events()),
    }


def build(everything: List[Results], profiles: analysis.Profiles, summary: Dict[str, Any]) -> Document:
    """The whole report."""
    document = Document("Four tenants on parts of one GPU")
    _short(document.section("In short"), everything, summary)
    _conditions(document.section("Conditions"), everything)
    _profiles(document.section("Measured profiles"), profiles, everything)
    _promises(document, everything, profiles)
    _costs(document.section("What a switch costs"), everything)
    _preemptions(document.section("Preemptions, and whether training went on"), everything, summary)
    _guard(document.section("The guard against false profiles"), everything)
    _losses(document, everything)
    _not_seen(document.section("What was not seen"), everything, summary)
    return document


def _short(section: Section, everything: List[Results], summary: Dict[str, Any]) -> None:
    lines = []
    for results in everything:
        entry, total = summary[results.mechanism], summary[results.mechanism]["total"]
        promised = total["promised"]
        ratio = f" ({100 * total['done'] / promised:.0f} %)" if promised else ""
        lines.append(
            f"**{results.mechanism}**: {entry['rounds']} whole rounds. In the {entry['rounds_with_everybody']} with all "
            f"tenants and true profiles, {promised:.2f} reference GPUs were promised in total, jobs held GPUs worth "
            f"{total['held']:.2f}, trained on them for {total['trained']:.2f}, and did the steps of "
            f"{total['done']:.2f}{ratio}. {entry['preempted']} preemptions; of "
            f"{entry['restarts_judged']} restarts that were traced on both sides {entry['steps_exact']} went on at "
            f"exactly the saved step, {entry['steps_lost']} did not."
        )
    section.add(Items(lines))
    section.add(
        Text("A unit is what one GPU of the reference type does for that tenant's model, by the measured profile.")
    )


def _conditions(section: Section, everything: List[Results]) -> None:
    facts = {results.mechanism: _facts(results) for results in everything}
    rows = []
    for name in next(iter(facts.values())):
        values = {mechanism: found[name] for mechanism, found in facts.items()}
        same = len(set(values.values())) == 1
        both = "; ".join(f"{mechanism}: {value}" for mechanism, value in values.items())
        rows.append((name, next(iter(values.values())) if same else both))
    section.add(Table(("what", ""), rows))


def _facts(results: Results) -> Dict[str, str]:
    """What a mechanism ran on, in words."""
    facts, given = results.conditions, results.conditions["arguments"]
    gpu = facts["gpu"]
    starts = [run.start for runs in results.runs.values() for run in runs]
    on_gpus = [start for start in starts if start.get("multiprocessors")]
    seen = sorted({f"{s['type']}: {s.get('percent')} %, {s['multiprocessors']} multiprocessors" for s in on_gpus})
    ends = [run.end for runs in results.runs.values() for run in runs if run.end]
    memory = [end["memory_mib"] for end in ends if "memory_mib" in end]
    is_mps = given["form"] == "--mps"
    form = "parts of one GPU, by MPS" if is_mps else "emulated gpu types: each job waits out its steps"
    minutes = (results.times["ended"] - results.times["began"]) / 60
    owners = [f"{sum(job['tenant'] == name for job in results.jobs)} of {name}" for name in analysis.tenants(results)]
    return {
        "date": facts["date"],
        "GPU": f"{gpu['name']}, driver {gpu['driver']}, {gpu['memory_mib']} MiB" if gpu else "none was used",
        "devices": f"`{given['gpus']}`: {form}",
        "seen by jobs": "; ".join(seen) or "no GPU",
        "memory of one job": f"{max(memory)} MiB at most" if memory else "was not measured",
        "programs": ", ".join(
            [facts["oef"] or "oef", *sorted({s["engine"] for s in starts}), f"Python {facts['python']}"]
        ),
        "machine": f"{facts['cores']} cores, {facts['system']}",
        "rounds": f"{given['round']:g} s, measured for {minutes:.1f} minutes",
        "jobs": f"{len(results.jobs)}: {', '.join(owners)}",
        "starts": "forked from a process that has imported PyTorch" if given.get("warm") else "each a new process",
        "last tenant came": _after(results, "late"),
    }


def _after(results: Results, mark: str) -> str:
    at = results.times.get(mark)
    return "never" if at is None else f"after {at - results.times['began']:.0f} s"


def _profiles(section: Section, profiles: analysis.Profiles, everything: List[Results]) -> None:
    rows, seen = [], {results.mechanism: analysis.speeds(results) for results in everything}
    for path, profile in profiles.items():
        slowest = min((value for value in profile["throughput"].values() if value > 0), default=1.0)
        for gpu_type, value in sorted(profile["throughput"].items(), key=lambda item: item[1]):
            mark = profile["marks"].get(gpu_type, {})
            spread = f"{100 * mark['spread']:.1f} %" if mark.get("spread") is not None else "·"
            batches, cost = mark.get("batches"), mark.get("cost_s")
            rows.append(
                (
                    path,
                    gpu_type,
                    number(value),
                    f"{value / slowest:.2f}",
                    spread,
                    str(batches or "·"),
                    f"{cost:.1f}" if cost is not None else "·",
                    *(_seen(speeds.get((path.split("/")[0], gpu_type)), value) for speeds in seen.values()),
                )
            )
    head = ("workload", "type", "steps/s", "speedup", "spread", "batches", "cost, GPU-s")
    section.add(Table((*head, *(f"seen, {name}" for name in seen)), rows))
    section.add(
        Text(
            "The spread is the middle half of the batches' times over their median. A dot: it was not measured in this "
            "run but given, or no job ran there. Seen are the steps a second of all jobs while they trained, and what that is of the "
            "profile: parts of one GPU share its memory, its clock and the machine's cores, and who the neighbours "
            "are is not the same in the seconds in which a profile is measured and in minutes of training."
        )
    )


def _seen(speed: Optional[float], profile: float) -> str:
    if speed is None or profile <= 0:
        return "·"
    return f"{number(speed)} ({100 * speed / profile:.0f} %)"


def _promises(document: Document, everything: List[Results], profiles: analysis.Profiles) -> None:
    section = document.section("Promised and delivered")
    section.add(
        Text(
            "Promised is the worth of a tenant's share; held the worth of the GPUs that its jobs held, by the daemon's "
            "accounts; trained that of the time in which jobs really trained on them; done the steps that they did. "
            "So restarts lie between held and trained, and between trained and done lies how much slower or faster "
            "jobs were than their profile (see above). Whole GPUs go round by turns: single rounds are above or below "
            "the promise, and the mean is what counts."
        )
    )
    for results in everything:
        lines = analysis.points(results, profiles)
        part = document.section(results.mechanism, 3)
        rows, pictures = [], []
        top = 1.05 * max((max(p.promised, p.held, p.done) for line in lines.values() for p in line), default=1.0)
        for tenant, line in lines.items():
            there = analysis.everybody_there(results, line)
            means = [analysis.average(there, name) for name in FIGURES]
            ratio = means[-1] / means[0] if there and means[0] else float("nan")
            rows.append((tenant, str(len(there)), *(number(value) for value in means), number(ratio)))
            if line:
                pictures.append(_promise_chart(tenant, line, top))
        part.add(Table(("tenant", "rounds", *FIGURES, "done / promised"), rows))
        part.add(Key("done", "promised", "held"), Charts(pictures))
        part.add(Table(("round", *lines), _by_round(lines)))
        part.add(Text(f"Each cell: {' / '.join(FIGURES)}."))


def _promise_chart(tenant: str, line: List[analysis.Point], top: float) -> str:
    chart = Chart(tenant, "round", (line[0].round, max(line[-1].round, line[0].round + 1)), (0.0, top))
    for name, style in (("held", "c"), ("promised", "b"), ("done", "a")):
        chart.line([(point.round, getattr(point, name)) for point in line], style)
    return chart.svg()


def _by_round(lines: Dict[str, List[analysis.Point]]) -> List[List[str]]:
    cells = {
        (tenant, p.round): " / ".join(number(getattr(p, name)) for name in FIGURES)
        for tenant, line in lines.items()
        for p in line
    }
    rounds = sorted({round_number for _, round_number in cells})
    return [[str(at), *(cells.get((tenant, at), "·") for tenant in lines)] for at in rounds]


def _costs(section: Section, everything: List[Results]) -> None:
    section.add(
        Text("One job leaves a GPU and another takes it: the seconds of each part, as median (least to greatest).")
    )
    rows = []
    for name, meaning in analysis.PARTS:
        cells = []
        for results in everything:
            middle, least, most = analysis.spread([switch[name] for switch in analysis.switches(results)])
            cells.append(f"{middle:.2f} ({least:.2f} to {most:.2f})" if middle == middle else "·")
        rows.append((name, meaning, *cells))
    wholes = [
        analysis.spread([sum(switch.values()) for switch in analysis.switches(results)]) for results in everything
    ]
    rows.append(
        (
            "all",
            "from the last step of one job to the first of the next",
            *(
                f"{middle:.2f} ({least:.2f} to {most:.2f})" if middle == middle else "·"
                for middle, least, most in wholes
            ),
        )
    )
    rows.append(("switches", "that this rests on", *(str(len(analysis.switches(results))) for results in everything)))
    section.add(Table(("part", "what happens", *(results.mechanism for results in everything)), rows))


def _preemptions(section: Section, everything: List[Results], summary: Dict[str, Any]) -> None:
    rows: List[List[str]] = []
    for results in everything:
        counted = analysis.counts(results)
        rows.append(
            [
                results.mechanism,
                *(
                    str(value)
                    for value in (
                        counted.starts,
                        counted.stopped_with_checkpoint,
                        counted.stopped_before,
                        counted.without_step,
                        counted.moved,
                        counted.failed,
                    )
                ),
            ]
        )
    section.add(
        Table(
            (
                "mechanism",
                "starts",
                "stopped with checkpoint",
                "stopped without",
                "starts without a step",
                "went on on another type",
                "failed",
            ),
            rows,
        )
    )
    section.add(Text(RULE))
    names = (
        "restarts_judged",
        "steps_exact",
        "steps_lost",
        "ends_not_traced",
        "losses_go_on",
        "losses_telling",
        "losses_jump",
    )
    head = (
        "mechanism",
        "restarts",
        "step exact",
        "step lost",
        "end not traced",
        "loss goes on",
        "of them telling",
        "loss jumps",
    )
    section.add(Table(head, [[name, *(str(entry[key]) for key in names)] for name, entry in summary.items()]))
    odd = [
        (results, restart)
        for results in everything
        for restart in restarts(results)
        if restart.step_exact is not True or restart.loss is Verdict.JUMPS
    ]
    if odd:
        section.add(Text("Those that are not as they should be, or cannot be judged:"))
        section.add(
            Table(
                ("mechanism", "job", "start", "saved at step", "went on at", "loss before", "after", "verdict"),
                [_odd_row(results, restart) for results, restart in odd],
            )
        )


def _odd_row(results: Results, restart: Restart) -> List[str]:
    saved = str(restart.before.end["step"]) if restart.before.end else "not traced"
    figures = [str(restart.after.from_step), f"{restart.before_mean:.3f}", f"{restart.after_mean:.3f}"]
    return [results.mechanism, str(restart.after.job), str(restart.after.restart), saved, *figures, restart.loss.value]


def _guard(section: Section, everything: List[Results]) -> None:
    for results in everything:
        lie = results.conditions["arguments"].get("lie")
        lied = f"`{lie}`, {_after(results, 'lie')}. " if lie and "lie" in results.times else "nobody lied. "
        setting = results.settings.get("guard", "this version has none")
        section.add(Text(f"**{results.mechanism}**: {lied}Setting `guard`: {setting}."))
        events = [(event["at"][11:19], event.get("tenant") or "", event["message"]) for event in results.guard_events()]
        section.add(Table(("time", "tenant", "event"), events) if events else Text("It said nothing."))
        for workload in results.workloads:
            words = (workload.get("guard") or {}).get("sentences", [])
            section.add(*([Text(f"At the end, about {workload['name']}: {' '.join(words)}")] if words else []))


def _losses(document: Document, everything: List[Results]) -> None:
    section = document.section("Loss curves")
    section.add(
        Text(
            "The loss over steps, once a second, coloured by the gpu type of the run. A vertical line is a restart: "
            "the job was stopped there and went on."
        )
    )
    section.add(Key("big", "mid", "small"))
    for results in everything:
        part = document.section(f"{results.mechanism}: losses", 3)
        part.add(
            Charts([_loss_chart(results, job) for job, runs in results.runs.items() if any(run.points for run in runs)])
        )


def _loss_chart(results: Results, job: int) -> str:
    runs = [run for run in results.runs[job] if run.points]
    top = max(loss for run in runs for _, _, loss in run.points)
    last = max(step for run in runs for _, step, _ in run.points)
    name = next(entry["name"] for entry in results.jobs if entry["id"] == job)
    chart = Chart(f"{name} (job {job}), {len(runs)} runs", "steps", (0, last), (0.0, 1.05 * top))
    for run in runs[1:]:
        chart.mark(run.from_step)
    others = sorted({run.gpu_type for run in runs} - set(CLASSES))
    for run in runs:
        style = CLASSES.get(run.gpu_type) or "abc"[others.index(run.gpu_type) % 3]
        chart.line([(step, loss) for _, step, loss in run.points], style)
    return chart.svg()


def _not_seen(section: Section, everything: List[Results], summary: Dict[str, Any]) -> None:
    lines = []
    for name in MECHANISMS:
        if name not in summary:
            lines.append(f"{name} was not run.")
    for results in everything:
        entry, name = summary[results.mechanism], results.mechanism
        if results.conditions["arguments"]["form"] != "--mps":
            lines.append(f"{name}: gpu types were emulated. What parts of a real GPU do to each other was not seen.")
        if not entry["guard_events"]:
            lines.append(f"{name}: the guard against false profiles said nothing.")
        if not entry["preempted"]:
            lines.append(f"{name}: no job was preempted.")
        if entry["restarts_judged"] > entry["losses_telling"]:
            count = entry["restarts_judged"] - entry["losses_telling"]
            lines.append(
                f"{name}: for {count} of {entry['restarts_judged']} restarts the loss alone cannot tell a resumed training "
                "from a new one."
            )
        if entry["rounds_with_everybody"] == 0:
            lines.append(f"{name}: no whole round had all tenants with true profiles.")
    lines.append("Gangs of several workers: every job has one. Parts of one GPU cannot form a gang with NCCL.")
    lines.append("Real data: images and words are random, of the shapes of CIFAR-100 and WikiText-2.")
    section.add(Items(lines))
