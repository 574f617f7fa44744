"""`groundup data`: bring benchmarks' published data onto this machine, and say what is there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, Suite

if TYPE_CHECKING:
    from groundup.settings import Settings
    from groundup.suites.base import DataSource
    from groundup.suites.pulling import DataOrigin

PULL_EXAMPLES: Examples = (
    ("The data that groundup knows best", "groundup data pull nl2repobench"),
    ("Another release", "groundup data pull nl2repobench --commit ae9fb81"),
    ("Without the network, from a checkout", "groundup data pull nl2repobench --from NL2RepoBench"),
    ("Without the network, from downloaded archives", "groundup data pull dibench --from downloads"),
)
CONVERT_EXAMPLES: Examples = (
    ("Samples of the older form", "groundup data convert dibench test_dataset.jsonl -o repo-sample.jsonl"),
)
LIST_EXAMPLES: Examples = (
    ("What is at hand?", "groundup data list"),
    ("For programs", "groundup data list --json"),
)


def pull(
    suite: Suite,
    commit: Annotated[
        str | None, typer.Option(help="Of the published repository (default: the one that the suite names).")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Copy a checkout or a download instead."),
    ] = None,
    json: Json = False,
) -> int:
    """Fetch SUITE's published data: one commit of a public repository, a release, or a folder."""
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.cli.settings import settings_from
    from groundup.domain.errors import UsageError
    from groundup.suites import pulling

    if commit is not None and source is not None:
        raise UsageError("--commit and --from exclude each other: a folder is taken as it is")
    settings = settings_from()
    name, found = _pullable(suite, settings)
    published = found.published
    is_release = isinstance(published, pulling.PublishedRelease)
    if source is not None:
        origin = pulling.take_folder(name, source, settings, found.check, unpack=is_release)
    elif isinstance(published, pulling.PublishedRelease):
        if commit is not None:
            raise UsageError(
                f"{name} is published as a release, which has no --commit; --from takes another download"
            )
        origin = asyncio.run(pulling.pull_release(name, published, settings, found.check))
    else:
        wanted = published if commit is None else published.at(commit)
        origin = asyncio.run(pulling.pull(name, wanted, settings, found.check))
    if json:
        print_document({"suite": name, "licence": found.published.licence, **origin.model_dump(mode="json")})
    say(f"groundup: {name} now has data {_version(origin)} from {origin.source} ({origin.files} files)")
    say(f"groundup: its licence: {found.published.licence}")
    return 0


def convert(
    suite: Suite,
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A file of instances in the older form.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="NEW", help="Where to write the present form.")
    ],
) -> int:
    """Convert data of SUITE that is in an older form; it is never read in that form otherwise."""
    from groundup.cli.console import say
    from groundup.cli.settings import settings_from
    from groundup.domain.errors import UsageError
    from groundup.store.files import write_atomically
    from groundup.suites.base import open_suite

    found = open_suite(suite, settings_from()).data_source()
    if found is None:
        raise UsageError(f"the data of {suite} has no older form")
    data = found.convert(old)
    write_atomically(output, data)
    say(f"groundup: {output} holds {len(data.splitlines())} instances")
    return 0


def list_data(json: Json = False) -> int:
    """List which suites have published data, and what of it is at hand."""
    from groundup import catalog
    from groundup.cli.console import print_document, print_table
    from groundup.cli.settings import settings_from
    from groundup.domain.errors import GroundupError
    from groundup.suites.pulling import origin_of

    settings = settings_from()
    rows: list[tuple[str, ...]] = []
    documents: list[dict[str, object]] = []
    for suite in catalog.names("suite"):
        try:
            name, found = _pullable(suite, settings)
            origin = origin_of(name, settings)
        except GroundupError as error:  # one that cannot be asked must not hide the others
            rows.append((suite, "-", str(error), "-"))
            documents.append({"suite": suite, "error": str(error)})
            continue
        told = None if origin is None else origin.model_dump(mode="json")
        documents.append({"suite": name, "at_hand": told, "published": found.published.model_dump(mode="json")})
        at_hand = (
            ("-", "not pulled", "-") if origin is None else (_version(origin), origin.source, str(origin.files))
        )
        rows.append((name, *at_hand))
    if json:
        print_document({"folder": str(settings.data), "suites": documents})
    else:
        print_table(str(settings.data), ("suite", "data version", "from", "files"), rows)
    return 0


def _pullable(name: str, settings: "Settings") -> "tuple[str, DataSource]":
    """Return the suite as it is without any data, for what lies there may be damaged."""
    from groundup.domain.errors import UsageError
    from groundup.suites.base import open_suite

    bare = settings.model_copy(update={"data_dir": settings.data / ".none"})
    suite = open_suite(name, bare)
    found = suite.data_source()
    if found is None:
        raise UsageError(f"{name} has no published data to pull: all of it comes with the suite")
    return suite.name, found


def _version(origin: "DataOrigin") -> str:
    return origin.version or (origin.commit or origin.digest)[:16]
