"""The published evaluator in a published image that is at hand: its tests, its packages and its interpreter.

A task needs no recipe here. An image in which nothing could pass is refused before anything is graded in it: by
its zeros nobody would see that a layer is missing, or that it is of another task.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from groundup.domain.errors import MachineError
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, SandboxSpec
from groundup.sandbox.rooted import UnpackedImage
from groundup.suites.nl2repobench.official_rules import split_command
from groundup.suites.nl2repobench.official_workspace import HeldImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe

_PROCESSES = 1024


def held(image: UnpackedImage, run: PublishedRun) -> HeldImage:
    """Return what lies below a submission. Raises `MachineError` for an image that is not of this task."""
    workspace = image.root / WORKSPACE.strip("/")
    if not workspace.is_dir() or workspace.is_symlink():
        raise MachineError(
            f"the image {image.name} has no folder {WORKSPACE}; name the published image of the task"
        )
    if run.test_files and not any((workspace / name).exists() for name in run.test_files):
        raise MachineError(
            f"the image {image.name} has none of the task's hidden tests, such as {WORKSPACE}/"
            f"{printable(run.test_files[0])}; name the published image of the task"
        )
    return HeldImage(workspace, run)


async def check_programs(image: UnpackedImage, run: PublishedRun, context: GradingContext) -> None:
    """Raise `MachineError` where *image* has no programs for the published commands that start."""
    room = context.scratch / "image-check"
    room.mkdir(exist_ok=True)
    async with await context.provider.open(SandboxSpec(workspace=room, system="host", label="image")) as sandbox:
        for argv in _asked_for_version(run.commands):
            result = await sandbox.run(Command(argv=argv, timeout_s=_VERSION_S))
            if not result.ok:
                raise MachineError(
                    f"the image {image.name} cannot be used: `{' '.join(argv)}` {_ended(result)}; save the "
                    "published image of the task again, with all of its layers"
                )


_VERSION_S = 60.0
_PROGRAM = re.compile(r"(?:pip|pytest|py\.test|python)[\d.]*")


def _asked_for_version(commands: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the installers, testers and interpreters of *commands*; the others can be missing everywhere."""
    asked: set[tuple[str, ...]] = set()
    for command in commands:
        try:
            words = split_command(command)
        except ValueError:
            continue
        if not words or not _PROGRAM.fullmatch(Path(words[0]).name):
            continue
        as_module = words[1:2] == ["-m"] and words[2:3] in (["pip"], ["pytest"])
        argv = (*words[: 3 if as_module else 1], "--version")
        if argv not in asked:
            asked.add(argv)
            yield argv


def _ended(result: CommandResult) -> str:
    told = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()[-1:]
    how = f"ends with {result.exit_code}" if result.exit_code is not None else f"was ended: {result.ending}"
    return ": ".join([how, *(printable(line)[:140] for line in told)])


def image_spec(
    workspace: Path, task: Task, recipe: Recipe | None, allowed_s: float, commands: int, context: GradingContext
) -> SandboxSpec:
    """Return the sandbox around *workspace*; the image's own packages are there, where pip can write."""
    image = context.image
    assert image is not None, "the caller knows it"
    given = image.environment.get("PYTHONPATH", "")
    return SandboxSpec(
        workspace=workspace,
        mounts=tuple(context.writable(mount) for mount in image.installed()),
        environment={"PYTHONPATH": f"{WORKSPACE}:{given}", "HOME": "/home/user"},
        limits=Limits(
            memory_mb=task.limits.memory_mb if recipe is None else recipe.tests.memory_mb,
            processes=_PROCESSES if recipe is None else recipe.tests.processes,
            command_s=allowed_s,
            wall_clock_s=allowed_s * commands + 60,
        ),
        user="root" if image.user in ("", "0", "root") else "ordinary",
        system="host",
        label="published commands in the image",
    )
