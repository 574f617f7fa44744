"""Tests of the day up to which an instance's job is given packages."""

import pytest

from groundup.suites.dibench.dataset import Instance, InstanceMetadata
from groundup.suites.dibench.execution import ExecutionGrader

DAY = "2024-03-01"


def instance(**dates: str) -> Instance:
    """Return an instance of which these dates are known."""
    return Instance(
        instance_id="demo",
        metadata=InstanceMetadata(full_name="owner/demo", **dates),
        language="python",
        act_command="act -j test",
        ci_file=".github/workflows/ci.yml",
        patch="-",
        build_files=("pyproject.toml",),
    )


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        ({"commit_date": "2024-03-01T10:00:00+00:00"}, DAY),
        ({"commit_date": "2024-02-29T23:30:00-08:00"}, DAY),
        ({"commit_date": "2024-03-01", "pushed_at": "2025-01-01T00:00:00Z"}, DAY),
        ({"pushed_at": "2024-03-01T10:00:00Z"}, DAY),
        ({"commit_date": "last spring"}, None),
        ({}, None),
    ],
)
def test_an_instance_is_resolved_at_the_day_of_its_commit(dates: dict[str, str], day: str | None) -> None:
    """The commit's own date counts, else when the publishers took it; what is unknown sets no limit."""
    assert ExecutionGrader({}, "commit", 60).cutoff(instance(**dates)) == day


def test_the_setting_is_stronger_than_the_commit() -> None:
    """A date is the same for all instances, and `none` means that they are resolved as of now."""
    known = instance(commit_date="2024-03-01T10:00:00Z")
    assert ExecutionGrader({}, "2023-01-01", 60).cutoff(known) == "2023-01-01"
    assert ExecutionGrader({}, "none", 60).cutoff(known) is None


def test_dates_are_no_part_of_what_an_instance_is() -> None:
    """An instance of before, made again with its date, keeps its digest, and so what was found of it."""
    assert instance().digest == instance(commit_date=DAY).digest == instance(pushed_at=DAY).digest
