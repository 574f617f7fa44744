"""`runs.progress`: what is said of a run while it goes on."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from groundup.domain.subjects import AttemptKey, Outcome, Provenance, Submission
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.reports import lost
from groundup.runs.progress import (
    AttemptAt,
    AttemptBegan,
    AttemptEnded,
    AttemptMade,
    AttemptSays,
    RunBegan,
    RunEnded,
    Standing,
    Tally,
)
from groundup.store.records import VerdictLine
from tests.runs.configurations import Recorder

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def line(task: str, passed: int | None, *, complete: bool = True, cached: bool = False) -> VerdictLine:
    """Return a line with so many of four points; None: not attempted, below 0: an infrastructure failure."""
    graded = passed is not None and passed >= 0
    lost = (Reason(stage=Stage.TEST, message="lost"),) if passed != 4 else ()
    verdict = Verdict(
        status=Status.GRADED if graded else Status.INFRASTRUCTURE,
        score=Score(numerator=passed or 0, denominator=4) if graded else None,
        reasons=lost,
        grader=GraderIdentity(name="strict", version="1"),
        complete=complete,
    )
    return VerdictLine(
        attempt=AttemptKey(task=task),
        outcome=Outcome.NOT_ATTEMPTED if passed is None else Outcome.SUBMITTED,
        submission=None,
        verdict=None if passed is None else verdict,
        cached=cached,
        started_at=NOW,
        finished_at=NOW,
    )


def test_counts_are_those_of_each_attempts_last_line() -> None:
    """A later try replaces all of an earlier one: its score, its stage, and whether it was cached."""
    tally = Tally(6)
    for one in (
        line("a", 1, cached=True),
        line("b", None),
        line("c", -1),
        line("d", 4),
        line("e", 4, complete=False),
    ):
        tally.earlier(one)
    standing = tally.standing()
    assert (standing.settled, standing.graded, standing.not_attempted, standing.infrastructure) == (4, 3, 1, 1)
    assert (standing.cached, standing.solved) == (1, 1)
    assert standing.lost == {"not attempted": 1 / 1.75, "test": 0.75 / 1.75}
    assert standing.mean == (0.25 + 0 + 1 + 1) / 4
    tally.began(AttemptKey(task="a"))
    tally.ended(line("a", 4))
    standing = tally.standing()
    assert (standing.cached, standing.solved, standing.lost, standing.running) == (
        0,
        2,
        {"not attempted": 1.0},
        0,
    )


def test_what_is_made_again_loses_what_an_earlier_try_left() -> None:
    """An attempt whose submission is there and not graded is `made`, and nothing else, until it has a verdict."""
    tally = Tally(2)
    tally.earlier(line("a", 1, cached=True))
    tally.made_earlier(AttemptKey(task="a"))
    standing = tally.standing()
    assert (standing.made, standing.settled, standing.cached, standing.lost, standing.mean) == (
        1,
        0,
        0,
        {},
        None,
    )
    tally.began(AttemptKey(task="a"))
    tally.ended(line("a", 2))
    assert (tally.standing().made, tally.standing().settled, tally.standing().left_s is None) == (0, 1, False)


def test_nothing_is_left_when_all_is_settled() -> None:
    """No time is told before something was graded now; then it goes with what is not settled yet, to nothing."""
    tally = Tally(2)
    tally.earlier(line("a", None))
    assert tally.standing().left_s is None
    tally.began(AttemptKey(task="b"))
    tally.ended(line("b", 1))
    assert tally.standing().left_s == 0.0


def test_each_event_has_the_counts_of_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first to the last; what was cached, not attempted or failed says nothing of the time left."""
    now = [100.0]
    monkeypatch.setattr("groundup.runs.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    keys = [AttemptKey(task=name) for name in "abcdefg"]
    recorder = Recorder()
    tally = Tally(7, recorder)
    tally.earlier(line("a", 4))
    tally.run_began("one", Path("/runs/one"), nothing_for=2)
    tally.began(keys[1])
    tally.began(keys[2])
    now[0] += 10
    tally.at(keys[1], "builds")
    tally.says(keys[1], "Hello")
    cached = line("b", 2, cached=True)
    tally.ended(cached)
    failed = line("c", -1)
    tally.ended(failed, again=True)
    tally.began(keys[3])
    tally.abandoned()
    made = Submission(
        digest="sha256:" + "1" * 64, files=1, bytes=1, provenance=Provenance(source="agent", agent_name="x")
    )
    tally.began(keys[4])
    tally.made(keys[4], made)
    tally.began(keys[5])
    none = line("f", None)
    tally.ended(none)
    tally.began(keys[6])
    last = line("g", 1)
    tally.ended(last)
    ended = tally.run_ended(interrupted=True)

    began = Standing(total=7, settled=1, running=0, graded=1, solved=1, mean=1.0)
    half = began.but(settled=2, running=1, graded=2, cached=1, mean=0.75, lost={"test": 1.0})
    broken = half.but(running=0, infrastructure=1)
    fewer = broken.but(
        settled=3, not_attempted=1, made=1, mean=0.5, lost={"not attempted": 1 / 1.5, "test": 0.5 / 1.5}
    )
    final = fewer.but(
        settled=4,
        graded=3,
        mean=1.75 / 4,
        lost={"test": 1.25 / 2.25, "not attempted": 1 / 2.25},
        left_s=30.0,
    )
    assert recorder.events == [
        RunBegan(run_id="one", folder="/runs/one", standing=began, nothing_for=2),
        AttemptBegan(attempt=keys[1], standing=began.but(running=1)),
        AttemptBegan(attempt=keys[2], standing=began.but(running=2)),
        AttemptAt(attempt=keys[1], step="builds"),
        AttemptSays(attempt=keys[1], text="Hello"),
        AttemptEnded(line=cached, again=False, standing=half),
        AttemptEnded(line=failed, again=True, standing=broken),
        AttemptBegan(attempt=keys[3], standing=broken.but(running=1)),
        AttemptBegan(attempt=keys[4], standing=broken.but(running=1)),
        AttemptMade(attempt=keys[4], submission=made, standing=broken.but(made=1)),
        AttemptBegan(attempt=keys[5], standing=broken.but(running=1, made=1)),
        AttemptEnded(line=none, again=False, standing=fewer),
        AttemptBegan(attempt=keys[6], standing=fewer.but(running=1)),
        AttemptEnded(line=last, again=False, standing=final),
        RunEnded(standing=final, interrupted=True),
    ]
    assert ended == final


def test_what_lost_points_without_a_reason_is_told_as_such() -> None:
    """So is a submission that tampered with its grading: it is settled and counts nothing."""
    verdict = line("a", 1).verdict
    assert verdict is not None
    tally = Tally(3)
    tally.earlier(line("a", 1).but(verdict=verdict.but(reasons=())))
    tally.earlier(line("b", 4).but(verdict=verdict.but(status=Status.TAMPERED, score=None)))
    standing = tally.standing()
    assert (standing.settled, standing.graded, standing.tampered, standing.solved) == (2, 1, 1, 0)
    assert standing.mean == 0.125
    assert standing.lost == {"test": 1 / 1.75, lost.UNSTATED: 0.75 / 1.75}
