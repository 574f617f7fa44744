"""What a source lost of its tests, and how that is said."""

from collections import Counter
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import Result, RunnerReport
from groundup_factory.recipes.losses import (
    causes_of,
    lacking_data,
    listed_causes,
    require_share,
    uncollected_functions,
)
from tests.grading.library.laboratory import write_tree

TESTS = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))


def reported(**said: tuple[str, str]) -> RunnerReport:
    """Return a report on tests by their names: outcome and message of each."""
    results = {
        NumberedTest(f"tests/test_a.py::{name}"): Result.model_validate({"outcome": outcome, "message": message})
        for name, (outcome, message) in said.items()
    }
    return RunnerReport(results=results)


@pytest.mark.parametrize(
    ("kept", "every", "told"),
    [
        (5, 5, None),
        (4, 4, "4 of 4 tests pass, and a task needs 5 (why)"),
        (80, 100, None),
        (79, 100, "79 of 100 tests pass; 21 would be left out, more than --left-out 0.2 of them (why)"),
    ],
)
def test_a_task_needs_some_tests_and_most_of_them(kept: int, every: int, told: str | None) -> None:
    """Both bounds are allowed themselves."""
    if told is None:
        require_share(kept, every, " (why)", 0.2)
        return
    with pytest.raises(TaskError) as refused:
        require_share(kept, every, " (why)", 0.2)
    assert str(refused.value) == told


def test_causes_are_counted_and_the_first_is_quoted() -> None:
    """Of what most of them say: a file that was not collected, or a test that failed; skipped ones last."""
    report = reported(a=("passed", ""), b=("failed", "no\n  way"), c=("skipped", "later"), d=("failed", "other"))
    broken = report.but(collection_errors={"tests/test_b.py": "ImportError: x"})

    assert causes_of(report, []) == " (2 failed, 1 skipped; first: no way)"
    assert causes_of(broken, ["tests/test_b.py::x"] * 2) == (
        " (2 failed, 2 not collected, 1 skipped; first: no way)"
    )
    assert causes_of(broken, ["tests/test_b.py::x"] * 3) == (
        " (3 not collected, 2 failed, 1 skipped; first: tests/test_b.py: ImportError: x)"
    )
    assert causes_of(reported(c=("skipped", "later")), []) == " (1 skipped; first: later)"
    assert listed_causes(Counter(a=1), "x" * 200) == f" (1 a; first: {'x' * 160})"
    assert (listed_causes(Counter(a=2)), listed_causes(Counter(a=0), "said")) == (" (2 a)", "")


def test_data_that_only_the_authors_have_is_named(tmp_path: Path) -> None:
    """A file beside the tests that the source lacks, and a set of parameters made of nothing."""
    original = write_tree(tmp_path, {"tests/data/there.txt": ""})
    absent = "FileNotFoundError: [Errno 2] No such file or directory: '/workspace/{}'"
    report = reported(
        a=("failed", absent.format("tests/data/gone.txt")),
        b=("failed", absent.format("tests/data/there.txt")),
        c=("passed", absent.format("tests/data/gone.txt")),
        d=("error", absent.format("other/gone.txt")),
        e=("skipped", "got empty parameter set for (x)"),
    )
    assert lacking_data(report, TESTS, original) == {
        "tests/test_a.py::a": "tests/test_a.py::a reads tests/data/gone.txt, which is not in this source",
        "tests/test_a.py::e": "tests/test_a.py::e has an empty set of parameters: what its cases are made from is "
        "not in this source",
    }


def test_functions_of_files_from_which_nothing_was_taken_are_missed(tmp_path: Path) -> None:
    """Unless pytest is told to pass their folder by, or takes other files for tests."""
    text = "def test_x(): ...\nclass TestA:\n    async def test_y(self): ...\ndef helper(): ...\n"
    names = ("tests/test_a.py", "tests/test_b.py", "tests/deep/test_c.py", "tests/test_broken.py")
    original = write_tree(tmp_path, {**dict.fromkeys(names, text), "tests/test_broken.py": "def"})
    report = reported(a=("passed", ""))
    missed = [
        f"{name}::{test}" for name in ("tests/deep/test_c.py", "tests/test_b.py") for test in ("test_x", "test_y")
    ]

    assert uncollected_functions(report, TESTS, original) == missed
    for patterns in ("deep", "x\n  dee*", "tests/deep"):
        passing_by = TESTS.but(ini=(f"norecursedirs = {patterns}",))
        assert uncollected_functions(report, passing_by, original) == missed[2:]
    assert uncollected_functions(report, TESTS.but(ini=("python_files = check_*.py",)), original) == []
