"""Keeping the garbage collector out."""

import contextlib
import gc
from collections.abc import Iterator

import pytest

from groundup.domain.garbage import collecting_nothing


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    """Leave the collector to other tests as it was."""
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_collected_inside_and_all_is_as_before_behind_it(enabled: bool) -> None:
    """Whoever had turned it off finds it off, also after an error."""
    (gc.enable if enabled else gc.disable)()
    with contextlib.suppress(ValueError), collecting_nothing():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled() is enabled
