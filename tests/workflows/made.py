"""Repositories in memory, for what only reads."""

from collections.abc import Mapping

from pydantic import JsonValue

from groundup.workflows.jobs import JobReader
from groundup.workflows.workflow import Job, Step, Workflow


class MadeTree:
    """Files by path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def paths(self) -> frozenset[str]:
        """Return all paths."""
        return frozenset(self._files)

    def read(self, path: str) -> bytes | None:
        """Return a file."""
        text = self._files.get(path)
        return None if text is None else text.encode()


def steps_with_tests(
    job: Job, leg: Mapping[str, JsonValue], files: Mapping[str, str] | None = None
) -> tuple[Step, ...]:
    """Return the steps of *job* that run tests, in a workflow of nothing else and a repository of *files*."""
    workflow = Workflow(path="ci.yml", jobs=(job,), document={})
    return JobReader(MadeTree(files or {})).test_steps(workflow, job, dict(leg))
