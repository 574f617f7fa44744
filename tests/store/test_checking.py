"""`store.checking`: what somebody edited, cut or deleted in a run's folder is named, and has no score."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.store.folder import RunFolder
from tests.store.edits import FOUND, REFUSED
from tests.store.folders import SHAPES, as_earlier, write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each suite, as this version writes it, as an earlier one did, and of an agent."""
    folder = tmp_path_factory.mktemp("runs")
    for suite in SHAPES:
        write_run(folder / suite, suite)
        as_earlier(write_run(folder / f"earlier-{suite}", suite))
    write_run(folder / "agent", "nl2repobench", made_by_agent=True)
    as_earlier(write_run(folder / "earlier-agent", "nl2repobench", made_by_agent=True))
    return folder


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy one of the runs, to be edited."""
    return lambda name: Path(shutil.copytree(runs / name, tmp_path / name))


def test_runs_fit_as_they_were_written(runs: Path) -> None:
    """Nothing is found in folders as this version and earlier ones wrote them; the latter say what they lack."""
    for path in runs.iterdir():
        found = RunFolder(path).records()
        assert found.faults == ()
        assert found.unchained == (4 if path.name.startswith("earlier") else 0)
        assert all(line.settles for line in found.lines.values())


CONSEQUENCES = {"garbage for a line": {"sqlparse"}}
"""What follows a change of which nobody can tell the place has no score either."""


@pytest.mark.parametrize("case", FOUND)
def test_what_does_not_fit_is_named_and_has_no_score(copied: Callable[[str], Path], case: str) -> None:
    """By file and line, in one sentence; all other attempts keep their scores."""
    name, edit, said, lost = FOUND[case]
    run = copied(name)
    edit(run)
    found = RunFolder(run).records()
    assert str(found.faults[0]).startswith(said)
    assert "\n" not in str(found.faults[0])
    scored = {key.task for key, one in found.lines.items() if one.verdict and one.verdict.score}
    known = set(RunFolder(run).config().planned.tasks)
    assert lost <= known - scored
    assert not any(one.settles for key, one in found.lines.items() if key.task in lost)
    assert known - scored == lost | CONSEQUENCES.get(case, set())


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(copied: Callable[[str], Path], case: str) -> None:
    """Nothing is read of it, and nothing waits for a pipe or a device."""
    name, edit, said = REFUSED[case]
    run = copied(name)
    edit(run)
    with pytest.raises(UsageError) as refused:
        RunFolder(run).records()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
