"""Who says whether a count is to be believed."""

from importlib.util import find_spec
from typing import Any

from groundup.grading.library.belief import checker, checks


async def test_a_run_is_checked_where_the_package_is() -> None:
    """Without `groundup_integrity` the answer to every run is *unchecked*, and nothing is run for it."""
    assert checks() is (find_spec("groundup_integrity") is not None)
    if not checks():
        unchecked: Any = checker()
        assert (await unchecked("whatever is asked", deep=True)).answer == "unchecked"
