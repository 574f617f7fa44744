"""What a test needs of the machine: it skips by name where that is missing, and never unseen.

`@pytest.mark.needs("git")` starts the tool, for a shim on PATH may have nothing behind it; `"package index"` and
`"NuGet"` ask the one of this user's clients; fixtures that find out by themselves call `lack`. The last line of a
run says what would unlock how many tests. What is named in `EXPECTED_TOOLS`, separated by commas, must be there:
its absence then fails the test.
"""

import asyncio
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest

from groundup.domain.errors import InfrastructureError, SandboxError
from groundup.registries.cache import FetchCache
from groundup.registries.nuget.client import NuGetClient, nuget_settings
from groundup.registries.pypi.client import index_trouble
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from groundup.settings import Settings, environment

EXPECTED = "EXPECTED_TOOLS"
VERSION = {"cargo": ("cargo", "rustc")}
"""Tools of which more than one program must start."""
_DEBIAN = {
    "cargo": "cargo",
    "Slurm and dask-jobqueue": "slurm-wlm munge",
    "cc": "gcc",
    "chromium": "chromium",
    "git": "git",
    "javac": "default-jdk-headless",
    "npm": "npm",
    "pdflatex": "texlive-latex-recommended",
}
"""Packages of Debian and Ubuntu, in each release, that have a tool. A JDK 17 is not in each."""
_REASON = re.compile(r"needs (?P<tool>[^:]+): ")


def lack(tool: str, why: object) -> NoReturn:
    """Skip the running test, which needs *tool*; fail it where *tool* is expected."""
    text = f"needs {tool}: {why}"
    if tool in os.environ.get(EXPECTED, "").split(","):
        pytest.fail(f"{text}; it is expected here ({EXPECTED})", pytrace=False)
    pytest.skip(text)


def need(tool: str) -> None:
    """Go on where *tool* starts."""
    why = trouble(tool)
    if why:
        lack(tool, why)


@cache
def trouble(tool: str) -> str:
    """Return why *tool* cannot be used; empty when it can."""
    if tool == "package index":
        return asyncio.run(index_trouble(environment()))
    if tool == "NuGet":
        return asyncio.run(_nuget_trouble())
    for program in VERSION.get(tool, (tool,)):
        if shutil.which(program) is None:
            return f"{program} is not on PATH"
        try:
            done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program} is on PATH and does not start: {error}"
        if done.returncode:
            return f"{program} is on PATH and does not start: {done.stderr.decode(errors='replace').strip()}"
    return ""


async def _nuget_trouble() -> str:
    """Return why this user's NuGet sources cannot be asked; empty where one has a package that everybody uses."""
    with TemporaryDirectory() as folder:
        try:
            registry = NuGetClient(await nuget_settings(environment()), FetchCache(Path(folder)))
        except InfrastructureError as error:
            return str(error)
        try:
            await registry.versions("xunit")
        except InfrastructureError as error:
            return str(error)
        finally:
            await registry.close()
    return ""


def unlocked(reasons: Iterable[str]) -> str:
    """Return the line that says which tools would unlock how many tests; empty where all are there."""
    missing = Counter(found["tool"] for reason in reasons if (found := _REASON.search(reason)))
    ended = ", ".join(f"{tool} {count}" for tool, count in missing.most_common())
    packages = " ".join(sorted({_DEBIAN[tool] for tool in missing if tool in _DEBIAN}))
    how = f"; to get them: apt-get install {packages}" if packages else ""
    return f"not here, and how many tests each would unlock: {ended}{how}" if ended else ""


@asynccontextmanager
async def real_sandboxes(settings: Settings, folder: Path) -> AsyncIterator[SandboxProvider]:
    """Yield bubblewrap's provider; skip where this machine opens no sandbox. *folder* is made, and tried with."""
    async with create(settings) as provider:
        folder.mkdir()
        try:
            async with await provider.open(SandboxSpec(workspace=folder)) as sandbox:
                await sandbox.run(Command(argv=("true",)))
        except SandboxError as error:
            lack("sandbox", error)
        yield provider
