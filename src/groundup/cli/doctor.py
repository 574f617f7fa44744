"""`groundup doctor`: what this machine can do, and what to do where something is missing."""

import asyncio

from groundup.cli.console import print_document, print_table, say
from groundup.cli.options import Examples, Json
from groundup.domain.errors import GroundupError
from groundup.domain.records import Record
from groundup.environments.java_builder import java_facts
from groundup.environments.toolchains import toolchain_facts
from groundup.registries.pypi.client import index_trouble, pypi_settings
from groundup.registries.uv import uv_program, uv_version
from groundup.runs.gradable import Gradable, Host, Lack, gradable, host_of
from groundup.runs.scheduler import machine_memory_mb
from groundup.sandbox.machine import Fact, FactStatus, examine
from groundup.settings import Settings, environment, load

EXAMPLES: dict[str, Examples] = {
    "doctor": (
        ("Can this machine grade, and what enforces its limits?", "groundup doctor"),
        ("For a bug report", "groundup doctor --json"),
    ),
}


class MachineReport(Record):
    """Facts about this machine, and how many tasks of each suite can be graded on it."""

    facts: tuple[Fact, ...]
    suites: tuple[Gradable, ...]

    @property
    def ready(self) -> bool:
        """Whether a submission can be graded here: sandboxes open, and a task has what it needs."""
        return self.opens_sandboxes and any(one.online for one in self.suites)

    @property
    def opens_sandboxes(self) -> bool:
        """Whether nothing is missing that every task needs."""
        return not any(fact.status is FactStatus.BAD for fact in self.facts)


def doctor(json: Json = False) -> int:
    """Show what this machine can do, and how to get what is missing.

    Exit code 3: this machine can grade no task as it is.
    """
    found = asyncio.run(_examined(load()))
    suites = found.suites
    if json:
        print_document({"ready": found.ready, **found.model_dump(mode="json")})
    else:
        print_table(
            "", ("what", "", "found"), [(fact.name, fact.status.value, fact.value) for fact in found.facts]
        )
        for fact in found.facts:
            if fact.advice:
                say(f"{fact.name}: {fact.advice}")
        rows = [(one.suite, str(one.tasks), str(one.online), str(one.offline)) for one in suites]
        print_table("\nTasks that can be graded here", ("suite", "tasks", "online", "offline"), rows)
        for one in suites:
            for lack in one.lacks:
                say(f"{one.suite}: {lack}")
            for sentence in one.beside:
                say(f"{one.suite}: {sentence}")
    able = ", ".join(map(str, suites))
    say(f"groundup: can be graded here: {able}" if found.opens_sandboxes else "groundup: not ready; see above")
    if found.opens_sandboxes and not found.ready:
        say("groundup: not ready: no task can be graded here yet; the lines above say what is missing")
    lacks = [lack for one in suites for lack in one.lacks if lack.command]
    if lacks and found.opens_sandboxes:
        # A way whose gain is known comes before one behind which another lack may wait.
        most = max(lacks, key=lambda lack: (bool(lack.alone), _gained(lack)))
        count = f"{most.alone}" if most.alone else f"up to {most.tasks}"
        say(f"groundup: the shortest way to {count} more: `{most.command}`")
    return 0 if found.ready else 3


def _gained(lack: Lack) -> int:
    """Return how many tasks can be graded once *lack* is mended, as far as that is known."""
    return lack.tasks if lack.alone is None else lack.alone


async def _examined(settings: Settings) -> MachineReport:
    """Return what this machine can do. Looks, and asks registries for one page each; builds nothing."""
    index = await index_trouble(environment())
    host, suites = await gradable(settings, index)
    facts = await _facts(settings, index)
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
    facts.extend(_git_host(name, host) for name in dict.fromkeys(map(host_of, host.repositories)))
    return MachineReport(facts=tuple(facts), suites=suites)


def _git_host(name: str, host: Host) -> Fact:
    """Return whether the repositories of Git host *name* can be fetched, be it from a mirror."""
    answered = [here for repository, here in host.repositories.items() if host_of(repository) == name]
    if all(answered):
        return Fact(name=name, status=FactStatus.GOOD, value="answers")
    some = f"{sum(answered)} of {len(answered)} repositories answer"
    return Fact(name=name, status=FactStatus.LIMITED, value=some if any(answered) else "cannot be reached")


async def _facts(settings: Settings, index: str) -> list[Fact]:
    found = [*await examine(settings.cache_dir), *_admission(settings), _uv(), await _registry(index)]
    return [*found, *java_facts(), *toolchain_facts()]


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


async def _registry(trouble: str) -> Fact:
    """Return which package index is asked, or the *trouble* with it."""
    name = "package index"
    if trouble:
        advice = "what is cached still works; environments that are not built yet cannot be built"
        return Fact(name=name, status=FactStatus.LIMITED, value=trouble, advice=advice)
    configuration = await pypi_settings(environment())
    addresses = ", ".join([*(index.url for index in configuration.indexes), *map(str, configuration.folders)])
    return Fact(name=name, status=FactStatus.GOOD, value=f"{addresses} (from {configuration.origin})")
