"""Reports on runs, read from run folders, groundup's own report files, and reports in the forms of suites."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from groundup.api.flags import AnyPath
from groundup.api.folders import holds_runs, run_folder, runs_below
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import unknown
from groundup.reports.document import Report, RunReport
from groundup.reports.formats import PaperReport, ShownComparison, ShownReport
from groundup.reports.review import Review, review_of
from groundup.reports.summary import report_results, side_by_side
from groundup.runs import reporting
from groundup.runs.checking import RunCheck, check_run
from groundup.runs.copies import alike, with_copies
from groundup.settings import Settings, load, with_flags
from groundup.store.folder import REPORT, RunFolder
from groundup.store.ownership import refuse_full, write_made
from groundup.suites.base import AttemptResult, ForCommands, OwnReport, ReportForm, Results, Suite, Tables
from groundup.suites.opening import SUITES, open_suite
from groundup.trees.walking import LARGE, read_regular

LAYOUTS = ("standard", "paper")


def report(
    run: AnyPath,
    *more: AnyPath,
    layout: str = "standard",
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> ShownReport:
    """Report a run, or several with each compared to the first.

    The layout `paper` has the tables of the suites' papers, with a row for each run. With it, a folder that is no
    run stands for all runs and report files below it.

    A run is a folder, its id in the folder *output*, or a report file: groundup's own JSON or a suite's own form.
    Scores are shares of 1 with numerator and denominator. Raises `UsageError` for what is no run and no report.
    """
    found = with_flags(settings, {"output": output})
    if layout not in LAYOUTS:
        raise UsageError(unknown("layout", layout, LAYOUTS))
    if layout == "paper":
        each = [runs_below(Path(one)) if holds_runs(Path(one)) else [one] for one in (run, *more)]
        names = dict.fromkeys(chain.from_iterable(each))
        return PaperReport.of(side_by_side(_named_apart(_read(names, found))))  # which shows no comparison
    return ShownReport.of(_side_by_side((run, *more), found))


def compare(
    base: AnyPath,
    other: AnyPath,
    *more: AnyPath,
    power: float | None = None,
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> ShownComparison:
    """Compare runs of one suite with *base* by the tasks that both have a score for.

    Takes what `report` takes. Differences are shares of 1, other minus base. With *power*, a difference, each
    comparison tells how many tasks or attempts it takes until that shows. Raises `UsageError`, also for runs of
    different suites.
    """
    if power is not None and not 0 < power <= 1:
        raise UsageError("--power takes a difference of shares: more than 0, such as 0.05, and at most 1")
    made = _side_by_side((base, other, *more), with_flags(settings, {"output": output}), power)
    suites = dict.fromkeys(run.benchmark for run in made.runs)
    if len(suites) > 1:
        alike = len({suite.partition("+")[0] for suite in suites}) == 1
        why = "whose subjects were not asked the same" if alike else "which have no tasks in common"
        raise UsageError(f"these are runs of different suites ({', '.join(suites)}), {why}")
    return ShownComparison.of(made)


async def report_async(
    run: AnyPath,
    *more: AnyPath,
    layout: str = "standard",
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> ShownReport:
    """Return `report(...)` without holding the event loop up."""
    return await asyncio.to_thread(report, run, *more, layout=layout, output=output, settings=settings)


async def compare_async(
    base: AnyPath,
    other: AnyPath,
    *more: AnyPath,
    power: float | None = None,
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> ShownComparison:
    """Return `compare(...)` without holding the event loop up."""
    return await asyncio.to_thread(compare, base, other, *more, power=power, output=output, settings=settings)


def write_report(made: ShownReport, form: str, path: AnyPath) -> Path:
    """Write a report to the file *path* in the form *form*, one of `FORMS`, and return it. Raises `UsageError`."""
    write_made(Path(path), made.written(form), makes_folder=True)
    return Path(path)


def write_plots(made: ShownReport, folder: AnyPath) -> list[Path]:
    """Write the plots of a report below *folder* and return the files, SVG and PNG.

    Raises `MissingExtraError` without the extra `plots`.
    """
    from groundup.reports.plots import drawn, plots_of

    if not Path(folder).is_dir():
        refuse_full(Path(folder))
    pictures = [(plot.name, drawn(plot)) for plot in plots_of(made)]
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = {
        Path(folder) / f"{name}.{kind}": content
        for name, both in pictures
        for kind, content in zip(("svg", "png"), both, strict=True)
    }
    for path, content in files.items():
        write_made(path, content)
    return [*files]


def review(run: AnyPath, *, output: AnyPath | None = None, settings: Settings | None = None) -> Review:
    """Return the attempts of *run* that hold signs of tampering, with evidence and where to look.

    *run* is a folder, or its id in the folder *output*. Changes no verdict. Raises `UsageError` for what is none.
    """
    known = with_flags(settings, {"output": output})
    folder = RunFolder(run_folder(run, known))
    config, records = folder.config(), folder.records()
    tests = {key: folder.attempt(key).tests() for key in records.lines if key not in records.bad}
    made = review_of(config.run_id, config.configuration.submissions, records.lines, tests)
    return made.but(unfit=records.told(folder.path), alike=tuple(alike(folder, records.lines, known)))


def check(run: AnyPath, *, output: AnyPath | None = None, settings: Settings | None = None) -> RunCheck:
    """Return what in the folder of *run* does not fit, trees and trajectories included. Changes nothing.

    Reports check less of it each time, and give no score to what does not fit. Raises `UsageError`.
    """
    found = with_flags(settings, {"output": output})
    return check_run(RunFolder(run_folder(run, found)), found)


def unfit(run: AnyPath, *, output: AnyPath | None = None, settings: Settings | None = None) -> str:
    """Say what first does not fit in the folder of *run*; empty where everything fits. Raises `UsageError`."""
    folder = run_folder(run, with_flags(settings, {"output": output}))
    return RunFolder(folder).records().told(folder)


async def review_async(run: AnyPath, *, output: AnyPath | None = None, settings: Settings | None = None) -> Review:
    """Return `review(...)` without holding the event loop up."""
    return await asyncio.to_thread(review, run, output=output, settings=settings)


def own_report(
    run: AnyPath, form: str, *, output: AnyPath | None = None, settings: Settings | None = None
) -> OwnReport:
    """Return a run as its suite's publishers would report it; *form* is what they call it. Raises `UsageError`."""
    found = with_flags(settings, {"output": output})
    folder = RunFolder(run_folder(run, found))
    known = _form_of(folder.config().configuration.suite, found)
    if known is None or form != known.name:
        own = [] if known is None else [known.name]
        raise UsageError(f"{unknown('format', form, [*ShownReport.forms, *own])}")
    return known.write(_results(folder))


def write_own_report(run: AnyPath, form: str, path: AnyPath, *, output: AnyPath | None = None) -> OwnReport:
    """Write what `own_report` returns to the file *path*, and return it. Raises `UsageError`."""
    own = own_report(run, form, output=output)
    write_made(Path(path), own.document, makes_folder=True)
    return own


def refuse_unknown_form(suite: str, form: str) -> None:
    """Raise `UsageError` where the publishers of *suite* have no report of the form *form*."""
    known = _form_of(suite, load())
    if known is None:
        raise UsageError(f"--layout {form}: {suite} has no report of its own; leave --layout out")
    if form != known.name:
        raise UsageError(f"{unknown('layout', form, [known.name])}")


def _form_of(suite: str, settings: Settings) -> ReportForm | None:
    return ForCommands.of(open_suite(suite, settings)).report_form()


def read_report(folders: Sequence[Path]) -> ShownReport:
    """Report the runs in *folders*."""
    return ShownReport.of(reporting.read_report(folders, load()))


def _side_by_side(names: Sequence[AnyPath], settings: Settings, power: float | None = None) -> Report:
    read = list(_read(names, settings))
    made = side_by_side(_named_apart(read), power)
    return with_copies(made, [run for _, run in read], settings)


def _read(names: Iterable[AnyPath], settings: Settings) -> Iterator[tuple[RunReport, reporting.ReadRun | None]]:
    return (one for name in names for one in _runs(name, settings))


def _runs(name: AnyPath, settings: Settings) -> Iterator[tuple[RunReport, reporting.ReadRun | None]]:
    """Yield the reports that *name* stands for, with the runs that they were made from; a file has none."""
    path = Path(name)
    if path.name == REPORT and RunFolder(path.parent).was_run():
        path = path.parent  # the report of a run is made from what the run holds
    if path.is_file():
        yield from ((report, None) for report in _from_file(path, settings))
    else:
        run = reporting.read_run(run_folder(path, settings), settings)
        yield run.report, run


def _from_file(path: Path, settings: Settings) -> tuple[RunReport, ...]:
    try:
        document = read_regular(path, LARGE)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return tuple(map(_unchecked, Report.model_validate_json(document).runs))
    except ValidationError:
        pass  # then it is a suite's own, or nothing
    tried = []
    for suite, form in _forms(settings):
        results = form.read(document, path.name)
        if results is not None:
            return (_reported(suite, results),)
        tried.append(form.name)
    raise UsageError(f"{path} is no report that can be read: neither groundup's own JSON nor {' or '.join(tried)}")


def _unchecked(run: RunReport) -> RunReport:
    """Return a run as a file tells of it, marked as that in each line: nothing but the run's folder proves it."""
    told = "read from a report file, which anybody can edit: nothing of it was checked"
    if run.warnings[:1] == (told,):
        return run
    return run.but(run_id=f"{run.run_id} (not checked)", faults=0, warnings=(told, *run.warnings))


def _reported(suite: Suite, results: Results) -> RunReport:
    graders = {one.verdict.grader.name for one in results.attempts if one.verdict is not None}
    verdicts = {one.key: one.verdict for one in results.attempts}
    summaries = tuple(one for grader in sorted(graders) for one in Tables.of(suite).summaries(verdicts, grader))
    return report_results(results, suite.name, suite.version, summaries)


def _forms(settings: Settings) -> Iterator[tuple[Suite, ReportForm]]:
    """Yield the suites that have reports of their own, with these; one that cannot be loaded has none."""
    for name in SUITES.names():
        try:
            suite = open_suite(name, settings)
        except GroundupError:
            continue
        form = ForCommands.of(suite).report_form()
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
        origin=getattr(submissions, "path", None) or str(folder.path),  # what agents handed in lies in the run
        seconds=(max(ended) - min(began)).total_seconds() if lines else None,
        attempts=tuple(
            AttemptResult(
                key=key, verdict=line.verdict, seconds=(line.finished_at - line.started_at).total_seconds()
            )
            for key, line in sorted(lines.items(), key=lambda item: (item[0].task, item[0].index))
        ),
        pending=tuple(key for key in config.planned.keys if key not in lines),
    )


def _named_apart(read: Iterable[tuple[RunReport, reporting.ReadRun | None]]) -> list[RunReport]:
    """Give runs of one name others, so that tables have a column for each: a copied run that of its folder."""
    seen: dict[str, int] = {}
    named = []
    for report, run in read:
        name = report.run_id
        if name in seen and run is not None:
            name = run.folder.path.resolve().name
        seen[name] = seen.get(name, 0) + 1
        named.append(report.but(run_id=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return named
