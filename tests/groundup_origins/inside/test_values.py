"""By what a wrong value is recognized; that it leads to its line is in `test_origins`."""

import pytest

from groundup_origins.inside.values import Mark


class _Moody:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("not today")


@pytest.mark.parametrize(("value", "found"), [([_Moody()], [1]), ({"a": _Moody()}, {"a": 1})])
def test_what_cannot_be_compared_is_not_what_is_looked_for(value: object, found: object) -> None:
    """An exception in the profile function would end all that is seen of the test."""
    assert not Mark(found).is_in(value)


@pytest.mark.parametrize(
    ("value", "is_common"),
    [(2, True), (-9.0, True), (2.5, False), (12, False), (True, True), ("", True), ("a", False)],
)
def test_common_values_are_truth_small_whole_numbers_and_what_is_empty(value: object, is_common: bool) -> None:
    """Many functions return one by chance, so it says less of where it was made."""
    assert Mark(value).is_common == is_common
