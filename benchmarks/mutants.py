"""Honest but faulty submissions: `strict` has to count exactly what plain pytest counts, and to accuse nobody.

    python -m benchmarks.mutants --each 12 --limit-s 7 --json FILE [--jobs 2] [--seed 1]
    python -m benchmarks.mutants --tasks jsonlines,bleach --kinds none,missing --keep FOLDER
    python -m benchmarks.mutants --kinds original --each 1

Makes mutants of originals (`faults`), grades each by `strict`, without a cache, and runs its hidden tests by
plain pytest (`plain_pytest`). Each is one line: equal; different; unstable, where two plain runs differ; or no
end, where plain pytest has no result. FILE gets a line of JSON per mutant, and what it has is not done again;
FOLDER the trees that are not equal. `--as-runs` grades as runs do, a second time where load may have decided, and
says so. `--kinds original` is the control, with no fault. `--timeout 30` ends endless loops sooner, but a slow
mutant as well. The exit code is 1 when one is different or `tampered`.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from benchmarks.faults import KINDS, write_mutant
from benchmarks.plain_pytest import plain_run
from pydantic import ValidationError

from groundup.domain.errors import GroundupError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Graded
from groundup.episodes.attempt import REPEATS, graded_unless_starved
from groundup.episodes.backends import Backends, backends
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest
from groundup.grading.library.layout import with_own_roots, with_version_file
from groundup.settings import load
from groundup.suites.base import Grader
from groundup.suites.nl2repobench.recipe import Recipe, expected_seconds, shipped_recipes
from groundup.suites.nl2repobench.suite import create
from groundup.trees.walking import remove_tree

ALL = tuple(kind for kind in KINDS if kind != "original")
SHOWN = 5


class Order(Record):
    """Which mutant: with the same words it is the same one."""

    task: str
    number: int
    seed: int
    kinds: tuple[str, ...]


class Compared(Record):
    """What plain pytest and `strict` said of a mutant."""

    order: Order
    kind: str
    share: float
    faults: tuple[str, ...]
    expected: int
    result: Literal["equal", "different", "unstable", "no end"]
    began: int
    plain: int
    strict: float | None
    status: str
    integrity: str
    plain_only: tuple[str, ...] = ()
    strict_only: tuple[str, ...] = ()
    twice: bool = False
    starved: float = 0.0
    ended: tuple[str, ...] = ()
    trouble: str = ""
    plain_s: float
    strict_s: float

    @property
    def line(self) -> str:
        """What is printed of it."""
        strict = "-" if self.strict is None else f"{self.strict:g}"
        named = f"{self.order.task} #{self.order.number} {self.kind} {self.share:.0%} seed {self.order.seed}"
        counts = f"plain {self.plain} strict {strict} of {self.expected}"
        rest = [self.trouble] * bool(self.trouble) + [f"{len(self.ended)} ended the process"] * bool(self.ended)
        rest += ["graded twice"] * self.twice + [f"starved {self.starved:.0%}"] * bool(self.starved)
        accused = "" if self.integrity == self.status else f" {self.status}" * (self.status != "graded")
        told = f"{self.result:<9} {named}: {counts}, {self.integrity}{accused}"
        return "; ".join([f"{told}, {self.plain_s:.1f} + {self.strict_s:.1f} s", *rest])


class Laboratory:
    """Makes and compares mutants, some at once."""

    def __init__(self, tools: Backends, grader: Grader, tasks: Iterable[Task], asked: argparse.Namespace) -> None:
        self._tools, self._grader, self._asked = tools, grader, asked
        self._tasks = {task.id: task for task in tasks}
        self._gate = asyncio.Semaphore(asked.jobs)

    async def compared(self, order: Order) -> Compared | None:
        """Compare one mutant; None, with a line of why, where the machine did not."""
        async with self._gate:
            room = Path(tempfile.mkdtemp(prefix="mutants-"))
            try:
                return await self._compared(order, room)
            except GroundupError as error:
                print(f"not done  {order.task} #{order.number}: {error}", flush=True)
                return None
            finally:
                await asyncio.to_thread(remove_tree, room)

    async def _compared(self, order: Order, room: Path) -> Compared:
        recipe, tree = shipped_recipes()[order.task], room / "tree"
        (room / "scratch").mkdir()
        context = self._tools.context(room / "scratch", self._asked.timeout)
        original = (await context.builder.source(recipe.graded_request())).path
        chance = random.Random(f"{order.seed}:{order.task}:{order.number}")
        mutant = await asyncio.to_thread(write_mutant, original, recipe.tests, tree, chance, order.kinds)
        environment = await context.builder.python(recipe.environment.request())
        hidden = with_version_file(tree, with_own_roots(tree, recipe.tests))
        library = LibraryUnderTest(tree, original, hidden, environment)
        first = await plain_run(library, context)
        began = time.monotonic()
        graded = await self._graded(order, tree, context)
        strict_s = time.monotonic() - began
        verdict = graded.verdict
        counted = {NumberedTest.parse(one.id) for one in graded.tests if one.expected and one.outcome == "passed"}
        strict = None if verdict.score is None else verdict.score.numerator
        plain = first.passed & recipe.expected
        result: Literal["equal", "different", "unstable", "no end"] = "equal"
        if first.trouble:
            result = "no end"
        elif strict != len(plain) or counted != plain:
            again = await plain_run(library, context)
            result = "different" if again.passed & recipe.expected == plain else "unstable"
        if self._asked.keep and result != "equal":
            kept = self._asked.keep / f"{order.task}-{order.number}"
            shutil.copytree(tree, kept, symlinks=True, dirs_exist_ok=True)
        return Compared(
            order=order,
            kind=mutant.kind,
            share=mutant.share,
            faults=mutant.faults,
            expected=len(recipe.expected),
            result=result,
            began=first.began,
            plain=len(plain),
            strict=strict,
            status=verdict.status.value,
            integrity=str(verdict.facts.get("integrity", "-")),
            plain_only=tuple(sorted(map(str, plain - counted))) if result != "no end" else (),
            strict_only=tuple(sorted(map(str, counted - plain))) if result != "no end" else (),
            twice=bool(verdict.facts.get("graded_twice")),
            starved=float(verdict.facts.get("starved") or 0),
            ended=first.ended,
            trouble=first.trouble,
            plain_s=round(first.seconds, 2),
            strict_s=round(strict_s, 2),
        )

    async def _graded(self, order: Order, tree: Path, context: GradingContext) -> Graded:
        """Grade once, whatever the machine does, or as runs do."""
        task = self._tasks[order.task]
        if not self._asked.as_runs:
            return await self._grader.grade(task, tree, context)

        async def grade(place: str) -> Graded:
            (context.scratch / place).mkdir()
            return await self._grader.grade(
                task, tree, replace(context, scratch=context.scratch / place, repeats=REPEATS)
            )

        return await graded_unless_starved(grade)


def orders_of(asked: argparse.Namespace) -> list[Order]:
    """Return what is asked for: one mutant of each task, then the next."""
    recipes = shipped_recipes()
    names = asked.tasks or [name for name, recipe in recipes.items() if is_quick(recipe, asked.limit_s)]
    return [
        Order(task=name, number=number, seed=asked.seed, kinds=asked.kinds)
        for number in range(asked.each)
        for name in names
    ]


def is_quick(recipe: Recipe, limit_s: float | None) -> bool:
    """Whether a recipe's tests take no longer than *limit_s*, as far as it is frozen."""
    return recipe.frozen is not None and (limit_s is None or expected_seconds(recipe) <= limit_s)


def read_done(file: Path | None) -> dict[Order, Compared]:
    """Return what a file of results has; a line that was torn is done again."""
    done = {}
    for line in file.read_text().splitlines() if file and file.exists() else ():
        try:
            one = Compared.model_validate_json(line)
        except ValidationError:
            continue
        done[one.order] = one
    return done


async def compare_all(asked: argparse.Namespace) -> list[Compared]:
    """Compare what was not compared before, and return all that was asked for."""
    settings = load()
    suite = create(settings)
    orders, done = orders_of(asked), read_done(asked.json)
    async with backends(settings.sandbox, settings) as tools:
        laboratory = Laboratory(tools, suite.graders()["strict"], suite.tasks(), asked)
        # Begun as they stand, so that an interrupted run has some of every task.
        waiting = [asyncio.create_task(laboratory.compared(one)) for one in orders if one not in done]
        for finished in asyncio.as_completed(waiting):
            one = await finished
            if one is not None:
                done[one.order] = one
                print(one.line, flush=True)
                append(asked.json, one)
    return [done[order] for order in orders if order in done]


def append(file: Path | None, one: Record) -> None:
    """Add a line, on a line of its own."""
    if file is not None:
        with file.open("a+b") as stream:
            stream.seek(max(0, stream.tell() - 1))
            torn = stream.read() not in (b"", b"\n")
            stream.write(b"\n" * torn + one.model_dump_json().encode() + b"\n")


def summary(found: list[Compared]) -> str:
    """Return how many are what, and the tests in which the others differ."""
    results, integrity = Counter(one.result for one in found), Counter(one.integrity for one in found)
    kinds, statuses = Counter(one.kind for one in found), Counter(one.status for one in found)
    wanting = sum(bool(one.ended) for one in found)
    lines = [
        f"equal {results['equal']} of {len(found)}; different {results['different']}, "
        f"unstable {results['unstable']}, no end {results['no end']}; tests left out in {wanting}",
        f"integrity: {_counts(integrity)}; status: {_counts(statuses)}; "
        f"graded twice {sum(one.twice for one in found)}",
        f"by plain pytest no test runs in {sum(not one.began for one in found)}, all pass in "
        f"{sum(one.plain == one.expected for one in found)}; kinds: {_counts(kinds)}",
        f"seconds of the suites by plain pytest {sum(one.plain_s for one in found):.0f}, of whole gradings by "
        f"strict {sum(one.strict_s for one in found):.0f}",
    ]
    for one in found:
        if one.result != "equal" or one.status == "tampered":
            lines.append(one.line)
            for who, tests in (("plain", one.plain_only), ("strict", one.strict_only)):
                lines += [f"    by {who} only: {test}" for test in tests[:SHOWN]]
                lines += [f"    ... and {len(tests) - SHOWN} more"] * (len(tests) > SHOWN)
    return "\n".join(lines)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def _words(known: Iterable[str]) -> "argparse._ActionType":
    def words(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        if strangers := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(f"{min(strangers)!r} is none of {', '.join(known)}")
        return chosen

    return words


def main() -> int:
    """Compare and summarise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=_words(shipped_recipes()), help="a,b; all that `--limit-s` leaves")
    parser.add_argument("--each", type=int, default=4, help="mutants of each task")
    parser.add_argument("--kinds", type=_words(KINDS), default=ALL, help=",".join(KINDS))
    parser.add_argument("--limit-s", type=float, help="leave out recipes whose tests take longer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, help="seconds for all tests of a run; a hanging one gets a third")
    parser.add_argument("--json", type=Path, help="results are added here; what it has is not done again")
    parser.add_argument("--keep", type=Path, help="where mutants that are not equal are kept")
    parser.add_argument("--as-runs", action="store_true", help="twice where the machine was busy; else once")
    asked = parser.parse_args()
    began = time.monotonic()
    found = asyncio.run(compare_all(asked))
    print(summary(found), f"in {time.monotonic() - began:.0f} s")
    return 1 if any(one.result == "different" or one.status == "tampered" for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
