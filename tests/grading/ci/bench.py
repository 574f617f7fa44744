"""A bench for CI jobs: real sandboxes, one interpreter, no registry that anybody is asked for."""

import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundup.environments.local import LocalBuilder, create
from groundup.grading.ci.job import run_job
from groundup.grading.ci.records import JobRequest, JobResult
from groundup.grading.context import GradingContext
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
WORKFLOW = ".github/workflows/ci.yml"


@asynccontextmanager
async def context(
    folder: Path, cache: Path | None = None, provider: SandboxProvider | None = None
) -> AsyncIterator[GradingContext]:
    """Yield a bench below *folder*."""
    async with provider or BubblewrapProvider() as opened:
        builder: LocalBuilder = create(Settings(cache_dir=cache or folder / "cache"), opened)
        scratch = folder / "scratch"
        scratch.mkdir()
        try:
            yield GradingContext(provider=opened, builder=builder, scratch=scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def repository(root: Path, workflow: str, files: Mapping[str, str] | None = None) -> Path:
    """Write a repository with this workflow."""
    for path, text in {WORKFLOW: workflow, **(files or {})}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


async def run(
    folder: Path,
    workflow: str,
    files: Mapping[str, str] | None = None,
    *,
    timeout_s: float = 120.0,
    matrix: Mapping[str, str] | None = None,
    provider: SandboxProvider | None = None,
    cache: Path | None = None,
    exclude_newer: str | None = None,
) -> JobResult:
    """Run the job `test` of a repository made of these files, in a sandbox of *provider*, which is closed then."""
    tree = repository(folder / "repository", workflow, files)
    request = JobRequest(tree=tree, repository="app", workflow=WORKFLOW, job="test", matrix=dict(matrix or {}))
    request = request.but(limits=request.limits.but(wall_clock_s=timeout_s), exclude_newer=exclude_newer)
    async with context(folder, cache, provider) as tools:
        return await run_job(request, tools)


def steps(*texts: str, head: str = "") -> str:
    """Return a workflow whose job `test` has these steps, each a YAML text."""
    lines = "".join(f"      - {text}\n" for text in texts)
    return f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n{head}    steps:\n{lines}"


def log_of(result: JobResult) -> str:
    """Return what the steps printed."""
    return result.logs["ci.txt"].decode()


needs_sandbox = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")
