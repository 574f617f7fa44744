"""Are the groups of `groundup why` causes? Several faults in one library, each of which was tried alone.

    python -m benchmarks.groups --tasks bleach,schema --faults 5 --json FILE [--each 2] [--seed 1] [--jobs 2]

Of an original a number of small faults is drawn, some in one function. Plain pytest says which hidden tests
each of them loses alone; those that lose none, or more than a fifth, are left out. With the others together it is
graded by `strict`, and the lost tests are grouped as `why` groups them. A group is false where no fault alone has
all of its tests; those that no fault alone loses decide nothing. A fault is spread where no group has all of its
tests. `--again` groups the tests in FILE anew.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.faults import write_faults
from benchmarks.mutants import append
from benchmarks.plain_pytest import plain_run

from groundup.domain.errors import GroundupError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import TestResult
from groundup.episodes.backends import Backends, backends
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.grading.library.layout import with_own_roots, with_version_file
from groundup.reports.causes import CauseGroup, grouped
from groundup.settings import load
from groundup.suites.base import Grader
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.suite import create

MOST = 0.2
"""A fault that loses a larger share of the tests hides the others."""


class Tried(Record):
    """A library with several faults: what each loses alone, and the lost tests with all of them."""

    task: str
    number: int
    seed: int
    faults: tuple[str, ...]
    alone: tuple[tuple[str, ...], ...]
    tests: tuple[TestResult, ...]


class Judged(Record):
    """What is true of a group."""

    said: str
    tests: int
    false: bool
    decided: int
    """Tests that some fault loses alone."""
    faults: tuple[int, ...]


def judged(tried: Tried) -> list[tuple[Judged, CauseGroup]]:
    """Return the groups of *tried* of which something is known."""
    found = []
    for group in grouped(tried.tests):
        known = [{number for number, lost in enumerate(tried.alone) if one.id in lost} for one in group.tests]
        known = [faults for faults in known if faults]
        if not known:
            continue
        shared = set.intersection(*known)
        row = Judged(
            said=group.cause.said,
            tests=len(group.tests),
            false=not shared,
            decided=len(known),
            faults=tuple(sorted(shared or set.union(*known))),
        )
        found.append((row, group))
    return found


def spread(tried: Tried) -> dict[int, int]:
    """Return in how many groups the tests of each fault stand, of tests that no other fault loses."""
    counts = Counter(
        number
        for row, group in judged(tried)
        for number, lost in enumerate(tried.alone)
        if number in row.faults
        and any(one.id in lost and sum(one.id in other for other in tried.alone) == 1 for one in group.tests)
    )
    return dict(counts)


async def tried(
    tools: Backends, grader: Grader, task: Task, number: int, asked: argparse.Namespace
) -> Tried | None:
    """Try the faults one by one, and those that say something together; None where fewer than two do."""
    recipe = shipped_recipes()[task.id]
    with tempfile.TemporaryDirectory(prefix="groups-") as folder:
        room = Path(folder)
        (room / "scratch").mkdir()
        context = tools.context(room / "scratch", asked.timeout)
        original = (await context.builder.source(recipe.graded_request())).path
        environment = await context.builder.python(recipe.environment.request())
        seed, drawn = f"{asked.seed}:{task.id}:{number}", 4 * asked.faults
        kept: dict[int, tuple[str, ...]] = {}
        words: tuple[str, ...] = ()
        for fault in range(drawn):
            tree = room / f"tree{fault}"
            words = await asyncio.to_thread(write_faults, original, recipe.tests, tree, seed, drawn, {fault})
            hidden = with_version_file(tree, with_own_roots(tree, recipe.tests))
            plain = await plain_run(LibraryUnderTest(tree, original, hidden, environment), context)
            lost = recipe.expected - plain.passed
            if not plain.trouble and not plain.ended and 0 < len(lost) <= MOST * len(recipe.expected):
                kept[fault] = tuple(sorted(map(str, lost)))
            if len(kept) == asked.faults:
                break
        if len(kept) < 2:
            return None
        tree = room / "tree"
        await asyncio.to_thread(write_faults, original, recipe.tests, tree, seed, drawn, kept)
        graded = await grader.grade(task, tree, context)
    tests = tuple(one for one in graded.tests if one.lost)
    faults = tuple(words[fault] for fault in kept)
    return Tried(task=task.id, number=number, seed=asked.seed, faults=faults, alone=(*kept.values(),), tests=tests)


async def try_all(asked: argparse.Namespace) -> list[Tried]:
    """Try what is asked for, some at once."""
    settings = load()
    suite = create(settings)
    tasks = {task.id: task for task in suite.tasks()}
    found = []
    async with backends(settings.sandbox, settings) as tools:
        gate = asyncio.Semaphore(asked.jobs)

        async def one(name: str, number: int) -> Tried | None:
            async with gate:
                try:
                    return await tried(tools, suite.graders()["strict"], tasks[name], number, asked)
                except GroundupError as error:
                    print(f"not done  {name} #{number}: {error}", flush=True)
                    return None

        orders = [(name, number) for number in range(asked.each) for name in asked.tasks]
        for finished in asyncio.as_completed([one(*order) for order in orders]):
            if (row := await finished) is not None:
                append(asked.json, row)
                found.append(row)
                print(told(row), flush=True)
    return found


def told(row: Tried) -> str:
    """Return what is true of the groups of a library, in lines."""
    groups = judged(row)
    lines = [
        f"{row.task} #{row.number}: {len(row.tests)} lost by {len(row.faults)} faults in {len(groups)} groups, "
        f"{sum(one.false for one, _ in groups)} false; groups by fault: {spread(row)}"
    ]
    for one, group in groups:
        if one.false:
            lines.append(f"  false: {one.tests} tests: {one.said}")
            lines += [f"    {number}: {row.faults[number]}" for number in one.faults]
            for test in group.tests:
                faults = [number for number, lost in enumerate(row.alone) if test.id in lost]
                lines.append(f"    {faults} {test.id[:100]}: {' | '.join(test.demand.splitlines())[:300]}")
    return "\n".join(lines)


def main() -> int:
    """Try, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=[], help="a,b")
    parser.add_argument("--faults", type=int, default=5, help="of each library, at most")
    parser.add_argument("--each", type=int, default=1, help="libraries of each task")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, help="seconds for all tests of a run")
    parser.add_argument("--json", type=Path, required=True, help="results are added here")
    parser.add_argument("--again", action="store_true", help="try nothing; judge what is in FILE")
    asked = parser.parse_args()
    if asked.again:
        found = [Tried.model_validate_json(line) for line in asked.json.read_text().splitlines()]
        print("\n".join(map(told, found)))
    else:
        found = asyncio.run(try_all(asked))
    groups = [one for row in found for one, _ in judged(row)]
    several = [one for one in groups if one.decided > 1]
    counts = [number for row in found for number in spread(row).values()]
    print(
        f"{len(groups)} groups, {len(several)} of several tests; false {sum(one.false for one in groups)}; "
        f"{len(counts)} faults in {sum(counts)} groups, {sum(number == 1 for number in counts)} in one"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
