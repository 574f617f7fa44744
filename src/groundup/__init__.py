"""groundup measures software built from the ground up: `import groundup` offers what the command line does.

    run = groundup.evaluate("nl2repobench", "predictions/", tasks=["sqlparse"])
    run.report                           # shows itself in a notebook
    pandas.DataFrame(run.report.rows())  # a row per attempt

docs/api.md has examples of everything. A name is imported when it is used first: importing groundup is quick.
"""

from groundup.domain.version import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it: the module typing takes ten times as long as all else here

if TYPE_CHECKING:
    from groundup.api.episodes import OpenEpisode as OpenEpisode
    from groundup.api.episodes import open_episode as open_episode
    from groundup.api.episodes import open_episode_async as open_episode_async
    from groundup.api.listings import RecordList as RecordList
    from groundup.api.listings import list_suites as list_suites
    from groundup.api.listings import list_suites_async as list_suites_async
    from groundup.api.listings import tasks as tasks
    from groundup.api.listings import tasks_async as tasks_async
    from groundup.api.matrix import run_matrix as run_matrix
    from groundup.api.reports import compare as compare
    from groundup.api.reports import compare_async as compare_async
    from groundup.api.reports import report as report
    from groundup.api.reports import report_async as report_async
    from groundup.api.reports import review as review
    from groundup.api.reports import review_async as review_async
    from groundup.api.run_list import list_runs as list_runs
    from groundup.api.run_list import list_runs_async as list_runs_async
    from groundup.api.runs import LiveRun as LiveRun
    from groundup.api.runs import StoppedError as StoppedError
    from groundup.api.runs import evaluate as evaluate
    from groundup.api.runs import evaluate_async as evaluate_async
    from groundup.api.runs import regrade as regrade
    from groundup.api.runs import regrade_async as regrade_async
    from groundup.api.runs import resume as resume
    from groundup.api.runs import resume_async as resume_async
    from groundup.api.runs import run as run
    from groundup.api.runs import run_async as run_async
    from groundup.domain.errors import GroundupError as GroundupError
    from groundup.domain.errors import InfrastructureError as InfrastructureError
    from groundup.domain.errors import SubmissionError as SubmissionError
    from groundup.domain.errors import TaskError as TaskError
    from groundup.domain.errors import UsageError as UsageError
    from groundup.domain.subjects import AttemptKey as AttemptKey
    from groundup.domain.verdicts import Verdict as Verdict
    from groundup.reports.formats import ShownComparison as ShownComparison
    from groundup.reports.formats import ShownReport as ShownReport
    from groundup.reports.review import Review as Review
    from groundup.runs.api import Run as Run
    from groundup.runs.progress import Event as Event
    from groundup.settings import Settings as Settings

_NAMES = {
    "groundup.api.runs": "evaluate evaluate_async run run_async resume resume_async regrade regrade_async "
    "LiveRun StoppedError",
    "groundup.api.matrix": "run_matrix",
    "groundup.api.reports": "report report_async compare compare_async review review_async",
    "groundup.api.listings": "tasks tasks_async list_suites list_suites_async RecordList",
    "groundup.api.run_list": "list_runs list_runs_async",
    "groundup.api.episodes": "open_episode open_episode_async OpenEpisode",
    "groundup.domain.errors": "GroundupError UsageError SubmissionError TaskError InfrastructureError",
    "groundup.domain.subjects": "AttemptKey",
    "groundup.domain.verdicts": "Verdict",
    "groundup.reports.formats": "ShownReport ShownComparison",
    "groundup.reports.review": "Review",
    "groundup.runs.api": "Run",
    "groundup.runs.progress": "Event",
    "groundup.settings": "Settings",
}
"""What is offered, by the module that it is in."""

__all__ = [name for names in _NAMES.values() for name in names.split()]  # texts, each of them


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _NAMES.items():
        if name in names.split():
            found: object = getattr(import_module(module), name)
            globals()[name] = found
            return found
    from groundup.extensions import offering

    owner = offering(name)
    if owner is not None:
        if not owner.present():
            raise AttributeError(owner.missing(f"groundup.{name}"))
        offered: object = getattr(import_module(f"{owner.name}.{owner.offers[name]}"), name)
        return offered
    raise AttributeError(f"module 'groundup' has no attribute {name!r}")


def __dir__() -> list[str]:
    from groundup.extensions import EXTENSIONS

    return sorted({*globals(), *__all__, *(name for one in EXTENSIONS if one.present() for name in one.offers)})
