"""What the strict verdict makes of a check that says whether to believe a run of tests."""

from pathlib import Path

import pytest

from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.install import InstalledService, StartCommand
from groundup.grading.services.records import InstallOutcome, Readiness
from groundup.grading.services.testing import TestRun
from groundup.reports.causes import grouped, kinds_of
from groundup.suites.repogenesis.coverage import covered
from groundup.suites.repogenesis.observing import Observed
from groundup.suites.repogenesis.strict import strict_verdict
from groundup.suites.repogenesis.tasks import ServiceProblem
from tests.grading.library.laboratory import NO_ENVIRONMENT
from tests.suites.repogenesis.java_trials import java_problem


def judged(problem: ServiceProblem, tests: TestRun) -> Verdict:
    """Return the verdict on a service that was deployed, and whose hidden tests ended so."""
    observed = Observed(
        installed=InstalledService(outcome=InstallOutcome.SUCCEEDED, environment=NO_ENVIRONMENT, seconds=1),
        start=StartCommand(found="start.sh", argv=("true",)),
        readiness=Readiness(answered_s=1, in_time=True),
        health={"/health": 200},
        tests=tests,
    )
    return strict_verdict(problem, observed, covered(problem, ()), GraderIdentity(name="s", version="2"))


def test_a_lost_test_is_lost_also_where_more_ran_than_the_record_counts(tmp_path: Path) -> None:
    """A record of one test for two would make one failure of two full marks."""
    problem = java_problem(tmp_path / "data")
    one = problem.but(task=problem.task.but(tests=problem.task.tests.but(count=1)))
    passed, failed = Result(outcome="passed"), Result(outcome="failed", message="no")
    results = {NumberedTest.of("A#a"): passed, NumberedTest.of("A#b"): failed}

    assert judged(one, TestRun(results=results)).score == Score(numerator=0, denominator=1)


def test_the_most_that_can_be_had_stands_beside_what_was_lost(tmp_path: Path) -> None:
    """Nobody looks for the cause of points that no service gets."""
    problem = java_problem(tmp_path / "data")
    flawed = problem.but(task=problem.task.but(tests=problem.task.tests.but(unpassable=("A#a",))))
    run = TestRun(results={NumberedTest.of("A#a"): Result(outcome="failed", message="no")})

    assert "11 of 12 is the most that can be had" in [one.message for one in judged(flawed, run).reasons]


def test_what_nobody_passes_is_told_last_and_promises_no_points() -> None:
    """Whoever mends by `why` begins with what can be mended."""
    failed = Result(outcome="failed", message="assert 1 == 2", probably="app.py:1: x")
    ids = ("t.py::test_a", "t.py::test_b", "t.py::test_c")
    tests = TestRun(results={NumberedTest.of(one): failed for one in ids}).as_records(ids[:2])
    verdict = Verdict(
        status=Status.GRADED,
        score=Score(numerator=1, denominator=4),
        grader=GraderIdentity(name="strict", version="2"),
    )
    groups = grouped(tests)

    assert [group.cause.first for group in groups] == ["t.py::test_c", "t.py::test_a"]
    assert [group.cause.probably for group in groups] == ["app.py:1: x", ""]
    assert groups[1].cause.said == "no submission passes it: assert 1 == 2"
    assert [(one.kind, one.tests, one.points) for one in kinds_of(groups, verdict)] == [("wrong value", 1, 25.0)]


@pytest.mark.parametrize(
    ("integrity", "why", "status", "score"),
    [
        (None, None, Status.GRADED, Score(numerator=1, denominator=12)),
        ("clean", None, Status.GRADED, Score(numerator=1, denominator=12)),
        ("suspect", "odd", Status.GRADED, Score(numerator=1, denominator=12)),
        ("tampered", "forged", Status.TAMPERED, None),
    ],
)
def test_only_tampered_takes_the_score(
    tmp_path: Path, integrity: str | None, why: str | None, status: Status, score: Score | None
) -> None:
    """The answer and its sentence stand among the facts, where there was a check; deployment stands beside it."""
    problem = java_problem(tmp_path / "data")
    run = TestRun(
        results={NumberedTest.of("A#a"): Result(outcome="passed")}, integrity=integrity, integrity_why=why
    )
    verdict = judged(problem, run)
    told = {name: verdict.facts[name] for name in ("integrity", "integrity_why") if name in verdict.facts}
    assert told == {name: said for name, said in {"integrity": integrity, "integrity_why": why}.items() if said}
    assert (verdict.status, verdict.score) == (status, score)
    assert verdict.scores["deployed"] == Score(numerator=1, denominator=1)
