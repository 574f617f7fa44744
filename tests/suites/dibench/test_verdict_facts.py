"""Counts in a verdict, and back out of it."""

from groundup.domain.verdicts import GraderIdentity, Status, Verdict
from groundup.manifests.records import DependencyKind
from groundup.suites.dibench.metrics import DependencyCounts, InstanceScore, MatchCounts
from groundup.suites.dibench.registry_check import Existence
from groundup.suites.dibench.summaries import Row, summaries
from groundup.suites.dibench.verdict_facts import (
    ELSEWHERE,
    counts_of,
    existence_of,
    facts_of,
    instance_score,
    read_lines,
    scores_of,
    written_lines,
    written_substitutes,
)

COUNTS = DependencyCounts(
    exact=MatchCounts(true_positives=1, false_positives=2, false_negatives=3),
    name_only=MatchCounts(true_positives=2, false_positives=1, false_negatives=2),
)
SCORE = InstanceScore(
    id="a", language="rust", subset="regular", expected=4, elsewhere=1, lines=9, tokens=99, total=COUNTS,
    kinds={DependencyKind.RUNTIME: COUNTS},
)  # fmt: skip


def verdict(score: InstanceScore, version: str) -> Verdict:
    """Return a verdict with these counts."""
    existence = {Existence.FOUND: 2, Existence.FAKE: 1}
    return Verdict(
        status=Status.GRADED,
        score=score.total.name_only.f1,
        scores=scores_of(score, existence),
        facts=facts_of(score, existence),
        counts=counts_of(score),
        grader=GraderIdentity(name="strict", version=version),
    )


def test_counts_come_back_as_they_went_in() -> None:
    """Declared elsewhere with its share of the names that should be there."""
    made = verdict(SCORE, "2")
    assert instance_score("a", made) == SCORE
    assert existence_of(made)[Existence.FAKE] == 1
    assert (made.scores[ELSEWHERE].numerator, made.scores[ELSEWHERE].denominator) == (1, 4)


def test_a_verdict_of_strict_1_is_read_as_it_was() -> None:
    """It says nothing of what is declared elsewhere, and stands in tables beside those that do."""
    old = verdict(SCORE.but(elsewhere=None), "1")
    assert ELSEWHERE not in {**old.facts, **old.scores}
    assert instance_score("a", old) == SCORE.but(elsewhere=None)
    alone, *_ = summaries([Row(score=instance_score("a", old))])
    both, *_ = summaries([Row(score=instance_score("a", one)) for one in (old, verdict(SCORE, "2"))])
    assert "elsewhere" not in alone.scores["all"]
    assert (both.scores["all"]["elsewhere"].numerator, both.scores["all"]["elsewhere"].denominator) == (1, 4)


def test_counts_that_earlier_versions_packed_into_facts_are_read() -> None:
    """Three numbers in a text for each notion of equality; found names are what is left of all that were added."""
    texts = {"exact": "1 2 3", "name_only": "2 1 2", "kind runtime": "1 2 3 2 1 2"}
    packed = verdict(SCORE, "2").but(counts={}, facts={**verdict(SCORE, "2").facts, **texts})
    assert instance_score("a", packed) == SCORE
    assert existence_of(packed) == existence_of(verdict(SCORE, "2"))


def test_lines_of_runners_come_back_as_they_went_in() -> None:
    """A number that is cut in its middle is another one: 71 tests of the original were read as 7."""
    lines = {f"{step} cargo test": (71 + step,) for step in range(24)}
    assert read_lines(written_lines(lines)) == lines


def test_what_stood_in_is_told_whole_or_counted() -> None:
    """Nobody takes the beginning for everything."""
    assert written_substitutes(["a for b", "c for d"]) == "a for b; c for d"
    told = written_substitutes([f"package-{number} 2 for 1" for number in range(500)])
    assert told.endswith("; and 450 more in ci.json")
