"""With which interpreters, and an index of which day, an original is tried."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.settings import load
from groundup_factory.recipes import drafting
from groundup_factory.recipes.candidates import MINORS
from groundup_factory.recipes.drafting import Attempt, attempts, first_of_each, most_telling, runs_pytest
from tests.grading.library.laboratory import write_tree


@pytest.fixture(autouse=True)
def every_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has, it has all of them."""
    monkeypatch.setattr(drafting, "python_at_hand", lambda *_: True)


def test_an_old_release_is_tried_as_its_authors_had_it(tmp_path: Path) -> None:
    """The interpreter is of its time, and the index as of soon after; then comes what a user has today."""
    settings = load().but(cache_dir=tmp_path)
    old = attempts(tmp_path, None, "2021-05-03T00:00:00+00:00", settings)
    new = attempts(tmp_path, None, "2999-05-03T00:00:00+00:00", settings)
    unknown = attempts(tmp_path, None, "", settings)

    assert all(not one.old and one.day > "2026" for one in (*new, *unknown, *old[1:]))
    assert (old[0].old, old[0].day) == (True, "2021-08-01T00:00:00Z")
    assert attempts(tmp_path, "3.9", "2021-05-03", settings) == [Attempt("3.9", new[0].day)]


def test_a_release_of_last_year_is_tried_with_what_was_there_then_after_what_is_there_now(tmp_path: Path) -> None:
    """What it needs may have changed since; one from before every interpreter is tried with the oldest."""
    settings = load().but(cache_dir=tmp_path)
    released = datetime.now(UTC) - timedelta(days=400)
    now, then = attempts(tmp_path, None, released.isoformat(), settings)
    oldest = attempts(tmp_path, None, "2012-01-01", settings)[0]

    assert (now.old, then.old) == (False, True)
    assert then.day[:10] == str((released + timedelta(days=90)).date())
    assert MINORS.index(oldest.python) <= MINORS.index(then.python)
    assert oldest.day == "2021-07-01T00:00:00Z"


def test_a_later_interpreter_gets_what_works_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it alone is here, the index is seen as of a day when pytest knew it, not of the library's time."""
    monkeypatch.setattr(drafting, "python_at_hand", lambda minor, _: minor == "3.11")
    old, today = attempts(tmp_path, None, "2021-05-03T00:00:00+00:00", load())
    assert (old.python, old.day, today.python) == ("3.11", "2023-04-22T00:00:00Z", "3.11")


def test_a_folder_without_history_is_of_today(tmp_path: Path) -> None:
    """Its commit has the time 0, which says nothing of how old the library is."""
    assert not any(one.old for one in attempts(tmp_path, None, "1970-01-01T00:00:00+00:00", load()))


def test_a_project_for_no_interpreter_is_refused(tmp_path: Path) -> None:
    """The sentence says what it wants."""
    write_tree(tmp_path, {"PKG-INFO": "Metadata-Version: 2.1\nRequires-Python: <3\n"})
    with pytest.raises(TaskError, match="wants Python <3"):
        attempts(tmp_path, None, "", load())


@pytest.mark.parametrize(
    ("needs", "ini", "old", "added"),
    [
        (["pytest>=6", "six"], [], False, ()),
        (["pytest<8"], [], False, ("pytest<8,>=6.2",)),
        (["pytest==3.1"], [], False, ()),  # too old for the runner
        ([], [], True, ("pytest>=6.2",)),
        ([], ["asyncio_mode = auto"], False, ("pytest-asyncio",)),
        (["pytest-asyncio<1"], ["asyncio_mode = auto"], False, ()),
    ],
)
def test_the_version_of_pytest_is_one_that_the_project_allows(
    needs: list[str], ini: list[str], old: bool, added: tuple[str, ...]
) -> None:
    """Where nothing speaks against it, it is the usual one; coroutines have their plugin."""
    assert Attempt("3.12", "2026-01-01T00:00:00Z", old).added(needs, ini) == added


def test_tests_that_run_pytest_are_known(tmp_path: Path) -> None:
    """They ask for its fixtures for that; a name that holds one's is another."""
    write_tree(tmp_path, {"a/test_a.py": "def test(my_testdir): 1\n", "b/test_b.py": "def test(pytester): 1\n"})
    assert [runs_pytest(tmp_path, [place]) for place in ("a", "b")] == [False, True]


def test_the_first_line_of_a_name_counts() -> None:
    """However it is spelled."""
    assert first_of_each(["My.Lib>1", "six", "my-lib<1"]) == ("My.Lib>1", "six")


def test_the_attempt_that_came_furthest_is_told() -> None:
    """An environment that could not be made says less than tests that failed."""
    errors = [
        TaskError("it cannot be locked"),
        TaskError("7 of 9 tests pass; ..."),
        TaskError("3 of 9 tests pass"),
    ]
    assert str(most_telling(errors)).startswith("7")
    assert str(most_telling(errors[:1])) == "it cannot be locked"
