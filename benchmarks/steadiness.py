"""Broken copies of originals, each graded several times by `strict`: a submission has one score.

    python -m benchmarks.steadiness --copies 200 --times 3 --limit-s 2 [--tasks cherry] [--jobs 2] [--json FILE]

Makes broken copies as `mutants` does, and grades each without a cache, as an attempt is: once more where the
machine may have decided. A copy is a line: its scores, whether the same tests passed each time, how many lost
tests were called flaky, and how many verdicts may be cached. FILE gets a line of JSON per copy, and what it
has is not done again. The exit code is 1 when a copy has two scores of which one may be cached.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.faults import write_mutant
from benchmarks.mutants import ALL, Order, append, is_quick
from pydantic import ValidationError

from groundup.domain.errors import GroundupError
from groundup.domain.records import Record
from groundup.domain.verdicts import TestResult
from groundup.episodes.attempt import graded_unless_starved
from groundup.episodes.backends import Backends, backends
from groundup.settings import load
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench, create
from groundup.trees.walking import remove_tree


class Steady(Record):
    """What several gradings of one copy found."""

    order: Order
    kind: str
    scores: tuple[float | None, ...]
    of: int
    differing: tuple[str, ...]
    flaky: int
    cacheable: tuple[bool, ...]

    @property
    def line(self) -> str:
        """What is printed of it."""
        scores = ", ".join("-" if score is None else f"{score:g}" for score in self.scores)
        cached = f"cacheable {sum(self.cacheable)} of {len(self.cacheable)}"
        word = "UNEQUAL" if self.is_unequal else "equal"
        told = f"{word:<8}{self.order.task} #{self.order.number} {self.kind}: {scores} of {self.of}"
        return "; ".join([told, f"flaky {self.flaky}", cached, *self.differing[:3]])

    @property
    def is_unequal(self) -> bool:
        """Whether one grading had another score or other tests than another."""
        return bool(self.differing) or len(set(self.scores)) > 1


class GradingContext:
    """Grades copies, some at once."""

    def __init__(self, tools: Backends, suite: Nl2RepoBench, asked: argparse.Namespace) -> None:
        self._tools, self._asked = tools, asked
        self._grader = suite.graders()["strict"]
        self._tasks = {task.id: task for task in suite.tasks()}
        self._gate = asyncio.Semaphore(asked.jobs)

    async def graded(self, order: Order) -> Steady | None:
        """Grade one copy; None, with a line of why, where the machine did not."""
        async with self._gate:
            room = Path(tempfile.mkdtemp(prefix="steadiness-"))
            try:
                return await self._graded(order, room)
            except GroundupError as error:
                print(f"not done  {order.task} #{order.number}: {error}", flush=True)
                return None
            finally:
                await asyncio.to_thread(remove_tree, room)

    async def _graded(self, order: Order, room: Path) -> Steady:
        recipe = shipped_recipes()[order.task]
        (room / "scratch").mkdir()
        context = self._tools.context(room / "scratch", None)
        original = (await context.builder.source(recipe.source_request())).path
        chance = random.Random(f"{order.seed}:{order.task}:{order.number}")
        copy = await asyncio.to_thread(write_mutant, original, recipe.tests, room / "tree", chance, order.kinds)
        found = []
        for number in range(self._asked.times):
            (room / f"{number}").mkdir()
            found.append(await graded_unless_starved(partial(self._once, order.task, room, room / f"{number}")))
        passed = [_passed(one.tests) for one in found]
        verdicts = [one.verdict for one in found]
        return Steady(
            order=order,
            kind=copy.kind,
            scores=tuple(one.score.numerator if one.score else None for one in verdicts),
            of=len(recipe.expected),
            differing=tuple(sorted(passed[0].union(*passed) - passed[0].intersection(*passed))),
            flaky=len({test.id for one in found for test in one.tests if test.flaky}),
            cacheable=tuple(one.cacheable for one in verdicts),
        )

    async def _once(self, task: str, room: Path, workings: Path, place: str) -> Graded:
        """Grade the copy in *room* as an attempt's submission is."""
        (workings / place).mkdir()
        return await self._grader.grade(
            self._tasks[task], room / "tree", self._tools.context(workings / place, None)
        )


def _passed(tests: Iterable[TestResult]) -> set[str]:
    return {test.id for test in tests if test.expected and test.outcome == "passed"}


def read_done(file: Path | None) -> dict[Order, Steady]:
    """Return what a file of results has; a line that was torn is done again."""
    done = {}
    for line in file.read_text().splitlines() if file and file.exists() else ():
        with suppress(ValidationError):
            one = Steady.model_validate_json(line)
            done[one.order] = one
    return done


async def grade_all(asked: argparse.Namespace) -> list[Steady]:
    """Grade what was not graded before, and return all that was asked for."""
    settings, recipes = load(), shipped_recipes()
    names = asked.tasks or [name for name, recipe in recipes.items() if is_quick(recipe, asked.limit_s)]
    orders = [
        Order(task=names[number % len(names)], number=number // len(names), seed=asked.seed, kinds=ALL)
        for number in range(asked.copies)
    ]
    done = read_done(asked.json)
    async with backends(settings.sandbox, settings) as tools:
        context = GradingContext(tools, create(settings), asked)
        waiting = [asyncio.create_task(context.graded(one)) for one in orders if one not in done]
        for finished in asyncio.as_completed(waiting):
            one = await finished
            if one is not None:
                done[one.order] = one
                print(one.line, flush=True)
                append(asked.json, one)
    return [done[order] for order in orders if order in done]


def main() -> int:
    """Grade and summarise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=lambda text: text.split(","), help="a,b; all that --limit-s leaves")
    parser.add_argument("--copies", type=int, default=200)
    parser.add_argument("--times", type=int, default=3, help="gradings of each copy")
    parser.add_argument("--limit-s", type=float, help="leave out recipes whose tests take longer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="results are added here; what it has is not done again")
    found = asyncio.run(grade_all(parser.parse_args()))
    unequal = [one for one in found if one.is_unequal]
    cached = [one for one in unequal if any(one.cacheable)]
    flaky = sum(bool(one.flaky) for one in found)
    print(
        f"{len(found)} copies, {len(unequal)} with unequal scores, of which {len(cached)} with one that may be "
        f"cached; flaky tests in {flaky}"
    )
    return int(bool(cached))


if __name__ == "__main__":
    sys.exit(main())
