"""`runs.progress`: what is said of a run while it goes on."""

from datetime import UTC, datetime

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.runs.progress import Tally
from groundup.store.records import VerdictLine

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
