"""The runs of a folder: listed newest first, the one to finish, and what can be removed."""

from contextlib import closing
from pathlib import Path

import pytest

from groundup.api import runs
from groundup.api.run_list import list_runs, removable, remove_runs, unfinished_run
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup.store.folder import Hold
from tests.api.conftest import Predict
from tests.runs.configurations import TWO


@pytest.fixture
def three(settings: Settings, predict: Predict) -> Settings:
    """A full run, one with a failed attempt, and one that cannot be read."""
    runs.run(TWO, "oracle", run_id="full", settings=settings)
    failing = predict({"task-0000": "infrastructure", "task-0001": "half"})
    runs.evaluate(TWO, failing, run_id="failed", agent_name="me", settings=settings.but(retries=0))
    (settings.output / "torn").mkdir()
    (settings.output / "torn" / "config.json").write_text("{")
    return settings


def test_runs_are_listed_newest_first(three: Settings) -> None:
    """With subject, score and what is pending; of one that cannot be read, why."""
    found = list_runs(settings=three)
    assert [(one.run, one.suite, one.subject, one.score, one.pending, bool(one.unfit)) for one in found] == [
        ("failed", "toy, strict", "me", "50.0 % (0.500/1)", 1, False),
        ("full", "toy, strict", "oracle", "100.0 % (2/2)", 0, False),
        ("torn", "?", "?", "-", None, True),
    ]
    assert found.view.title == str(three.output)
    assert found.view.columns == ("run", "suite", "subject", "score", "began", "pending")
    assert [(row[0], row[5]) for row in found.view.rows] == [("failed", "1"), ("full", "0"), ("torn", "?")]
    assert found.view.rows[2][4] == ""
    assert found[0].began is not None
    assert found.view.rows[0][4].startswith(str(found[0].began.astimezone().year))


def test_the_one_run_that_is_not_finished_is_found(three: Settings, predict: Predict) -> None:
    """None and several are sentences; what somebody works on is not meant."""
    assert unfinished_run(settings=three) == "failed"
    with pytest.raises(UsageError) as caught:
        unfinished_run(three.output.parent / "absent", three)
    assert str(caught.value) == (
        f"no run in {three.output.parent}/absent has pending attempts; --output names another folder"
    )
    again = predict({"more/task-0000": "infrastructure"}) / "more"
    runs.evaluate(TWO, again, run_id="again", settings=three.but(retries=0))
    with pytest.raises(UsageError) as caught:
        unfinished_run(settings=three)
    assert str(caught.value) == "2 runs have pending attempts; name one of them: again, failed"
    with closing(Hold(three.output / "again")):
        assert unfinished_run(settings=three) == "failed"
        with pytest.raises(UsageError) as caught:
            removable(["full", "again"], three)
        assert str(caught.value) == f"a process works on {three.output}/again; end it first"


def test_runs_are_removed_whole(three: Settings, tmp_path: Path) -> None:
    """Each once; what others put there stays and is returned."""
    found = removable(["full", three.output / "full", "failed"], three)
    assert [(one.kind, one.path) for one in found] == [
        ("run", three.output / "full"), ("run", three.output / "failed")
    ]  # fmt: skip
    assert remove_runs(found, three) == []
    assert sorted(path.name for path in three.output.iterdir()) == ["torn"]
