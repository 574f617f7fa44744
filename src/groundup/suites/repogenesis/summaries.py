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
    """Return the paper's table, and for graders whose authors publish one, a table by language."""
    if grader in PUBLISHED:
        headline, figures = "As the published harness averages", _published
        notes = (
            "left out of averages, as published: no counted test (Pass@1), no endpoint (API coverage), and in all "
            "three what was not handed in",
        )
    elif grader == LEGACY:
        headline, figures = "As the older scripts average", _legacy
        notes = ("API coverage is that of all endpoints together; what was not handed in is in no average",)
    else:
        return (_paper(verdicts, _every_attempt, problems),)
    paper = _paper(verdicts, figures, problems).but(notes=notes)
    return (_table(headline, figures, verdicts, problems, notes), paper)


_ZERO = Score(numerator=0, denominator=1)
_PAPER = {"Pass@1": ("Pass@1", "pass rate"), "AC": ("API coverage",), "DSR": ("deployed",)}
"""What the paper calls figures, and how tables here call them."""


def _paper(verdicts: Verdicts, figures: Figures, problems: Mapping[str, ServiceProblem]) -> Summary:
    """Return the paper's figures by language."""
    scores = {}
    for word, part in _by_language(verdicts, problems).items():
        found = figures(part, problems)
        scores[word] = {
            name: next((found[known] for known in names if known in found), Score(numerator=0, denominator=0))
            for name, names in _PAPER.items()
        }
    several = {word: row for word, row in scores.items() if word != ALL}
    return Summary(headline="RepoGenesis: agents and models by language", scores=several, layout="paper")


def _every_attempt(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return means over tasks of all attempts: what was not handed in, or was tampered with, counts 0."""
    scores: dict[str, Callable[[Verdict], Score | None]] = {
        "Pass@1": lambda verdict: verdict.score,
        "API coverage": lambda verdict: verdict.scores.get("api_coverage"),
        "deployed": lambda verdict: verdict.scores.get("deployed"),
    }
    judged = {key: one for key, one in verdicts.items() if one is None or one.status is not Status.INFRASTRUCTURE}
    found = {}
    for name, score_of in scores.items():
        tasks: dict[str, list[float]] = {}
        for key, one in judged.items():
            score = score_of(one) if one is not None and one.status is Status.GRADED else _ZERO
            if score is not None and score.value is not None:
                tasks.setdefault(key.task, []).append(score.value)
        means = [math.fsum(values) / len(values) for values in tasks.values()]
        found[name] = Score(numerator=math.fsum(means), denominator=len(means))
    return found


def _by_language(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> dict[str, Verdicts]:
    """Return all verdicts on known tasks, and those of each language."""
    known = {key: verdict for key, verdict in verdicts.items() if key.task in problems}
    parts: dict[str, Verdicts] = {ALL: known}
    for word in sorted({problems[key.task].task.language for key in known}):
        parts[word] = {key: one for key, one in known.items() if problems[key.task].task.language == word}
    return parts


def _table(
    headline: str,
    figures: Figures,
    verdicts: Verdicts,
    problems: Mapping[str, ServiceProblem],
    notes: tuple[str, ...],
) -> Summary:
    scores = {word: dict(figures(part, problems)) for word, part in _by_language(verdicts, problems).items()}
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
