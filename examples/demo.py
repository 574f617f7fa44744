"""`make demo`: a real library from PyPI and a broken variant of it, both judged by the library's hidden tests.

Everything lies in `.demo/`; a second run finds environments and verdicts there and takes seconds.
"""

import asyncio
import difflib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from groundup.cli.main import main
from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import AttemptKey
from groundup.environments.interpreters import find_interpreter
from groundup.store.folder import RunFolder
from groundup.trees.copy import copy_tree
from groundup.trees.removal import remove_tree

HERE = Path(".demo").absolute()


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


def demonstrate() -> int:
    """Judge the reference and its broken variant; show both side by side."""
    HERE.mkdir(exist_ok=True)
    os.chdir(HERE)
    (HERE / "groundup.toml").write_text(f'[settings]\ncache_dir = "{HERE}/cache"\noutput = "runs"\n')
    for old in ("runs", "predictions"):
        remove_tree(HERE / old)
    library = asyncio.run(_library())
    say(f"The library: {library.task}, judged by its own tests, which a submission does not see.")
    code = groundup("run", "nl2repobench", "--agent", "oracle", "--tasks", library.task, "--run-id", "reference")
    if code:
        return code
    say(f"A broken variant of it, made by changing one line of {library.file}:")
    break_reference(library)
    code = groundup(
        *("evaluate", "nl2repobench", "--predictions", "predictions", "--tasks", library.task),
        *("--agent-name", "saboteur", "--run-id", "broken"),
    )
    if code:
        return code
    say("Both verdicts side by side:")
    return groundup("report", "reference", "broken")


async def _library() -> Library:
    """Return the first library whose interpreter is on this machine; uv fetches one only when there is none."""
    with _offline():
        for library in LIBRARIES:
            try:
                await find_interpreter(library.python, HERE / "cache" / "interpreters")
            except InfrastructureError:
                continue
            return library
    return LIBRARIES[0]


def break_reference(library: Library) -> None:
    """Write the reference with one line changed where predictions are expected, and show the change."""
    reference = RunFolder(HERE / "runs" / "reference").attempt(AttemptKey(task=library.task))
    broken = HERE / "predictions" / library.task
    copy_tree(reference.submission, broken)
    before = (broken / library.file).read_text(encoding="utf-8")
    after = before.replace(library.right, library.wrong)
    if after == before:
        raise SystemExit(f"{library.file} does not hold {library.right!r}: the demo has to follow the recipe")
    (broken / library.file).write_text(after, encoding="utf-8")
    change = difflib.unified_diff(before.splitlines(), after.splitlines(), "reference", "broken", n=1, lineterm="")
    say("\n".join(f"    {line}" for line in change))


def groundup(*arguments: str) -> int:
    """Call a command as on the command line, and show which."""
    say(f"$ groundup {shlex.join(arguments)}")
    return main(list(arguments))


def say(text: str) -> None:
    """Tell what goes on, in order with what the commands print."""
    sys.stdout.flush()
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()


@contextmanager
def _offline() -> Iterator[None]:
    """Keep uv from fetching anything."""
    before = os.environ.get("UV_OFFLINE")
    os.environ["UV_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["UV_OFFLINE"]
        else:
            os.environ["UV_OFFLINE"] = before


if __name__ == "__main__":
    raise SystemExit(demonstrate())
