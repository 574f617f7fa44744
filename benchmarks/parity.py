"""The same verdicts in all sandboxes: `python -m benchmarks.parity [--sandboxes bubblewrap,docker] [...]`.

Grades originals and submissions of other quality of all three suites in each sandbox, one attempt at a time and
without cached verdicts. Prints a row for each kind of submissions: in how many attempts verdict, counts and
outcomes of all tests are those of the first sandbox, and the seconds that grading took, where layers are warm
from the second run of this on; then what differs, test by test.

RepoGenesis needs its data (`groundup data pull`); DI-Bench is graded on the made instances of the tests, by
text. `--executed` names instances of pulled data, whose CI jobs run for their oracles and for nothing.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import groundup

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.official_submissions import MAKERS, make
from benchmarks.repogenesis_submissions import make_all
from tests.suites.dibench import made

from groundup.episodes.backends import opened_context
from groundup.runs.interrupts import EXIT_CODE
from groundup.settings import Settings, load
from groundup.suites.nl2repobench.recipe import shipped_recipes

TASKS = "tenacity,sqlparse"
KINDS = ("oracle", "nop", "every 2nd function gone", "prints counts", "conftest.py")
QUALITIES = ("references", "damaged", "dishonest")
SERVICES = "rock-paper-scissors-flask,SimpleFastPyAPI,Chatroom,Tic-Tac-Toe,mail_service,eve"
Seen = tuple[object, Mapping[str, str]]
"""Status and counts, and the outcome of each test."""


def main() -> int:
    """Grade everything everywhere; 1 when anything differs, 130 when stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandboxes", default="bubblewrap,docker,podman")
    parser.add_argument("--suites", default="nl2repobench,repogenesis,dibench")
    parser.add_argument("--tasks", default=TASKS, help="of nl2repobench")
    parser.add_argument("--kinds", default=",".join((*KINDS, *QUALITIES)), help="of submissions")
    parser.add_argument("--executed", default="", help="instances of dibench")
    parser.add_argument("--services", default=SERVICES, help="of repogenesis")
    given = parser.parse_args()
    sandboxes, others = given.sandboxes.split(","), 0
    print(f"| suite | submissions | {' | '.join(sandboxes)} |\n|---|---|{'---|' * len(sandboxes)}")
    with tempfile.TemporaryDirectory() as name:
        settings = load().but(output=Path(name) / "runs", jobs=1)
        for suite, kind, flags, at in submissions(Path(name), given, settings):
            first: Mapping[str, Seen] = {}
            cells, notes = [], list[str]()
            for sandbox in sandboxes:
                here = at.but(sandbox=sandbox)
                work = groundup.run if "agent" in flags else groundup.evaluate
                run = work(suite, no_cache=True, settings=here, **flags)
                if run.interrupted:
                    print(f"stopped in {suite}, {kind}, {sandbox}")
                    return EXIT_CODE
                seen, seconds = verdicts(run.folder)
                first = first or seen
                differ = [attempt for attempt in first if seen.get(attempt) != first[attempt]]
                cells.append(f"{len(first) - len(differ)} of {len(first)}, {seconds:.0f} s")
                notes += [f"{sandbox}: {one}: {difference(first[one], seen.get(one))}" for one in differ]
                others += len(differ)
            print(f"| {suite} | {kind} | {' | '.join(cells)} |", flush=True)
            print("".join(f"  {note}\n" for note in notes), end="", flush=True)
    return int(others > 0)


def submissions(
    folder: Path, given: argparse.Namespace, settings: Settings
) -> Iterator[tuple[str, str, dict[str, Any], Settings]]:
    """Yield suite, kind, what is graded or who makes it, and settings."""
    suites, tasks, wanted = given.suites.split(","), given.tasks.split(","), given.kinds.split(",")
    if "nl2repobench" in suites:
        kinds = [kind for kind in KINDS if kind in wanted]
        asyncio.run(libraries(folder / "libraries", tasks, kinds, settings))
        for kind in kinds:
            yield "nl2repobench", kind, {"predictions": folder / "libraries" / kind, "tasks": tasks}, settings
    services = given.services.split(",")
    made_of_services = make_all(folder / "services") if "repogenesis" in suites else ()
    for kind in [kind for kind in made_of_services if kind in wanted]:
        predictions = folder / "services" / kind
        there = [task for task in services if (predictions / task).is_dir()]
        yield "repogenesis", kind, {"predictions": predictions, "tasks": there}, settings
    for agent in ("oracle", "nop") if given.executed else ():
        executed = {"agent": agent, "grader": "execution", "tasks": given.executed.split(",")}
        yield "dibench", f"{agent}, executed", executed, settings
    if "dibench" not in suites:
        return
    dataset, patches = made.write_dataset(folder / "dataset"), folder / "patches"
    own = settings.but(cache_dir=folder / "cache")
    command = [sys.executable, "-m", "groundup", "data", "pull", "dibench", "--from", str(dataset)]
    subprocess.run(command, check=True, env={**os.environ, "GROUNDUP_CACHE_DIR": str(own.cache_dir)})
    for number, (task, (_, masked, original)) in enumerate(made.INSTANCES.items()):
        made.write_prediction(patches, task, original if number % 2 else masked)
    yield "dibench", "every second patch", {"predictions": patches, "tasks": list(made.INSTANCES)}, own


async def libraries(folder: Path, tasks: list[str], kinds: list[str], settings: Settings) -> None:
    """Write the submissions of nl2repobench."""
    recipes = shipped_recipes()
    async with opened_context(settings) as context:
        for task in tasks:
            original = (await context.builder.source(recipes[task].source.request())).path
            for kind in kinds:
                assert kind in MAKERS
                (folder / kind).mkdir(parents=True, exist_ok=True)
                make(kind, original, recipes[task], folder / kind / task)


def verdicts(folder: Path) -> tuple[dict[str, Seen], float]:
    """Return what was seen of each attempt of a run, and the seconds that grading took."""
    found: dict[str, Seen] = {}
    seconds = 0.0
    for text in (folder / "verdicts.jsonl").read_text().splitlines():
        line = json.loads(text)
        key, verdict = f"{line['attempt']['task']}/{line['attempt']['index']}", line["verdict"] or {}
        tests = folder / "attempts" / key / "tests.jsonl"
        outcomes = [json.loads(one) for one in tests.read_text().splitlines()] if tests.exists() else []
        found[key] = (
            [verdict.get(name) for name in ("status", "score", "scores")],
            {one["id"]: one["outcome"] for one in outcomes},
        )
        timings = verdict.get("timings_s") or {}
        seconds += timings.get("total", timings.get("all", 0.0))
    return found, seconds


def difference(first: Seen, other: Seen | None) -> str:
    """Return in words how two differ."""
    if other is None:
        return "no verdict"
    tests = sorted(name for name in first[1].keys() | other[1].keys() if first[1].get(name) != other[1].get(name))
    return f"{first[0]} became {other[0]}; {len(tests)} tests, such as {tests[:3]}"


if __name__ == "__main__":
    sys.exit(main())
