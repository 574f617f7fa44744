"""The paper's table by difficulty."""

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.suites.nl2repobench.suite import by_difficulty

GRADER = GraderIdentity(name="strict", version="1")


def graded(passed: int, of: int) -> Verdict:
    """Return a verdict with a score."""
    return Verdict(status=Status.GRADED, score=Score(numerator=passed, denominator=of), grader=GRADER)


def test_difficulties_and_all() -> None:
    """What was not handed in or was tampered with counts 0, what failed with the machine does not count."""
    tampered = Verdict(status=Status.TAMPERED, score=None, grader=GRADER)
    broken = Verdict(status=Status.INFRASTRUCTURE, score=None, grader=GRADER, cacheable=False)
    verdicts = {
        AttemptKey(task="a"): graded(1, 2),
        AttemptKey(task="b"): graded(3, 3),
        AttemptKey(task="c"): None,
        AttemptKey(task="d"): tampered,
        AttemptKey(task="e"): broken,
        AttemptKey(task="f"): graded(1, 4),
    }
    found = by_difficulty(verdicts, {"a": "hard", "b": "easy", "c": "hard", "d": "easy", "e": "easy"})
    assert list(found.scores) == ["all", "easy", "hard", "unknown"]
    parts = {
        name: [(one.numerator, one.denominator) for one in row.values()] for name, row in found.scores.items()
    }
    assert parts == {
        "all": [(1.75, 5), (1, 5)],
        "easy": [(1, 2), (1, 2)],
        "hard": [(0.5, 2), (0, 2)],
        "unknown": [(0.25, 1), (0, 1)],
    }
    assert found.layout == "paper"
    assert found.claimed
    assert all(0 < row.scores["all"]["score"] < 1 for row in found.claimed)
