"""`groundup warm`: what grading needs, built ahead; and all of it as one file, for another machine."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from groundup.api import warming
from groundup.api.flags import Grader, Jobs
from groundup.cli.console import print_document, say
from groundup.cli.options import Examples, Json
from groundup.domain.errors import UsageError
from groundup.domain.names import count
from groundup.settings import Settings, load

EXAMPLES: dict[str, Examples] = {
    "warm": (
        ("Everything, before the network goes", "groundup warm nl2repobench"),
        ("Two tasks, for one grader", "groundup warm nl2repobench --task retrying --task schema --grader strict"),
        ("For a machine without a network", "groundup warm nl2repobench --task six --bundle six.bundle"),
        ("On that machine", "groundup warm --from six.bundle"),
    ),
}


_MEGABYTE = 1024 * 1024


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

    def report(one: warming.Warmed, total: int) -> None:
        nonlocal done
        done += 1
        shown = one.error or f"{one.seconds:.1f} s, {one.bytes / _MEGABYTE:.0f} MB"
        say(f"[{done}/{total}] {one.task}: {shown}")

    found = asyncio.run(
        warming.warm(
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
    size = warming.size_on_disk(settings.cache_dir / "layers")
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
    taken = asyncio.run(warming.take_bundle(source, settings, say))
    if json:
        print_document({"suite": taken.suite, "tasks": list(taken.tasks), "layers": len(taken.layers)})
    say(f"groundup: without a network, {count(len(taken.tasks), 'task')} of {taken.suite} can be graded")
    return 0
