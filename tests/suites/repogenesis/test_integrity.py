"""What the strict verdict makes of a check that says whether to believe a run of tests."""

from pathlib import Path

import pytest

from groundup.domain.verdicts import GraderIdentity, Score, Status
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.install import InstalledService, StartCommand
from groundup.grading.services.records import InstallOutcome, Readiness
from groundup.grading.services.testing import TestRun
from groundup.suites.repogenesis.coverage import covered
from groundup.suites.repogenesis.observing import Observed
from groundup.suites.repogenesis.strict import strict_verdict
from tests.grading.library.laboratory import NO_ENVIRONMENT
from tests.suites.repogenesis.java_trials import java_problem


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
    observed = Observed(
        installed=InstalledService(outcome=InstallOutcome.SUCCEEDED, environment=NO_ENVIRONMENT, seconds=1),
        start=StartCommand(found="start.sh", argv=("true",)),
        readiness=Readiness(answered_s=1, in_time=True),
        health={"/health": 200},
        tests=TestRun(
            results={NumberedTest.of("A#a"): Result(outcome="passed")}, integrity=integrity, integrity_why=why
        ),
    )
    verdict = strict_verdict(problem, observed, covered(problem, ()), GraderIdentity(name="s", version="2"))
    told = {name: verdict.facts[name] for name in ("integrity", "integrity_why") if name in verdict.facts}
    assert told == {name: said for name, said in {"integrity": integrity, "integrity_why": why}.items() if said}
    assert (verdict.status, verdict.score) == (status, score)
    assert verdict.scores["deployed"] == Score(numerator=1, denominator=1)
