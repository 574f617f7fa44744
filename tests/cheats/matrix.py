"""Tries every cheat and shows what it got: `python -m tests.cheats.matrix`.

Results are added to a file, one line for each; what is there already is not tried again unless the cheat or `--label`
differs, so a run that was interrupted goes on. `--table` prints the file as the table of docs/security.md.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from groundup.sandbox.bubblewrap import create
from groundup.settings import load
from tests.cheats.cases import OF_LIBRARIES, TARGETS, Case, cases
from tests.cheats.results import Line, read_lines
from tests.cheats.table import markdown


def main() -> None:
    """Try what is asked for, or print the table."""
    chosen = _arguments()
    if chosen.table:
        print(markdown(read_lines(chosen.out), chosen.label))
        return
    asyncio.run(_try(chosen))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cheats.matrix", description=__doc__)
    parser.add_argument(
        "--only", action="append", help="part of the name of a family or a cheat; several times; all"
    )
    parser.add_argument("--target", action="append", choices=TARGETS, help="may be given several times; all")
    parser.add_argument("--base", action="append", help="libraries: wares, or a recipe such as jsonlines; wares")
    parser.add_argument("--grader", action="append", choices=OF_LIBRARIES, help="all")
    parser.add_argument("--label", default="now", help="which code judges, for example a commit")
    parser.add_argument("--out", type=Path, default=Path("cheats.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is known, and try nothing")
    parser.add_argument("--times", type=int, default=1, help="how often libraries are graded; 1")
    return parser.parse_args()


async def _try(chosen: argparse.Namespace) -> None:
    known = {line.key for line in read_lines(chosen.out)}
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(create(load()))
        async for case in _wanted(
            chosen, cases(provider, stack, chosen.target or TARGETS, chosen.base or ["wares"])
        ):
            for number in range(chosen.times if case.target == "library" and case.grader != "official" else 1):
                line = _line(case, chosen.label).but(number=number)
                if line.key not in known:
                    await _tried(case, line, chosen.out)


async def _tried(case: Case, line: Line, out: Path) -> None:
    """Grade once, write the line with the outcome to *out*, and print it."""
    began = time.monotonic()
    outcome = await case.grade()
    line = line.but(outcome=outcome, seconds=round(time.monotonic() - began, 1))
    with out.open("a") as file:
        file.write(line.model_dump_json() + "\n")
    print(line.shown(), flush=True)


async def _wanted(chosen: argparse.Namespace, found: AsyncIterator[Case]) -> AsyncIterator[Case]:
    graders: Sequence[str] = chosen.grader or OF_LIBRARIES
    async for case in found:
        name = f"{case.family} {case.cheat}".lower()
        named = any(part.lower() in name for part in chosen.only or [""])
        if (named or case.family == "honest") and case.grader in graders:
            yield case


def _line(case: Case, label: str) -> Line:
    return Line(
        label=label,
        target=case.target,
        base=case.base,
        grader=case.grader,
        family=case.family,
        cheat=case.cheat,
        tries=case.tries,
        memorises=case.memorises,
        digest=case.digest,
        deserves=case.deserves,
    )


if __name__ == "__main__":
    main()
