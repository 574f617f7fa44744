"""`groundup demo`: a real library from the package index and a broken variant of it, judged by its hidden tests.

Everything lies in one folder; a second run finds environments and verdicts there and takes seconds.
"""

import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from groundup.cli.options import Examples

EXAMPLES: Examples = (("What does judging look like?", "groundup demo"),)


class Library(NamedTuple):
    """A task of NL2RepoBench, and a small change that breaks one function of its reference."""

    task: str
    python: str
    file: str
    right: str
    wrong: str


LIBRARIES = (
    Library(
        task="sqlparse",
        python="3.10",
        file="sqlparse/__init__.py",
        right="return [str(stmt).strip() for stmt in stack.run(sql, encoding)]",
        wrong="return [str(stmt) for stmt in stack.run(sql, encoding)][:1]",
    ),
    Library(
        task="justext",
        python="3.11",
        file="justext/core.py",
        right="self._elements.pop()",
        wrong="self._elements.pop(0)",
    ),
)


def demo(
    folder: Annotated[Path, typer.Option(help="Where everything of the demo lies.")] = Path(".demo"),
) -> int:
    """Judge a real library and a broken variant of it by the library's own tests, side by side."""
    import asyncio

    from groundup.trees.removal import remove_tree

    here = folder.absolute()
    here.mkdir(parents=True, exist_ok=True)
    with chdir(here):
        (here / "groundup.toml").write_text(f'[settings]\ncache_dir = "{here}/cache"\n')
        for old in ("runs", "predictions"):
            remove_tree(here / old)
        library = asyncio.run(_library(here / "cache" / "interpreters"))
        return _judge(library, here)


def _judge(library: Library, here: Path) -> int:
    """Judge the reference and its broken variant; show both side by side."""
    _tell(f"The library: {library.task}, judged by its own tests, which a submission does not see.")
    which = ("--tasks", library.task, "--output", "runs", "--verbose")
    code = _groundup("run", "nl2repobench", "--agent", "oracle", *which, "--run-id", "reference", shown=False)
    if code:
        return code
    _tell(f"A broken variant of it, made by changing one line of {library.file}:")
    break_reference(library, here)
    subject = ("--predictions", "predictions", "--agent-name", "saboteur")
    code = _groundup("evaluate", "nl2repobench", *subject, *which, "--run-id", "broken", shown=False)
    if code:
        return code
    _tell("Both verdicts side by side:")
    return _groundup("report", "runs/reference", "runs/broken")


async def _library(fetched: Path) -> Library:
    """Return the first library whose interpreter is on this machine; uv fetches one only when there is none."""
    from groundup.environments.interpreters import present_interpreter

    for library in LIBRARIES:
        if await present_interpreter(library.python, fetched):
            return library
    return LIBRARIES[0]


def break_reference(library: Library, here: Path) -> None:
    """Write the reference with one line changed where predictions are expected, and show the change."""
    import difflib

    from groundup.domain.errors import TaskError
    from groundup.domain.subjects import AttemptKey
    from groundup.store.folder import RunFolder
    from groundup.trees.copy import copy_tree

    reference = RunFolder(here / "runs" / "reference").attempt(AttemptKey(task=library.task))
    broken = here / "predictions" / library.task
    copy_tree(reference.submission, broken)
    before = (broken / library.file).read_text(encoding="utf-8")
    after = before.replace(library.right, library.wrong)
    if after == before:
        raise TaskError(f"{library.file} does not hold {library.right!r}: the demo has to follow the recipe")
    (broken / library.file).write_text(after, encoding="utf-8")
    change = difflib.unified_diff(before.splitlines(), after.splitlines(), "reference", "broken", n=1, lineterm="")
    _tell("\n".join(f"    {line}" for line in change))


def _groundup(*arguments: str, shown: bool = True) -> int:
    """Call a command as on the command line, and say which; its report waits for the last one unless *shown*."""
    import shlex

    from groundup.cli.main import main

    _tell(f"$ groundup {shlex.join(arguments)}")
    with _silent() if not shown else chdir("."):
        return main(list(arguments))


@contextmanager
def _silent() -> Iterator[None]:
    import os
    from contextlib import redirect_stdout

    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield


def _tell(text: str) -> None:
    """Tell what goes on, in order with what the commands print."""
    sys.stdout.flush()
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()
