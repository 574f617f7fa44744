"""Between verdicts and the published harness's report: writing one from a run, and reading one as verdicts.

The report of the published harness: its records, its averages and its table.

Faults included: a repository without counted tests leaves the average of Pass@1, one without extracted endpoints
that of API coverage, and a task without a submission is not there at all.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError
from typing_extensions import override

from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, count, printable
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Subject
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.domain.version import __version__
from groundup.suites.base import AttemptResult, OwnReport, ReportForm, Results
from groundup.suites.repogenesis import coverage
from groundup.suites.repogenesis.tasks import ServiceProblem

WIDTH = 90
Language = Literal["python", "java"]


class _Foreign(Record):
    """Written by a program of others, which may say more than is read here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublishedDeployment(_Foreign):
    """`dsr`: whether the service was deployed."""

    success: bool
    message: str = ""


class PassAt1(_Foreign):
    """`pass_at_1`: counts of tests, and the share rounded to four digits."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    total: int = 0
    score: float = 0.0


class ApiCoverage(_Foreign):
    """`api_coverage`: endpoints that were extracted and found."""

    total_apis: int = 0
    implemented_apis: int = 0
    score: float = 0.0


class PublishedRepositoryResult(_Foreign):
    """One entry of `results`."""

    repo_name: str
    lang: Language
    port: int = 0
    framework: str = "any"
    exit_code: int | None = Field(
        default=None, description="-1 timeout, -2 Docker, -3 build, -99 exception; None: not run"
    )
    dsr: PublishedDeployment
    pass_at_1: PassAt1
    api_coverage: ApiCoverage | None = None
    build_error: str | None = None
    error: str | None = None
    elapsed_seconds: float = 0.0
    attempt: int | None = Field(
        default=None, description="only in reports of groundup's runs with several attempts at a repository"
    )


class PublishedMetadata(_Foreign):
    """`metadata`; all but the first two may be missing."""

    timestamp: str
    harness_version: str
    model_name: str | None = None
    agent_name: str | None = None
    total_elapsed_seconds: float | None = None
    predictions_dir: str | None = None
    grader: str | None = Field(default=None, description="only in reports that groundup wrote")
    not_in_results: tuple[str, ...] = Field(default=(), description="likewise: tasks without a verdict")


class ByLanguage(_Foreign):
    """A figure for each language."""

    python: float
    java: float


class Averages(_Foreign):
    """`summary`."""

    total_repos: int
    python_repos: int = 0
    java_repos: int = 0
    avg_pass_at_1: float
    avg_api_coverage: float
    deployment_success_rate: float
    pass_at_1_by_lang: ByLanguage | None = None
    ac_by_lang: ByLanguage | None = None
    dsr_by_lang: ByLanguage | None = None


class PublishedReport(_Foreign):
    """`report_<run id>.json`."""

    metadata: PublishedMetadata
    summary: Averages
    results: tuple[PublishedRepositoryResult, ...]


class Share(Record):
    """A published average before rounding: a sum and what it is divided by."""

    sum: float
    count: int

    @property
    def rounded(self) -> float:
        """The published figure; 0 over nothing."""
        return round(self.sum / self.count, 4) if self.count else 0.0


def pass_at_1(results: Sequence[PublishedRepositoryResult]) -> Share:
    """Average the rounded shares of repositories with at least one counted test."""
    scores = [one.pass_at_1.score for one in results if one.pass_at_1.total > 0]
    return Share(sum=sum(scores), count=len(scores))


def api_coverage(results: Sequence[PublishedRepositoryResult]) -> Share:
    """Average the rounded shares of repositories with at least one extracted endpoint."""
    found = [one.api_coverage for one in results if one.api_coverage is not None]
    scores = [one.score for one in found if one.total_apis > 0]
    return Share(sum=sum(scores), count=len(scores))


def deployment(results: Sequence[PublishedRepositoryResult]) -> Share:
    """Return how many of all were deployed."""
    return Share(sum=sum(one.dsr.success for one in results), count=len(results))


def averages(results: Sequence[PublishedRepositoryResult]) -> Averages:
    """Return the published summary."""
    python, java = of_language(results, "python"), of_language(results, "java")
    return Averages(
        total_repos=len({one.repo_name for one in results}),
        python_repos=len({one.repo_name for one in python}),
        java_repos=len({one.repo_name for one in java}),
        avg_pass_at_1=pass_at_1(results).rounded,
        avg_api_coverage=api_coverage(results).rounded,
        deployment_success_rate=deployment(results).rounded,
        pass_at_1_by_lang=ByLanguage(python=pass_at_1(python).rounded, java=pass_at_1(java).rounded),
        ac_by_lang=ByLanguage(python=api_coverage(python).rounded, java=api_coverage(java).rounded),
        dsr_by_lang=ByLanguage(python=deployment(python).rounded, java=deployment(java).rounded),
    )


def of_language(
    results: Sequence[PublishedRepositoryResult], language: Language
) -> list[PublishedRepositoryResult]:
    return [one for one in results if one.lang == language]


def summary_table(results: Sequence[PublishedRepositoryResult]) -> str:
    """Return the table that the published harness prints at its end."""
    figures = averages(results)
    lines = ["", "=" * WIDTH, "  RepoGenesis Evaluation Results", "=" * WIDTH, ""]
    lines += [_cells("Repo Name", "Lang", "DSR", "Pass@1", "AC"), "-" * WIDTH]
    lines += [_row(one) for one in sorted(results, key=lambda one: (one.repo_name, one.attempt or 0))]
    lines += [
        "-" * WIDTH,
        f"  Total repos:              {figures.total_repos}",
        f"  Avg Pass@1:               {figures.avg_pass_at_1:.4f}",
        f"  Deployment Success Rate:   {figures.deployment_success_rate:.4f}",
        f"  Avg API Coverage:          {figures.avg_api_coverage:.4f}",
    ]
    if results:
        lines.append("")
        for name, word, by_language in (
            ("Pass@1", "", figures.pass_at_1_by_lang),
            ("DSR", "   ", figures.dsr_by_lang),
            ("AC", "    ", figures.ac_by_lang),
        ):
            if by_language is not None:
                python, java = f"{by_language.python:.4f}", f"{by_language.java:.4f}"
                lines.append(f"  {name} (Python):{word}  {python}  | {name} (Java):{word}  {java}")
    return "\n".join([*lines, "=" * WIDTH, ""])


def _row(one: PublishedRepositoryResult) -> str:
    tests, coverage = one.pass_at_1, one.api_coverage
    return _cells(
        one.repo_name[:34] if one.attempt is None else f"{one.repo_name[:30]}/{one.attempt}",
        one.lang,
        "PASS" if one.dsr.success else "FAIL",
        f"{tests.passed}/{tests.total} ({tests.score:.2f})",
        "N/A" if coverage is None else f"{coverage.implemented_apis}/{coverage.total_apis} ({coverage.score:.2f})",
    )


def _cells(*cells: str) -> str:
    return "{:<35} {:<8} {:<6} {:<10} {:<10}".format(*cells)


FORMAT = "repogenesis"
NOT_RUN = "Docker evaluation skipped"
_EXCEPTION, _DOCKER, _BUILD_FAILED = -99, -2, -3
_FAILED_ELSEWHERE = (_EXCEPTION, _DOCKER)
_OPTIONAL = frozenset({"api_coverage", "build_error", "error", "attempt"})


class PublishedForm(ReportForm):
    """The published harness's form, for these problems."""

    name = FORMAT

    def __init__(self, problems: Mapping[str, ServiceProblem]) -> None:
        self._problems = problems

    @override
    def write(self, results: Results) -> OwnReport:
        return write_report(results, self._problems)

    @override
    def read(self, document: bytes, name: str) -> Results | None:
        return read_report(document, name)


def write_report(results: Results, problems: Mapping[str, ServiceProblem]) -> OwnReport:
    """Return *results* in the published form, of several attempts at a task an entry each."""
    several = any(one.key.index for one in results.attempts)
    found = [
        repository(one.key.task, one.verdict, one.seconds, problems).but(
            attempt=one.key.index if several else None
        )
        for one in sorted(results.attempts, key=lambda one: (one.key.task, one.key.index))
        if one.verdict is not None and one.key.task in problems
    ]
    left_out = [one.key.task for one in results.attempts if one.verdict is None]
    left_out = sorted({*left_out, *(key.task for key in results.pending)} - {one.repo_name for one in found})
    metadata = _metadata(results, tuple(sorted(left_out)))
    document = {
        "metadata": metadata.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
        "summary": _summary(averages(found)),
        "results": [_entry(one) for one in found],
    }
    notes = []
    if several:
        notes.append("several attempts at a task: an entry each, and averages over all of them")
    if left_out:
        notes.append(
            f"not in the results, as published: {count(len(left_out), 'task')} without a verdict or a submission"
        )
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return OwnReport(document=text.encode() + b"\n", table=summary_table(found), notes=tuple(notes))


def repository(
    task: str, verdict: Verdict, seconds: float | None, problems: Mapping[str, ServiceProblem]
) -> PublishedRepositoryResult:
    """Return one verdict of whatever grader as an entry of the published results."""
    known = problems[task].task
    facts = verdict.facts
    if verdict.status is Status.INFRASTRUCTURE:
        sentence = verdict.reasons[0].message if verdict.reasons else "infrastructure"
        deployed, tests, exit_code = (
            PublishedDeployment(success=False, message=f"Evaluation error: {sentence}"),
            PassAt1(),
            _EXCEPTION,
        )
    elif verdict.grader.name == coverage.NAME:
        deployed, tests, exit_code = PublishedDeployment(success=False, message=NOT_RUN), PassAt1(), None
    else:
        deployed, tests = _deployment(verdict), _tests(verdict)
        exit_code = _whole(facts.get("exit_code"), 0)
    return PublishedRepositoryResult(
        repo_name=task,
        lang=known.language,
        port=known.port,
        framework=known.framework,
        exit_code=exit_code,
        dsr=deployed,
        pass_at_1=tests,
        api_coverage=_coverage(verdict),
        elapsed_seconds=round(verdict.timings_s.get("total", seconds or 0.0), 2),
    )


def _deployment(verdict: Verdict) -> PublishedDeployment:
    success = verdict.facts.get("dsr_success")
    if not isinstance(success, bool):
        score = verdict.scores.get("deployed")
        success = score is not None and score.value == 1.0
    sentence = verdict.facts.get("dsr_message")
    if sentence is None:
        sentence = next((one.message for one in verdict.reasons if one.stage in (Stage.INSTALL, Stage.START)), "")
    return PublishedDeployment(success=success, message=str(sentence))


def _tests(verdict: Verdict) -> PassAt1:
    facts, score = verdict.facts, verdict.score or Score(numerator=0, denominator=0)
    passed, total = round(score.numerator), round(score.denominator)
    errors, skipped = _whole(facts.get("errors"), 0), _whole(facts.get("skipped"), 0)
    return PassAt1(
        passed=passed,
        failed=_whole(facts.get("failed"), max(0, total - passed - errors)),
        errors=errors,
        skipped=skipped,
        total=total,
        score=round(passed / total, 4) if total else 0.0,
    )


def _coverage(verdict: Verdict) -> ApiCoverage | None:
    score = verdict.scores.get("official_api_coverage") or verdict.scores.get("api_coverage")
    if score is None:
        return None
    share = score.value
    return ApiCoverage(
        total_apis=round(score.denominator),
        implemented_apis=round(score.numerator),
        score=0.0 if share is None else round(share, 4),
    )


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _metadata(results: Results, left_out: tuple[str, ...]) -> PublishedMetadata:
    graders = {one.verdict.grader for one in results.attempts if one.verdict is not None}
    named = "; ".join(sorted(f"{one.name} {one.version}, data {one.data_version}" for one in graders))
    return PublishedMetadata(
        timestamp=results.created_at.isoformat(),
        harness_version=f"groundup {__version__}",
        model_name=results.subject.model,
        agent_name=results.subject.agent,
        total_elapsed_seconds=None if results.seconds is None else round(results.seconds, 2),
        predictions_dir=results.origin,
        grader=named or None,
        not_in_results=left_out,
    )


def _summary(figures: Averages) -> dict[str, object]:
    if figures.total_repos:
        return figures.model_dump(mode="json")
    kept = figures.model_dump(
        mode="json", include={"avg_pass_at_1", "avg_api_coverage", "deployment_success_rate"}
    )
    return {"total_repos": 0, "evaluated": 0, **kept}


def _entry(one: PublishedRepositoryResult) -> dict[str, object]:
    """Return an entry as JSON; what the published harness leaves out where it does not apply is left out."""
    entry: dict[str, object] = one.model_dump(mode="json")
    return {name: value for name, value in entry.items() if value is not None or name not in _OPTIONAL}


def read_report(document: bytes, name: str) -> Results | None:
    """Return what a published report says; None when *document* is none.

    The harness counts what failed for its own reasons (Docker, an exception) as zeros; here it has no score.
    """
    try:
        found = PublishedReport.model_validate_json(document)
    except ValidationError:
        return None
    metadata = found.metadata
    try:
        created_at = datetime.fromisoformat(metadata.timestamp)
        keys = [AttemptKey(task=one.repo_name, index=one.attempt or 0) for one in found.results]
        run_id = checked_name(PurePath(name).stem)
    except (ValueError, UsageError) as error:
        raise UsageError(f"{name}: {error}; is this a report of the published harness?") from error
    if len(set(keys)) < len(keys):
        raise UsageError(f"{name}: a repository is in its results twice; take one of them out")
    return Results(
        name=run_id,
        created_at=created_at if created_at.tzinfo else created_at.replace(tzinfo=UTC),
        subject=Subject(agent=metadata.agent_name or "unknown", model=metadata.model_name),
        origin=metadata.predictions_dir,
        seconds=metadata.total_elapsed_seconds,
        attempts=tuple(
            AttemptResult(key=key, verdict=_verdict(one, metadata), seconds=one.elapsed_seconds)
            for key, one in zip(keys, found.results, strict=True)
        ),
        pending=tuple(AttemptKey(task=task) for task in metadata.not_in_results),
    )


def _verdict(one: PublishedRepositoryResult, metadata: PublishedMetadata) -> Verdict:
    failed_elsewhere = one.exit_code in _FAILED_ELSEWHERE
    scores = {}
    if one.exit_code is not None and not failed_elsewhere:
        scores["deployed"] = Score(numerator=int(one.dsr.success), denominator=1)
    if one.api_coverage is not None:
        scores["api_coverage"] = Score(
            numerator=one.api_coverage.implemented_apis, denominator=one.api_coverage.total_apis
        )
    tests = one.pass_at_1
    return Verdict(
        status=Status.INFRASTRUCTURE if failed_elsewhere else Status.GRADED,
        score=None if failed_elsewhere else Score(numerator=tests.passed, denominator=tests.total),
        scores=scores,
        facts={
            "dsr_success": one.dsr.success,
            "dsr_message": printable(one.dsr.message)[:200],
            "passed": tests.passed,
            "failed": tests.failed,
            "errors": tests.errors,
            "skipped": tests.skipped,
            "total": tests.total,
            "pass_at_1": tests.score,
            "exit_code": one.exit_code,
        },
        reasons=tuple(_reasons(one)),
        timings_s={"total": one.elapsed_seconds},
        grader=_grader(metadata),
        cacheable=False,
    )


def _reasons(one: PublishedRepositoryResult) -> list[Reason]:
    reasons = []
    if one.exit_code in _FAILED_ELSEWHERE:
        sentence = printable(one.error or one.dsr.message)[:300]
        reasons.append(Reason(stage=Stage.ENVIRONMENT, message=f"the harness failed: {sentence}"))
    elif one.exit_code == _BUILD_FAILED:
        reasons.append(Reason(stage=Stage.INSTALL, message=printable(one.build_error or "build failed")[:400]))
    elif not one.dsr.success:
        reasons.append(Reason(stage=Stage.START, message=printable(one.dsr.message)[:400] or "not deployed"))
    tests = one.pass_at_1
    if tests.passed < tests.total or not tests.total:
        sentence = f"{tests.passed} passed, {tests.failed} failed, {tests.errors} errors"
        reasons.append(Reason(stage=Stage.TEST, message=sentence))
    return reasons


def _grader(metadata: PublishedMetadata) -> GraderIdentity:
    """Name the published harness, or groundup's grader as its own report names it."""
    if metadata.grader is not None and ", data " in metadata.grader and ";" not in metadata.grader:
        name, _, data = metadata.grader.partition(", data ")
        word, _, version = name.partition(" ")
        return GraderIdentity(name=word, version=version, data_version=data)
    return GraderIdentity(name="published", version=metadata.harness_version, environment="image")
