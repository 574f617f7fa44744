"""Freezing a recipe from its draft."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import FalseRecord
from groundup.sandbox.protocol import CommandResult, Ending
from groundup.suites.nl2repobench.recipe import Recipe, Why
from groundup_factory.recipes.freezing import count_lines, freeze, quiet_s
from tests.grading.library.laboratory import ORIGINAL, HostBuilder, write_tree
from tests.suites.nl2repobench.trials import EXPECTED, RECIPE, Trial

pytestmark = pytest.mark.end_to_end

DRAFT = RECIPE.but(frozen=None, expected=frozenset(), excluded=())
ODD_TESTS = """
import pathlib, pytest, random

def test_skipped(): pytest.skip("no display")

@pytest.mark.xfail
def test_known(): assert False

def test_online(): raise ConnectionError("no network")

def test_now_and_then():
    marker = pathlib.Path("/opt/groundup/pytest.ini").stat().st_mtime_ns
    assert marker % 2 == 2
"""


def _context(trial: Trial, files: dict[str, str]) -> GradingContext:
    write_tree(trial.folder / "original", files)
    scratch = trial.folder / "scratch"
    scratch.mkdir()
    return GradingContext(provider=trial.provider, builder=HostBuilder(trial.folder), scratch=scratch)


@pytest.mark.parametrize(
    ("duration_s", "uncounted_s", "quiet"),
    [(100.0, 0.0, 100.0), (900.0, 850.0, 100.0), (120.0, 30.0, 120.0)],
    ids=["quiet", "one thread among many", "hardly busy"],
)
def test_neighbours_do_not_lengthen_the_limits_of_a_recipe(
    duration_s: float, uncounted_s: float, quiet: float
) -> None:
    """The time recorded of a run is at most what it took, without what neighbours took of two processors."""
    result = CommandResult(
        exit_code=0, ending=Ending.EXITED, stdout=b"", stderr=b"", duration_s=duration_s, uncounted_s=uncounted_s
    )

    assert quiet_s(result, 2) == quiet


@pytest.mark.needs("groundup_integrity")
async def test_what_passes_every_time_is_expected(trial: Trial) -> None:
    """A draft of the tiny library freezes to the ids of all its tests, with what was measured beside them."""
    frozen = await freeze(DRAFT, _context(trial, ORIGINAL), runs=2)

    assert frozen.expected == EXPECTED
    assert frozen.excluded == ()
    assert frozen.frozen is not None
    assert frozen.frozen.runs == 2
    assert frozen.environment.python_micro is not None


@pytest.mark.needs("groundup_integrity")
async def test_what_does_not_pass_is_left_out_with_a_reason(trial: Trial) -> None:
    """Skips and expected failures explain themselves; other failures need a reason that a person gave."""
    odd = {**ORIGINAL, "tests/test_odd.py": ODD_TESTS}
    draft = DRAFT.but(reasons={"*::test_online": Why.NETWORK, "*now_and_then": Why.FLAKY})
    frozen = await freeze(draft, _context(trial, odd), runs=1)

    assert {excluded.id.partition("::")[2]: excluded.why for excluded in frozen.excluded} == {
        "test_skipped": Why.SKIPPED,
        "test_known": Why.EXPECTED_FAILURE,
        "test_online": Why.NETWORK,
        "test_now_and_then": Why.FLAKY,
    }
    assert frozen.expected == EXPECTED


@pytest.mark.needs("groundup_integrity")
async def test_what_is_called_flaky_is_left_out_where_it_passes(trial: Trial) -> None:
    """A person saw it fail; that it passes three times on this machine proves nothing."""
    flaky = min(EXPECTED)
    draft = DRAFT.but(reasons={str(flaky): Why.FLAKY})
    frozen = await freeze(draft, _context(trial, ORIGINAL), runs=1)

    assert frozen.expected == EXPECTED - {flaky}
    assert [(one.id, one.why) for one in frozen.excluded] == [(str(flaky), Why.FLAKY)]


@pytest.mark.needs("groundup_integrity")
async def test_a_false_run_whose_session_is_interrupted_goes_on_in_another(trial: Trial) -> None:
    """A falsified test lets through the KeyboardInterrupt that it provokes; later tests run even so."""
    interrupts = """
import calc, pytest

def test_interrupt():
    with pytest.raises(KeyboardInterrupt):
        calc.add(Rude(), 1)

class Rude:
    def __add__(self, other): raise KeyboardInterrupt
"""
    files = {**ORIGINAL, "tests/test_a.py": interrupts}
    frozen = await freeze(DRAFT, _context(trial, files), runs=1)

    assert frozen.expected > EXPECTED
    assert frozen.twin == FalseRecord(runs=3)


@pytest.mark.needs("groundup_integrity")
async def test_a_failure_without_a_reason_stops_the_freezing(trial: Trial) -> None:
    """No test of the original is dropped from the denominator in silence."""
    odd = {**ORIGINAL, "tests/test_odd.py": ODD_TESTS}

    with pytest.raises(TaskError, match=r"does not pass with the original itself.*\[reasons\]"):
        await freeze(DRAFT, _context(trial, odd), runs=1)


@pytest.mark.needs("groundup_integrity")
async def test_an_original_that_cannot_be_imported_stops_the_freezing(trial: Trial) -> None:
    """A recipe with a wrong import root or a missing dependency is never frozen; the reason is in the error."""
    broken = {**ORIGINAL, "calc/__init__.py": "import missing_dependency\n"}

    with pytest.raises(TaskError, match="missing_dependency"):
        await freeze(DRAFT, _context(trial, broken), runs=1)


@pytest.mark.needs("groundup_integrity")
async def test_an_environment_that_holds_the_library_stops_the_freezing(trial: Trial) -> None:
    """When an empty submission passes a test, the recipe would reward empty work, and is refused."""
    generous = {**ORIGINAL, "tests/test_free.py": "def test_free(): pass\n"}

    with pytest.raises(TaskError, match="an empty submission passes 1 test"):
        await freeze(DRAFT, _context(trial, generous), runs=1)


@pytest.mark.needs("groundup_integrity")
async def test_a_few_tests_that_need_no_library_are_left_out(trial: Trial) -> None:
    """What passes without the library measures nothing, and is no reason to refuse all other tests."""
    many = "from calc import add\nimport pytest\n"
    many += "@pytest.mark.parametrize('n', range(20))\ndef test_many(n): add(n, 1)\n"
    mixed = {**ORIGINAL, "tests/test_many.py": many, "tests/test_free.py": "def test_free(): pass\n"}
    frozen = await freeze(DRAFT, _context(trial, mixed), runs=1)

    assert {(one.id, one.why) for one in frozen.excluded} == {
        ("tests/test_free.py::test_free", Why.WITHOUT_LIBRARY)
    }
    assert len(frozen.expected) == len(EXPECTED) + 20


@pytest.mark.needs("groundup_integrity")
async def test_a_reason_for_all_others_is_asked_last(trial: Trial) -> None:
    """`*` explains what fails and shows no reason, and never a skip, nor what another pattern names."""
    odd = {**ORIGINAL, "tests/test_odd.py": ODD_TESTS}
    reasons = {"*": Why.VERSIONS, "*::test_online": Why.NETWORK}
    frozen = await freeze(DRAFT.but(reasons=reasons), _context(trial, odd), runs=1)

    assert {excluded.id.partition("::")[2]: excluded.why for excluded in frozen.excluded} == {
        "test_skipped": Why.SKIPPED,
        "test_known": Why.EXPECTED_FAILURE,
        "test_online": Why.NETWORK,
        "test_now_and_then": Why.VERSIONS,
    }


def test_lines_are_those_of_the_packages(tmp_path: Path) -> None:
    """The size of an original is that of its packages, whether folder or single file, without protected tests."""
    original = write_tree(
        tmp_path, {"calc/a.py": "1\n2\n", "calc/tests/test_a.py": "1\n", "single.py": "1\n", "setup.py": "1\n"}
    )
    tests = Recipe.model_validate(DRAFT).tests.but(packages=("calc", "single"), protected=("calc/tests",))

    assert count_lines(original, tests) == 3
