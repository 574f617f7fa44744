"""A CI job with what it takes to run it here: read once, before anything runs."""

from collections.abc import Iterable

from groundup.grading.ci.actions import JobNeeds, needs_of
from groundup.grading.ci.records import JobRequest, UnsupportedJobError
from groundup.grading.ci.tools import Tool, tools_of
from groundup.workflows.jobs import JobReader
from groundup.workflows.matrix import Leg, pinned
from groundup.workflows.tree import FolderTree
from groundup.workflows.workflow import Job, Workflow, WorkflowError, read_workflow


class PlannedJob:
    """A job that can be run here: its leg, what it needs, and which of its steps run tests."""

    def __init__(self, request: JobRequest, languages: Iterable[Tool] = ()) -> None:
        """Read the workflow. Raises `WorkflowError`, and `UnsupportedJobError` naming every obstacle."""
        self.request = request
        self.tree = FolderTree(request.tree)
        data = self.tree.read(request.workflow)
        if data is None:
            raise WorkflowError(f"there is no workflow {request.workflow} in the repository")
        self.workflow: Workflow = read_workflow(data, request.workflow)
        self.job: Job = self.workflow.job(request.job)
        self.leg: Leg = pinned(self.job, request.matrix)
        self.needs: JobNeeds = needs_of(self.workflow, self.job, self.leg, self.tree)
        if self.needs.obstacles:
            raise UnsupportedJobError(self.needs.obstacles)
        self.tools = tools_of(self.needs.steps, languages)
        testing = JobReader(self.tree).test_steps(self.workflow, self.job, self.leg)
        self.tests = frozenset(step.key for step in testing)
