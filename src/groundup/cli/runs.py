"""`groundup runs`: what there is in the folder of runs."""

from typing import TYPE_CHECKING

from groundup.cli.options import Examples, Json, Output

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES: Examples = (
    ("Which runs are there, and which are not finished?", "groundup runs"),
    ("For programs", "groundup runs --json"),
)


def runs(output: Output = None, json: Json = False) -> int:
    """List the runs of the output folder, the newest first: suite, subject, score, when it began, what is owed."""
    from groundup.cli.console import print_document, print_table, say
    from groundup.cli.settings import settings_from

    folder = settings_from(output=output).output
    found = [_told(path.parent) for path in folder.glob("*/config.json")]
    found.sort(key=lambda one: str(one["began"]), reverse=True)
    if json:
        print_document({"folder": str(folder), "runs": found})
        return 0
    if not found:
        say(f"groundup: there are no runs in {folder}; --output names another folder")
        return 0
    columns = ("run", "suite", "subject", "score", "began", "owed")
    rows = [tuple(str(one[column]) for column in columns) for one in found]
    print_table(str(folder.absolute()), columns, rows, spare=("began",))
    owed = [str(one["run"]) for one in found if one["owed"] not in (0, "?")]
    if owed:
        are = "run is" if len(owed) == 1 else "runs are"
        say(f"groundup: {len(owed)} {are} not finished; `groundup resume {owed[0]}` goes on with it")
    return 0


def _told(path: "Path") -> dict[str, object]:
    """Return what the list says of a run; one that cannot be read is told as well."""
    from groundup.domain.errors import UsageError
    from groundup.reports.summary import report_run
    from groundup.reports.views import share
    from groundup.store.folder import RunFolder

    folder = RunFolder(path)
    try:
        config = folder.config()
        report = report_run(config, folder.latest())
    except UsageError as error:
        return {"run": path.name, "suite": "?", "subject": str(error), "score": "-", "began": "", "owed": "?"}
    subject = report.subject.agent + (f" with {report.subject.model}" if report.subject.model else "")
    return {
        "run": path.name,
        "suite": f"{report.suite}, {config.grader}",
        "subject": subject,
        "score": share(report.headline.score),
        "began": f"{config.created_at.astimezone():%Y-%m-%d %H:%M}",
        "owed": report.counts.owed + report.counts.infrastructure,
    }
