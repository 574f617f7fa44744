"""A job as it is planned for grading."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, UnsupportedJobError


def test_a_workflow_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error holds the path."""
    with pytest.raises(TaskError, match=r"no workflow a\.yml"):
        PlannedJob(JobRequest(tree=tmp_path, workflow="a.yml", job="test"))


WAITING = """
on: push
jobs:
  lint: {runs-on: ubuntu-latest, steps: [{run: ruff check}]}
  mac: {runs-on: macos-14, needs: lint, steps: [{run: pytest}]}
  test:
    needs: [lint, mac]
    runs-on: ubuntu-latest
    steps: [{run: pytest}]
"""


def test_a_job_does_not_wait_for_what_cannot_be_run(tmp_path: Path) -> None:
    """A job that only comes before is left out and named; what can be run, or gives something, is not."""

    def planned_job(workflow: str) -> PlannedJob:
        (tmp_path / "ci.yml").write_text(workflow)
        return PlannedJob(JobRequest(tree=tmp_path, workflow="ci.yml", job="test"))

    plan = planned_job(WAITING)
    assert (plan.job.needs, plan.left_out) == (("lint",), {"mac": "runner: macos-14"})
    for taken in ("echo ${{ needs.mac.outputs.x }}", "echo ${{ toJSON(needs) }}"):
        with pytest.raises(UnsupportedJobError, match="macos"):
            planned_job(WAITING.replace("[{run: pytest}]\n", f"[{{run: pytest}}, {{run: '{taken}'}}]\n"))
    kept = "[{uses: actions/download-artifact@v4}, {run: pytest}]\n"
    with pytest.raises(UnsupportedJobError, match="macos"):
        planned_job(WAITING.replace("    steps: [{run: pytest}]\n", f"    steps: {kept}"))
