"""`groundup curate set`: a set of tasks from a list of libraries."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from groundup.curation.sets import SetYield

EXAMPLES: dict[str, Examples] = {
    "curate set": (
        (
            "Packages, a folder, a repository",
            "groundup curate set inflection ./my-lib github.com/Suor/funcy -o my-set",
        ),
        ("Many, overnight; again to go on", "groundup curate set --list libraries.txt -o my-set --jobs 2"),
        (
            "Rejected ones too, with half of their tests",
            "groundup curate set natsort -o my-set --again --left-out 0.5",
        ),
        ("After you mended a specification: its digest", "groundup curate set -o my-set"),
        ("What became of them, for programs", "groundup curate set --list libraries.txt -o my-set --json"),
    ),
}
NOTHING_ACCEPTED = 4


@dataclass(frozen=True)
class SetRules:
    """What may be set."""

    left_out: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="The share of a library's tests that may fail, be skipped or not be collected."
        ),
    ] = 0.2
    python: Annotated[
        str | None, typer.Option(help="Python version of all, such as 3.11 (default: one that each allows).")
    ] = None
    minutes: Annotated[float, typer.Option(min=0.1, help="After which an entry is given up.")] = 30
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Entries at once.")] = 1
    again: Annotated[bool, typer.Option("--again", help="Also entries that were rejected before.")] = False


@dataclass(frozen=True)
class SetNames:
    """How the set is called."""

    kind: Annotated[str, typer.Option(help="Of tasks; only `library` so far.")] = "library"
    name: Annotated[str | None, typer.Option(help="Of the set (default: its folder's).")] = None
    version: Annotated[str | None, typer.Option(help="Of the set (default: 1).")] = None


def make(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The set; a new folder, or one to go on with.")
    ],
    rules: SetRules,
    names: SetNames,
    libraries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LIBRARY...",
            help="NAME[==VERSION] of the package index, ./FOLDER, or host/owner/name[@COMMIT].",
        ),
    ] = None,
    listed: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="Further ones, one a line; # begins a remark.")
    ] = None,
    json: Json = False,
) -> int:
    """Make a set of tasks: for each LIBRARY a recipe from its own tests, and a specification extracted from it.

    Nothing published is needed. The same command goes on after an interruption and keeps what is finished. Exit
    code 3: some failed by the machine or the network; 4: nothing was accepted.
    """
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.curation.sets import SetRequest, make_set
    from groundup.domain.errors import UsageError
    from groundup.settings import load
    from groundup.suites.nl2repobench.maker.unpublished import MakingRules

    if names.kind != "library":
        raise UsageError(f"{names.kind!r} is no kind of set yet; choose `library`")
    entries = [*(libraries or ()), *(_lines(listed) if listed is not None else ())]
    if not entries and not (output / "set.json").is_file():
        raise UsageError("name a library, or a file of them with --list")
    request = SetRequest(
        entries=entries,
        folder=output,
        name=names.name,
        version=names.version,
        rules=MakingRules(left_out=rules.left_out, python=rules.python),
        jobs=rules.jobs,
        minutes=rules.minutes,
        again=rules.again,
    )
    try:
        made = asyncio.run(make_set(request, load(), lambda task, line: say(f"{task}: {line}")))
    except KeyboardInterrupt:
        say(f"groundup: interrupted; {output} keeps what is finished, and the same command goes on")
        raise
    if json:
        print_document(made)
    else:
        _print(made)
    accepted = sum(one.standing == "accepted" for one in made.entries)
    say(f"groundup: {accepted} of {len(made.entries)} entries are tasks of {made.label} in {made.folder}")
    if accepted:
        place = output if "/" in str(output) else f"./{output}"
        say(f"groundup: it is a suite now: `groundup run {place} -a oracle`")
    failed = any(one.standing == "failed" for one in made.entries)
    return 3 if failed else 0 if accepted else NOTHING_ACCEPTED


def _print(made: "SetYield") -> None:
    from groundup.cli.console import print_table

    rows = [
        (one.task, one.standing, str(one.tests or "-"), str(one.left_out), f"{one.seconds:.0f}", one.why or "-")
        for one in made.entries
    ]
    print_table("", ("task", "standing", "tests", "left out", "s", "why"), rows)


def _lines(path: Path) -> list[str]:
    from groundup.domain.errors import UsageError

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}; --list takes a text file of libraries") from error
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]
