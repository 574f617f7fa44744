"""Building ahead what grading needs: environments and originals, so that nothing has to be fetched afterwards."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from groundup.api.warm_bundles import used_layers, write_bundle
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.environments.layers import LayerStore, layer_store
from groundup.episodes.backends import Backends, backends
from groundup.settings import Settings
from groundup.suites.base import Suite, open_suite
from groundup.trees.scratch import async_scratch_folder

_BLOCK = 512
"""Bytes that a block of `st_blocks` has."""


class Warmed(Record):
    """What one task took."""

    task: str
    seconds: float
    bytes: int
    """On disk, of all its layers; tasks may share some."""
    error: str | None = None


async def warm(
    name: str,
    tasks: Sequence[str],
    settings: Settings,
    *,
    jobs: int = 2,
    grader: str | None = None,
    report: Callable[[Warmed, int], None],
    bundle: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> list[Warmed]:
    """Build the layers of *tasks*, or of all that can be graded; a failure ends no other.

    *report* is called with each task that is done and the number of all tasks. *grader*: only what this one needs;
    None: what any of the suite's graders needs. What is ready then goes into the new file *bundle*; *say* hears
    what cannot. Raises `UsageError`.
    """
    if bundle is not None and (os.path.lexists(bundle) or not bundle.parent.is_dir()):
        raise UsageError(
            f"{bundle} is there already, or its folder is not; name a new file in a folder that is there"
        )
    suite = open_suite(name, settings)
    known = suite.by_name()
    for one in tasks:
        if one not in known:
            raise UsageError(unknown("task", one, known))
    graders = suite.graders()
    if grader is not None and grader not in graders:
        raise UsageError(unknown("grader", grader, graders))
    chosen = (grader,) if grader is not None else tuple(graders)
    store, places = layer_store(settings), asyncio.Semaphore(jobs)
    wanted = tasks or suite.gradable()

    async def one_task(task: Task, tools: Backends, scratch: Path) -> Warmed:
        async with places:
            began, size, failed = time.monotonic(), 0, None
            try:
                size = await _build(suite, task, chosen, tools, store, scratch)
            except GroundupError as error:
                failed = str(error)
            done = Warmed(task=task.id, seconds=round(time.monotonic() - began, 1), bytes=size, error=failed)
            report(done, len(wanted))
            return done

    with used_layers() as used:
        async with async_scratch_folder("warm") as scratch, backends(settings.sandbox, settings) as tools:
            done = list(await asyncio.gather(*(one_task(known[task], tools, scratch) for task in wanted)))
    if bundle is not None:
        ready = [one.task for one in done if one.error is None]
        minors = sorted({python for task in ready if (python := suite.needs(known[task]).python)})
        await write_bundle(bundle, name, ready, list(used.layers.values()), minors, settings, say)
    return done


async def _build(
    suite: Suite, task: Task, graders: Sequence[str], tools: Backends, store: LayerStore, scratch: Path
) -> int:
    """Build what *task* needs and return its size in bytes."""
    context = tools.context(scratch, None)
    found: set[tuple[str, str]] = set()
    for grader in graders:
        found.update((await suite.graders()[grader].layers(task, context)).items())
    paths = {layer.path for kind, digest in found if (layer := store.find(kind, digest)) is not None}
    source = suite.needs(task).source
    if source is not None:
        paths.add((await context.builder.source(source)).path)
    return sum([await asyncio.to_thread(size_on_disk, path) for path in paths])


def size_on_disk(root: Path) -> int:
    """Return what the files below *root* take, each once."""
    seen: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            found = Path(folder, name).lstat()
            seen[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK
    return sum(seen.values())
