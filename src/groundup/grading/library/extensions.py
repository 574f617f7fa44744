"""Compiling a submission's extension modules in a sandbox of their own, where no hidden test is.

What comes back is a copy of the submission with the compiled files that the recipe names; everything else that the
build did is dropped. When the build fails, the submission is tested without them.
"""

import asyncio
import os
import secrets
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from groundup.domain.limits import Limits
from groundup.environments.requests import PYTHON_TARGET, PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.hidden import Extensions
from groundup.sandbox.protocol import Command, CommandResult, SandboxSpec
from groundup.trees.copy import copy_tree
from groundup.trees.walking import FOLDER, walk

LARGEST = 64 * 1024 * 1024
"""Bytes of one compiled file."""
_MOST = 64


async def compiled(
    submission: Path, extensions: Extensions, environment: PythonEnvironment, bench: Bench, scratch: Path
) -> tuple[Path, CommandResult]:
    """Return a copy of *submission* with its compiled extensions, and how the build went."""
    room = scratch / f"build-{secrets.token_hex(4)}"
    await asyncio.to_thread(copy_tree, submission, room)
    spec = SandboxSpec(
        workspace=room,
        mounts=environment.mounts,
        environment={**environment.environment, **_variables(environment)},
        path=environment.path,
        limits=Limits(
            memory_mb=2048, command_s=extensions.timeout_s, wall_clock_s=extensions.timeout_s + 30, disk_mb=2048
        ),
        system="host",
        label="extensions",
    )
    async with await bench.provider.open(spec) as sandbox:
        result = await sandbox.run(Command(argv=(environment.executable, *extensions.command)))
    copy = scratch / f"compiled-{secrets.token_hex(4)}"
    await asyncio.to_thread(copy_tree, submission, copy)
    await asyncio.to_thread(_take, room, copy, extensions)
    return copy, result


def _variables(environment: PythonEnvironment) -> dict[str, str]:
    minor = ".".join(environment.python_version.split(".")[:2])
    return {
        "HOME": "/tmp",  # noqa: S108 - inside the sandbox, where /tmp is private
        "TMPDIR": "/tmp",  # noqa: S108 - the same
        # An interpreter names the headers where it was installed, not where it is seen.
        "CPATH": f"{PYTHON_TARGET}/include/python{minor}",
    }


def _take(room: Path, copy: Path, extensions: Extensions) -> None:
    """Copy what was compiled, where the copy has a folder for it and nothing of that name."""
    for number, (path, content) in enumerate(_built(room, extensions)):
        target = copy / path
        if number < _MOST and target.parent.is_dir() and not target.parent.is_symlink() and not target.exists():
            target.write_bytes(content)


def _built(room: Path, extensions: Extensions) -> Iterator[tuple[PurePosixPath, bytes]]:
    descriptor = os.open(room, FOLDER)
    try:
        for entry in walk(descriptor, 101):
            path = PurePosixPath("/".join(entry.parts))
            if entry.kind == "file" and _is_named(path, extensions) and entry.size <= LARGEST:
                with os.fdopen(entry.open(), "rb") as file:
                    yield path, file.read(LARGEST)
    finally:
        os.close(descriptor)


def _is_named(path: PurePosixPath, extensions: Extensions) -> bool:
    return any(path.match(pattern) and len(path.parts) == pattern.count("/") + 1 for pattern in extensions.outputs)
