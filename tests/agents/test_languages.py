"""What an agent gets for a task in another language than Python, and what its prompt says of that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from typing_extensions import override

from groundup.agents.loop import create
from groundup.agents.oneshot import create as oneshot
from groundup.agents.workspace import LanguageTools, language_tools, python_names
from groundup.domain.errors import InfrastructureError
from groundup.domain.languages import RegistryKind, ToolchainName
from groundup.environments.toolchains import Toolchain
from groundup.registries.lending import LendingRules, RegistrySet
from groundup.sandbox.protocol import Mount
from groundup.serving.offers import Offer
from groundup.serving.session import Rules
from groundup.suites.nl2repobench.suite import Nl2RepoBench
from tests.agents.fakes import FakeBuilder, FakeModel, Memory, a_task, agent_context, runs, says
from tests.sandbox.fake import FakeProvider


class Workbench(FakeBuilder):
    """Lends toolchains, but those that it lacks, and registries in which nothing is."""

    def __init__(self, root: Path, lacks: tuple[str, ...] = ()) -> None:
        super().__init__(root)
        self.wanted: list[LendingRules] = []
        self._lacks = lacks
        self._root = root

    @asynccontextmanager
    @override
    async def registries(self, wanted: LendingRules) -> AsyncIterator[RegistrySet]:
        """Lend nothing."""
        self.wanted.append(wanted)
        yield RegistrySet({})

    @override
    async def toolchain(self, name: ToolchainName) -> Toolchain:
        """Return a toolchain of one program."""
        if name in self._lacks:
            raise InfrastructureError(f"{name} is not on this machine")
        inside = f"/opt/toolchains/{name}"
        mounts = (Mount(source=self._root, target=inside),)
        return Toolchain(name=name, versions={name: "9.1"}, mounts=mounts, path=(f"{inside}/bin",))


@pytest.mark.parametrize(
    ("language", "toolchain", "kind", "installer"),
    [
        ("javascript", "node", "npm", "npm"),
        ("rust", "rust", "crates", "cargo"),
        ("csharp", "dotnet", "nuget", "dotnet"),
    ],
)
async def test_a_language_brings_toolchain_and_registry(
    tmp_path: Path, language: str, toolchain: ToolchainName, kind: RegistryKind, installer: str
) -> None:
    """Toolchain and registry are in the sandbox, the original's names are refused, and the prompt tells of it."""
    builder, provider, memory = Workbench(tmp_path), FakeProvider(), Memory()
    given = agent_context(
        tmp_path,
        FakeModel([runs("x"), says("x"), says("x")]),
        task=a_task(metadata={"language": language}),
        provider=provider,
        trajectory=memory,
        withheld=("original",),
        builder=builder,
    )
    await create({}).attempt(given)
    prompt = str(memory.of("message")[0]["content"])
    assert f"There is {toolchain} 9.1, too." in prompt
    assert f"with pip or {installer}, except" in prompt
    assert provider.specs[0].path[-1] == f"/opt/toolchains/{toolchain}/bin"
    assert builder.wanted == [LendingRules(kinds=(kind,), refused={kind: ("original",)})]
    assert memory.of("tools")[0]["versions"] == {toolchain: "9.1"}


async def test_an_absent_toolchain_is_reported_and_no_failure(tmp_path: Path) -> None:
    """The attempt goes on, trajectory and prompt say what is not there, and no registry is opened."""
    builder, memory = Workbench(tmp_path, lacks=get_args(ToolchainName)), Memory()
    model = FakeModel([says("x"), says("x")])
    task = a_task(metadata={"language": "csharp"})
    await create({}).attempt(agent_context(tmp_path, model, task=task, trajectory=memory, builder=builder))
    assert "There are no tools for C#. Packages can be installed with pip, except" in str(memory.of("message"))
    assert memory.of("tools")[0]["absent"] == "dotnet is not on this machine"
    assert builder.wanted == []


async def test_python_needs_nothing_more(tmp_path: Path) -> None:
    """For Python, and for a language that no one knows, everything is as it always was."""
    for metadata in ({}, {"language": "python"}, {"language": "cobol"}):
        tools = await language_tools(a_task(metadata=metadata), Workbench(tmp_path))
        assert (tools.sentence, tools.installers, tools.wanted(("x",))) == ("", "pip", None)


async def test_a_builder_that_lends_nothing_is_no_failure(tmp_path: Path) -> None:
    """Such a builder has only Python."""
    tools = await language_tools(a_task(metadata={"language": "rust"}), FakeBuilder(tmp_path))
    assert tools.sentence == " There are no tools for Rust."
    assert tools.absent == "the environment builder lends no toolchains"


async def test_java(tmp_path: Path) -> None:
    """Maven's repositories know no refusals; a builder without Java says so; no Python is hidden for it."""
    assert LanguageTools(registry="maven").wanted(("original",)) == LendingRules(kinds=("maven",))
    java = a_task(metadata={"language": "java"})
    tools = await language_tools(java, Workbench(tmp_path))
    assert tools.absent == "the environment builder has no Java"
    assert python_names(java, ("pytest",)) == ()
    assert python_names(a_task(), ("pytest",)) == ("pytest",)


async def test_every_prompt_says_how_the_task_is_graded(tmp_path: Path) -> None:
    """What a suite tells of its grading stands in prompts of the loop, of one request and of served episodes."""
    told = "Nothing that you install is there when it is tested."
    for number, agent in enumerate((create({}), oneshot({}))):
        model = FakeModel([says("x"), says("x")])
        given = agent_context(tmp_path / str(number), model, builder=Workbench(tmp_path))
        await agent.attempt(replace(given, told_of_grading=told))
        assert told in str(model.requests[0].messages)
    offered = Offer("suite", "1", {"a": a_task()}, [], lambda _: told)
    assert told in offered.prompt(a_task(), Rules())


def test_nl2repobench_says_that_requirements_are_not_installed() -> None:
    """Its graders take project files away and install nothing, as the published evaluator does."""
    told = Nl2RepoBench({}).told_of_grading(a_task())
    assert "require, is not installed" in told
    assert "pyproject.toml" in told
