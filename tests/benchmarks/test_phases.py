"""The profile of a command names functions of the program, which move."""

import importlib
from inspect import getattr_static

import pytest
from benchmarks.phases import PLACES

from tests.needs import need


@pytest.mark.parametrize(("module", "place"), [(module, place) for module in PLACES for place in PLACES[module]])
def test_every_function_that_is_timed_is_where_the_profile_looks(module: str, place: str) -> None:
    """Otherwise the profile ends with an error, or counts its time for something else."""
    if (package := module.partition(".")[0]) != "groundup":
        need(package)
    holder, _, name = place.rpartition(".")
    owner = importlib.import_module(module)
    assert getattr_static(getattr(owner, holder) if holder else owner, name)
