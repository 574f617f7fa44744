"""Which of several test jobs an instance gets: the best that can be run here."""

from pathlib import Path

import pytest

from groundup.curation.choosing import JobWish, chosen_job
from groundup.domain.errors import TaskError
from tests.grading.ci.bench import repository

DOCKER = "action: docker/login-action: there is no Docker"
TWO_JOBS = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps: [{uses: docker/login-action@v3}, {run: pytest}]
  quick:
    runs-on: ubuntu-latest
    steps: [{run: pytest}]
"""


def test_a_runner_up_is_taken_where_the_best_job_cannot_be_run(tmp_path: Path) -> None:
    """The job that wants Docker is passed over, and the sentence says which and why."""
    job = chosen_job(JobWish(), "r", repository(tmp_path, TWO_JOBS))
    assert job.name == "quick"
    assert not job.hindered
    assert job.passed_over == (f".github/workflows/ci.yml: test: {DOCKER}",)


def test_another_leg_is_taken_where_the_best_one_cannot_be_run(tmp_path: Path) -> None:
    """A leg that calls for Docker is passed over for the next one of the same job."""
    workflow = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: {matrix: {include: [{python: "3.12", bus: true}, {python: "3.11"}]}}
    steps:
      - {uses: docker/login-action@v3, if: matrix.bus}
      - run: pytest
"""
    job = chosen_job(JobWish(), "r", repository(tmp_path, workflow))
    assert job.leg == {"python": "3.11"}
    assert job.passed_over == (f".github/workflows/ci.yml: test (python: 3.12, bus: true): {DOCKER}",)


def test_obstacles_are_told_before_an_instance_is_made(tmp_path: Path) -> None:
    """Where no test job can be run here the refusal says why; a job that is named is taken all the same."""
    root = repository(tmp_path, TWO_JOBS.replace("  quick:", "  docs:\n    container: x"))
    with pytest.raises(TaskError, match=r"can be run here .*no Docker.*name one with --job"):
        chosen_job(JobWish(), "r", root)
    job = chosen_job(JobWish(job="test"), "r", root)
    assert job.hindered == DOCKER


def test_other_services_are_named_where_no_workflow_tests(tmp_path: Path) -> None:
    """A repository that Travis tests is refused with that, not with `every workflow was read`."""
    root = repository(tmp_path, "on: push\njobs: {}\n", {".travis.yml": "script: pytest\n"})
    with pytest.raises(TaskError, match=r"uses \.travis\.yml, of which only GitHub's workflows are read"):
        chosen_job(JobWish(), "r", root)
