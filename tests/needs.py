"""What a test needs of the machine: it skips by name where that is missing, and never unseen.

`@pytest.mark.needs("git")` starts the tool, for a shim on PATH may have nothing behind it; `"package index"` and
`"NuGet"` ask the one of this user's clients, `"Python 3.10"` looks where groundup does, `"groundup_fleet"` is a
package beside groundup; fixtures that find out by themselves call `lack`. The last lines of a run count what was
skipped by its reason. What is named in `EXPECTED_TOOLS`, separated by commas, must be there: its absence then
fails the test.
"""

import asyncio
import multiprocessing
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest

from groundup.domain.errors import InfrastructureError, SandboxError
from groundup.environments.interpreters import present_interpreter
from groundup.extensions import owner_of
from groundup.registries.cache import FetchCache
from groundup.registries.nuget import NuGetClient, nuget_settings
from groundup.registries.pypi.client import index_trouble
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from groundup.settings import Settings, environment

EXPECTED = "EXPECTED_TOOLS"
VERSION = {"cargo": ("cargo", "rustc")}
"""Tools of which more than one program must start."""
_SAYS_ITS_VERSION = {"go": "version"}
_OLDEST = {"cargo": (1, 70), "npm": (10,)}
"""Cargo asks sparse indexes by default from 1.70 on; npm 9 trips over two dependencies in folders ("Tracker")."""
_BRINGS = {
    "cargo": "apt-get install cargo (1.70 or later)",
    "cc": "apt-get install gcc python3-dev",
    "chromium": "apt-get install chromium",
    "data of NL2RepoBench": "groundup data pull nl2repobench",
    "data of repogenesis": "groundup data pull repogenesis",
    "git": "apt-get install git",
    "go": "apt-get install golang-go",
    "javac": "apt-get install default-jdk-headless",
    "JDK 17 and Maven": "apt-get install openjdk-17-jdk-headless maven",
    "node": "apt-get install nodejs",
    "npm": "apt-get install npm (10 or later)",
    "originals": "groundup warm nl2repobench",
    "pdflatex": "apt-get install texlive-latex-recommended",
    "Slurm and dask-jobqueue": "apt-get install slurm-wlm munge",
}
"""What brings what tests need, as far as one command does; of programs the package of Debian and Ubuntu."""
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


def need_command(words: Sequence[str]) -> None:
    """Go on where the package with the command that *words* begin with is in this checkout."""
    owner = owner_of(" ".join(words[:2])) or owner_of(" ".join(words[:1]))
    if owner is not None:
        need(owner.name)


@cache
def trouble(tool: str) -> str:
    """Return why *tool* cannot be used; empty when it can."""
    if tool == "package index":
        return asyncio.run(index_trouble(environment()))
    if tool == "NuGet":
        return asyncio.run(_nuget_trouble())
    if tool == "semaphores":
        return _semaphores_trouble()
    if tool.startswith("groundup_"):
        return "" if find_spec(tool) else "it was removed from this checkout"
    if tool.startswith("Python "):
        return asyncio.run(_python_trouble(tool.removeprefix("Python ")))
    troubles = (_program_trouble(program) for program in VERSION.get(tool, (tool,)))
    return next((found for found in troubles if found), "")


def _semaphores_trouble() -> str:
    """Return why processes can share no semaphore: Linux has them in /dev/shm."""
    try:
        multiprocessing.Lock()
    except OSError as error:
        return f"/dev/shm cannot be used: {error}"
    return ""


def _program_trouble(program: str) -> str:
    """Return why a program does not start, or is too old."""
    if shutil.which(program) is None:
        return f"{program} is not on PATH"
    try:
        asked = _SAYS_ITS_VERSION.get(program, "--version")
        done = subprocess.run([program, asked], capture_output=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} is on PATH and does not start: {error}"
    if done.returncode:
        return f"{program} is on PATH and does not start: {done.stderr.decode(errors='replace').strip()}"
    version = re.search(rb"\d+(\.\d+)+", done.stdout)
    oldest = _OLDEST.get(program, ())
    if version and tuple(map(int, version[0].split(b"."))) < oldest:
        return f"{program} {version[0].decode()} is older than {'.'.join(map(str, oldest))}"
    return ""


async def _python_trouble(minor: str) -> str:
    """Return why no interpreter *minor* can be had; empty where groundup finds one on this machine."""
    with TemporaryDirectory() as folder:
        found = await present_interpreter(minor, Path(folder) / "none")
    return "" if found else "none is on this machine"


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


def skipped_by_reason(reasons: Iterable[str]) -> list[str]:
    """Return a line for each reason why tests were skipped: how many, what for, and the command that brings it."""
    counted: Counter[str] = Counter()
    for reason in reasons:
        found = _REASON.search(reason)
        counted[f"need {found['tool']}" if found else reason.removeprefix("Skipped: ")] += 1
    lines = []
    for what, count in counted.most_common():
        command = _BRINGS.get(what.removeprefix("need "), "")
        lines.append(f"{count:5} {what}" + (f": {command}" if command else ""))
    return lines


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
