"""What the scripts before the harness have installed when they run a repository, rebuilt as one environment.

The scripts install into the interpreter that runs them: always pytest with coverage and common frameworks, then
all requirements.txt of the repository and of the hidden tests, each failing one skipped. Whether a repository is
deployed depends on the first declaration alone, which must be installable.
"""

import asyncio
from pathlib import Path
from typing import Literal

from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.environments.requests import PythonEnvironment, ResolvedRequest
from groundup.environments.work_time import OutOfTimeError
from groundup.grading.bench import Bench
from groundup.grading.services.install import read_declared
from groundup.grading.services.records import Lifecycle
from groundup.suites.repogenesis.legacy_rules import CONFIGURATIONS, files_named, find_file

GLOBAL = ("pytest", "pytest-cov", "uvicorn", "requests", "fastapi", "flask", "django")
_REQUIREMENTS = CONFIGURATIONS[0]


class LegacyInstallation(Record):
    """An environment, and how installing the declaration went on which deployment depends."""

    environment: PythonEnvironment
    configuration: Path | None = None
    outcome: Literal["installed", "failed", "timeout", "package", "undeclared"]
    """`package`: to be installed by pip in the sandbox."""


async def install(repository: Path, hidden_tests: Path, lifecycle: Lifecycle, bench: Bench) -> LegacyInstallation:
    """Return what the scripts would have in the end. Raises `InfrastructureError`."""
    configuration = await asyncio.to_thread(_configuration, repository)
    own = await asyncio.to_thread(_required, repository)
    tests = await asyncio.to_thread(_required, hidden_tests)
    told: tuple[str, ...] = ()
    for told in dict.fromkeys(((*own, *tests), own, tests, ())):
        environment = await _try((*told, *GLOBAL), lifecycle, bench)
        if not isinstance(environment, str):
            break
    else:
        raise SubmissionError("not even pytest can be installed for the older scripts; see the log of the build")
    outcome = await _outcome(repository, configuration, lifecycle, bench, is_whole=set(own) <= set(told))
    return LegacyInstallation(environment=environment, configuration=configuration, outcome=outcome)


async def _outcome(
    repository: Path, configuration: Path | None, lifecycle: Lifecycle, bench: Bench, *, is_whole: bool
) -> Literal["installed", "failed", "timeout", "package", "undeclared"]:
    """Return what `pip install` of the first declaration alone would have come to."""
    if configuration is None:
        return "undeclared"
    if configuration.name != _REQUIREMENTS:
        return "package"
    declared = await asyncio.to_thread(read_declared, repository, str(configuration.relative_to(repository)))
    if declared is None or declared.problem is not None:
        return "failed"
    if is_whole:
        return "installed"
    tried = await _try(declared.requirements, lifecycle, bench)
    return tried if isinstance(tried, str) else "installed"


async def _try(
    requirements: tuple[str, ...], lifecycle: Lifecycle, bench: Bench
) -> PythonEnvironment | Literal["failed", "timeout"]:
    request = ResolvedRequest(
        python=lifecycle.python, requirements=requirements, with_pip=True, work_s=lifecycle.install_s
    )
    try:
        return await bench.builder.submission_environment(request)
    except OutOfTimeError:
        return "timeout"
    except SubmissionError:
        return "failed"


def _configuration(repository: Path) -> Path | None:
    found = (find_file(repository, name) for name in CONFIGURATIONS)
    return next((path for path in found if path is not None), None)


def _required(tree: Path) -> tuple[str, ...]:
    """Return all requirements by name that files below *tree* declare; a file that cannot be read is skipped."""
    lines: dict[str, None] = {}
    for path in files_named(tree, _REQUIREMENTS):
        declared = read_declared(tree, str(path.relative_to(tree)))
        if declared is not None and declared.problem is None:
            lines |= dict.fromkeys(declared.requirements)
    return tuple(lines)
