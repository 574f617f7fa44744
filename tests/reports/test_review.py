"""Which attempts a person should look at, and what a report says where there are none."""

import pytest

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import TestResult
from groundup.reports.review import CLEAN, Review, review_of
from groundup.reports.views import views_of
from groundup.store.records import References, VerdictLine
from tests.reports.made import Run, report_of, run_of

KEY = AttemptKey(task="a", index=0)


def reviewed(run: Run, tests: tuple[TestResult, ...] = (), *, reference: bool = False) -> Review:
    """Return the review of a made run."""
    config, lines = run
    submissions = References(which="oracle") if reference else config.configuration.submissions
    return review_of(config.run_id, submissions, lines, dict.fromkeys(lines, tests))


def with_facts(run: Run, **facts: str | int) -> Run:
    """Return the run with facts in its verdicts."""
    config, lines = run
    changed = {}
    for key, line in lines.items():
        assert line.verdict is not None
        verdict = line.verdict.but(facts=facts)
        changed[key] = line.but(verdict=verdict)
    return config, changed


def handed_in(run: Run, digest: str) -> Run:
    """Return the run with one submission for all attempts."""
    config, lines = run
    same: dict[AttemptKey, VerdictLine] = {key: line.but(submission=digest) for key, line in lines.items()}
    return config, same


def test_a_run_without_signs_has_no_evidence_and_is_not_called_honest() -> None:
    """The sentence says what was looked for and how often; official verdicts are not counted as looked at."""
    looked = reviewed(with_facts(run_of("r", {"a": [(1, 2)], "b": [(2, 2)]}), signs="none"))
    assert (looked.suspects, looked.conclusion) == ((), f"{CLEAN} (verdicts checked: 2)")
    unlooked = reviewed(run_of("r", {"a": [(1, 2)]}))
    assert unlooked.conclusion == "no grader looked for signs of tampering; verdicts: 1"


@pytest.mark.parametrize(
    ("facts", "evidence"),
    [
        ({"signs": "processes left: 2"}, "processes left: 2"),
        ({"taken back": "package.json"}, "a build file held more than declarations: package.json"),
        ({"passed_with_false_expectations": 3}, "tests that pass with false expectations, too: 3"),
        (
            {"signs": "tests that pass with false expectations, too: 3", "passed_with_false_expectations": 3},
            "tests that pass with false expectations, too: 3",
        ),
    ],
)
def test_facts_become_flags(facts: dict[str, str | int], evidence: str) -> None:
    """Each sign names its evidence and the folder to look into."""
    (suspect,) = reviewed(with_facts(run_of("r", {"a": [(1, 2)]}), **facts)).suspects
    (flag,) = suspect.flags
    assert (flag.kind, flag.evidence) == ("sign", evidence)
    assert flag.look == "attempts/a/0/submission"


def test_tampered_verdicts_come_first() -> None:
    """They carry their reasons, and have no score."""
    run = run_of("r", {"a": [(1, 2)], "b": ["tampered"]})
    first = reviewed(run).suspects[0]
    assert (first.task, first.standing, first.score) == ("b", "tampered", None)
    assert first.flags[0].evidence == "it wrote its own results"


def test_the_same_bytes_twice_are_named_and_no_sign() -> None:
    """A model without chance writes the same twice: review and report say alike that nothing was found."""
    run = handed_in(run_of("r", {"a": [(1, 2), (1, 2)], "b": [(1, 2), (1, 2)]}), "sha256:1")
    found = reviewed(run)
    assert found.identical == (("a/0", "a/1"), ("b/0", "b/1"))
    assert found.suspects == ()
    assert not reviewed(run, reference=True).identical


def test_results_that_all_took_equally_long_are_flagged() -> None:
    """Forged events tend to carry one duration; honest ones differ."""
    forged = tuple(TestResult(id=str(n), outcome="passed", expected=True, duration_s=0.01) for n in range(20))
    honest = tuple(TestResult(id=str(n), outcome="passed", expected=True, duration_s=n / 1000) for n in range(20))
    assert [one.kind for one in reviewed(run_of("r", {"a": [(1, 2)]}), forged).suspects[0].flags] == ["results"]
    assert not reviewed(run_of("r", {"a": [(1, 2)]}), honest).suspects


def test_reports_say_what_was_seen() -> None:
    """A report never says more than that no evidence was found, and names the command where some was."""
    clean = "\n".join(
        next(iter(views_of(report_of([with_facts(run_of("r", {"a": [(1, 2)]}), signs="none")])))).below
    )
    assert clean.endswith(f"{CLEAN} (verdicts checked: 1)")
    signs = with_facts(run_of("r", {"a": [(1, 2)]}), signs="processes left: 2")
    flagged = "\n".join(next(iter(views_of(report_of([signs])))).below)
    assert "groundup review r" in flagged
    assert "untampered" not in clean + flagged
