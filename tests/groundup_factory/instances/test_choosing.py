"""Which of several test jobs an instance gets: the best that can be run here."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError, UsageError
from groundup.workflows.expressions import Contexts
from groundup.workflows.workflow import read_workflow
from groundup_factory.instances.choosing import ForeignWorkflow, JobWish, chosen_job
from tests.grading.ci.bench import WORKFLOW, repository

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


def test_a_runner_up_is_taken_where_the_best_job_failed(tmp_path: Path) -> None:
    """Another job comes before another leg of the one that ran; a poor one never comes."""
    workflow = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: {matrix: {python: ["3.12", "3.11"]}}
    steps: [{run: pytest}]
  unit:
    runs-on: ubuntu-latest
    steps: [{run: pytest tests}]
  nightly:
    if: github.event_name == 'schedule'
    runs-on: windows-latest
    steps: [{run: pytest tests/one.py}]
"""
    root = repository(tmp_path, workflow)
    failed: dict[str, str] = {}
    for title in ("test (python: 3.12)", "unit", "test (python: 3.11)"):
        job = chosen_job(JobWish(), "r", root, failed=failed)
        assert job.title == f"{WORKFLOW}: {title}"
        assert job.passed_over == tuple(f"{one}: {why}" for one, why in failed.items())
        failed[job.title] = f"{title} failed"
    with pytest.raises(TaskError, match="unit failed"):
        chosen_job(JobWish(), "r", root, failed=failed)


def test_no_runner_up_takes_the_place_of_what_was_wished_for(tmp_path: Path) -> None:
    """After a job of one's own come its other legs only, and after a leg of one's own nothing."""
    workflow = TWO_JOBS.replace("  quick:", "  quick:\n    strategy: {matrix: {python: ['3.12', '3.11']}}")
    root = repository(tmp_path, workflow)
    failed = {f"{WORKFLOW}: quick (python: 3.12)": "it failed"}
    assert chosen_job(JobWish(job="quick"), "r", root, failed=failed).leg == {"python": "3.11"}
    for wish in (JobWish(job="quick", leg={"python": "3.12"}), JobWish(job="test")):
        with pytest.raises(TaskError, match="can be run here"):
            chosen_job(wish, "r", root, failed=failed)


def test_obstacles_are_told_before_an_instance_is_made(tmp_path: Path) -> None:
    """Where no test job can be run here the refusal says why; a job that is named is taken all the same."""
    root = repository(tmp_path, TWO_JOBS.replace("  quick:", "  docs:\n    container: x"))
    with pytest.raises(TaskError, match=r"can be run here .*no Docker.*name one with --job"):
        chosen_job(JobWish(), "r", root)
    job = chosen_job(JobWish(job="test"), "r", root)
    assert job.hindered == DOCKER


def test_other_services_are_named_where_no_workflow_tests(tmp_path: Path) -> None:
    """A repository that Travis tests is refused with that, not with how many workflows were read."""
    root = repository(tmp_path, "on: push\njobs: {}\n", {".travis.yml": "script: pytest\n"})
    with pytest.raises(TaskError, match=r"uses \.travis\.yml, of which only GitHub's workflows are read"):
        chosen_job(JobWish(), "r", root)


def test_a_job_that_does_not_seem_to_test_is_taken_by_name(tmp_path: Path) -> None:
    """Who knows better names workflow and job; a workflow that is not there is said."""
    workflow = "on: push\njobs:\n  own:\n    runs-on: ubuntu-latest\n    steps: [{run: ./verify}]\n"
    root = repository(tmp_path, workflow)
    with pytest.raises(TaskError, match="name one with --workflow and --job"):
        chosen_job(JobWish(job="own"), "r", root)
    assert chosen_job(JobWish(workflow=WORKFLOW, job="own"), "r", root).name == "own"
    with pytest.raises(UsageError, match=r"r has no absent\.yml; name a workflow file"):
        chosen_job(JobWish(workflow="absent.yml", job="own"), "r", root)


CALLED = """
on:
  workflow_call:
    inputs:
      versions: {type: string, default: '["3.9"]'}
      runner: {type: string, default: windows-latest}
      strict: {type: boolean, default: false}
jobs:
  unit:
    name: unit tests
    runs-on: ${{ inputs.runner }}
    strategy: {matrix: {python: "${{ fromJSON(inputs.versions) }}"}}
    steps:
      - {uses: docker/login-action@v3, if: "!inputs.strict"}
      - run: echo ${{ inputs['runner'] }} ${{ inputs.strict && 'strict' }} on ${{ matrix.python }}
      - run: pytest
"""
CALLER = """
on: push
jobs:
  all:
    strategy: {matrix: {os: [ubuntu-latest, windows-latest]}}
    uses: somebody/workflows/.github/workflows/tests.yml@v1
    with: {versions: '["3.11", "3.12"]', runner: "${{ matrix.os }}", strict: true}
"""
USES = "somebody/workflows/.github/workflows/tests.yml@v1"


def test_a_called_workflow_is_written_out(tmp_path: Path) -> None:
    """The job that calls another repository's becomes a file of the instance's own, pinned, with its inputs."""
    root = repository(tmp_path, CALLER)
    foreign = {USES: ForeignWorkflow(CALLED.encode(), "0123abc")}
    job = chosen_job(JobWish(), "r", root, foreign)

    assert (job.workflow, job.name) == (".github/workflows/groundup-unit.yml", "unit")
    assert (job.leg, job.hindered) == ({"python": "3.12"}, "")
    text = (root / job.workflow).read_text()
    head = f"# Written by groundup: what the job all of {WORKFLOW} does by calling"
    assert text.splitlines()[:2] == [head, f"# {USES} (commit 0123abc)"]
    script = read_workflow(text.encode(), job.workflow).job("unit").steps[1].run or ""
    assert Contexts({"python": "3.12"}).text(script) == "echo ubuntu-latest strict on 3.12"


def test_a_workflow_of_the_repository_itself_is_written_out(tmp_path: Path) -> None:
    """What calls `./.github/workflows/...` is no obstacle any more."""
    files = {".github/workflows/tests.yml": CALLED}
    local = CALLER.replace("somebody/workflows/", "./").replace("@v1", "")
    job = chosen_job(JobWish(), "r", repository(tmp_path, local, files))
    assert (job.name, job.leg, job.hindered) == ("unit", {"python": "3.12"}, "")


def test_a_called_workflow_that_cannot_be_had_is_an_obstacle(tmp_path: Path) -> None:
    """Without it the refusal names it, and nothing is written into the repository."""
    root = repository(tmp_path, CALLER)
    with pytest.raises(TaskError, match=r"reusable workflow: somebody/workflows"):
        chosen_job(JobWish(), "r", root)
    assert [path.name for path in (root / ".github" / "workflows").iterdir()] == ["ci.yml"]


def test_an_input_that_only_a_running_workflow_knows_is_an_obstacle(tmp_path: Path) -> None:
    """What another job gives is not guessed."""
    head = "on: push\njobs:\n  first: {runs-on: ubuntu-latest, steps: [{run: true}]}\n  all:\n    needs: first\n"
    caller = head + f"    uses: {USES}\n    with: {{versions: '${{{{ needs.first.outputs.all }}}}'}}\n"
    with pytest.raises(TaskError, match="the input versions of a called workflow is known only while"):
        chosen_job(JobWish(), "r", repository(tmp_path, caller), {USES: ForeignWorkflow(CALLED.encode(), "0")})
