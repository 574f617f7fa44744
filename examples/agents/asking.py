"""An agent as a class: `-a examples.agents.asking:create`. It runs beside the sandbox, in groundup's process."""

from collections.abc import Mapping

from pydantic import JsonValue

from groundup.agents.asking import ModelQuestions, Unanswerable
from groundup.agents.base import Agent, AgentContext, AgentResult
from groundup.agents.tools import run_bash
from groundup.agents.workspace import open_workspace
from groundup.domain.conversations import Message
from groundup.domain.subjects import Outcome


class Asking(Agent):
    """Asks once and writes the reply into a file, by a command in the attempt's sandbox."""

    name, version, needs_model = "asking", "1", True

    def identity(self) -> Mapping[str, JsonValue]:
        """Return what decides what is handed in, besides the version: nothing."""
        return {}

    async def attempt(self, context: AgentContext) -> AgentResult:
        """Work in the workspace; what lies there at the end is the submission."""
        asking = ModelQuestions(context)
        question = Message(role="user", content=context.task.instruction or "")
        try:
            reply = await asking.within_time(asking.ask("all", (question,)))
        except Unanswerable as error:
            return asking.ended(error.outcome, str(error))
        async with open_workspace(context) as place:
            await place.write_file("/workspace/reply", reply.message.content.encode())
            seen = await run_bash(place, "mv reply answer && ls", 60, 1000)
        context.trajectory.append("command", content=seen.content)
        return asking.ended(Outcome.SUBMITTED)


def create(options: Mapping[str, JsonValue]) -> Asking:
    """Return the agent; the catalog calls this."""
    return Asking()
