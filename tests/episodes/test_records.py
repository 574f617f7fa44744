"""What an attempt is decided by, what comes of it, and a sink in memory."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import Graded, GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.episodes.records import EpisodeResult, MemorySink
from tests.episodes.theatre import an_episode

BY = GraderIdentity(name="strict", version="1")


def test_an_attempt_is_named_by_task_and_number() -> None:
    """And its record by a digest of everything."""
    spec = an_episode(index=2)
    assert spec.key == AttemptKey(task="task-0000", index=2)
    assert spec.digest.startswith("sha256:")
    assert spec.digest == an_episode(index=2, rounds=1).digest != an_episode(index=2, rounds=2).digest


@pytest.mark.parametrize(
    ("reasons", "says"),
    [
        ((Reason(stage=Stage.ENVIRONMENT, message="no route"),), "the submission could not be graded: no route"),
        ((), "the submission could not be graded: unknown reasons"),
    ],
)
def test_a_verdict_that_settles_nothing_is_raised(reasons: tuple[Reason, ...], says: str) -> None:
    """With its first reason; any other is returned."""
    verdict = Verdict(status=Status.GRADED, score=Score(numerator=1, denominator=2), grader=BY)
    assert EpisodeResult(outcome=Outcome.SUBMITTED, graded=Graded(verdict=verdict)).settled() is verdict
    failed = Verdict(status=Status.INFRASTRUCTURE, score=None, reasons=reasons, grader=BY)
    with pytest.raises(InfrastructureError) as raised:
        EpisodeResult(outcome=Outcome.SUBMITTED, graded=Graded(verdict=failed)).settled()
    assert str(raised.value) == says


def test_a_sink_keeps_a_tree_that_was_filled_in_full(tmp_path: Path) -> None:
    """Rounds lie beside it; what was there before is gone, and after an error so is what was begun."""
    sink = MemorySink(tmp_path / "below" / "tree")
    assert sink.made() is None
    assert sink.round(2) == tmp_path / "below" / "tree.round-2"
    for fill, place in ((sink.incoming, sink.submission), (lambda: sink.ending_round(2), sink.round(2))):
        for name in ("first", "second"):
            with fill() as folder:
                assert folder == place
                (folder / name).touch()
        assert [path.name for path in place.iterdir()] == ["second"]
        with pytest.raises(FileNotFoundError), fill() as folder:
            (folder / "third").read_bytes()
        assert not place.exists()


def test_a_trajectory_knows_the_steps_of_earlier_tries(tmp_path: Path) -> None:
    """And no step of its own."""
    sink = MemorySink(tmp_path)
    with sink.trajectory() as first:
        first.append("note", turn=1)
        assert first.recorded() == ()
    with sink.trajectory() as second:
        second.append("note", turn=2)
        assert second.recorded() == ({"kind": "note", "turn": 1},)
    assert sink.steps == [{"kind": "note", "turn": 1}, {"kind": "note", "turn": 2}]
    sink.keep_agent_log("a", b"1")
    sink.keep_agent_log("a", b"2")
    assert sink.logs == {"a": b"2"}
