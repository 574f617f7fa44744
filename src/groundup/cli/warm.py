"""`groundup warm`: build ahead what grading needs."""

from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, Suite

if TYPE_CHECKING:
    from groundup.api.warming import Warmed

EXAMPLES: dict[str, Examples] = {
    "warm": (
        ("Everything, before the network goes", "groundup warm nl2repobench"),
        ("Two tasks, for one grader", "groundup warm nl2repobench --task retrying --task schema --grader strict"),
    )
}
_MEGABYTE = 1024 * 1024


def warm(
    suite: Suite,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; can be repeated.")] = None,
    grader: Annotated[str | None, typer.Option(help="Only what this grader needs (default: all graders).")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at once.")] = 2,
    json: Json = False,
) -> int:
    """Build the environments of SUITE's tasks and fetch their originals; later runs need no network.

    What is there already is not built again. One line per task says how long it took and how large its layers are.
    """
    import asyncio

    from groundup.api import warming
    from groundup.cli.console import print_document, say
    from groundup.settings import load

    settings = load()
    done = 0

    def report(one: "Warmed") -> None:
        nonlocal done
        done += 1
        told = one.error or f"{one.seconds:.1f} s, {one.bytes / _MEGABYTE:.0f} MB"
        say(f"{done}: {one.task}: {told}")

    found = asyncio.run(warming.warm(suite, task or (), settings, jobs=jobs, grader=grader, report=report))
    failed = [one for one in found if one.error is not None]
    size = warming.size_on_disk(settings.cache_dir / "layers")
    if json:
        print_document({"tasks": [one.model_dump(mode="json") for one in found], "layers_bytes": size})
    say(
        f"groundup: {len(found) - len(failed)} of {len(found)} tasks are ready; "
        f"all layers of this machine take {size / _MEGABYTE:.0f} MB"
    )
    return 3 if failed else 0
