"""What `report` and `compare` are pointed at: run folders, groundup's own reports, and those of suites."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.cli.reporting import read_report
from groundup.cli.settings import run_folder
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import unknown
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.suites.base import AttemptResult, OwnReport, ReportForm, Results, Suite, open_suite
from groundup.trees.reading import LARGE, read_regular

if TYPE_CHECKING:
    from groundup.reports.document import Report, RunReport


def report_on(names: Sequence[str], settings: Settings) -> "Report":
    """Return one report on runs and report files, each compared to the first. Raises `UsageError`."""
    from groundup.reports.summary import side_by_side

    runs = [run for name in names for run in _runs(name, settings)]
    return side_by_side(_told_apart(runs))


def own_report(name: str, wanted: str, settings: Settings) -> OwnReport:
    """Return a run in its suite's own form of reports, which the user calls *wanted*. Raises `UsageError`."""
    folder = run_folder(name, settings)
    config = RunFolder(folder).config()
    form = open_suite(config.configuration.suite, settings).report_form()
    if form is None or wanted != form.name:
        formats = [] if form is None else [form.name]
        raise UsageError(f"{unknown('format', wanted, ['table', 'markdown', 'json', *formats])}")
    return form.write(_results(RunFolder(folder)))


def _runs(name: str, settings: Settings) -> tuple["RunReport", ...]:
    path = Path(name)
    if path.is_file():
        return _from_file(path, settings)
    return read_report([run_folder(name, settings)]).runs


def _from_file(path: Path, settings: Settings) -> tuple["RunReport", ...]:
    from pydantic import ValidationError

    from groundup.reports.document import Report

    document = _document(path)
    try:
        return Report.model_validate_json(document).runs
    except ValidationError:
        pass  # then it is a suite's own, or nothing
    tried = []
    for suite, form in _forms(settings):
        results = form.read(document, path.name)
        if results is not None:
            return (_reported(suite, results),)
        tried.append(form.name)
    raise UsageError(f"{path} is no report that can be read: neither groundup's own JSON nor {' or '.join(tried)}")


def _document(path: Path) -> bytes:
    try:
        return read_regular(path, LARGE)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _reported(suite: Suite, results: Results) -> "RunReport":
    from groundup.reports.summary import report_results

    graders = {one.verdict.grader.name for one in results.attempts if one.verdict is not None}
    verdicts = {one.key: one.verdict for one in results.attempts}
    summaries = tuple(one for grader in sorted(graders) for one in suite.summaries(verdicts, grader))
    return report_results(results, suite.name, suite.version, summaries)


def _forms(settings: Settings) -> Iterator[tuple[Suite, ReportForm]]:
    """Yield the suites that have reports of their own, with these; one that cannot be loaded has none."""
    from groundup import catalog

    for name in catalog.names("suite"):
        try:
            suite = open_suite(name, settings)
        except GroundupError:
            continue
        form = suite.report_form()
        if form is not None:
            yield suite, form


def _results(folder: RunFolder) -> Results:
    """Return what a run found, without what it does not know yet."""
    config, lines = folder.config(), folder.latest()
    submissions = config.configuration.submissions
    began = [line.started_at for line in lines.values()]
    ended = [line.finished_at for line in lines.values()]
    return Results(
        name=config.run_id,
        created_at=config.created_at,
        subject=config.configuration.subject,
        origin=getattr(submissions, "path", None),
        seconds=(max(ended) - min(began)).total_seconds() if lines else None,
        attempts=tuple(
            AttemptResult(
                key=key, verdict=line.verdict, seconds=(line.finished_at - line.started_at).total_seconds()
            )
            for key, line in sorted(lines.items(), key=lambda item: (item[0].task, item[0].index))
        ),
        owed=tuple(key for key in config.planned.keys if key not in lines),
    )


def _told_apart(runs: "Sequence[RunReport]") -> "list[RunReport]":
    """Number runs that have the same name, so that tables have a column for each."""
    seen: dict[str, int] = {}
    named = []
    for run in runs:
        seen[run.run_id] = seen.get(run.run_id, 0) + 1
        number = seen[run.run_id]
        named.append(run if number == 1 else run.model_copy(update={"run_id": f"{run.run_id} ({number})"}))
    return named
