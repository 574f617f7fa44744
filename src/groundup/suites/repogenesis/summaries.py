"""What the suite makes of a run: figures by language, averaged as each grader's authors average them.

`official` averages leave out repositories without counted tests or extracted endpoints, and those that were not
handed in; `legacy` takes the share of all endpoints together. The others count every attempt.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict
from groundup.suites.base import Summary
from groundup.suites.repogenesis.data import ServiceProblem
from groundup.suites.repogenesis.published_report import (
    PublishedRepositoryResult,
    Share,
    api_coverage,
    deployment,
    pass_at_1,
)
from groundup.suites.repogenesis.report_format import repository

ALL = "all"
PUBLISHED = ("official", "published")
LEGACY = "legacy"
_COUNTED = ("files", "loc", "tokens", "functions", "classes", "complexity")

Verdicts = Mapping[AttemptKey, Verdict | None]
Figures = Callable[[Verdicts, Mapping[str, ServiceProblem]], Mapping[str, Score]]


def summaries(verdicts: Verdicts, grader: str, problems: Mapping[str, ServiceProblem]) -> Sequence[Summary]:
    """Return a table by language for graders whose authors publish one."""
    if grader in PUBLISHED:
        return (
            _table(
                "As the published harness averages",
                _published,
                verdicts,
                problems,
                ("left out of averages, as published: no counted test (Pass@1), no endpoint (API coverage)",),
            ),
        )
    if grader == LEGACY:
        return (
            _table(
                "As the older scripts average",
                _legacy,
                verdicts,
                problems,
                ("API coverage is that of all endpoints together; what was not handed in is in no average",),
            ),
        )
    return ()


def _table(
    headline: str,
    figures: Figures,
    verdicts: Verdicts,
    problems: Mapping[str, ServiceProblem],
    notes: tuple[str, ...],
) -> Summary:
    known = {key: verdict for key, verdict in verdicts.items() if key.task in problems}
    parts: dict[str, Verdicts] = {ALL: known}
    for word in sorted({problems[key.task].task.language for key in known}):
        parts[word] = {key: one for key, one in known.items() if problems[key.task].task.language == word}
    scores = {word: dict(figures(part, problems)) for word, part in parts.items()}
    columns = tuple(dict.fromkeys(name for row in scores.values() for name in row))
    rows = tuple((word, *(_cell(row.get(column)) for column in columns)) for word, row in scores.items())
    return Summary(headline=headline, columns=("", *columns), rows=rows, scores=scores, notes=notes)


def _cell(score: Score | None) -> str:
    if score is None or score.value is None:
        return "-"
    return f"{100 * score.value:.1f} % ({score.numerator:.4g}/{score.denominator:.0f})"


def _published(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return the three published averages; failures of the machine count as the harness counts them."""
    found = [
        repository(key.task, verdict, None, problems) for key, verdict in verdicts.items() if verdict is not None
    ]
    averaged: dict[str, Callable[[Sequence[PublishedRepositoryResult]], Share]] = {
        "deployed": deployment,
        "Pass@1": pass_at_1,
        "API coverage": api_coverage,
    }
    shares = {name: average(found) for name, average in averaged.items()}
    return {name: Score(numerator=share.sum, denominator=share.count) for name, share in shares.items()}


def _legacy(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return the older scripts' averages, and what their repositories hold on average."""
    graded = [one for one in verdicts.values() if one is not None and one.status is Status.GRADED]
    scores = {
        "deployed": _mean([one.scores.get("deployed") for one in graded]),
        "pass rate": _mean([one.score for one in graded]),
        "API coverage": _micro([one.scores.get("api_coverage") for one in graded]),
        "test coverage": _mean([one.scores.get("test_coverage") for one in graded]),
    }
    for name in _COUNTED:
        values = [value for one in graded if isinstance(value := one.facts.get(name), int)]
        scores[name] = Score(numerator=sum(values), denominator=len(values))
    return scores


def _mean(scores: Sequence[Score | None]) -> Score:
    values = [one.value for one in scores if one is not None and one.value is not None]
    return Score(numerator=math.fsum(values), denominator=len(values))


def _micro(scores: Sequence[Score | None]) -> Score:
    found = [one for one in scores if one is not None]
    return Score(numerator=sum(one.numerator for one in found), denominator=sum(one.denominator for one in found))
