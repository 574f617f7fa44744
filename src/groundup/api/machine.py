"""What this machine can do, what to do where something is missing, and the published data that it has."""

import asyncio
from pathlib import Path

from groundup import catalog
from groundup.api.flags import AnyPath
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.records import Record
from groundup.environments.toolchains import find_maven, jdks
from groundup.registries.cache import FetchCache
from groundup.registries.maven.client import maven_settings
from groundup.registries.pypi.client import PyPIClient, pypi_settings
from groundup.registries.uv import uv_program, uv_version
from groundup.runs.gradable import Gradable, gradable
from groundup.runs.scheduler import machine_memory_mb
from groundup.sandbox.machine import Fact, FactStatus, examine
from groundup.settings import Settings, environment, load
from groundup.store.ownership import write_made
from groundup.suites import pulling
from groundup.suites.base import DataSource, open_suite
from groundup.suites.pulling import DataOrigin, PublishedRelease, PublishedRepository
from groundup.trees.scratch import scratch_folder


class MachineReport(Record):
    """Facts about this machine, and how many tasks of each suite can be graded on it."""

    facts: tuple[Fact, ...]
    suites: tuple[Gradable, ...]

    @property
    def ready(self) -> bool:
        """Whether submissions can be graded here at all."""
        return not any(fact.status is FactStatus.BAD for fact in self.facts)


def examine_machine(*, settings: Settings | None = None) -> MachineReport:
    """Return what this machine can do, as `groundup doctor` shows it. Not for a running event loop."""
    return asyncio.run(examine_machine_async(settings=settings))


async def examine_machine_async(*, settings: Settings | None = None) -> MachineReport:
    """Return what this machine can do. Looks, and asks registries for one page each; builds nothing."""
    settings = settings or load()

    host, suites = await gradable(settings)
    facts = await _facts(settings)
    for minor, found in host.interpreters.items():
        name = f"Python {minor}"
        if found:
            facts.append(Fact(name=name, status=FactStatus.GOOD, value=f"{found.version}, {found.executable}"))
        else:
            facts.append(Fact(name=name, status=FactStatus.LIMITED, value="missing"))
    version = "here" if host.has_git else "missing"
    facts.append(
        Fact(
            name="git",
            status=FactStatus.GOOD if host.has_git else FactStatus.LIMITED,
            value=version,
        )
    )
    for name, reached in host.git_hosts.items():
        status, value = (
            (FactStatus.GOOD, "answers") if reached else (FactStatus.LIMITED, "cannot be reached by Git")
        )
        facts.append(Fact(name=name, status=status, value=value))
    return MachineReport(facts=tuple(facts), suites=suites)


async def _facts(settings: Settings) -> list[Fact]:
    return [*await examine(settings.cache_dir), *_admission(settings), _uv(), await _registry(), *_java()]


def _admission(settings: Settings) -> list[Fact]:
    memory_mb = machine_memory_mb()
    share = round(memory_mb * settings.memory_share)
    value = f"{settings.jobs} at once, together in {share} of {memory_mb} MB"
    return [Fact(name="attempts", status=FactStatus.GOOD, value=value)]


def _uv() -> Fact:
    try:
        return Fact(name="uv", status=FactStatus.GOOD, value=f"{uv_version()}, {uv_program()}")
    except GroundupError as error:
        return Fact(name="uv", status=FactStatus.BAD, value="missing", advice=str(error))


async def _registry() -> Fact:
    """Ask the package index for one page, past every cache."""
    name = "package index"
    try:
        configuration = await pypi_settings(environment())
        with scratch_folder("doctor") as folder:
            registry = PyPIClient(configuration, FetchCache(folder))
            try:
                await registry.page("pip")
            finally:
                await registry.close()
    except GroundupError as error:
        advice = "what is cached still works; environments that are not built yet cannot be built"
        return Fact(name=name, status=FactStatus.LIMITED, value=str(error), advice=advice)
    addresses = ", ".join(index.url for index in configuration.indexes)
    return Fact(name=name, status=FactStatus.GOOD, value=f"{addresses} (from {configuration.origin})")


def _java() -> list[Fact]:
    """Look for what tasks in Java need; tasks in other languages can be graded without it."""

    advice = "only tasks in Java need it"
    found = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in jdks(environment()))
    how = "install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME"
    facts = [Fact(name="JDK", status=FactStatus.GOOD, value=found)]
    if not found:
        facts = [Fact(name="JDK", status=FactStatus.LIMITED, value="missing", advice=f"{how}; {advice}")]
    try:
        maven = find_maven(environment())
        addresses = ", ".join(index.url for index in maven_settings(environment(), maven.home).indexes)
    except GroundupError as error:
        return [*facts, Fact(name="Maven", status=FactStatus.LIMITED, value=str(error), advice=advice)]
    value = f"{maven.version} in {maven.home}, from {addresses}"
    return [*facts, Fact(name="Maven", status=FactStatus.GOOD, value=value)]


class SuiteData(Record):
    """What of a suite's published data is on this machine; where it cannot be read, *error* says why."""

    suite: str
    published: PublishedRepository | PublishedRelease | None = None
    at_hand: DataOrigin | None = None
    error: str | None = None
    kept: Path | None = None
    """Where data lies that a pull found changed, and so did not remove."""


def pull(
    suite: str, *, commit: str | None = None, source: AnyPath | None = None, settings: Settings | None = None
) -> SuiteData:
    """Fetch the published data of *suite*: one commit of a public repository, a release, or the folder *source*.

    SUITE@NAME keeps it as a data set of that name, beside the others. Raises `UsageError`, also for data that does
    not read as it should, and where data of another origin is in place. Not for a running event loop.
    """
    if commit is not None and source is not None:
        raise UsageError("--commit and --from exclude each other: a folder is taken as it is")
    base, settings = pulling.with_data_set(suite, settings or load())
    name, found = _pullable(base, settings)
    published = found.published
    if source is not None:
        unpack = isinstance(published, PublishedRelease)
        pulled = pulling.take_folder(name, Path(source), settings, found.check, unpack=unpack)
    elif isinstance(published, PublishedRelease):
        if commit is not None:
            raise UsageError(
                f"{name} is published as a release, which has no --commit; --from takes another download"
            )
        pulled = asyncio.run(pulling.pull_release(name, published, settings, found.check))
    else:
        wanted = published if commit is None else published.at(commit)
        pulled = asyncio.run(pulling.pull(name, wanted, settings, found.check))
    return SuiteData(
        suite=suite if base != suite else name, published=published, at_hand=pulled.origin, kept=pulled.kept
    )


def convert(suite: str, old: AnyPath, new: AnyPath, *, settings: Settings | None = None) -> int:
    """Write the instances of *old*, which are in an older form, to *new*; return how many. Raises `UsageError`."""
    found = open_suite(suite, settings or load()).data_source()
    if found is None:
        raise UsageError(f"the data of {suite} has no older form")
    data = found.convert(Path(old))
    write_made(Path(new), data)
    return len(data.splitlines())


def list_data(*, settings: Settings | None = None) -> list[SuiteData]:
    """Return what of each suite's published data is at hand, and the data sets that have a name."""
    found = []
    settings = settings or load()
    for suite in [*catalog.names("suite"), *pulling.data_sets(settings)]:
        try:
            base, of_set = pulling.with_data_set(suite, settings)
            name, pullable = _pullable(base, of_set)
            origin = pulling.origin_of(name, of_set)
            shown = name if base == suite else suite
            found.append(SuiteData(suite=shown, published=pullable.published, at_hand=origin))
        except GroundupError as error:  # one that cannot be asked must not hide the others
            found.append(SuiteData(suite=suite, error=str(error)))
    return found


def _pullable(name: str, settings: Settings) -> tuple[str, DataSource]:
    """Return the suite as it is without any data, for what lies there may be damaged."""
    bare = settings.but(data_dir=settings.data / ".none")
    suite = open_suite(name, bare)
    found = suite.data_source()
    if found is None:
        raise UsageError(f"{name} has no published data to pull: all of it comes with the suite")
    return suite.name, found
