"""The table of features: every module has one row, and every row has modules."""

from pathlib import Path

import pytest
from benchmarks.features import ROOT, Feature, counted, features, is_stale, table

ALL = Feature(name="all", missed="everybody", modules=("groundup", "groundup.runs"))
PART = Feature(name="plans", missed="who plans", modules=("groundup.runs.plan", "groundup_more"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a tiny checkout: modules of one to three lines, and tests."""
    for name, lines in {
        "src/groundup/__init__.py": 1,
        "src/groundup/runs/__init__.py": 1,
        "src/groundup/runs/plan.py": 2,
        "src/groundup_more/extra.py": 3,
        "tests/runs/test_plan.py": 4,
        "tests/groundup_more/test_extra.py": 5,
        "tests/shared.py": 6,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n" * lines)
    return tmp_path


def test_every_module_of_the_checkout_has_a_row() -> None:
    """A module without a row, and a row without modules, fail `make check`; a removed package takes its rows."""
    found = [one for one in features() if (ROOT / "src" / one.owner).is_dir()]
    counts = counted(found)
    assert {one.name for one in found if counts.source[one.name]} == {one.name for one in found}
    assert all(one.missed for one in found)


def test_the_longest_prefix_decides(checkout: Path) -> None:
    """Lines of sources and tests go to the row that names them most exactly; others are shared."""
    counts = counted([ALL, PART], checkout)
    assert counts.source == {"all": 2, "plans": 5}
    assert counts.tests == {"plans": 9}
    assert counts.shared == 6
    assert "| plans | `groundup` | 5 | 9 | who plans |" in table([ALL, PART], counts)


@pytest.mark.parametrize("name", ["src/groundup/new/thing.py", "src/groundup_other/thing.py"])
def test_a_module_without_a_row_is_named(checkout: Path, name: str) -> None:
    """A new part of groundup, and a new package, need a row with somebody who would miss it."""
    (checkout / name).parent.mkdir()
    (checkout / name).write_text("pass\n")
    with pytest.raises(SystemExit, match=r"\.thing is in no row"):
        counted([ALL, PART], checkout)


def test_a_row_without_modules_is_named(checkout: Path) -> None:
    """What was deleted leaves the table, too; a package that was removed whole is only absent."""
    (checkout / "src/groundup/runs/plan.py").unlink()
    with pytest.raises(SystemExit, match=r"no module is left for groundup\.runs\.plan"):
        counted([ALL, PART], checkout)
    absent = PART.but(modules=("groundup_gone",))
    (checkout / "src/groundup_more/extra.py").unlink()
    assert counted([ALL, absent], checkout).source["plans"] == 0


def test_small_changes_leave_the_page_as_it_is() -> None:
    """A figure counts as wrong beyond 2 %, a word at once."""
    assert not is_stale("| runs | 1,000 |", "| runs | 1,019 |")
    assert is_stale("| runs | 1,000 |", "| runs | 1,030 |")
    assert is_stale("| runs | 1,000 |", "| run | 1,000 |")
    assert is_stale("| runs | 1,000 |", "| runs | 1,000 | more |")
