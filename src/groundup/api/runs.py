"""Evaluate, run, resume and regrade: the functions that make verdicts, and their twins for event loops.

Each blocks until the run is done and returns a `Run`. The twin, `<name>_async`, begins the run at once and returns
a `LiveRun`: `await` it, or follow its events. Both work inside a running event loop, such as a notebook's.
"""

from typing import Unpack

from groundup.api import requests
from groundup.api.flags import AnyPath, EvaluateFlags, RegradeFlags, ResumeFlags, RunFlags
from groundup.api.working import LiveRun, Run, finished
from groundup.runs.progress import Progress
from groundup.settings import Settings


def evaluate(
    suite: str,
    predictions: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[EvaluateFlags],
) -> Run:
    """Grade repositories that you already have, as `groundup evaluate` does.

    *suite* is a name or `package.module:attribute`; *predictions* is a folder with one repository per task, an
    archive or a JSONL file. *progress* is called with every event of the run; *settings* replace those of
    groundup.toml and environment. *flags* are those of the command line, such as `tasks=["sqlparse"]`,
    `attempts=3`, `jobs=4`, `timeout=60.0` (seconds) or `run_id="mine"`.

    ^C stops the run cleanly: it then says `interrupted`, and `resume` finishes it. Raises `UsageError` before
    anything is done, and `InfrastructureError` when the machine fails; an attempt that fails raises nothing.
    """
    return finished(requests.evaluation(suite, predictions, settings=settings, **flags).work, progress)


def evaluate_async(
    suite: str, predictions: AnyPath, *, settings: Settings | None = None, **flags: Unpack[EvaluateFlags]
) -> LiveRun:
    """Begin what `evaluate` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.evaluation(suite, predictions, settings=settings, **flags).work)


def run(
    suite: str,
    agent: str,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[RunFlags],
) -> Run:
    """Let *agent* do the tasks of *suite* and grade what it hands in, as `groundup run` does.

    *agent* is `loop`, `oneshot`, `oracle`, `nop` or another name, or `package.module:attribute`; `model="PROVIDER/
    NAME"` is its model. Costs are in USD, times in seconds. Everything else is as in `evaluate`.
    """
    return finished(requests.running(suite, agent, settings=settings, **flags).work, progress)


def run_async(suite: str, agent: str, *, settings: Settings | None = None, **flags: Unpack[RunFlags]) -> LiveRun:
    """Begin what `run` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.running(suite, agent, settings=settings, **flags).work)


def resume(
    run: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[ResumeFlags],
) -> Run:
    """Finish what *run*, a folder or an id, owes: what was interrupted, only made, or failed with the machine.

    Flags that change what the run is are refused by `UsageError`, which names them. Everything else is as in
    `evaluate`.
    """
    return finished(requests.resumption(run, settings=settings, **flags).work, progress)


def resume_async(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[ResumeFlags]) -> LiveRun:
    """Begin what `resume` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.resumption(run, settings=settings, **flags).work)


def regrade(
    run: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[RegradeFlags],
) -> Run:
    """Grade the submissions of *run*, a folder or an id, again in a new run; the earlier one stays as it is.

    Everything else is as in `evaluate`.
    """
    return finished(requests.regrading(run, settings=settings, **flags).work, progress)


def regrade_async(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[RegradeFlags]) -> LiveRun:
    """Begin what `regrade` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.regrading(run, settings=settings, **flags).work)
