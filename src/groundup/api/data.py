"""Benchmarks' published data: fetched onto this machine, converted from an older form, and what there is of it."""

import asyncio
from pathlib import Path

from groundup import catalog
from groundup.api.flags import AnyPath
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.records import Record
from groundup.settings import Settings, load
from groundup.store.files import write_atomically
from groundup.suites import pulling
from groundup.suites.base import DataSource, open_suite
from groundup.suites.pulling import DataOrigin, PublishedRelease, PublishedRepository


class SuiteData(Record):
    """What of a suite's published data is on this machine; where it cannot be read, *error* says why."""

    suite: str
    published: PublishedRepository | PublishedRelease | None = None
    at_hand: DataOrigin | None = None
    error: str | None = None


def pull(
    suite: str, *, commit: str | None = None, source: AnyPath | None = None, settings: Settings | None = None
) -> SuiteData:
    """Fetch the published data of *suite*: one commit of a public repository, a release, or the folder *source*.

    Raises `UsageError`, also for data that does not read as it should. Not for a running event loop.
    """
    if commit is not None and source is not None:
        raise UsageError("--commit and --from exclude each other: a folder is taken as it is")
    settings = settings or load()
    name, found = _pullable(suite, settings)
    published = found.published
    if source is not None:
        unpack = isinstance(published, PublishedRelease)
        origin = pulling.take_folder(name, Path(source), settings, found.check, unpack=unpack)
    elif isinstance(published, PublishedRelease):
        if commit is not None:
            raise UsageError(
                f"{name} is published as a release, which has no --commit; --from takes another download"
            )
        origin = asyncio.run(pulling.pull_release(name, published, settings, found.check))
    else:
        wanted = published if commit is None else published.at(commit)
        origin = asyncio.run(pulling.pull(name, wanted, settings, found.check))
    return SuiteData(suite=name, published=published, at_hand=origin)


def convert(suite: str, old: AnyPath, new: AnyPath, *, settings: Settings | None = None) -> int:
    """Write the instances of *old*, which are in an older form, to *new*; return how many. Raises `UsageError`."""
    found = open_suite(suite, settings or load()).data_source()
    if found is None:
        raise UsageError(f"the data of {suite} has no older form")
    data = found.convert(Path(old))
    write_atomically(Path(new), data)
    return len(data.splitlines())


def list_data(*, settings: Settings | None = None) -> list[SuiteData]:
    """Return what of each suite's published data is at hand."""
    found = []
    settings = settings or load()
    for suite in catalog.names("suite"):
        try:
            name, pullable = _pullable(suite, settings)
            origin = pulling.origin_of(name, settings)
            found.append(SuiteData(suite=name, published=pullable.published, at_hand=origin))
        except GroundupError as error:  # one that cannot be asked must not hide the others
            found.append(SuiteData(suite=suite, error=str(error)))
    return found


def _pullable(name: str, settings: Settings) -> tuple[str, DataSource]:
    """Return the suite as it is without any data, for what lies there may be damaged."""
    bare = settings.model_copy(update={"data_dir": settings.data / ".none"})
    suite = open_suite(name, bare)
    found = suite.data_source()
    if found is None:
        raise UsageError(f"{name} has no published data to pull: all of it comes with the suite")
    return suite.name, found
