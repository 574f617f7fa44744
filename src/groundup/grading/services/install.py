"""Installing what a submission declares, before its service is started.

A failed install is a fact and no end: the service is then started in the fallback environment.
"""

import asyncio
import time
from pathlib import Path

from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.records import Record
from groundup.environments.builder import SubmissionInstaller
from groundup.environments.requests import PythonEnvironment, PythonRequest, ResolvedRequest
from groundup.environments.work_time import OutOfTimeError
from groundup.grading.bench import Bench
from groundup.grading.services.declared import Declared, read_declared
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.trees.limits import printable


class Installed(Record):
    """What the service finds installed, and what became of the declaration."""

    outcome: InstallOutcome
    environment: PythonEnvironment
    message: str = ""
    seconds: float
    notes: tuple[str, ...] = ()


async def install_declared(
    tree: Path, lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...] = ()
) -> Installed:
    """Install the requirements.txt of *tree*, and *extra* with it.

    Raises `InfrastructureError` when the package index or the machine fails.
    """
    began = time.monotonic()
    declared = await asyncio.to_thread(read_declared, tree)
    outcome, message, environment = InstallOutcome.UNDECLARED, "", None
    if declared is not None:
        outcome, message, environment = await _try(declared, lifecycle, bench, with_pip=with_pip, extra=extra)
    if environment is None:
        environment = await _fallback(lifecycle, bench, with_pip=with_pip, extra=extra)
    return Installed(
        outcome=outcome,
        environment=environment,
        message=message,
        seconds=time.monotonic() - began,
        notes=() if declared is None else declared.notes,
    )


async def _try(
    declared: Declared, lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...]
) -> tuple[InstallOutcome, str, PythonEnvironment | None]:
    if declared.problem is not None:
        return InstallOutcome.FAILED, declared.problem, None
    request = ResolvedRequest(
        python=lifecycle.python,
        requirements=(*declared.requirements, *extra),
        with_pip=with_pip,
        work_s=lifecycle.install_s,
    )
    try:
        return InstallOutcome.SUCCEEDED, "", await installer(bench).submission_environment(request)
    except OutOfTimeError:
        return InstallOutcome.TIMEOUT, f"not installed within {lifecycle.install_s:.0f} s", None
    except SubmissionError as error:
        return InstallOutcome.FAILED, printable(str(error))[:300], None


async def _fallback(
    lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...]
) -> PythonEnvironment:
    if extra:
        pins = tuple(line.partition(" ")[0] for line in lifecycle.fallback)
        request = ResolvedRequest(
            python=lifecycle.python, requirements=(*pins, *extra), with_pip=with_pip, on_behalf_of="recipe"
        )
        return await installer(bench).submission_environment(request)
    return await bench.builder.python(
        PythonRequest(python=lifecycle.python, requirements=lifecycle.fallback, with_pip=with_pip)
    )


def installer(bench: Bench) -> SubmissionInstaller:
    """Return the run's builder as one that installs what nobody locked. Raises `UsageError`."""
    builder: object = bench.builder
    if not isinstance(builder, SubmissionInstaller):
        raise UsageError("this environment builder installs no submissions' requirements; use the builder 'local'")
    return builder
