"""Grading dishonest build files by executing the jobs of tiny instances."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.domain.errors import SubmissionError
from groundup.domain.tasks import Task
from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import load
from groundup.suites.dibench.dataset import InstanceProblem, read_dataset
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from tests.cheats.ci import INSTANCES
from tests.cheats.results import Outcome
from tests.cheats.trials import outcome_of
from tests.suites.dibench.executed import write_tiny


def write_submission(folder: Path, files: Mapping[str, str]) -> Path:
    """Write *files*, whose texts may hold bytes that are none as lone surrogates."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def problems(folder: Path) -> dict[str, InstanceProblem]:
    """Return the tiny instances, written below *folder*."""
    found = read_dataset(write_tiny(folder, INSTANCES))
    return {one.id: one for one in found.problems}


@dataclass(frozen=True)
class JobTrial:
    """Grades build files."""

    provider: SandboxProvider
    folder: Path
    problems: Mapping[str, InstanceProblem]

    async def grade(self, instance: str, files: Mapping[str, str]) -> Outcome:
        """Return whether the job of *instance* passes with *files*: 1 of 1, 0 of 1, or 0 of 0 when it cannot run."""
        submission = write_submission(self.folder / "submission", files)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        settings = load()
        context = GradingContext(
            provider=self.provider, builder=LocalBuilder(settings, self.provider), scratch=scratch
        )
        grader = ExecutionGrader(self.problems, "none", timeout_s=200)
        task = Task(id=instance, suite="dibench", instruction=None, data_version="own")
        try:
            return outcome_of(await grader.grade(task, submission, context))
        except SubmissionError as error:
            return Outcome(of=1, why=str(error)[:200])
        finally:
            remove_tree(submission)
            remove_tree(scratch)


@contextmanager
def job_trial(provider: SandboxProvider) -> Iterator[JobTrial]:
    """Yield a place to grade; it is removed afterwards."""
    with scratch_folder("cheats") as folder:
        yield JobTrial(provider, folder, problems(folder / "data"))
