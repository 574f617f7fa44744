"""The published evaluator in a published image that is at hand: its tests, its packages and its interpreter.

A task needs no recipe here.
"""

from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import WORKSPACE, SandboxSpec
from groundup.sandbox.rooted import UnpackedImage
from groundup.suites.nl2repobench.official_workspace import HeldImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe

_PROCESSES = 1024


def held(image: UnpackedImage, run: PublishedRun) -> HeldImage:
    """Return what lies below a submission. Raises `TaskError` for an image that is of no task."""
    workspace = image.root / WORKSPACE.strip("/")
    if not workspace.is_dir() or workspace.is_symlink():
        raise TaskError(f"the image {image.name} has no folder {WORKSPACE}; name the published image of the task")
    return HeldImage(workspace, run)


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
