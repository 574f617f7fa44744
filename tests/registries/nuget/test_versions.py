"""Versions of NuGet packages: one spelling, and their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.registries.nuget import normalised, order

VERSIONS = st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}(-[a-zA-Z0-9]{1,5}(\.[0-9a-z]{1,3})?)?", fullmatch=True)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("1", "1.0.0"),
        ("1.0", "1.0.0"),
        ("1.2.3.0", "1.2.3"),
        ("1.2.3.4", "1.2.3.4"),
        ("01.002.3-RC.1+build.5", "1.2.3-rc.1"),
        ("1.x", None),
        ("", None),
        ("1.2.3.4.5", None),
    ],
)
def test_one_version_has_one_spelling(written: str, found: str | None) -> None:
    """Addresses have what NuGet makes of a version."""
    assert normalised(written) == found


def test_versions_are_ordered_as_by_nuget() -> None:
    """By number, a pre-release before its release, numbers in labels by their value."""
    mixed = ["1.0.0-beta", "1.10.0", "1.0.0", "1.0.0-alpha.10", "1.2.0", "1.0.0-alpha", "1.0.0.1", "1.0.0-alpha.2"]
    assert sorted(mixed, key=order) == [
        "1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0", "1.0.0.1", "1.2.0", "1.10.0",
    ]  # fmt: skip


@given(VERSIONS)
def test_what_is_normalised_stays(version: str) -> None:
    """Normalising twice changes nothing more, and whatever is normalised can be sorted."""
    found = normalised(version)
    assert found is not None
    assert normalised(found) == found
    assert order(found) == order(found)
