"""An agent that hands in a text: `-a examples.plugins.agent:create --agent-option text=42`."""

from collections.abc import Mapping

from pydantic import JsonValue

from groundup.agents.base import Agent, AgentContext, AgentResult
from groundup.domain.subjects import Outcome


class Copyist(Agent):
    """Writes its text into a file. An agent with a model asks `context.model`."""

    name, version, needs_model = "copyist", "1", False

    def __init__(self, options: Mapping[str, JsonValue]) -> None:
        self._options = options

    def identity(self) -> Mapping[str, JsonValue]:
        """Return what decides what is handed in."""
        return self._options

    async def attempt(self, context: AgentContext) -> AgentResult:
        """Work in the workspace; what lies there at the end is the submission."""
        (context.workspace / "answer").write_text(str(self._options["text"]))
        return AgentResult(outcome=Outcome.SUBMITTED, turns=1)


def create(options: Mapping[str, JsonValue]) -> Copyist:
    """Return the agent; the catalog calls this."""
    return Copyist(options)
