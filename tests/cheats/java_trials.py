"""Grading dishonest Java services; needs a JDK 17, Maven and its repository.

`python -m tests.cheats.java_trials --times 10` installs each service once, runs the hidden tests over it ten times,
and prints a table: what the check said, and the points that were left.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.grading.java.installing import install_java
from groundup.grading.java.testing import run_java_tests
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import load
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from tests.cheats.corpus import Dishonest
from tests.cheats.java import JAVA
from tests.cheats.results import Outcome
from tests.cheats.trials import outcome_of
from tests.grading.library.laboratory import write_tree
from tests.suites.repogenesis.java_trials import java_problem
from tests.suites.repogenesis.test_java import LIFECYCLE, graded


@dataclass(frozen=True)
class JavaTrial:
    """Grades services."""

    provider: SandboxProvider
    folder: Path

    def context(self, name: str) -> GradingContext:
        """Return a bench whose scratch is a folder *name*, which may exist."""
        scratch = self.folder / name
        scratch.mkdir(exist_ok=True)
        return GradingContext(provider=self.provider, builder=LocalBuilder(load(), self.provider), scratch=scratch)

    async def grade(self, files: Mapping[str, str]) -> Outcome:
        """Return how many of the hidden tests count."""
        return outcome_of(await graded(dict(files), self.context("scratch"), self.folder))

    async def answers(self, files: Mapping[str, str], times: int) -> Counter[tuple[str, int]]:
        """Return what the check said how often, with the points; `unchecked` where nothing passed."""
        problem, found = java_problem(self.folder / "data"), Counter[tuple[str, int]]()
        submission, room = self.folder / "submission", self.context("installing")
        installed = await install_java(write_tree(submission, files), LIFECYCLE, room)
        for _ in range(times):
            context = self.context("testing")
            run = await run_java_tests(
                problem.hidden_tests(), problem.task.tests.count, installed, LIFECYCLE, context
            )
            found[run.integrity or "unchecked", run.count("passed")] += 1
            remove_tree(context.scratch)
        remove_tree(submission)
        remove_tree(room.scratch)
        return found


@contextmanager
def java_trial(provider: SandboxProvider) -> Iterator[JavaTrial]:
    """Yield a place to grade; it is removed afterwards."""
    with scratch_folder("cheats") as folder:
        yield JavaTrial(provider, folder)


def row(cheat: Dishonest, found: Mapping[tuple[str, int], int]) -> str:
    """Return a row of the table; in bold what is not deserved."""

    def points(answer: str) -> str:
        cells = [
            f"{times} ({f'**{points}**' if points > cheat.deserves else points})"
            for (said, points), times in sorted(found.items())
            if said == answer
        ]
        return ", ".join(cells) or "-"

    answers = " | ".join(map(points, ("tampered", "suspect", "clean", "unchecked")))
    return f"| {cheat.name} | {cheat.tries} | {cheat.deserves} | {answers} |"


async def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cheats.java_trials")
    parser.add_argument("--times", type=int, default=10, help="how often the tests run over each service")
    parser.add_argument("--only", default="", help="part of a cheat's name")
    chosen = parser.parse_args()
    async with create(load()) as provider:
        with java_trial(provider) as trial:
            print(
                "| of 12 | tries | deserves | tampered | suspect | clean | unchecked |", "|---" * 7 + "|", sep="\n"
            )
            for cheat in JAVA:
                if chosen.only in cheat.name:
                    print(row(cheat, await trial.answers(cheat.files, chosen.times)), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
