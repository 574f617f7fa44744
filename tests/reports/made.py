"""Runs made up for reports, from one word or number per attempt."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.reports.document import Report
from groundup.reports.plots import Plot
from groundup.reports.summary import report_run, side_by_side
from groundup.store.records import ConfigFile, Planned, Predictions, RunConfiguration, VerdictLine
from tests.needs import lack

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
GRADER = GraderIdentity(name="strict", version="3", data_version="d1", environment="rebuilt")
Word = str | tuple[float, float]
"""(numerator, denominator), or tampered, infrastructure, not_attempted, pending."""

Run = tuple[ConfigFile, dict[AttemptKey, VerdictLine]]


def report_of(runs: Iterable[Run]) -> Report:
    """Report *runs*, each compared to the first."""
    return side_by_side([report_run(*run) for run in runs])


def run_of(
    name: str,
    words: dict[str, list[Word]],
    grader: GraderIdentity = GRADER,
    suite: str = "toy 1",
    loaded: str = "toy",
) -> Run:
    """Return a run of the suite *loaded* whose attempts ended as *words* say, by task."""
    attempts = max(map(len, words.values()))
    configuration = RunConfiguration(suite=loaded, submissions=Predictions(path="/p", model_name="m"))
    planned = Planned(tasks=tuple(words), attempts=attempts)
    pinned = {"suite": suite}
    config = ConfigFile(
        run_id=name,
        created_at=BEGAN,
        suite_name="toy",
        grader=grader.name,
        configuration=configuration,
        planned=planned,
        pinned=pinned,
        digest=ConfigFile.digest_for(configuration, planned, pinned),
    )
    lines = {}
    for task, ended in words.items():
        for index, word in enumerate(ended):
            key = AttemptKey(task=task, index=index)
            if word != "pending":
                lines[key] = _line(key, word, grader)
    return config, lines


def _line(key: AttemptKey, word: Word, grader: GraderIdentity) -> VerdictLine:
    return VerdictLine(
        attempt=key,
        outcome=Outcome.NOT_ATTEMPTED if word == "not_attempted" else Outcome.SUBMITTED,
        submission=None,
        verdict=_verdict(word, grader),
        started_at=BEGAN,
        finished_at=BEGAN + timedelta(seconds=2),
    )


def _verdict(word: Word, grader: GraderIdentity) -> Verdict | None:
    if word == "not_attempted":
        return None
    if word == "tampered":
        reasons = (Reason(stage=Stage.TEST, message="it wrote its own results"),)
        return Verdict(status=Status.TAMPERED, score=None, reasons=reasons, grader=grader)
    if word == "infrastructure":
        reasons = (Reason(stage=Stage.ENVIRONMENT, message="no network"),)
        return Verdict(status=Status.INFRASTRUCTURE, score=None, reasons=reasons, grader=grader, cacheable=False)
    assert isinstance(word, tuple)
    numerator, denominator = word
    full = numerator == denominator
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=numerator, denominator=denominator),
        scores={"declared": Score(numerator=numerator, denominator=denominator + 10)},
        reasons=() if full else (Reason(stage=Stage.TEST, message="some *failed* | \x1b[31m"),),
        grader=grader,
    )


def words(plot: Plot) -> str:
    """Return what the bars of *plot* say, a line each."""
    return "\n".join(bar.words for row in plot.rows for bar in row.bars)


def need_drawing() -> None:
    """Go on where plots can become pictures."""
    if find_spec("vl_convert") is None:
        lack("vl-convert", "the extra plots is not installed")
