"""The agent `oneshot`: one request, one reply, all files in it. Nothing is run."""

from collections.abc import Mapping

from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.answers import FORM, fenced, put_file
from groundup.agents.asking import ModelQuestions, Unanswerable
from groundup.agents.base import Agent, AgentContext, AgentResult, EpisodeLimits, Seeded, read_options
from groundup.agents.replies import ReplyKind, read_reply
from groundup.domain.conversations import Message
from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError
from groundup.domain.records import SettingRecord
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.models.prices import estimated_text_tokens

_RULES = f"""You are a software engineer. You get a task and answer once, with everything that is to be handed in;
nothing that you write is run before it is tested. Write complete, working files, without placeholders.

{FORM}"""
_SEEDS = "These files are there already; give those again that you change.\n\n"
_SEED_BYTES = 200_000


class OneshotOptions(SettingRecord):
    """Settings of the agent; it has none yet."""


def create(options: Mapping[str, JsonValue]) -> "Oneshot":
    read_options(OneshotOptions, "oneshot", options)
    return Oneshot()


class Oneshot(Agent):
    """One question, one reply, which holds all files."""

    name = "oneshot"
    version = "2"
    needs_model = True
    goes_on = False
    preferred: Mapping[str, JsonValue] = {"temperature": 0.0, "max_output_tokens": 8000}

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        return {"prompts": digest_of([_RULES, _SEEDS]), **self.preferred}

    @override
    def reservation_mb(self, task: Task) -> int:
        return 16

    @override
    def expected_usage(self, task: Task, limits: EpisodeLimits, seeded: Seeded) -> TokenUsage:
        """Return the question and the longest reply."""
        return TokenUsage(input_tokens=estimated_text_tokens(task.instruction or ""), output_tokens=8000)

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Ask once and write what comes."""
        asking = ModelQuestions(context)
        messages = (Message(role="system", content=_RULES), Message(role="user", content=_question(context)))
        try:
            reply = await asking.within_time(asking.ask("all", messages))
        except Unanswerable as error:
            return asking.ended(error.outcome, str(error))
        seeds = {seed.path: seed.content for seed in context.task.seeds}
        answer = read_reply(reply, seeds.get)
        problems = list(answer.problems)
        for path, content in answer.files.items():
            try:
                put_file(context.workspace, path, content)
            except SubmissionError as error:
                problems.append(str(error))
        listed: list[JsonValue] = [*answer.files]
        context.trajectory.append("files", written=listed, problems=[*problems], reply=answer.kind.name.lower())
        told = "; ".join(problems[:3])
        if reply.finish == "length":
            return asking.ended(Outcome.LIMIT, f"the reply was cut off after {reply.usage.output_tokens} tokens")
        if answer.kind is ReplyKind.FILES:
            return asking.ended(Outcome.SUBMITTED, told)
        outcome = Outcome.REFUSED if answer.kind is ReplyKind.REFUSAL else Outcome.FORMAT
        why = f"the reply holds no file that can be read: {answer.kind}"
        return asking.ended(outcome, f"{why}; {told}" if told else why)


def _question(context: AgentContext) -> str:
    task = context.task
    seeds = [
        fenced(seed.path, text)
        for seed in task.seeds
        if (text := seed.content.decode(errors="replace")) not in (task.instruction or "")
        and len(text) < _SEED_BYTES
    ]
    told = [context.told_of_grading] * bool(context.told_of_grading)
    return "\n\n".join([*told, task.instruction or "", *([_SEEDS + "\n".join(seeds)] if seeds else [])])
