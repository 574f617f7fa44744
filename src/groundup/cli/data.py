"""`groundup data`, `registry snapshot` and `warm`: what is fetched or built ahead for this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, Suite

if TYPE_CHECKING:
    from groundup.api.data import SuiteData
    from groundup.api.warming import Warmed
    from groundup.settings import Settings
    from groundup.suites.places import DataOrigin

EXAMPLES: dict[str, Examples] = {
    "data pull": (
        ("The data that groundup knows best", "groundup data pull nl2repobench"),
        ("Another release", "groundup data pull nl2repobench --commit ae9fb81"),
        ("Without the network, from a checkout", "groundup data pull nl2repobench --from NL2RepoBench"),
        ("Without the network, from downloaded archives", "groundup data pull dibench --from downloads"),
        ("A set that somebody packed, then `my-set@1`", "groundup data pull my-set --from my-set-1.tar.gz"),
        ("Your own beside the published ones, then `dibench@mine`", "groundup data pull dibench@mine --from mine"),
    ),
    "data list": (
        ("What is at hand?", "groundup data list"),
        ("For programs", "groundup data list --json"),
    ),
    "data convert": (
        ("Samples of the older form", "groundup data convert dibench test_dataset.jsonl -o repo-sample.jsonl"),
    ),
    "registry snapshot": (
        (
            "Everything that a benchmark's originals declare",
            "groundup registry snapshot --names-from dibench -o names.jsonl",
        ),
        ("And what a run's submissions name", "groundup registry snapshot --names-from my-run -o names.jsonl"),
    ),
    "warm": (
        ("Everything, before the network goes", "groundup warm nl2repobench"),
        ("Two tasks, for one grader", "groundup warm nl2repobench --task retrying --task schema --grader strict"),
        ("For a machine without a network", "groundup warm nl2repobench --task six --bundle six.bundle"),
        ("On that machine", "groundup warm --from six.bundle"),
    ),
}


def pull(
    suite: Suite,
    commit: Annotated[
        str | None, typer.Option(help="Of the published repository (default: the one that the suite names).")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Copy a checkout, a download or a packed set, also from an ADDRESS[#sha256=HEX], instead.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Fetch SUITE's published data: one commit of a public repository, a release, or a folder.

    Data from elsewhere is not replaced: SUITE@NAME is a further data set, which commands then take for SUITE. A
    set of one's own is installed under any NAME, beside its other versions, as NAME@VERSION.
    """
    from groundup.api import data
    from groundup.cli.console import print_document, say

    found = data.pull(suite, commit=commit, source=source)
    assert found.at_hand is not None
    assert found.published is not None
    origin = found.at_hand
    own = source is not None and not (origin.version or "").isalnum()  # no release that is known
    licence = None if own else found.published.licence
    if json:
        kept = None if found.kept is None else str(found.kept)
        print_document({"suite": found.suite, "licence": licence, "kept": kept, **origin.model_dump(mode="json")})
    if found.kept is not None:
        say(f"groundup: what was there had been changed since it was pulled, and lies in {found.kept} now")
    say(f"groundup: {found.suite} now has data {_version(origin)} from {origin.source} ({origin.files} files)")
    if licence:
        say(f"groundup: its licence: {licence}")
    return 0


def convert(
    suite: Suite,
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A file of instances in the older form.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="NEW", help="File for the converted data.")],
) -> int:
    """Convert data of SUITE from an older form."""
    from groundup.api import data
    from groundup.cli.console import say

    count = data.convert(suite, old, output)
    say(f"groundup: {output} holds {count} instances")
    return 0


def list_data(json: Json = False) -> int:
    """List which suites have published data, and what of it this machine has."""
    from groundup.api import data
    from groundup.cli.console import print_document, print_table
    from groundup.settings import load

    folder = str(load().data)
    found = data.list_data()
    if json:
        print_document({"folder": folder, "suites": [_document(one) for one in found]})
    else:
        print_table(folder, ("suite", "data version", "from", "files"), [_row(one) for one in found])
    return 0


def _document(one: "SuiteData") -> dict[str, object]:
    if one.published is None:
        return {"suite": one.suite, "error": one.error}
    at_hand = None if one.at_hand is None else one.at_hand.model_dump(mode="json")
    return {"suite": one.suite, "at_hand": at_hand, "published": one.published.model_dump(mode="json")}


def _row(one: "SuiteData") -> tuple[str, ...]:
    if one.error is not None:
        return (one.suite, "-", one.error, "-")
    if one.at_hand is None:
        return (one.suite, "-", "not pulled", "-")
    return (one.suite, _version(one.at_hand), one.at_hand.source, str(one.at_hand.files))


def _version(origin: "DataOrigin") -> str:
    return origin.version or (origin.commit or origin.digest)[:16]


def snapshot(
    names_from: Annotated[
        list[str],
        typer.Option("--names-from", metavar="RUN|SUITE", help="Whose packages to look up; can be repeated."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File of the snapshot; names that it has are not asked again."
        ),
    ],
    json: Json = False,
) -> int:
    """Ask the registries of your own package managers which packages exist, and record the answers.

    Grade with it by the setting `registry = "FILE"` in groundup.toml, or GROUNDUP_REGISTRY=FILE.
    """
    from groundup.api import submissions
    from groundup.cli.console import print_document, say

    made = submissions.snapshot(names_from, output)
    if json:
        print_document({"file": str(output), **made.model_dump()})
    say(f"groundup: {output} holds {made.names} names, {made.absent} of which do not exist")
    if made.unanswered:
        say(
            f"groundup: no registry answered for {made.unanswered} names: their registries are not configured or "
            "down"
        )
        return 3
    return 0


_MEGABYTE = 1024 * 1024


def warm(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="A suite's name; none with --from.", show_default=False)
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; can be repeated.")] = None,
    grader: Annotated[str | None, typer.Option(help="Only what this grader needs (default: all graders).")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at once.")] = 2,
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
    import asyncio

    from groundup.api import warming
    from groundup.cli.console import print_document, say
    from groundup.domain.errors import UsageError
    from groundup.settings import load

    settings = load()
    if source is not None:
        if suite or task or grader or bundle:
            raise UsageError("--from takes everything that is in the file; leave SUITE and the other options out")
        return _take(source, settings, json=json)
    if suite is None:
        raise UsageError("name a suite, such as `groundup warm nl2repobench`, or a file with --from")
    done = 0

    def report(one: "Warmed", total: int) -> None:
        nonlocal done
        done += 1
        shown = one.error or f"{one.seconds:.1f} s, {one.bytes / _MEGABYTE:.0f} MB"
        say(f"[{done}/{total}] {one.task}: {shown}")

    found = asyncio.run(
        warming.warm(
            suite, task or (), settings, jobs=jobs, grader=grader, report=report, bundle=bundle, say=_say_of_bundle
        )
    )
    failed = [one for one in found if one.error is not None]
    size = warming.size_on_disk(settings.cache_dir / "layers")
    if json:
        print_document({"tasks": [one.model_dump(mode="json") for one in found], "layers_bytes": size})
    say(
        f"groundup: {len(found) - len(failed)} of {len(found)} tasks are ready; "
        f"all layers of this machine take {size / _MEGABYTE:.0f} MB"
    )
    if bundle is not None:
        size = bundle.stat().st_size
        say(f"groundup: {bundle} has {size / _MEGABYTE:.0f} MB; `groundup warm --from` takes it in elsewhere")
    return 3 if failed else 0


def _say_of_bundle(text: str) -> None:
    from groundup.cli.console import say

    say(f"groundup: {text}")


def _take(source: Path, settings: "Settings", *, json: bool) -> int:
    """Take a bundle in."""
    import asyncio

    from groundup.api.warming import take_bundle
    from groundup.cli.console import print_document, say

    taken = asyncio.run(take_bundle(source, settings, say))
    if json:
        print_document({"suite": taken.suite, "tasks": list(taken.tasks), "layers": len(taken.layers)})
    say(f"groundup: {len(taken.tasks)} tasks of {taken.suite} are ready, without a network")
    return 0
