"""Services of many shapes under strict grading: honest ones get everything, and each loss names its cause early.

    python -m benchmarks.service_shapes [NAME...] [--lang java] [--grader official] [--list]
    python -m benchmarks.service_shapes "sleeps 14 s" "sleeps 16 s" --times 10 --jobs 5 --load 30

A cause must be in the first 200 characters of one of the reasons. `--load` keeps that many loops busy
meanwhile: who sleeps gets no more time for them. The exit code is 1 when a shape got something else than it
should.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from benchmarks.python_shapes import Shape

from benchmarks import java_shapes, python_shapes
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.episodes.backends import Backends, backends
from groundup.settings import load
from groundup.suites.base import Grader
from groundup.suites.repogenesis.suite import all_graders
from groundup.suites.repogenesis.tasks import read_dataset

EARLY = 200
LANGUAGES: Mapping[str, tuple[ModuleType, dict[str, Shape]]] = {
    "python": (python_shapes, python_shapes.SHAPES),
    "java": (java_shapes, java_shapes.SHAPES),
}


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write *files*; text after an arrow is where a link leads."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            place.symlink_to(text[3:])
        else:
            place.write_text(text, encoding="utf-8", newline="")


async def grade(files: Mapping[str, str], grader: Grader, task: Task, tools: Backends) -> Verdict:
    """Return the verdict on a submission of *files*."""
    with tempfile.TemporaryDirectory() as folder:
        tree, scratch = Path(folder, "tree"), Path(folder, "scratch")
        tree.mkdir()
        scratch.mkdir()
        write(files, tree)
        return (await grader.grade(task, tree, tools.context(scratch, None))).verdict


def wrong(shape: Shape, verdict: Verdict) -> str | None:
    """Say what is wrong with *verdict*; None where it is what *shape* deserves."""
    said = [one.message for one in verdict.reasons]
    if "\\x1b" in "".join(said):
        return f"escape codes: {said}"
    shares = [verdict.score, *verdict.scores.values()]
    is_full = all(share is not None and share.value == 1 for share in shares)
    if shape.cause is None:
        return None if is_full else f"not full: {said}"
    is_named = any(re.search(shape.cause, message[:EARLY], re.DOTALL) for message in said)
    return None if not is_full and is_named else f"cause not named: {said}"


def tasks_of(source: ModuleType, folder: Path) -> None:
    """Write the folder of the task that all shapes of a language solve."""
    tests = "src/test/java/app/NotesTest.java" if source is java_shapes else "tests/test_notes.py"
    files = {"README.md": source.README, "task.toml": source.TASK_FILE, tests: source.TESTS}
    write({**files, "pom.xml": java_shapes.pom()} if source is java_shapes else files, folder / "notes")


@contextmanager
def loaded(loops: int) -> Iterator[None]:
    """Keep the machine busy with so many processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


async def run(names: list[str], asked: argparse.Namespace) -> Counter[str]:
    """Grade the shapes, some at once; return how often each got something else than it should."""
    source, shapes = LANGUAGES[asked.lang]
    settings = load()
    faults: Counter[str] = Counter()
    turns = asyncio.Semaphore(asked.jobs)
    with tempfile.TemporaryDirectory() as folder, loaded(asked.load):
        tasks_of(source, Path(folder))
        problem = read_dataset(Path(folder)).problems[0]
        grader = all_graders({"notes": problem}, settings)[asked.grader]
        task = Task(id="notes", suite="repogenesis", instruction=source.README, data_version="own")
        async with backends(settings.sandbox, settings) as tools:

            async def one(name: str) -> None:
                async with turns:
                    began = time.monotonic()
                    beside = {"store.py": python_shapes.STORE} if source is python_shapes else {}
                    verdict = await grade({**beside, **shapes[name].files}, grader, task, tools)
                    fault = wrong(shapes[name], verdict) if asked.grader == "strict" else None
                    faults[name] += fault is not None
                    show(name, verdict, time.monotonic() - began, is_right=fault is None)

            await asyncio.gather(*(one(name) for name in names for _ in range(asked.times)))
    return faults


def show(name: str, verdict: Verdict, took_s: float, *, is_right: bool) -> None:
    """Print a verdict."""
    score = "-" if verdict.score is None else f"{verdict.score.numerator:g}/{verdict.score.denominator:g}"
    shares = {one: share.value for one, share in verdict.scores.items()}
    loads = os.getloadavg()[0]
    word = "right" if is_right else "WRONG"
    print(f"{word} {name}: {score} in {took_s:.1f} s {json.dumps(shares)} at load {loads:.0f}", flush=True)
    for one in verdict.reasons:
        print(f"      {one.message}", flush=True)


def main() -> int:
    """Grade the shapes that were named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lang", choices=sorted(LANGUAGES), default="python")
    parser.add_argument("--grader", default="strict")
    parser.add_argument("--times", type=int, default=1, help="how often each is graded")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once")
    parser.add_argument("--load", type=int, default=0, help="busy loops beside them")
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    shapes = LANGUAGES[asked.lang][1]
    names = asked.names or list(shapes)
    if asked.list:
        print(*(f"{name}: {shapes[name].cause or 'full'}" for name in names), sep="\n")
        return 0
    faults = asyncio.run(run(names, asked))
    if asked.times > 1:
        print(*(f"{asked.times - faults[name]} of {asked.times} right: {name}" for name in names), sep="\n")
    right = sum(faults[name] == 0 for name in names)
    print(f"{right} of {len(names)} right; wrong: {', '.join(name for name in names if faults[name]) or 'none'}")
    return 0 if right == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
