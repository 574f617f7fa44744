"""What the published image holds at /repo and has installed, rebuilt on this machine."""

import asyncio
import fnmatch
import shutil
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.environments.requests import PythonEnvironment, ResolvedRequest
from groundup.grading.bench import Bench
from groundup.grading.services.install import read_declared
from groundup.grading.services.records import Lifecycle
from groundup.trees.copy import copy_tree

_LEFT_OUT = (".git", "__pycache__", "*.pyc", ".DS_Store", "node_modules", ".venv", "venv")
_LEFT_OUT_TESTS = ("__pycache__", "*.pyc", ".DS_Store")
_CORE = ("pytest", "pytest-json-report", "requests", "httpx")
_TESTS = "tests"


class Image(Record):
    """A folder that stands for /repo, and the environment; or why the published build fails."""

    repository: Path
    environment: PythonEnvironment | None = None
    installed: str = "declared"
    refused: str | None = None
    late: bool = False
    """Whether it was refused for taking too long."""


async def build_image(submission: Path, hidden_tests: Path, lifecycle: Lifecycle, bench: Bench) -> Image:
    """Copy, lay the hidden tests over, install. Raises `InfrastructureError`."""
    repository = bench.scratch / "repo"
    refused = await asyncio.to_thread(_lay_out, submission, hidden_tests, repository)
    if refused is not None:
        return Image(repository=repository, refused=refused)
    environment, installed = await _install(repository, lifecycle, bench)
    return Image(repository=repository, environment=environment, installed=installed)


def _lay_out(submission: Path, hidden_tests: Path, repository: Path) -> str | None:
    copy_tree(submission, repository)
    left_out(repository)
    tests = repository / _TESTS
    if tests.is_symlink() or (tests.exists() and not tests.is_dir()):
        return "tests is no folder, so the hidden tests cannot be copied there"
    shutil.copytree(
        hidden_tests, tests, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_LEFT_OUT_TESTS), symlinks=True
    )
    return None


def left_out(repository: Path) -> None:
    """Remove what the published copy leaves out."""
    _remove(repository, _LEFT_OUT)


def _remove(root: Path, patterns: Iterable[str]) -> None:
    patterns = tuple(patterns)
    for path in sorted(root.rglob("*"), key=lambda item: len(item.parts)):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()


async def _install(repository: Path, lifecycle: Lifecycle, bench: Bench) -> tuple[PythonEnvironment, str]:
    """Install what pip would have in the end: every failing step is skipped, as published."""
    declared = await asyncio.to_thread(read_declared, repository)
    tests = await asyncio.to_thread(read_declared, repository, f"{_TESTS}/requirements.txt")
    testing = (*(() if tests is None or tests.problem else tests.requirements), *_CORE)
    pins = tuple(line.partition(" ")[0] for line in lifecycle.fallback)
    if declared is None:
        tries = [(pins, testing, "fallback"), (pins, _CORE, "fallback")]
    elif declared.problem is not None:
        tries = []
    else:
        own = declared.requirements
        tries = [
            (own, testing, "declared"),
            (_without(own, testing), testing, "declared"),
            (own, _CORE, "declared"),
        ]
    for first, second, told in (*tries, ((), testing, "nothing"), ((), _CORE, "nothing")):
        request = ResolvedRequest(
            python=lifecycle.python, requirements=(*first, *second), with_pip=True, on_behalf_of="submission"
        )
        try:
            return await bench.builder.submission_environment(request), told
        except SubmissionError:
            continue
    raise SubmissionError("not even pytest can be installed for the published tests; see the log of the build")


def _without(own: Iterable[str], testing: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements of *own* that those of the tests, installed later, do not replace."""
    replaced = {canonicalize_name(Requirement(line).name) for line in testing}
    return tuple(line for line in own if canonicalize_name(Requirement(line).name) not in replaced)
