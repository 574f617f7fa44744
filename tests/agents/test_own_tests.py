"""What counts as the outcome of an agent's own tests."""

import pytest

from groundup.agents.own_tests import counted
from groundup.domain.limits import OwnTests


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("...F\n3 passed, 1 failed in 0.02s\n", OwnTests(passed=3, failed=1)),
        ("EE\n2 passed, 1 skipped, 2 errors in 1.00s\n", OwnTests(passed=2, failed=2)),
        ("1 passed in 0.1s\n", OwnTests(passed=1, failed=0)),
        ("no tests ran in 0.00s\n", None),
        ("", None),
    ],
)
def test_the_last_line_of_pytest_is_counted(output: str, found: OwnTests | None) -> None:
    """Errors are failures; without a test there is nothing to choose by."""
    assert counted(output) == found
