"""The agent `loop`: a model with `bash`, `submit` and, where they are asked for, `read`, `edit` and `todo`.

The reference agent: few parts, versioned, its prompts in docs/agents.md; meant to be read in ten minutes.

One turn: ask the model (`_reply`), do what it calls (`_do`), tell it what that did. A conversation that
fills three quarters of the model's window is summed up by the model first (`_made_room`). An episode ends by a
reply that calls nothing, by `submit` where the run wants that, or by a limit. All is recorded as it happens, so
that an interrupted attempt goes on where it was (`replay`).
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator
from typing_extensions import override

from groundup.agents.base import Agent, AgentContext, AgentResult, EpisodeLimits, Seeded, read_options
from groundup.agents.conversation import Conversation
from groundup.agents.resuming import Clock, Replay
from groundup.agents.tools import (
    BASH,
    FURTHER_RULES,
    FURTHER_TOOLS,
    IS_IMAGE,
    NO_IMAGES,
    ByText,
    ByTools,
    Call,
    Calling,
    FurtherTool,
    read_image,
    run_bash,
    run_file_tool,
)
from groundup.agents.workspace import AgentSandbox, SandboxExtras, open_workspace, task_python
from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool
from groundup.domain.digests import digest_of
from groundup.domain.figures import money
from groundup.domain.records import SettingRecord
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.models.prices import estimated_text_tokens, estimated_tokens
from groundup.models.protocol import ContextOverflowError, RefusedError, RequestRejectedError

_RULES = """You are a software engineer who works alone, in a Linux sandbox, on one task.

- Your files belong in /workspace. What lies there when you end is handed in and tested by hidden tests.
- There is Python {python} with pip and pytest.{tools} Packages can be installed with {installers}, except those
  that the task asks you to write. There is no other network.
- `bash` runs commands. Each call is a new shell that starts in /workspace; what it leaves in the background
  runs on. Long output is cut in the middle. A command is ended after {command_s:g} seconds.
- `submit` {submit}{further}
- Nobody answers questions. Decide yourself, and test what you write.

{calling}"""
_SUBMIT = (
    "hands in what lies in /workspace, and tells you what is made known of its score. You may go on afterwards."
)
_NUDGE = "Nothing was called. If you are done, say so in one sentence; otherwise go on with the tools."
_SUM_UP = """The conversation is about to outgrow your window: all turns but the newest will be left out, and your
answer to this message takes their place. The task above stays as it is. Call nothing now; write down all that you
need to go on without those turns:

1. what you were told or found out that is not in the task: exact names, values, versions, messages;
2. what is done: which files there are, what each holds, which decisions you took and why;
3. what was tried and failed;
4. what is left, in order, and what you were doing just now."""
_SUBMIT_TOOL = Tool(name="submit", description=_SUBMIT, parameters={"type": "object", "properties": {}})
_RESERVE_TOKENS = 8192
"""Room for a reply in the model's window."""
_FULL = 0.75
"""How much of the window is used when the conversation is summed up."""
_NOTES = 8000
"""Most characters of notes."""
_MOST_IMAGES = 20
_VAIN = 2
"""How many summaries in a row may come to nothing before old turns are cut instead."""

_USUAL_TURNS, _TURN_TOKENS, _REPLY_TOKENS = 90, 700, 350
"""For guesses: published runs of NL2RepoBench had about so many turns."""


class LoopOptions(SettingRecord):
    """Settings of the agent; `groundup run --agent-option NAME=VALUE`."""

    calling: Literal["tools", "text"] = Field(
        default="tools", description="how the model calls; text: fenced blocks"
    )
    turns: int = Field(default=200, ge=1, description="most replies, where the run sets no limit")
    command_s: float = Field(default=180.0, gt=0, description="time for a command that names none")
    longest_command_s: float = Field(default=1800.0, gt=0, description="most that it may name")
    output_bytes: int = Field(default=16_000, ge=500, description="of a command's output that the model sees")
    python: str | None = Field(default=None, pattern=r"^3\.\d+$", description="None: the task's, else 3.12")
    nudges: int = Field(default=1, ge=0, description="replies in a row without a call that are answered")
    tools: tuple[FurtherTool, ...] = Field(
        default=(), description="besides bash and submit; with commas between them"
    )
    images: bool = Field(default=True, description="`read` shows images to a model that takes them")
    condensing: Literal["summary", "cut"] = Field(
        default="summary", description="a full window: the model sums old turns up, or they are cut"
    )
    system: str | None = Field(
        default=None, description="system prompt; {rules} in it stands for the loop's own. None: only those"
    )

    @field_validator("tools", mode="before")
    @classmethod
    def _separated(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _callable(self) -> Self:
        if self.tools and self.calling == "text":
            raise ValueError("needs calling=tools: blocks in a text are commands only")
        return self


def create(options: Mapping[str, JsonValue]) -> "Loop":
    return Loop(read_options(LoopOptions, "loop", options))


class Loop(Agent):
    """Asks its model turn by turn; the tools are bash, submit and those that its options name."""

    name = "loop"
    version = "3"
    needs_model = True

    def __init__(self, options: LoopOptions) -> None:
        self._options = options

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        """Return settings and the digest of all prompts."""
        tools = [BASH, _SUBMIT_TOOL, *FURTHER_TOOLS.values()]
        texts = [_RULES, _SUBMIT, _NUDGE, _SUM_UP, *FURTHER_RULES.values(), ByText.rules, ByTools.rules]
        prompts = digest_of([*tools, *texts])
        return {**self._options.model_dump(mode="json"), "prompts": prompts}

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a sandbox takes whose commands are short: most attempts wait for the model."""
        return 64

    @override
    def expected_usage(self, task: Task, limits: EpisodeLimits, seeded: Seeded) -> TokenUsage:
        """Guess with turns of usual length: each repeats the whole conversation."""
        turns = min(limits.turns or self._options.turns, _USUAL_TURNS)
        said = estimated_text_tokens(task.instruction or "") * turns + _TURN_TOKENS * turns * turns // 2
        return TokenUsage(input_tokens=said, output_tokens=turns * _REPLY_TOKENS)

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Play the episode; a limit on the time ends it wherever it is."""
        async with open_workspace(context, SandboxExtras(python=self._options.python)) as place:
            timeout = asyncio.timeout(None)
            clock = Clock(timeout, context.limits.wall_clock_s, context.trajectory.recorded())
            rollout = Rollout(self._options, context, place, clock)
            try:
                async with timeout:
                    outcome, detail = await rollout.play()
            except TimeoutError:
                outcome, detail = Outcome.LIMIT, f"longer than {context.limits.wall_clock_s:g} s"
        return AgentResult(outcome=outcome, detail=detail, **dict(rollout.replay.paid))


class Rollout:
    """One attempt's conversation."""

    def __init__(self, options: LoopOptions, context: AgentContext, place: AgentSandbox, clock: Clock) -> None:
        assert context.model is not None, "the run checked that there is a model"
        self.replay = Replay(context.trajectory)
        self._options = options
        self._at = context
        self._model = context.model
        self._place = place
        self._clock = clock
        self._calling: Calling = ByTools() if options.calling == "tools" else ByText()
        self._talk = Conversation(self._opening())
        self._tools = (BASH, _SUBMIT_TOOL, *(FURTHER_TOOLS[name] for name in options.tools))
        self._submitted = False
        self._silent = self._cut = 0
        """How many replies in a row called nothing, and were cut off with nothing to do."""
        self._counted = (0, 0)
        """Tokens of the conversation as the endpoint counted them last, and how many messages that were."""
        self._in_vain = 0
        """How many summaries in a row came to nothing."""
        self._images = options.images
        """Whether the model takes images, as far as is known."""
        self._looked_at: list[Message] = []
        """Images that the calls of this turn read."""
        self._shown = 0
        """How many images there were."""

    async def play(self) -> tuple[Outcome, str]:
        """Return how it ended, with a sentence."""
        if not self.replay.resumed:
            self._record_opening()
        while True:
            if spent := spent_limit(self._at.limits, self.replay, self._options.turns):
                return spent
            if await self._made_room():
                continue  # a summary is a reply, too: the limits are looked at again
            try:
                reply = await self._reply()
            except RefusedError as error:
                return Outcome.REFUSED, str(error)
            except ContextOverflowError as error:
                return Outcome.LIMIT, f"the conversation cannot be made short enough: {error}"
            self._talk.add(reply.message)
            calls = self._calling.calls(reply)
            if ended := self._ended_by(reply, calls):
                return ended
            if not calls:
                self._talk.add(Message(role="user", content=_cut_off(reply) + _NUDGE))
                continue
            answered = []
            for number, call in enumerate(calls):
                text, ends = await self._do(call, number)
                if ends:
                    return Outcome.SUBMITTED, ""
                answered.append((call, text))
            self._talk.add(*self._calling.results(answered), *self._looked_at)
            self._looked_at = []
            if not self.replay.replaying:
                await self._at.note_turn(self.replay.turn)

    def _record_opening(self) -> None:
        rules, task = self._talk.messages
        self._at.trajectory.append("message", role=rules.role, content=rules.content)
        offered: list[JsonValue] = [tool.model_dump(mode="json") for tool in self._request().tools]
        self._at.trajectory.append("message", role=task.role, content=task.content, tools=offered)

    def _ended_by(self, reply: ChatReply, calls: Sequence[Call]) -> tuple[Outcome, str] | None:
        """Return how replies end the episode that call nothing, or were cut off before they could."""
        if reply.finish == "content_filter":
            return Outcome.REFUSED, "the endpoint's filter ended the reply"
        self._silent = 0 if calls else self._silent + 1
        self._cut = self._cut + 1 if reply.finish == "length" and all(call.problem for call in calls) else 0
        enough = self._silent > self._options.nudges
        if self._cut > 1 or (self._cut and enough):
            return Outcome.LIMIT, f"{self._cut} replies in a row were cut off for their length"
        if not calls and (self._submitted or enough):
            return Outcome.SUBMITTED, "" if self._submitted else "it ended without calling submit"
        return None

    async def _made_room(self) -> bool:
        """Have the model sum up its old turns where it is time for that; whether it was asked."""
        mark = self.replay.recorded_summary()
        if mark is None and not self.replay.replaying:
            mark = self._mark_for_summary()
        if mark is None:
            return False
        request = self._request()
        question = Message(role="user", content=_SUM_UP)

        async def ask() -> ChatReply:
            self._clock.start()
            reply = await self._model.complete(request.but(messages=(*request.messages, question)))
            self._at.trajectory.append("message", role="user", content=_SUM_UP)
            return reply

        try:
            reply = await self.replay.reply(ask, summary_until=mark)
        except (ContextOverflowError, RefusedError):
            self._in_vain += 1  # nothing was paid: old turns are cut where the next request does not fit
            return False
        summary = reply.message.content.strip()
        self._in_vain = 0 if summary else self._in_vain + 1
        if summary:
            self._talk.sum_up(mark, summary)
            self._counted = (0, 0)
        return True

    def _mark_for_summary(self) -> int | None:
        """Return before which message all is to be summed up; None: the window has room, or old turns are cut."""
        window = self._model.context_tokens
        if self._options.condensing != "summary" or window is None or self._in_vain >= _VAIN:
            return None
        return self._talk.mark_for_summary(window // 8, window // 8) if self._tokens() > window * _FULL else None

    async def _reply(self) -> ChatReply:
        """Ask for the next reply; a conversation that does not fit is condensed until it does."""
        # A conversation that is resumed must be shortened where it was, or the recorded replies would not fit it.
        for step in self.replay.recorded_condensing():
            self._talk.shorten(int(str(step["mark"])), int(str(step["hardness"])))
        if not self.replay.replaying:
            self._clock.start()
        while not self.replay.replaying and self._too_long() and self._condense():
            pass
        while True:
            try:
                reply = await self.replay.reply(lambda: self._model.complete(self._request()))
            except ContextOverflowError:
                if not self._condense():
                    raise
            except RequestRejectedError:
                if not self._talk.has_images():
                    raise
                self._images = False
                self._talk.without_images(NO_IMAGES)
            else:
                self._talk.settled()
                self._counted = (
                    reply.usage.input_tokens + reply.usage.output_tokens,
                    len(self._talk.messages) + 1,
                )
                return reply

    def _request(self) -> ChatRequest:
        return ChatRequest(messages=self._talk.request(), tools=self._calling.offered(self._tools))

    def _too_long(self) -> bool:
        """Estimate whether the next request leaves no room for a reply."""
        window = self._model.context_tokens
        return window is not None and self._tokens() > window - min(_RESERVE_TOKENS, window // 4)

    def _tokens(self) -> int:
        """Estimate the next request: what the endpoint counted last, and what was added since."""
        tokens, counted = self._counted
        request = self._request()
        if tokens:
            request = request.but(messages=tuple(self._talk.messages[counted:]))
        return tokens + estimated_tokens(request)

    def _condense(self) -> bool:
        step = self._talk.condense()
        if step is None:
            return False
        mark, hardness = step
        self._counted = (0, 0)
        self._at.trajectory.append("condensed", turn=self.replay.turn, mark=mark, hardness=hardness)
        return True

    async def _do(self, call: Call, number: int) -> tuple[str, bool]:
        """Do one call; return what the model sees of it, and whether the episode ends here."""
        # What is replayed took its time in an earlier try.
        if self.replay.recorded_result(number) is None:
            self._clock.start()
        began = time.monotonic()
        code: int | None = None
        ends = False
        if call.problem:
            text = call.problem
        elif call.name == "submit":
            text, ends = await self._submit(number)
        elif call.name == "bash":
            text, code = await self._bash(call.arguments)
        elif call.name not in self._options.tools:
            names = [tool.name for tool in self._tools]
            text = f"there is no tool {call.name[:100]!r}; call {', '.join(names[:-1])} or {names[-1]}"
        elif call.name == "todo":
            text = self._note(call.arguments)
        else:
            done = await run_file_tool(self._place, call.name, call.arguments, self._options.output_bytes)
            text, code = done.content, done.exit_code
            if code == IS_IMAGE:
                text = f"{text}; {await self._image(call.arguments)}"
        seconds = round(time.monotonic() - began, 3)
        text = self.replay.result(number, text, name=call.name, exit_code=code, seconds=seconds, ends=ends)
        return text, ends

    async def _bash(self, arguments: Mapping[str, JsonValue]) -> tuple[str, int | None]:
        command, seconds = arguments.get("command"), arguments.get("timeout_s")
        if not isinstance(command, str):
            return "bash takes `command`, a text; nothing was done", None
        if not isinstance(seconds, int | float) or seconds <= 0:
            seconds = self._options.command_s
        seconds = min(seconds, self._options.longest_command_s)
        done = await run_bash(self._place, command, seconds, self._options.output_bytes)
        return done.content, done.exit_code

    async def _image(self, arguments: Mapping[str, JsonValue]) -> str:
        """Show an image after this turn's results; return the text that stands for it among them."""
        if not self._images:
            return NO_IMAGES
        if self._shown >= _MOST_IMAGES:
            return f"[no more than {_MOST_IMAGES} images are shown]"
        found = await read_image(self._place, arguments)
        if isinstance(found, str):
            return f"[not shown: {found}]"
        self._shown += 1
        self._looked_at.append(Message(role="user", content=f"{arguments.get('path')}:", images=(found,)))
        return "it follows"

    def _note(self, arguments: Mapping[str, JsonValue]) -> str:
        notes = arguments.get("notes")
        if not isinstance(notes, str):
            return "todo takes `notes`, a text; nothing was done"
        if len(notes) > _NOTES:
            return f"notes have at most {_NOTES} characters, and these {len(notes)}; nothing was done"
        self._talk.notes = notes
        return "Noted."

    async def _submit(self, number: int) -> tuple[str, bool]:
        """Hand in, unless the answer to this call is on record."""
        self._submitted = True
        then = self.replay.recorded_result(number)
        if then is not None:
            return str(then.get("content")), bool(then.get("ends", False))
        result = await self._at.submit()
        return result.message, result.ends

    def _opening(self) -> list[Message]:
        task = self._at.task
        rules = _RULES.format(
            python=self._options.python or task_python(task),
            tools=self._place.tools.sentence,
            installers=self._place.tools.installers,
            command_s=self._options.command_s,
            submit=_SUBMIT,
            further="".join(f"\n- {FURTHER_RULES[name]}" for name in self._options.tools),
            calling=self._calling.rules,
        )
        if self._options.system is not None:
            rules = self._options.system.replace("{rules}", rules)
        return [Message(role="system", content=rules), Message(role="user", content=task.instruction or "")]


def spent_limit(limits: EpisodeLimits, replay: Replay, default_turns: int) -> tuple[Outcome, str] | None:
    """Return how an attempt ends that has used up one of its limits."""
    paid = replay.paid
    turns = limits.turns or default_turns
    tokens = paid.usage.input_tokens + paid.usage.output_tokens
    if paid.turns >= turns:
        return Outcome.LIMIT, f"{turns} turns"
    if limits.tokens is not None and tokens >= limits.tokens:
        return Outcome.BUDGET, f"{tokens} of {limits.tokens} tokens"
    if limits.cost_usd is not None and (paid.cost_usd or 0.0) >= limits.cost_usd:
        return Outcome.BUDGET, f"{money(paid.cost_usd or 0.0)} of ${limits.cost_usd:g}"
    return None


def _cut_off(reply: ChatReply) -> str:
    return "Your reply was cut off, for it was too long; write less at once. " if reply.finish == "length" else ""
