"""Faults of known class and line in libraries, services and predictions: does `groundup why` find them?

    python -m benchmarks.planted 1 --folder FOLDER [--suite repogenesis]

`samples/planted/round1.toml` has the truth: one small fault in the reference of a task, its class, and its line by
the text that is replaced. Each is put in, graded by `groundup evaluate`, and read from what `groundup why` prints
by default: the class that costs most is the answer, and the lines that stand with the first cause, or with any. Of
the lines that are told as probable, up to three, `one` says whether the first is the fault's, `three` whether any
is, and `function` whether the first stands in a function of the fault.
FOLDER keeps references, submissions, a run of each suite, and prints; what is there is not made again, and a run
that was ended goes on. Repositories of libraries come from where the settings say. A fault that loses no point is
named, and counts for nothing.
"""

import argparse
import asyncio
import contextlib
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.suites.dibench.made import diff, write_tree

from groundup.cli.main import main as groundup
from groundup.configuration import environment
from groundup.episodes.backends import backends
from groundup.grading.submitted_sources import block_end
from groundup.settings import load
from groundup.suites.opening import SUITES

SAMPLES = Path(__file__).parent / "samples" / "planted"
"""Truth by round, and instances of DI-Bench."""
_KINDS = re.compile(r"mending would bring back: (.*)")
_OTHERWISE = re.compile(r"^1 name: .*: declared otherwise\b", re.MULTILINE)
_PLACE = re.compile(r"([\w./+-]+\.?\w+)(?::|, line )(\d+)")
_CAUSE = re.compile(r"^\S* ?\d+ (?:tests?|names?): ", re.MULTILINE)
_TOLD = (
    re.compile(r"^  (?:probably|else) ([\w./+-]+\.\w+):(\d+):", re.MULTILINE),
    re.compile(r"^  ([\w./+-]+\.\w+):(\d+): ", re.MULTILINE),
    re.compile(r"^  calls ([\w./+-]+\.\w+):(\d+):", re.MULTILINE),
)
"""Lines where a cause may lie, else the one of a traceback, else what a failing statement calls."""


_DEFINES = re.compile(r"^\s*(?:async\s+)?def\s|^ {4}\w[\w<>\[\], .]*\(")


class Fault(NamedTuple):
    """One fault and what is true of it."""

    suite: str
    task: str
    number: int
    """Of those of its task."""
    file: str
    classes: tuple[str, ...]
    lines: range
    """Of the submission; empty where the fault is that something is missing."""
    edits: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        return f"{self.task}/{self.number}"


def drawn(number: int) -> list[Fault]:
    """Return the faults of a round; lines are known once they are planted."""
    counts: dict[tuple[str, str], int] = {}
    faults = []
    for row in tomllib.loads((SAMPLES / f"round{number}.toml").read_text(encoding="utf-8"))["fault"]:
        key = row["suite"], row["task"]
        counts[key] = counts.get(key, -1) + 1
        edits = (row, *row.get("also", ()))
        faults.append(Fault(*key, counts[key], row["file"], tuple(row["class"]), range(0), edits))
    return faults


def planted(fault: Fault, tree: Path) -> Fault:
    """Put a fault into *tree* and return it with its lines."""
    lines = range(0)
    for number, edit in enumerate(fault.edits):
        path = tree / edit["file"]
        if "to" in edit:
            (tree / edit["to"]).parent.mkdir(parents=True, exist_ok=True)
            path.rename(tree / edit["to"])
            continue
        text = path.read_text(encoding="utf-8")
        at = -1
        for _ in range(edit.get("nth", 1)):
            at = text.find(edit["old"], at + 1)
        if at < 0:
            raise SystemExit(f"{fault.name}: {edit['file']} has no {edit['old']!r}")
        if "nth" not in edit and text.count(edit["old"]) > 1 and edit["old"] != edit["new"]:
            raise SystemExit(f"{fault.name}: {edit['file']} has several {edit['old']!r}")
        path.write_text(text[:at] + edit["new"] + text[at + len(edit["old"]) :], encoding="utf-8")
        if number == 0 and edit.get("line") != 0:
            first = text.count("\n", 0, at) + 1 + edit.get("shift", 0)
            written = edit["new"].rstrip("\n").count("\n") + 1 - edit.get("shift", 0)
            lines = range(first, first + edit.get("lines", max(written, 1)))
    return fault._replace(lines=lines)


async def make_references(suite: str, names: Iterable[str], folder: Path) -> None:
    """Write the reference of each task that is not there yet."""
    settings = load()
    made = SUITES.find(suite)(settings)
    tasks = {task.id: task for task in made.tasks()}
    async with backends(settings.sandbox, settings) as tools:
        for name in names:
            with tempfile.TemporaryDirectory() as scratch:
                tree = Path(scratch, "tree")
                tree.mkdir()
                context = tools.context(Path(scratch), None)
                await made.reference(tasks[name], "oracle", tree, context)
                shutil.copytree(tree, folder / name, symlinks=True)


def write_instances(folder: Path) -> Mapping[str, str]:
    """Write DI-Bench's instances as a release and a registry's snapshot; return the environment that uses them."""
    told = tomllib.loads((SAMPLES / "instances.toml").read_text(encoding="utf-8"))
    source, data = folder / "release", folder / "data"
    rows = []
    for name, one in told["instance"].items():
        masked, original = (
            {path: text.lstrip() for path, text in one[key].items()} for key in ("masked", "original")
        )
        write_tree(source / "repo-data" / one["language"] / name, {**one["files"], **masked})
        write_tree(folder / "reference" / "dibench" / name, original)
        rows.append({
            "instance_id": name, "metadata": {"full_name": f"planted/{name}"}, "language": one["language"],
            "act_command": "act", "ci_file": ".github/workflows/ci.yml", "patch": diff(masked, original),
            "build_files": [*original], "env_specs": {},
        })  # fmt: skip
    (source / "dataset-dibench-regular.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = [
        {"ecosystem": kind, "name": name, "exists": bool(versions), "versions": versions,
         "fetched_at": "2026-01-01T00:00:00Z"}
        for kind, packages in told["registry"].items() for name, versions in packages.items()
    ]  # fmt: skip
    (folder / "registry.jsonl").write_text("".join(json.dumps(row) + "\n" for row in names))
    used = {"GROUNDUP_DATA_DIR": str(data), "GROUNDUP_REGISTRY": str(folder / "registry.jsonl")}
    if not data.exists():
        run(["data", "pull", "dibench", "--from", str(source)], used)
    return used


def run(words: list[str], used: Mapping[str, str]) -> str:
    """Return what a command of groundup printed."""
    command = [sys.executable, "-m", "groundup", *words]
    done = subprocess.run(command, env={**environment(), **used}, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        print(done.stderr[-2000:], file=sys.stderr)
    return done.stdout


class Read(NamedTuple):
    """What a print of `why` answers."""

    kind: str
    first: bool
    """Whether the first cause has the fault's line."""
    any: bool
    """Whether any cause has."""
    near: bool
    """Whether one has a line of the file at most 12 lines away, such as that of the function."""
    one: bool
    """Whether the first line that the first cause tells as probable is the fault's."""
    three: bool
    """Whether one of them is."""
    function: bool
    """Whether the first of them stands in a function with a line of the fault."""


def read(printed: str, fault: Fault, tree: Path) -> Read:
    """Return what was printed of a fault in *tree*."""
    found = _KINDS.search(printed)
    told = _OTHERWISE.search(printed)  # which costs no points
    kind = re.sub(r" [\d.]+ points.*", "", found[1]) if found else "declared otherwise" if told else ""
    blocks = [*_CAUSE.finditer(printed)]
    begins = [one.start() for one in blocks] or [0]
    own = [printed[begin:end] for begin, end in pairwise([*begins, len(printed)])]
    hits = [[_distance(line, fault) for line in block.splitlines()] for block in own]
    nearest = [min(block, default=999) for block in hits]
    probable = next(filter(None, (pattern.findall(own[0]) for pattern in _TOLD)), [])
    right = [path == fault.file and int(at) in fault.lines for path, at in probable]
    functions = {_function(tree / fault.file, at) for at in fault.lines}
    is_within = any(
        path == fault.file and _function(tree / path, int(at)) in functions for path, at in probable[:1]
    )
    is_first, is_any = nearest[0] == 0, 0 in nearest
    return Read(kind, is_first, is_any, min(nearest) <= 12, right[:1] == [True], any(right), is_within)


def _function(file: Path, line: int) -> int:
    """Return the first line of the innermost function, or member of a Java class, that has a line; 0 for none."""
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [
        at
        for at in range(1, line + 1)
        if _DEFINES.match(lines[at - 1]) and block_end(lines, at) >= line and not lines[at - 1].endswith(";")
    ]
    return found[-1] if found else 0


def _distance(line: str, fault: Fault) -> int:
    """Return how far a line of a print is from the fault, in lines of its file; 999 where it names another."""
    if not fault.lines:
        return 0 if re.search(rf"(?<![\w/]){re.escape(fault.file)}\b", line) else 999
    found = [int(at) for path, at in _PLACE.findall(line) if path == fault.file or fault.file.endswith(f"/{path}")]
    return min((max(fault.lines[0] - at, at - fault.lines[-1], 0) for at in found), default=999)


def measure(
    suite: str, faults: list[Fault], folder: Path, number: int, jobs: int
) -> list[tuple[Fault, Read | None]]:
    """Grade the faults of a suite and return what `why` says of each; None: no point was lost."""
    references = folder / "reference" / suite
    used: Mapping[str, str] = {}
    if suite == "dibench":
        used = write_instances(folder)
    else:
        missing = [name for name in dict.fromkeys(one.task for one in faults) if not (references / name).exists()]
        asyncio.run(make_references(suite, missing, references))
    for at, fault in enumerate(faults):
        tree = folder / f"round{number}" / suite / fault.task / str(fault.number)
        if tree.exists():
            shutil.rmtree(tree)
        shutil.copytree(references / fault.task, tree, symlinks=True)
        faults[at] = planted(fault, tree)
    name, runs = f"round{number}-{suite}", folder / "runs"
    if (runs / name / "config.json").exists():
        run(["resume", str(runs / name)], used)
    else:
        words = ["evaluate", suite, "-p", str(folder / f"round{number}" / suite), "--only-predicted", "--no-cache"]
        run([*words, "--jobs", str(jobs), "-o", str(runs), "--run-id", name], used)
    (folder / "why").mkdir(exist_ok=True)
    answers: list[tuple[Fault, Read | None]] = []
    for fault in faults:
        printed = _told(["why", str(runs / name), fault.name])
        (folder / "why" / f"{name}-{fault.task}-{fault.number}.txt").write_text(printed)
        seen = read(printed, fault, folder / f"round{number}" / suite / fault.task / str(fault.number))
        answers.append((fault, seen if seen.kind else None))
    return answers


def _told(words: list[str]) -> str:
    """Return what a command prints that only reads."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        groundup(words)
    return printed.getvalue()


def show(suite: str, answers: list[tuple[Fault, Read | None]]) -> None:
    """Print the rows of a suite, and its figures."""
    known = [(fault, one) for fault, one in answers if one is not None]
    for fault, one in known:
        seen = (one.kind in fault.classes, one.first, one.any, one.one, one.three, one.function)
        marks = ("yes" if mark else "no" for mark in seen)
        place = f"{fault.file}:{fault.lines[0]}" if fault.lines else fault.file
        print(f"| {fault.name} {place} | {fault.classes[0]} | {one.kind} | {' | '.join(marks)} |")
    for fault, none in answers:
        if none is None:
            print(f"{fault.name}: no point was lost")
    classes = sum(one.kind in fault.classes for fault, one in known)
    kinds = ("first", "any", "near", "one", "three", "function")
    sums = ", ".join(f"{key} {sum(getattr(one, key) for _, one in known)}" for key in kinds)
    print(f"{suite}: {len(known)} faults; class {classes}; {sums}")


def main() -> None:
    """Print the table of a round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("round", type=int)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--suite", action="append")
    parser.add_argument("--jobs", type=int, default=3, help="gradings at once; most of their time is waiting")
    parser.add_argument("--skip", action="append", default=[], help="tasks")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what it started ends with it
    faults = [one for one in drawn(asked.round) if one.task not in asked.skip]
    print("| fault | true | said | class | line, first cause | line, any | one | three | function |")
    print(f"|{'---|' * 9}")
    for suite in dict.fromkeys(one.suite for one in faults):
        if asked.suite and suite not in asked.suite:
            continue
        answers = measure(
            suite, [one for one in faults if one.suite == suite], asked.folder, asked.round, asked.jobs
        )
        show(suite, answers)


if __name__ == "__main__":
    main()
