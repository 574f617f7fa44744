"""Grades one submission inside a verifier's image and leaves its reward where Harbor reads it.

A reward is written only when a verdict settles: what the infrastructure failed to grade has none.
"""

import asyncio
import json
import os
import resource
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundup.domain.errors import SandboxError, SubmissionError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Stage, Verdict, counted
from groundup.episodes.attempt import Grading, Phase
from groundup.episodes.backends import Backends
from groundup.episodes.loading import find_grader
from groundup.grading.library.execution import REPORT_FD
from groundup.sandbox.protocol import WORKSPACE, Command, SandboxSpec
from groundup.settings import Settings
from groundup.suites.base import Graded
from groundup.suites.opening import open_suite
from groundup.trees.writer import copy_tree
from groundup_bridges.baked import BakedBuilder, BakedLayers, ContainerBuilder
from groundup_bridges.guest_roots import GuestRoots
from groundup_bridges.inplace import InPlaceProvider

PRIVATE = "/.groundup/private"
"""What no guest may read."""
JOB = f"{PRIVATE}/job.json"
ORIGINAL = f"{PRIVATE}/original"
DATA = f"{PRIVATE}/data"
_SCRATCH = f"{PRIVATE}/scratch"
_LOGS = "/logs/verifier"
_FILE_BYTES = 4 * 1024**3
SCRIPT = """#!/bin/sh
# Grades /workspace and writes /logs/verifier/reward.json; none where the infrastructure failed.
export LD_LIBRARY_PATH=/.groundup/python/lib
cd / && exec /.groundup/python/bin/python3 -I -B -c '
import sys
sys.path[:0] = ["/.groundup/lib"]
from groundup_bridges.verifier import main
sys.exit(main())'
"""


class VerifierJob(Record):
    """What an image grades."""

    suite: str
    task: Task
    grader: str
    held: BakedLayers
    packages: bool = False
    """Whether grading installs what submissions name, and runs guests beside one another."""


def main() -> int:
    """Grade what lies in the workspace; return 0, or 3 where nothing could be decided."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))  # guests inherit both
    # A queue would outlive its sandbox, and tell the next one.
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    job = VerifierJob.model_validate_json(Path(JOB).read_bytes())
    logs, scratch = Path(_LOGS), Path(_SCRATCH)
    logs.mkdir(parents=True, exist_ok=True)
    for name in ("reward.json", "reward.txt"):
        (logs / name).unlink(missing_ok=True)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    with _closed(logs.parent):
        graded = asyncio.run(_graded(job, scratch))
        written = _write(logs, graded)
    verdict = graded.verdict
    told = "; ".join(reason.message for reason in verdict.reasons)
    score = f" {verdict.score}" if verdict.score else ""
    sys.stdout.write(f"{verdict.status.value}{score} {told}\n")
    return 0 if written else 3


@contextmanager
def _closed(folder: Path) -> Iterator[None]:
    """Let only root into *folder*: what is mounted there may be a user's of the host, with a guest's number."""
    before = folder.stat()
    os.chown(folder, os.geteuid(), os.getegid())
    folder.chmod(0o700)
    try:
        yield
    finally:
        os.chown(folder, before.st_uid, before.st_gid)
        folder.chmod(stat.S_IMODE(before.st_mode))


async def _graded(job: VerifierJob, scratch: Path) -> Graded:
    settings = Settings(cache_dir=scratch / "cache", data_dir=Path(DATA), jobs=1, registry="none")
    suite = open_suite(job.suite, settings)
    backends = _equipment(job, settings, scratch / "guests")
    grading = Grading(suite, job.task, find_grader(suite, job.grader), backends)
    tree, workings = scratch / "submission", scratch / "grading"
    workings.mkdir()
    try:
        _take_in(Path(WORKSPACE), tree)
        await _check(backends, job.held, scratch / "check")
        return await grading.grade(tree, workings)
    except SubmissionError as error:
        return grading.zero(Stage.INTAKE, error)[0]
    except Exception as error:  # noqa: BLE001 - the attempt boundary: whatever it is, there is no reward
        return grading.failed(error, Phase.GRADING)[0]


def _equipment(job: VerifierJob, settings: Settings, guests: Path) -> Backends:
    if not job.packages:
        return Backends(InPlaceProvider(), BakedBuilder(job.held))
    provider = GuestRoots(guests)
    return Backends(provider, ContainerBuilder(settings, provider, job.held))


async def _check(backends: Backends, held: BakedLayers, workspace: Path) -> None:
    """Raise `SandboxError` where commands do not run here: no submission is to blame for that."""
    program = f"import os; os.write({REPORT_FD}, b'here')"
    for environment in held.environments.values():
        workspace.mkdir()
        spec = SandboxSpec(
            workspace=workspace,
            mounts=environment.mounts,
            environment=environment.environment,
            path=environment.path,
        )
        async with await backends.provider.open(spec) as sandbox:
            argv = (environment.executable, "-I", "-c", program)
            done = await sandbox.run(Command(argv=argv, report_fd=REPORT_FD))
        if done.report != b"here":
            said = done.stderr.decode(errors="replace").strip()[-200:]
            raise SandboxError(f"commands do not run in this container: {said or done.ending.value}")
        workspace.rmdir()


def _take_in(workspace: Path, tree: Path) -> None:
    """Copy a stranger's tree, and make room for sandboxes at its place."""
    os.chdir("/")
    workspace.mkdir(exist_ok=True)
    copy_tree(workspace, tree)
    shutil.rmtree(workspace)


def _write(logs: Path, graded: Graded) -> bool:
    """Write the verdict with its evidence, and the reward if there is one; return whether there is."""
    verdict = graded.verdict
    (logs / "verdict.json").write_text(verdict.model_dump_json(), encoding="utf-8")
    tests = "".join(f"{test.model_dump_json()}\n" for test in graded.tests)
    (logs / "tests.jsonl").write_text(tests, encoding="utf-8")
    for name, content in graded.logs.items():
        (logs / Path(name).name).write_bytes(content)
    rewards = rewards_of(verdict)
    if rewards is None:
        return False
    partial = logs / ".reward.json"
    partial.write_text(json.dumps(rewards), encoding="utf-8")
    partial.replace(logs / "reward.json")
    return True


def rewards_of(verdict: Verdict) -> dict[str, float] | None:
    """Return the reward and its counts; None where there is none."""
    reward = counted(verdict)
    if reward is None:
        return None
    score = verdict.score
    counts = {"passed": score.numerator, "total": score.denominator} if score else {}
    return {"reward": reward, **counts}
