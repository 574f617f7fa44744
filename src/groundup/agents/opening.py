"""Agents by their names."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from groundup.agents.base import Agent
from groundup.catalog import Table
from groundup.domain.errors import UsageError

AgentMaker = Callable[[Mapping[str, JsonValue]], Agent]


def _loop() -> AgentMaker:
    from groundup.agents.loop import create

    return create


def _oneshot() -> AgentMaker:
    from groundup.agents.oneshot import create

    return create


def _cli() -> AgentMaker:
    from groundup.agents.cli.agent import create

    return create


def _all_in_one() -> AgentMaker:
    from groundup.agents.dependencies.agents import create_all_in_one

    return create_all_in_one


def _imports_only() -> AgentMaker:
    from groundup.agents.dependencies.agents import create_imports_only

    return create_imports_only


def _file_iterate() -> AgentMaker:
    from groundup.agents.dependencies.agents import create_file_iterate

    return create_file_iterate


AGENTS: Table[AgentMaker] = Table(
    "agent",
    {
        "loop": _loop,
        "oneshot": _oneshot,
        "cli": _cli,
        "all-in-one": _all_in_one,
        "imports-only": _imports_only,
        "file-iterate": _file_iterate,
    },
)


def open_agent(name: str, options: Mapping[str, JsonValue]) -> Agent:
    """Return the agent called *name*. Raises `UsageError`, also for what is no agent."""
    made = AGENTS.make(name, options)
    if not isinstance(made, Agent):
        raise UsageError(
            f"agent {name!r} makes a {type(made).__name__}, which must derive from groundup.agents.base.Agent"
        )
    return made
