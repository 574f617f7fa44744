"""`groundup data`: the data of benchmarks on this machine, published ones and sets of one's own."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import AnyPath
from groundup.cli.console import print_document, print_table, say
from groundup.cli.options import Examples, Json, Suite
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.settings import Settings, load
from groundup.store.ownership import write_made
from groundup.suites import places, pulling
from groundup.suites.base import DataSource, ForCommands
from groundup.suites.opening import SUITES, open_suite
from groundup.suites.places import DataOrigin, PublishedRelease, PublishedRepository
from groundup.suites.sets import holds_set, name_of_installed
from groundup.trees.scratch import scratch_folder

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
}


class SuiteData(Record):
    """What of a suite's published data is on this machine; where it cannot be read, *error* says why."""

    suite: str
    published: PublishedRepository | PublishedRelease | None = None
    at_hand: DataOrigin | None = None
    error: str | None = None
    kept: Path | None = None
    """Where data lies that a pull found changed, and so did not remove."""


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
    found = pulled(suite, commit=commit, source=source)
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
    output: Annotated[Path, typer.Option("--to", "-o", metavar="NEW", help="File for the converted data.")],
    json: Json = False,
) -> int:
    """Convert data of SUITE from an older form."""
    found = ForCommands.of(open_suite(suite, load())).data_source()
    if found is None:
        raise UsageError(f"the data of {suite} has no older form")
    converted = found.convert(old)
    write_made(output, converted)
    instances = len(converted.splitlines())
    if json:
        print_document({"file": str(output), "instances": instances})
    say(f"groundup: {output} holds {count(instances, 'instance')}")
    return 0


def list_data(json: Json = False) -> int:
    """List which suites have published data, and what of it this machine has."""
    folder = str(load().data)
    found = data_of_suites()
    if json:
        print_document({"folder": folder, "suites": [_document(one) for one in found]})
    else:
        print_table(folder, ("suite", "data version", "from", "files"), [_row(one) for one in found])
    return 0


def _document(one: SuiteData) -> dict[str, object]:
    if one.published is None:
        return {"suite": one.suite, "error": one.error}
    at_hand = None if one.at_hand is None else one.at_hand.model_dump(mode="json")
    return {"suite": one.suite, "at_hand": at_hand, "published": one.published.model_dump(mode="json")}


def _row(one: SuiteData) -> tuple[str, ...]:
    if one.error is not None:
        return (one.suite, "-", one.error, "-")
    if one.at_hand is None:
        return (one.suite, "-", "not pulled", "-")
    return (one.suite, _version(one.at_hand), one.at_hand.source, str(one.at_hand.files))


def _version(origin: DataOrigin) -> str:
    return origin.version or (origin.commit or origin.digest)[:16]


def pulled(
    suite: str, *, commit: str | None = None, source: AnyPath | None = None, settings: Settings | None = None
) -> SuiteData:
    """Fetch the published data of *suite*: one commit of a public repository, a release, or the folder *source*.

    SUITE@NAME keeps it as a data set of that name, beside the others. Where *source* is a set of one's own, or an
    archive of one, also at an address, *suite* may be any name, under which it is installed with its version.
    `#sha256=HEX` at the end of an address is what the archive must have. Raises `UsageError` and `NetworkError`,
    also for data that does not read as it should, and where data of another origin is in place. Not for a running
    event loop.
    """
    if commit is not None and source is not None:
        raise UsageError("--commit and --from exclude each other: a folder is taken as it is")
    settings = settings or load()
    if source is not None and (address := pulling.address_of(str(source))) is not None:
        with scratch_folder("download") as work:
            archive = asyncio.run(pulling.fetched(address, work, settings))
            if not holds_set(archive):
                raise UsageError(f"{address} is no packed set; download it, and name the folder with --from")
            return _installed_set(suite, archive, settings, address)
    if source is not None and not Path(source).exists():
        raise UsageError(f"{source} is not here; name a folder, a packed set, or the address of one with --from")
    if source is not None and holds_set(Path(source)):
        return _installed_set(suite, Path(source), settings)
    base, settings = places.with_data_set(suite, settings)
    name, found = _pullable(base, settings)
    published = found.published
    if source is not None:
        unpack = isinstance(published, PublishedRelease)
        part = published.folder if isinstance(published, PublishedRepository) else "."
        made = pulling.take_folder(name, Path(source), settings, found.check, unpack=unpack, part=part)
    elif isinstance(published, PublishedRelease):
        if commit is not None:
            raise UsageError(
                f"{name} is published as a release, which has no --commit; --from takes another download"
            )
        made = asyncio.run(pulling.pull_release(name, published, settings, found.check))
    else:
        wanted = published if commit is None else published.at(commit)
        made = asyncio.run(pulling.pull(name, wanted, settings, found.check))
    return SuiteData(
        suite=suite if base != suite else name, published=published, at_hand=made.origin, kept=made.kept
    )


def _installed_set(name: str, source: Path, settings: Settings, address: str | None = None) -> SuiteData:
    """Install the set of *source*, which is from *address*, beside all others; one of that name stays.

    Raises `UsageError`.
    """
    from groundup.suites.packed import taken_in  # reads manifests of every language

    with scratch_folder("install") as work:
        folder = taken_in(source, work, settings)
        full = name_of_installed(name, folder)
        base, with_data = places.with_data_set(full, settings)
        suite, found = _pullable(base, with_data)
        there = places.origin_of(suite, with_data)
        version = found.check(folder)
        if there is not None and there.version != version:
            raise UsageError(
                f"{full} is there, and is {there.version}; give this one ({version}) another name or version, or "
                f"remove {with_data.data / suite}"
            )
        told = address or source
        origin = there or pulling.take_folder(suite, folder, with_data, found.check, source=told).origin
    return SuiteData(suite=full, published=found.published, at_hand=origin)


def data_of_suites(*, settings: Settings | None = None) -> list[SuiteData]:
    """Return what of each suite's published data is at hand, and the data sets that have a name."""
    found = []
    settings = settings or load()
    for suite in [*SUITES.names(), *places.data_sets(settings)]:
        try:
            base, of_set = places.with_data_set(suite, settings)
            name, pullable = _pullable(base, of_set)
            origin = places.origin_of(name, of_set)
            shown = name if base == suite else suite
            found.append(SuiteData(suite=shown, published=pullable.published, at_hand=origin))
        except GroundupError as error:  # one that cannot be asked must not hide the others
            found.append(SuiteData(suite=suite, error=str(error)))
    return found


def _pullable(name: str, settings: Settings) -> tuple[str, DataSource]:
    """Return a suite's full name and data source, read without any data: what lies there may be damaged."""
    bare = settings.but(data_dir=settings.data / ".none")
    suite = open_suite(name, bare)
    found = ForCommands.of(suite).data_source()
    if found is None:
        raise UsageError(f"{name} has no published data to pull: all of it comes with the suite")
    return suite.name, found
