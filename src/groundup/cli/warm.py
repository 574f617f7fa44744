"""`groundup warm`: what grading needs, built ahead; and all of it as one file, for another machine."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import Grader, Jobs
from groundup.cli.console import print_document, say
from groundup.cli.options import Examples, Json
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import count, unknown
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.environments.bundles import take_bundle, used_layers, write_bundle
from groundup.environments.layers import LayerStore, layer_store
from groundup.episodes.backends import Backends, backends
from groundup.settings import Settings, load
from groundup.suites.base import AtHand, Suite
from groundup.suites.opening import open_suite
from groundup.suites.selection import groups_of, members, refuse_unknown
from groundup.trees.scratch import async_scratch_folder

EXAMPLES: dict[str, Examples] = {
    "warm": (
        ("Everything, before the network goes", "groundup warm nl2repobench"),
        ("Two tasks, for one grader", "groundup warm nl2repobench --task retrying --task schema --grader strict"),
        ("For a machine without a network", "groundup warm nl2repobench --task six --bundle six.bundle"),
        ("On that machine", "groundup warm --from six.bundle"),
    ),
}
_MEGABYTE = 1024 * 1024
_BLOCK = 512
"""Bytes that a block of `st_blocks` has."""


def warm(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="A suite's name; none with --from.", show_default=False)
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; can be repeated.")] = None,
    grader: Annotated[Grader, "Only what this grader needs (default: all graders)."] = None,
    jobs: Annotated[Jobs, "Tasks at once (default: 2)."] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write all of it, with the interpreters, to this file."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take what --bundle wrote on another machine.")
    ] = None,
    json: Json = False,
) -> int:
    """Build the environments of SUITE's tasks and fetch their originals; later runs need no network.

    Finished environments are not built again. One line per task shows how long it took and how large it is. With
    --bundle, a machine without a network can have them, too: copy the file there, and `groundup warm --from FILE`.
    """
    settings = load()
    if source is not None:
        if suite or task or grader or bundle:
            raise UsageError("--from takes everything that is in the file; leave SUITE and the other options out")
        return _take(source, settings, json=json)
    if suite is None:
        raise UsageError("name a suite, such as `groundup warm nl2repobench`, or a file with --from")
    done = 0

    def report(one: Warmed, total: int) -> None:
        nonlocal done
        done += 1
        shown = one.error or f"{one.seconds:.1f} s, {one.bytes / _MEGABYTE:.0f} MB"
        say(f"[{done}/{total}] {one.task}: {shown}")

    found = asyncio.run(
        warmed(
            suite,
            task or (),
            settings,
            jobs=jobs or 2,
            grader=grader,
            report=report,
            bundle=bundle,
            say=_say_of_bundle,
        )
    )
    failed = [one for one in found if one.error is not None]
    size = size_on_disk(settings.cache_dir / "layers")
    if json:
        print_document({"tasks": [one.model_dump(mode="json") for one in found], "layers_bytes": size})
    say(
        f"groundup: {len(found) - len(failed)} of {count(len(found), 'task')} ready; "
        f"all layers of this machine take {size / _MEGABYTE:.0f} MB"
    )
    if bundle is not None:
        size = bundle.stat().st_size
        say(f"groundup: {bundle} has {size / _MEGABYTE:.0f} MB; `groundup warm --from` takes it in elsewhere")
    return 3 if failed else 0


def _say_of_bundle(text: str) -> None:
    say(f"groundup: {text}")


def _take(source: Path, settings: Settings, *, json: bool) -> int:
    """Take a bundle in."""
    taken = asyncio.run(take_bundle(source, settings, say))
    if json:
        print_document({"suite": taken.suite, "tasks": list(taken.tasks), "layers": len(taken.layers)})
    say(f"groundup: without a network, {count(len(taken.tasks), 'task')} of {taken.suite} can be graded")
    return 0


class Warmed(Record):
    """What one task took."""

    task: str
    seconds: float
    bytes: int
    """On disk, of all its layers; tasks may share some."""
    error: str | None = None


async def warmed(
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
    refuse_unknown(suite, tasks)
    graders = suite.graders()
    if grader is not None and grader not in graders:
        raise UsageError(unknown("grader", grader, graders))
    chosen = (grader,) if grader is not None else tuple(graders)
    store, places = layer_store(settings), asyncio.Semaphore(jobs)
    wanted = sorted(members(tasks, known, groups_of(suite))) if tasks else AtHand.of(suite).gradable()

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
        minors = sorted({python for task in ready if (python := AtHand.of(suite).needs(known[task]).python)})
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
    source = AtHand.of(suite).needs(task).source
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
