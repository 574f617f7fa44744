"""Workflows of many kinds: the right job is found, or refused for the true reason, and ends as on GitHub."""

import re
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.ci.job import run_job
from groundup.grading.ci.records import JobOutcome, JobRequest, failure_of
from groundup_factory.instances import choosing
from groundup_factory.instances.choosing import JobWish, chosen_job
from tests.effort import THOROUGH
from tests.grading.ci import bench
from tests.grading.ci.bench import needs_sandbox
from tests.groundup_factory.instances.workflow_cases import CASES, Case

RUN_HERE = [case for case in CASES if not case.refused]
AT_ONCE = {
    "soft_composite", "soft_needed", "needed_fails", "only_pull_requests", "two_deep", "sha_in_expression",
    "stamp_before_tests", "system_package", "job_total",
}  # fmt: skip
"""Those in which act itself might decide otherwise; the others are executed by `make thorough`."""

EXECUTED = [case for case in RUN_HERE if THOROUGH or case.name in AT_ONCE]


def written(folder: Path, case: Case) -> Path:
    """Write the repository of *case*."""
    for path, text in case.whole.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def chosen(folder: Path, case: Case) -> choosing.TestJob:
    """Return the job that an instance of the repository gets."""
    return chosen_job(JobWish(), "padkit", written(folder, case))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_job_is_found_or_refused_for_the_true_reason(case: Case, tmp_path: Path) -> None:
    """In its leg."""
    if case.refused:
        with pytest.raises(TaskError, match=re.compile(re.escape(case.refused), re.IGNORECASE)):
            chosen(tmp_path, case)
        return
    job = chosen(tmp_path, case)
    assert (job.name, job.leg, job.hindered) == (case.job, case.leg, "")


@pytest.mark.end_to_end
@pytest.mark.needs("git")
@needs_sandbox
@pytest.mark.parametrize("case", EXECUTED, ids=[case.name for case in EXECUTED])
async def test_the_job_ends_as_on_github(case: Case, tmp_path: Path) -> None:
    """With the reason, or what was left out, by name."""
    tree = tmp_path / "repository"
    job = chosen(tree, case)
    request = JobRequest(
        tree=tree,
        repository="padkit",
        full_name="acme/padkit",
        workflow=job.workflow,
        job=job.name,
        matrix=job.leg,
    )
    request = request.but(limits=request.limits.but(wall_clock_s=120.0))
    async with bench.context(tmp_path) as tools:
        result = await run_job(request, tools)
    failure = failure_of(result)
    told = "\n".join((result.reason, *result.substitutes, failure.kind.value if failure else ""))
    assert (result.outcome is JobOutcome.PASSED) == (case.ends == "passed"), (told, bench.log_of(result))
    assert re.search(case.says, told), told
