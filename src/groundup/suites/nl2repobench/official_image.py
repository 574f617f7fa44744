"""The published evaluator in a published image that is at hand: its tests, its packages and its interpreter.

A task needs no recipe here. Owns what of the image a submission's commands may write.
"""

from collections.abc import Iterator
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.sandbox.rooted import UnpackedImage
from groundup.suites.nl2repobench.official_workspace import HeldImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe

_PROCESSES = 1024
_INSTALLED = ("usr/local", "opt/*", "root/*", "root/.*")
"""Where images have an interpreter into which pip installs; `/usr` has the system's own."""
_OF_INTERPRETERS = ("lib/python3*/site-packages", "lib/python3*/dist-packages")


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
        mounts=tuple(context.writable(mount) for mount in written_by_pip(image.root)),
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


def written_by_pip(root: Path) -> Iterator[Mount]:
    """Yield the image's folders into which pip installs, and /usr/local in any case."""
    for place in (found for pattern in _INSTALLED for found in sorted(root.glob(pattern))):
        if place.is_symlink() or not place.is_dir():
            continue
        inside = place.relative_to(root)
        if str(inside) == "usr/local" or any(any(place.glob(inner)) for inner in _OF_INTERPRETERS):
            yield Mount(source=place, target=f"/{inside}")
