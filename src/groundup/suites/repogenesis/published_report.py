"""The report of the published harness: its records, its averages and its table.

Faults included: a repository without counted tests leaves the average of Pass@1, one without extracted endpoints
that of API coverage, and a task without a submission is not there at all.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from groundup.domain.records import Record

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
    """Return the results in one language."""
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
