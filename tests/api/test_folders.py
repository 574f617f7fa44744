"""Where a run lies that somebody names, and what else is said."""

import os
from pathlib import Path

import pytest

from groundup.api.folders import holds_runs, run_folder, runs_below
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from tests.store.folders import write_run


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings whose output folder has two runs and another folder; the working folder is beside it."""
    for at, name in enumerate(("second", "first")):
        config = write_run(tmp_path / "runs" / name, "dibench") / "config.json"
        os.utime(config, (1000 - at, 1000 - at))
    (tmp_path / "runs" / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    return Settings(output=tmp_path / "runs")


def test_a_run_is_a_path_or_an_id_or_the_latest(found: Settings, tmp_path: Path) -> None:
    """A path first; the latest is the one begun last, unless one is called so."""
    assert run_folder("first", found) == tmp_path / "runs" / "first"
    assert run_folder(tmp_path / "runs" / "first", found) == tmp_path / "runs" / "first"
    assert run_folder("latest", found) == tmp_path / "runs" / "second"
    write_run(tmp_path / "first", "dibench")
    assert run_folder("first", found) == Path("first")
    write_run(tmp_path / "runs" / "latest", "dibench")
    os.utime(tmp_path / "runs" / "latest" / "config.json", (1, 1))
    assert run_folder("latest", found) == tmp_path / "runs" / "latest"


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("notes", "{output}/notes is not a run folder: it has no config.json; `groundup runs` lists runs"),
        (
            "frist",
            "unknown run 'frist'; did you mean 'first'? There are first, second (looked in "
            "{output}; --output names another folder)",
        ),
        (
            "first/config.json",
            "unknown run 'first/config.json'; choose from: first, second (looked in "
            "{output}; --output names another folder)",
        ),
    ],
)
def test_what_is_no_run_is_told_with_what_there_is(found: Settings, named: str, says: str) -> None:
    """And where it was looked for."""
    with pytest.raises(UsageError) as caught:
        run_folder(named, found)
    assert str(caught.value) == says.format(output=found.output)


def test_runs_and_reports_are_found_at_any_depth(found: Settings, tmp_path: Path) -> None:
    """Sorted; nothing in a run, and no other files."""
    (tmp_path / "runs" / "notes" / "report-old.json").touch()
    (tmp_path / "runs" / "notes" / "my-report.json").touch()
    (tmp_path / "runs" / "first" / "report.json").touch()
    assert runs_below(found.output) == [
        found.output / "first",
        found.output / "notes" / "report-old.json",
        found.output / "second",
    ]
    assert holds_runs(found.output)
    assert not holds_runs(found.output / "first")
    assert not holds_runs(found.output / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as caught:
        runs_below(tmp_path / "empty")
    assert str(caught.value) == f"{tmp_path / 'empty'} holds neither runs nor report*.json"
