"""Every command of the README and the book, run as it is printed.

Each document gets a fresh daemon and a folder with the files that it talks about (`stage.py`), and its commands run
there in order. What cannot run here is listed below with the reason; of those every option must exist.
"""

import re
import shlex
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

from documents import BOOK, Document, documents
from stage import Stage

# Not for users, or no commands of theirs.
SKIPPED = {"CHANGELOG.md"}

# Lines that are commands. Whatever else is in a block without a language is a file, a formula or a picture.
COMMAND = re.compile(r"(\w+=\$\()?(oef|curl|jq|cargo|scripts/\S+\.sh|pip|sacct|mdbook|python3?) |\w+=~/|scripts/\S+\.sh$|OEF_LONG=1 ")

# What cannot run here, and why. The options of `oef` are still looked up in the help.
CANNOT = [
    (r"cargo install", "builds for minutes"),
    (r"(OEF_LONG=1 )?cargo test|scripts/", "scripts/test.sh runs it"),
    (r"cargo run -p oef-core --example", "scripts/test.sh runs the examples"),
    (r"pip install|python3? -m oef\.", "scripts/python-test.sh has the package"),
    (r"python3? examples/h200/", "needs an H200; scripts/h200-test.sh runs the form for a CPU"),
    (r"python3? benches/prototype/", "needs the prototype's packages; its own test runs it"),
    (r"sacct ", "needs a Slurm cluster"),
    (r"mdbook ", "scripts/book-test.sh builds the book where mdbook is installed"),
    (r"oef slurm ", "needs a Slurm cluster"),
    (r"oef up --slurm", "needs a Slurm cluster"),
    (r"oef service ", "needs systemd"),
    (r"oef notify (test|add --command)", "needs a receiver; crates/oef-cli/tests/notify.rs has one"),
    (r"oef open$", "opens a browser"),
    (r"oef bench ", "measures for minutes"),
    (r"oef torture --seed", "takes minutes; scripts/test.sh runs a minute of it"),
    (r"oef reproduce", "takes minutes in a debug build; its tests run each experiment"),
    (r"oef .*--warm torch", "needs PyTorch; scripts/python-test.sh has launchers"),
    (r"oef serve ", "listens on the usual port of this machine; scripts/api-test.sh starts daemons"),
    (r"oef up --demo", "its jobs outlive it; scripts/page-test.sh runs it"),
]

# Blocks with these words are for another machine.
ELSEWHERE = ["https://cluster.example"]

# They go on until somebody stops them.
ENDLESS = [r"--watch\b", r"oef top$", r"--follow$", r"oef up\b"]

# Pages that start a daemon of their own, which their other commands talk to.
OWN_DAEMON = {"docs/src/checkpoints.md": 'oef up --gpus "a=1,b=1" --round 5s --checkpoints node'}

# How many jobs there are before the first command of a page, for the numbers that it prints.
JOBS_BEFORE = {"docs/src/jobs-client.md": 17}

# Paths of a real machine, and what depends on when and for how long the daemon runs.
INSTEAD = [
    (r"^cargo run --release -p oef-cli -- ", "oef "),
    # A refusal is an error, which curl does not say by itself.
    (r"^curl ", "curl --fail --silent --show-error "),
    (r"~/\.local/state/", "$XDG_STATE_HOME/"),
    (r"/etc/oef\.toml", "etc/oef.toml"),
    (r"/backup/", "backup/"),
    (r"round 123", "round {round}"),
    (r"\d{4}-\d\d-\d\d( \d\d:\d\d)", r"{tomorrow}\1"),
    (r"^oef up\b", "oef up --state second --listen 127.0.0.1:0"),
]

# What a reader does or waits for after a command: this machine may have no GPUs, and a job needs a moment to stop.
STOPPED = "until oef job 12 --json | jq -e '.state == \"queued\"' >/dev/null; do sleep 0.2; done"
RUNS = "until oef job 19 --json | jq -e '.state == \"running\"' >/dev/null; do sleep 0.2; done"
THEN = {
    "oef config init": "sed -i 's/^#emulated/emulated/' etc/oef.toml",
    "oef hold 12": STOPPED,
    "oef submit --name notebook": RUNS,
}

# Exit codes that the text itself announces.
CODES = {"oef share examples/not-pareto.toml --mechanism cooperative --require ef,si,pe": 1}

SECONDS = 240
LOOK = 3


def main(oef: str, names: list[str]) -> int:
    ran = parsed = 0
    wrong: list[str] = []
    for document in documents():
        lines = commands(document)
        if not lines or document.name in SKIPPED or (names and document.path.name not in names):
            continue
        stage = Stage(Path(oef))
        try:
            own = OWN_DAEMON.get(document.name)
            stage.start(own, JOBS_BEFORE.get(document.name, 16))
            for line, command in lines:
                if command == own:
                    continue
                where = f"{document.name}:{line}"
                reason = cannot(command)
                if reason:
                    parsed += 1
                    fault = unknown_option(stage, command) if command.startswith("oef ") else None
                else:
                    ran += 1
                    fault = failed(stage, command)
                print(f"{where}: {command}{f'  ({reason})' if reason else ''}", flush=True)
                if fault:
                    wrong.append(f"{where}: {command}\n    {fault}")
        finally:
            stage.close()
    if not names:
        wrong += unlisted(oef)
    print(f"{ran} commands run, {parsed} only parsed: {len(wrong)} wrong")
    print("\n".join(wrong))
    if ran == 0 and not names:
        print("no command was found: the documents have another form now")
        return 1
    return 1 if wrong else 0


def unlisted(oef: str) -> list[str]:
    """Commands of the binary that the page on the command line does not name."""
    help_ = subprocess.run([oef, "help"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"^  ([a-z]+)  ", help_.split("Commands:")[1].split("Options:")[0], re.MULTILINE)
    text = (BOOK / "cli.md").read_text()
    missing = [name for name in known if not re.search(rf"`(oef )?{name}\b", text) and name != "help"]
    return [f"docs/src/cli.md: `oef {name}` is missing" for name in missing]


def commands(document: Document) -> list[tuple[int, str]]:
    """The commands of code blocks, without prompt and comment. Files and output have their own languages."""
    found = []
    for start, language, text in document.blocks:
        if language not in ("", "sh", "bash") or any(word in text for word in ELSEWHERE):
            continue
        number = 0
        lines = text.splitlines()
        while number < len(lines):
            first, line = number, lines[number].strip().removeprefix("$ ")
            while line.endswith("\\") and number + 1 < len(lines):
                number += 1
                line = line.removesuffix("\\") + lines[number].strip()
            number += 1
            if COMMAND.match(line):
                found.append((start + first, re.sub(r"\s+# .*$", "", line).strip()))
    return found


def cannot(command: str) -> str | None:
    command = command.replace("cargo run --release -p oef-cli -- ", "oef ")
    return next((why for pattern, why in CANNOT if re.match(pattern, command)), None)


def failed(stage: Stage, command: str) -> str | None:
    line = command
    for printed, instead in INSTEAD:
        line = re.sub(printed, instead, line)
    if "{round}" in line:
        line = line.replace("{round}", str(last_round(stage)))
    line = line.replace("{tomorrow}", str(date.today() + timedelta(days=1)))
    expected = CODES.get(re.sub(r"\s+", " ", command), 0)
    try:
        endless = any(re.search(pattern, line) for pattern in ENDLESS)
        if re.match(r"\w+=", line):
            code, output = stage.keep(line)
        else:
            code, output = stage.look_at(line, LOOK) if endless else stage.run(line, SECONDS)
    except subprocess.TimeoutExpired:
        return f"did not end within {SECONDS} s\n{stage.tail()}"
    for start, then in THEN.items():
        if line.startswith(start):
            stage.must(then)
    if code == expected:
        return None
    return f"exit code {code} instead of {expected}:\n{indented(output[-2000:])}"


def last_round(stage: Stage) -> int:
    return int(stage.must("oef round --json | python -c 'import json, sys; print(json.load(sys.stdin)[\"round\"])'"))


def unknown_option(stage: Stage, command: str) -> str | None:
    """What the help of the command does not have."""
    words = shlex.split(command, comments=True)[1:]
    if "--" in words:
        words = words[: words.index("--")]
    names = []
    for word in words:
        if word.startswith("-") or stage.run(shlex.join(["oef", "help", *names, word]), 30)[0] != 0:
            break
        names.append(word)
    if not names:
        return "there is no such command"
    text = stage.must(shlex.join(["oef", *names, "--help"]))
    for option in (word.split("=")[0] for word in words if word.startswith("--")):
        if not re.search(rf"{re.escape(option)}\b(?!-)", text):
            return f"`oef {' '.join(names)}` has no option {option}"
    return None


def indented(text: str) -> str:
    return "\n".join(f"    | {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
