"""Compare `official` with the published evaluator: `python benchmarks/official_agreement.py --checkout PATH`.

PATH is a checkout of NL2RepoBench's repository. Submissions of different quality are graded here; then the
evaluator's own post-processing is run on each, from its archive to its score. Its Docker client is replaced by one
that builds nothing and answers each command with what the command printed here. Compared are: whether it gives up,
the files that are left, the arguments of every command, the text that is counted, the counts and the rate. Where
python-on-whales is installed its exception writes the text of failing commands, otherwise ours is replayed.
"""

import argparse
import asyncio
import importlib
import logging
import os
import sys
import tempfile
import types
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.official_submissions import MAKERS, make

from groundup.domain.records import Record
from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, CommandResult, Sandbox, SandboxProvider, SandboxSpec
from groundup.settings import load
from groundup.suites.nl2repobench.official import NL2RepoOfficialGrader
from groundup.suites.nl2repobench.official_rules import (
    CommandOutput,
    count,
    delete_package_files,
    delete_test_files,
    said_of,
    split_command,
    success_rate,
)
from groundup.suites.nl2repobench.official_workspace import archive_problem
from groundup.suites.nl2repobench.recipe import PublishedRun, shipped_recipes
from groundup.suites.nl2repobench.suite import create as create_suite
from groundup.trees.digest import tree_digest
from groundup.trees.writer import copy_tree

Replies = list[tuple[Sequence[str], CommandResult]]


class Found(Record):
    """What one evaluator made of one submission."""

    gave_up: bool
    files_left: str | None
    arguments: tuple[tuple[str, ...], ...] = ()
    outputs: tuple[str, ...] = ()
    passed: int = 0
    failed: int = 0
    errors: int = 0
    rate: float = 0.0


class RecordingSandbox:
    """Keeps what each command did."""

    def __init__(self, sandbox: Sandbox, replies: Replies) -> None:
        self._sandbox, self._replies = sandbox, replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def run(self, command: Command) -> CommandResult:
        """Run and remember."""
        result = await self._sandbox.run(command)
        self._replies.append((command.argv, result))
        return result

    async def __aenter__(self) -> "RecordingSandbox":
        await self._sandbox.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._sandbox.__aexit__(*exc)


class RecordingProvider:
    """Opens recording sandboxes."""

    def __init__(self, provider: SandboxProvider, replies: Replies) -> None:
        self._provider, self._replies = provider, replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def open(self, spec: SandboxSpec) -> Any:
        """Open one."""
        return RecordingSandbox(await self._provider.open(spec), self._replies)


class Replay:
    """Stands in for the Docker client: builds nothing, and answers from a recording."""

    def __init__(self) -> None:
        self.replies: Replies = []
        self.asked: list[tuple[str, ...]] = []
        self.left: str | None = None
        self.container = self.image = self

    def build(self, context_path: str, **_: object) -> Any:
        """Look at what would go into the image."""
        self.left = tree_digest(Path(context_path, "workspace")).digest
        return types.SimpleNamespace(id="image")

    def run(self, *_: object, **__: object) -> Any:
        """Start nothing."""
        return types.SimpleNamespace(id="container")

    def stop(self, *_: object, **__: object) -> None:
        """Stop nothing."""

    remove = stop

    def execute(self, _: str, argv: Sequence[str], **__: object) -> str:
        """Answer, or raise, as python-on-whales does."""
        self.asked.append(tuple(argv))
        result = self.replies[len(self.asked) - 1][1]
        if result.ok:
            return result.stdout.decode(errors="replace").removesuffix("\n")
        said = said_of("", argv, result)
        raise failure(["docker", "container", "exec", *argv], said, result)


def failure(argv: list[str], said: CommandOutput, result: CommandResult) -> Exception:
    """Return what python-on-whales raises for a failing command."""
    try:
        exceptions = importlib.import_module("python_on_whales.exceptions")
    except ImportError:
        return RuntimeError(said.output)
    raised: Exception = exceptions.DockerException(argv, said.exit_code, result.stdout, result.stderr)
    return raised


def evaluator(checkout: Path, client: Replay) -> Any:
    """Import the published post-processing with *client* for its Docker client."""
    try:  # the real one first, for the text of its exceptions
        importlib.import_module("python_on_whales.exceptions")
        whales = sys.modules["python_on_whales"]
    except ImportError:
        whales = types.ModuleType("python_on_whales")
        sys.modules["python_on_whales"] = whales
    for name, value in {"DockerClient": lambda **_: client, "Image": object, "Container": object}.items():
        setattr(whales, name, value)
    sys.path.insert(0, str(checkout))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # it logs into the current folder
        return importlib.import_module("openhands.post_processor")


def theirs(module: Any, client: Replay, tree: Path, run: PublishedRun, declared: int) -> Found:
    """Run the published post-processing on a copy of *tree*."""
    client.asked, client.left = [], None
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        workspace = Path(folder, "task", "workspace")
        copy_tree(tree, workspace)
        data = types.SimpleNamespace(
            proName="task",
            testShell=list(run.commands),
            pyTestFileList=list(run.test_files),
            testCaseCount=declared,
        )
        done = module.post_process_task("task", str(workspace), data, logging.getLogger("silent"))
    if done["status"] != "success":
        return Found(gave_up=True, files_left=client.left)
    counted = done["pytest_results"]
    return Found(
        gave_up=False,
        files_left=client.left,
        arguments=tuple(client.asked),
        outputs=tuple(result["output"] for result in done["test_results"]["command_results"]),
        passed=counted["passed"],
        failed=counted["failed"],
        errors=counted["errors"],
        rate=counted["success_rate"],
    )


def ours(replies: Replies, tree: Path, run: PublishedRun, declared: int) -> Found:
    """Do the same by our rules."""
    if archive_problem(tree) is not None:
        return Found(gave_up=True, files_left=None)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "workspace")
        copy_tree(tree, workspace)
        delete_package_files(workspace)
        delete_test_files(workspace, run.test_files)
        left = tree_digest(workspace).digest
    said = [said_of(command, argv, result) for command, (argv, result) in zip(run.commands, replies, strict=True)]
    counts = count(said)
    return Found(
        gave_up=False,
        files_left=left,
        arguments=tuple(tuple(split_command(command)) for command in run.commands),
        outputs=tuple(one.output for one in said),
        passed=counts.passed,
        failed=counts.failed,
        errors=counts.errors,
        rate=success_rate(counts.passed, declared),
    )


async def compare(checkout: Path, tasks: Sequence[str]) -> int:
    """Grade and compare every submission of *tasks*; return how many differ."""
    client = Replay()
    module = evaluator(checkout, client)
    logging.disable(logging.CRITICAL)
    settings = load()
    suite, recipes = create_suite(settings), shipped_recipes()
    differing = 0
    print("| task | submission | official | passed | failed | errors | files | arguments | text | counts |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    async with create(settings) as provider:
        builder = LocalBuilder(settings, provider)
        for task in (task for task in suite.tasks() if task.id in tasks):
            recipe = recipes[task.id]
            run, declared = recipe.published, task.metadata["declared"]
            assert run is not None
            assert isinstance(declared, int)
            original = (await builder.source(recipe.source_request())).path
            for name in MAKERS:
                with tempfile.TemporaryDirectory() as folder:
                    tree = make(name, original, recipe, Path(folder, "submission"))
                    client.replies = []
                    (Path(folder) / "scratch").mkdir()
                    recording: Any = RecordingProvider(provider, client.replies)
                    context = GradingContext(provider=recording, builder=builder, scratch=Path(folder, "scratch"))
                    grader = NL2RepoOfficialGrader({task.id: recipe}, {})
                    verdict = (await grader.grade(task, tree, context)).verdict
                    one = ours(client.replies, tree, run, declared)
                    other = theirs(module, client, tree, run, declared)
                assert verdict.score is not None
                assert verdict.score.value == one.rate, "the verdict is made of the same rules"
                differing += one.gave_up != other.gave_up
                differing += tell(f"| {task.id} | {name} | {verdict.score.value:.4f}", one, other)
    return differing


def tell(begin: str, one: Found, other: Found) -> bool:
    """Print one line; return whether the two differ anywhere."""
    same = {
        "files": one.files_left == other.files_left,
        "arguments": one.arguments == other.arguments,
        "text": [_counted(text) for text in one.outputs] == [_counted(text) for text in other.outputs],
        "counts": (one.passed, one.failed, one.errors, one.rate)
        == (other.passed, other.failed, other.errors, other.rate),
    }
    if one.gave_up and other.gave_up:
        print(f"{begin} | both give up | | | = | = | = | = |", flush=True)
    else:
        marks = " | ".join("=" if equal else "DIFFERS" for equal in same.values())
        print(f"{begin} | {other.passed} | {other.failed} | {other.errors} | {marks} |", flush=True)
    return not all(same.values())


def _counted(text: str) -> list[str]:
    """Return the lines after the one that quotes the command, whose wording is the client library's."""
    lines = text.split("\n")
    return lines[1:] if lines[0].startswith("The command executed was") else lines


def main() -> None:
    """Compare, print a table, and end with 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--tasks", default="jsonlines,unidecode")
    arguments = parser.parse_args()
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    differing = asyncio.run(compare(arguments.checkout.resolve(), arguments.tasks.split(",")))
    print(f"\n{differing} differences")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
