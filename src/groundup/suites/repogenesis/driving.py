"""One way to let a driver start a service and its tests in one sandbox, for both published ways of grading.

A driver is a program of `inside`: it starts the service, waits as the published harness or script waits, and runs
the tests. How graders of groundup's own start a service is in `grading/services/deployment`.
"""

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from groundup.domain.steps import at_step
from groundup.grading.context import GradingContext
from groundup.inside import source_of
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Mount, Sandbox, SandboxSpec
from groundup.trees.writer import in_thread

TRUSTED = "/opt/groundup"
"""Where a sandbox has the driver, and the hidden tests where the driver puts them in place."""
REPOSITORY = "/repo"
OUTPUT_BYTES = 32 * 1024 * 1024
_STOPWATCH = b"from groundup.inside.stopwatch import Stopwatch, inside\n"
Lend = Callable[[AsyncExitStack, Sandbox, GradingContext], Awaitable[dict[str, str]]]
"""Attaches a registry to a sandbox, and returns the variables that tell installers of it."""


class Drive(NamedTuple):
    """What a driver is to do."""

    name: str
    """Of its file in `inside`."""
    settings: Mapping[str, object]
    python: str = "python"
    cwd: str = WORKSPACE
    variables: Mapping[str, str] = {}
    tests: Path | None = None
    """Hidden tests to lay beside it."""
    lend: Lend | None = None


def driver(name: str) -> bytes:
    """Return the program of this file name, with the stopwatch that it imports written out in it."""
    return source_of(name).replace(_STOPWATCH, source_of("stopwatch.py"))


async def driven(drive: Drive, spec: SandboxSpec, context: GradingContext) -> CommandResult:
    """Run a driver in a sandbox of *spec*, whose workspace is made, with a folder for the driver beside it."""
    trusted = spec.workspace.with_name("driver")
    for folder in (spec.workspace, trusted):
        folder.mkdir(parents=True)
    (trusted / drive.name).write_bytes(driver(drive.name))
    if drive.tests is not None:
        await in_thread(shutil.copytree, drive.tests, trusted / "tests", symlinks=True)
    async with AsyncExitStack() as stack:
        with_driver = spec.but(mounts=(*spec.mounts, Mount(source=trusted, target=TRUSTED)))
        sandbox = await stack.enter_async_context(await context.provider.open(with_driver))
        lent = await drive.lend(stack, sandbox, context) if drive.lend is not None else {}
        at_step(spec.label)
        owed_at = context.lent[-1].owed_at if context.lent else ""
        return await sandbox.run(
            Command(
                argv=(drive.python, "-I", f"{TRUSTED}/{drive.name}"),
                cwd=drive.cwd,
                environment={**lent, **drive.variables},
                stdin=json.dumps({**drive.settings, "owed_at": owed_at}).encode(),
            )
        )
