"""Predictions in C#, executed with this machine's SDK: does each pass or fail, and for the reason that is true?

    python -m benchmarks.csharp_predictions FOLDER [--only REGEX] [--jobs 2]

The predictions and their rows are in `tests/suites/dibench/csharp_cases.py`, whose tests check the counts of
`strict` and `official`; here the jobs run, with the registry that this user's client has. FOLDER gets a cache and
each job's log. Prints a table; exits with 1 where an outcome or a cause is not as the row says.
"""

import argparse
import asyncio
import re
import time
from pathlib import Path

from tests.grading.ci import bench
from tests.suites.dibench.csharp_cases import REPOSITORIES, ROWS, write_submission
from tests.suites.dibench.executed import write_tiny

from groundup.configuration import environment
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.registries.names import names_of
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.execution import ExecutionGrader


async def executed(folder: Path, names: list[str], jobs: int) -> dict[str, Verdict]:
    """Return the verdict of each of the rows *names*."""
    dataset = read_dataset(write_tiny(folder / "data", REPOSITORIES))
    problems = {problem.id: problem for problem in dataset.problems}
    registry = names_of("live", folder / "cache", environment())
    grader = ExecutionGrader(problems, "none", 900.0, registry)
    turns = asyncio.Semaphore(jobs)

    async def one(name: str) -> tuple[str, Verdict]:
        row, place = ROWS[name], folder / name
        place.mkdir()
        async with turns, bench.context(place, cache=folder / "cache") as context:
            submission = write_submission(place / "submission", row)
            task = Task(id=row.repository, suite="dibench", instruction=None)
            graded = await grader.grade(task, submission, context)
        for log, content in graded.logs.items():
            (place / log).write_bytes(content)
        return name, graded.verdict

    return dict(await asyncio.gather(*map(one, names)))


def main() -> int:
    """Execute and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--only", default="", help="a pattern of rows' names")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names = [name for name in ROWS if re.search(given.only, name)]
    given.folder.mkdir()
    started = time.monotonic()
    found = asyncio.run(executed(given.folder.resolve(), names, given.jobs))
    print("| prediction | score | failure | as expected |\n|---|---|---|---|")
    right = 0
    for name, verdict in found.items():
        row, score = ROWS[name], verdict.score.value if verdict.score else None
        said = verdict.reasons[0].message if verdict.reasons else ""
        agrees = score == float(row.passes) and re.search(row.said, said) is not None
        if row.absent:
            agrees = agrees and verdict.facts.get(row.absent) == 1
        right += agrees
        told = said.replace("|", "\\|").replace("\n", " ")
        print(f"| {name} | {score} | {told} | {'yes' if agrees else 'no'} |")
    print(f"\n{right} of {len(names)} as expected, {time.monotonic() - started:.0f} s")
    return int(right < len(names))


if __name__ == "__main__":
    raise SystemExit(main())
