"""What an agent gets for a task in another language than Python: a toolchain of this machine and its packages.

Owns which language needs what, and the sentence for the agent's prompt. A toolchain that this machine does not
have is no failure: the prompt says that there is none. A registry comes with its toolchain only, for nothing else
could ask it.
"""

from collections.abc import Collection

from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.maven_layers import memory_options
from groundup.languages import LANGUAGES, LanguageRecord, RegistryKind, ToolchainName
from groundup.registries.lending import LendingRules
from groundup.sandbox.protocol import Mount

PYTHON = "python"
DEFAULT_JAVA = 17


class LanguageTools(Record):
    """What there is of a language, ready to be mounted. Empty for Python, which every agent has."""

    language: str = PYTHON
    registry: RegistryKind | None = None
    installer: str | None = None
    """Which program inside installs packages, besides pip."""
    versions: dict[str, str] = {}
    """Name -> version of what there is."""
    absent: str | None = None
    """What this machine does not have, and why."""
    mounts: tuple[Mount, ...] = ()
    path: tuple[str, ...] = ()
    environment: dict[str, str] = {}

    @property
    def sentence(self) -> str:
        """A sentence for the agent, with a space before it; nothing for Python."""
        if self.versions:
            return (
                f" There is {' and '.join(f'{name} {version}' for name, version in self.versions.items())}, too."
            )
        need = _needs(self.language)
        return f" There are no tools for {need.name}." if need else ""

    @property
    def installers(self) -> str:
        """The programs that install packages, for a sentence."""
        return f"pip or {self.installer}" if self.installer else "pip"

    def wanted(self, withheld: Collection[str]) -> LendingRules | None:
        """Return what to borrow besides the Python package index; it refuses *withheld* where that is possible."""
        if self.registry is None:
            return None
        refused: dict[RegistryKind, tuple[str, ...]] = {}
        if self.registry != "maven":  # whose repositories are lent without refusals
            refused[self.registry] = tuple(withheld)
        return LendingRules(kinds=(self.registry,), refused=refused)


def python_names(task: Task, withheld: Collection[str]) -> tuple[str, ...]:
    """Return those of *withheld* that are names of Python distributions: none for a task in another language."""
    return () if _needs(_language(task)) else tuple(withheld)


async def language_tools(task: Task, builder: EnvironmentBuilder) -> LanguageTools:
    """Return what there is for *task*'s language, when *builder* lends it."""
    language = _language(task)
    need = _needs(language)
    if need is None:
        return LanguageTools()
    try:
        found = await (_tools(need.toolchain, builder) if need.toolchain else _java(task, builder))
    except InfrastructureError as error:
        return LanguageTools(language=language, absent=str(error))
    return found.model_copy(update={"language": language, "registry": need.registry, "installer": need.installer})


def _language(task: Task) -> str:
    named = task.metadata.get("language")
    return named if isinstance(named, str) else PYTHON


def _needs(language: str) -> LanguageRecord | None:
    """Return the record of a language that needs more than Python."""
    return None if language == PYTHON else LANGUAGES.get(language)


async def _java(task: Task, builder: EnvironmentBuilder) -> LanguageTools:
    if builder.java is None:
        raise InfrastructureError("the environment builder has no Java")
    named = task.metadata.get("java")
    found = builder.java.toolchain(named if isinstance(named, int) else DEFAULT_JAVA)
    return LanguageTools(
        versions={"Java": found.java, "Maven": found.maven},
        mounts=found.mounts,
        path=found.path,
        environment={**found.environment, **memory_options(task.limits.memory_mb)},
    )


async def _tools(name: ToolchainName, builder: EnvironmentBuilder) -> LanguageTools:
    found = await builder.toolchain(name)
    return LanguageTools(
        versions=found.versions, mounts=found.mounts, path=found.path, environment=found.environment
    )
