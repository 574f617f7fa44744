"""Tasks for Harbor, and what its jobs found, as runs."""

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path

from groundup.api.flags import AnyPath, Names, names
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name
from groundup.domain.tasks import Task
from groundup.episodes.backends import backends
from groundup.runs.plan import make_plan
from groundup.runs.reporting import write_report
from groundup.settings import Settings, load, with_flags
from groundup.store.ownership import refuse_full
from groundup.store.records import RunConfiguration, Served
from groundup.trees.walking import remove_tree
from groundup_bridges.harbor_export import HarborExport, HarborOptions, TaskImages
from groundup_bridges.harbor_import import of_subjects, read_trials, write_run
from groundup_bridges.images import ImageStore


def export_tasks(
    suite: str,
    destination: AnyPath,
    *,
    tasks: Names = None,
    grader: str | None = None,
    options: HarborOptions | None = None,
    settings: Settings | None = None,
    report: Callable[[Task, Path], object] = lambda task, folder: None,
) -> list[Path]:
    """Write tasks of *suite* as folders for Harbor into the absent or empty folder *destination*.

    Each has two container images with it, as OCI layouts and for Docker. Returns the tasks' folders; *report* is
    called with each as it is finished. Raises `UsageError`, also for tasks that one container cannot grade, and
    what building environments raises. Not for a running event loop.
    """
    found, target, given = settings or load(), Path(destination), options or HarborOptions()
    if given.allow and given.network_mode != "harbor":
        raise UsageError("hosts that agents may reach are let through by Harbor alone: leave --network-mode out")
    refuse_full(target)
    configuration = RunConfiguration(
        suite=suite, submissions=Served(), grader=grader, tasks=names(tasks, "--tasks")
    )
    plan = make_plan(configuration, found)
    if "+" in plan.suite.name:
        raise UsageError(f"{plan.suite.name}: Harbor has no names for variants; export the suite without `+`")
    target.mkdir(parents=True, exist_ok=True)
    room = target.absolute() / f".writing-{secrets.token_hex(4)}"
    room.mkdir()

    async def write() -> list[Path]:
        written = []
        async with backends(found.sandbox, found) as tools:
            with ImageStore(room / "images") as store:
                images = TaskImages(suite, tools, store, given.base)
                made = HarborExport(plan, images, given, target, room)
                for task in plan.tasks.values():
                    written.append(await made.write(task))
                    report(task, written[-1])
        return written

    try:
        return asyncio.run(write())
    finally:
        remove_tree(room)


def import_jobs(
    jobs: AnyPath, *, run_id: str | None = None, output: AnyPath | None = None, settings: Settings | None = None
) -> list[Path]:
    """Write the trials of Harbor's *jobs*, a job's folder or a folder of jobs, as runs; return their folders.

    One run for each suite and subject, named *run_id* or as the folder of the jobs, with a number where there are
    several. Raises `UsageError`.
    """
    found = with_flags(settings, {"output": output})
    source = Path(jobs)
    groups = of_subjects(read_trials(source))
    name = checked_name(run_id or f"harbor-{source.resolve().name}")
    written = []
    for number, (suite, subject, trials) in enumerate(groups, 1):
        path = found.output / (name if len(groups) == 1 else f"{name}-{number}")
        written.append(write_run(path, suite, subject, trials))
        write_report(path, found)
    return written
