"""`groundup doctor`: what this machine can do, what enforces limits, and what to do where something is missing."""

from typing import TYPE_CHECKING

from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from groundup.runs.gradable import Gradable
    from groundup.sandbox.machine import Fact
    from groundup.settings import Settings

EXAMPLES: Examples = (
    ("Can this machine grade, and what enforces its limits?", "groundup doctor"),
    ("For a bug report", "groundup doctor --json"),
)


def doctor(json: Json = False) -> int:
    """Say what this machine can do, and what to do where something is missing.

    Ends with 3 when submissions cannot be graded here as it is.
    """
    import asyncio

    from groundup.cli.console import print_document, print_table, say
    from groundup.cli.settings import settings_from
    from groundup.sandbox.machine import FactStatus

    settings = settings_from()
    facts, suites = asyncio.run(_found(settings))
    bad = [fact for fact in facts if fact.status is FactStatus.BAD]
    if json:
        documents = [fact.model_dump(mode="json") for fact in facts]
        suite_documents = [one.model_dump(mode="json") for one in suites]
        print_document({"ready": not bad, "facts": documents, "suites": suite_documents})
    else:
        print_table("", ("what", "", "found"), [(fact.name, fact.status.value, fact.value) for fact in facts])
        for fact in facts:
            if fact.advice:
                say(f"{fact.name}: {fact.advice}")
        rows = [(one.suite, str(one.tasks), str(one.online), str(one.offline)) for one in suites]
        print_table("\nTasks that can be graded here", ("suite", "tasks", "online", "offline"), rows)
        for one in suites:
            for lack, count in one.lacks.items():
                say(f"{one.suite}: {f'{count} tasks lack {lack}' if count else lack}")
    online, total = (sum(one.online for one in suites), sum(one.tasks for one in suites))
    able = f"groundup: this machine can grade submissions to {online} of {total} tasks"
    say("groundup: not ready; see above" if bad else able)
    return 3 if bad else 0


async def _found(settings: "Settings") -> tuple[list["Fact"], "tuple[Gradable, ...]"]:
    from groundup.runs.gradable import git_advice, gradable, python_advice
    from groundup.sandbox.machine import Fact, FactStatus

    host, suites = await gradable(settings)
    facts = await _facts(settings)
    for minor, found in host.interpreters.items():
        name = f"Python {minor}"
        if found:
            facts.append(Fact(name=name, status=FactStatus.GOOD, value=f"{found.version}, {found.executable}"))
        else:
            facts.append(Fact(name=name, status=FactStatus.LIMITED, value="missing", advice=python_advice(minor)))
    version = "here" if host.has_git else "missing"
    facts.append(
        Fact(
            name="git",
            status=FactStatus.GOOD if host.has_git else FactStatus.LIMITED,
            value=version,
            advice="" if host.has_git else "install it, such as Debian's git; originals in repositories need it",
        )
    )
    for name, reached in host.git_hosts.items():
        status, value = (
            (FactStatus.GOOD, "answers") if reached else (FactStatus.LIMITED, "cannot be reached by Git")
        )
        facts.append(Fact(name=name, status=status, value=value, advice="" if reached else git_advice()))
    return facts, suites


async def _facts(settings: "Settings") -> list["Fact"]:
    from groundup.sandbox.machine import examine

    return [*await examine(settings.cache_dir), *_admission(settings), _uv(), await _registry(), *_java()]


def _admission(settings: "Settings") -> list["Fact"]:
    from groundup.runs.scheduler import machine_memory_mb
    from groundup.sandbox.machine import Fact, FactStatus

    memory_mb = machine_memory_mb()
    share = round(memory_mb * settings.memory_share)
    value = f"{settings.jobs} at once, together in {share} of {memory_mb} MB"
    return [Fact(name="attempts", status=FactStatus.GOOD, value=value)]


def _uv() -> "Fact":
    from groundup.domain.errors import GroundupError
    from groundup.registries.uv import uv_program, uv_version
    from groundup.sandbox.machine import Fact, FactStatus

    try:
        return Fact(name="uv", status=FactStatus.GOOD, value=f"{uv_version()}, {uv_program()}")
    except GroundupError as error:
        return Fact(name="uv", status=FactStatus.BAD, value="missing", advice=str(error))


async def _registry() -> "Fact":
    """Ask the package index for one page, past every cache."""
    import tempfile
    from pathlib import Path

    from groundup.domain.errors import GroundupError
    from groundup.registries.cache import FetchCache
    from groundup.registries.pypi.client import PyPIClient
    from groundup.registries.pypi.settings import pypi_settings
    from groundup.sandbox.machine import Fact, FactStatus
    from groundup.settings import environment

    name = "package index"
    try:
        configuration = await pypi_settings(environment())
        with tempfile.TemporaryDirectory(prefix="groundup-doctor-") as folder:
            registry = PyPIClient(configuration, FetchCache(Path(folder)))
            try:
                await registry.page("pip")
            finally:
                await registry.close()
    except GroundupError as error:
        advice = "what is cached still works; environments that are not built yet cannot be built"
        return Fact(name=name, status=FactStatus.LIMITED, value=str(error), advice=advice)
    addresses = ", ".join(index.url for index in configuration.indexes)
    return Fact(name=name, status=FactStatus.GOOD, value=f"{addresses} (from {configuration.origin})")


def _java() -> list["Fact"]:
    """Look for what tasks in Java need; without it the others can be graded all the same."""
    from groundup.domain.errors import GroundupError
    from groundup.environments.java_homes import find_maven, jdks
    from groundup.registries.maven.settings import maven_settings
    from groundup.sandbox.machine import Fact, FactStatus
    from groundup.settings import environment

    advice = "only tasks in Java need it"
    found = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in jdks(environment()))
    told = "install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME"
    facts = [Fact(name="JDK", status=FactStatus.GOOD, value=found)]
    if not found:
        facts = [Fact(name="JDK", status=FactStatus.LIMITED, value="missing", advice=f"{told}; {advice}")]
    try:
        maven = find_maven(environment())
        addresses = ", ".join(index.url for index in maven_settings(environment(), maven.home).indexes)
    except GroundupError as error:
        return [*facts, Fact(name="Maven", status=FactStatus.LIMITED, value=str(error), advice=advice)]
    value = f"{maven.version} in {maven.home}, from {addresses}"
    return [*facts, Fact(name="Maven", status=FactStatus.GOOD, value=value)]
