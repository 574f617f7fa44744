"""Between verdicts and the published harness's report: writing one from a run, and reading one as verdicts."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath

from pydantic import ValidationError
from typing_extensions import override

from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, printable
from groundup.domain.subjects import AttemptKey, Subject
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.domain.version import __version__
from groundup.suites.base import AttemptResult, OwnReport, ReportForm, Results
from groundup.suites.repogenesis import coverage
from groundup.suites.repogenesis.data import ServiceProblem
from groundup.suites.repogenesis.published_report import (
    ApiCoverage,
    Averages,
    PassAt1,
    PublishedDeployment,
    PublishedMetadata,
    PublishedReport,
    PublishedRepositoryResult,
    averages,
    summary_table,
)

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
        """Return *results* as the published harness reports them."""
        return write_report(results, self._problems)

    @override
    def read(self, document: bytes, name: str) -> Results | None:
        """Return what a report of the published harness says."""
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
    left_out = sorted({*left_out, *(key.task for key in results.owed)} - {one.repo_name for one in found})
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
        notes.append(f"not in the results, as published: {len(left_out)} tasks without a verdict or a submission")
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
        owed=tuple(AttemptKey(task=task) for task in metadata.not_in_results),
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
