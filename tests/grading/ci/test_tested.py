"""Whether a job that ended well tested anything, and as much as with the original."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, OriginalTests, RunCommand
from groundup.grading.ci.tallies import tallies_of
from groundup.grading.ci.tested import CountedTests, counted_tests, why_not_tested


class Case(NamedTuple):
    """A job whose steps all succeed."""

    name: str
    steps: tuple[str, ...]
    """Scripts."""
    said: tuple[str, ...]
    """What each step printed."""
    files: Mapping[str, str]


def cases(kind: str) -> list[Case]:
    """Return the jobs of the table beside this file."""
    table = tomllib.loads(Path(__file__).with_name("tested_cases.toml").read_text(encoding="utf-8"))
    return [
        Case(one["name"], tuple(one["steps"]), tuple(one["said"]), one.get("files", {})) for one in table[kind]
    ]


EMPTY, HONEST = cases("empty"), cases("honest")


def judged(case: Case, folder: Path, original: OriginalTests | None = None) -> tuple[str, CountedTests]:
    """Return why the job of a case shows nothing, and what its runners say."""
    steps = [{"uses": "actions/checkout@v4"}, *({"run": script} for script in case.steps)]
    workflow = json.dumps({"on": "push", "jobs": {"test": {"runs-on": "ubuntu-latest", "steps": steps}}})
    for path, text in {".github/workflows/ci.yml": workflow, **case.files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    planned = PlannedJob(JobRequest(tree=folder, workflow=".github/workflows/ci.yml", job="test"))
    commands = [
        RunCommand(job="test", step=str(at), exit_code=0, ending="exited", duration_s=1, tallies=tallies_of(said))
        for at, said in enumerate(case.said, start=1)
    ]
    found = counted_tests("test", planned.test_steps, commands, ())
    return why_not_tested(found, planned.test_steps, original or OriginalTests()), found


@pytest.mark.parametrize("case", EMPTY, ids=lambda case: case.name)
def test_a_job_that_tested_nothing_shows_nothing(case: Case, tmp_path: Path) -> None:
    """However green it is: no test passed, or one failed, and a line or a file says so."""
    assert judged(case, tmp_path)[0]


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_suite_is_believed(case: Case, tmp_path: Path) -> None:
    """Silent or not, and beside a runner that had no test."""
    assert judged(case, tmp_path)[0] == ""


def test_the_two_tables_are_as_large_as_they_say() -> None:
    """Each case has a name of its own."""
    assert (len({case.name for case in EMPTY}), len({case.name for case in HONEST})) == (161, 98)
