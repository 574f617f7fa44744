"""The agent `loop`: what it calls, how it ends, and that an interrupted attempt goes on where it was."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents.base import AgentResult, EpisodeLimits, SubmitResult
from groundup.agents.loop import create
from groundup.domain.conversations import ChatReply, ChatRequest, TokenUsage
from groundup.domain.errors import UsageError
from groundup.domain.subjects import Outcome
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import BudgetSpentError, ContextOverflowError, ModelError, RefusedError
from groundup.sandbox.fake import FakeProvider, answer
from groundup.sandbox.protocol import Command, CommandResult, Ending, SandboxSpec
from tests.agents.fakes import FakeModel, Memory, agent_context, runs, says

DONE = says("Done.")


def echoing(spec: SandboxSpec, command: Command) -> CommandResult:
    """Say the command."""
    return answer(stdout=command.argv[-1].removeprefix("exec 2>&1\n").encode())


async def play(root: Path, model: FakeModel, memory: Memory | None = None, **fields: object) -> AgentResult:
    """Play an episode with commands that say themselves."""
    options = fields.pop("options", {})
    assert isinstance(options, dict)
    fields.setdefault("provider", FakeProvider(echoing))
    return await create(options).attempt(agent_context(root, model, trajectory=memory, **fields))  # type: ignore[arg-type]


async def test_a_command_runs_and_its_output_is_reported(tmp_path: Path) -> None:
    """What a command printed, with its exit code, answers the call that asked for it."""
    model = FakeModel([runs("ls"), DONE, DONE])
    ended = await play(tmp_path, model)
    printed = model.requests[1].messages[-1]
    assert (printed.role, printed.tool_call_id, printed.content) == ("tool", "call-0", "ls\n[exit code 0]")
    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 3)
    assert ended.cost_usd == pytest.approx(0.03)
    assert ended.usage.input_tokens == 300


async def test_every_step_is_recorded(tmp_path: Path) -> None:
    """Prompts, replies, results: the trajectory says all that happened, in order."""
    memory = Memory()
    await play(tmp_path, FakeModel([runs("ls", "pwd"), says("", ("submit", {})), DONE]), memory)
    kinds = ["message", "message", "reply", "result", "result", "reply", "result", "reply"]
    assert memory.kinds() == kinds
    assert [step["name"] for step in memory.of("result")] == ["bash", "bash", "submit"]


async def test_the_score_is_reported_where_the_run_shows_it(tmp_path: Path) -> None:
    """The model reads what `submit` says, and may go on."""
    model = FakeModel([says("", ("submit", {})), runs("ls"), DONE])
    ended = await play(tmp_path, model, submit=SubmitResult(shown=True, message="3 of 4 passed."))
    assert model.requests[1].messages[-1].content == "3 of 4 passed."
    assert (ended.outcome, ended.detail, ended.turns) == (Outcome.SUBMITTED, "", 3)


async def test_the_first_submit_ends_where_the_run_wants_that(tmp_path: Path) -> None:
    """Nothing more is asked, also when the try is taken up after that moment."""
    memory = Memory()
    fields = {"submit": SubmitResult(shown=False, ends=True)}
    ended = await play(tmp_path / "1", FakeModel([says("", ("submit", {}))]), memory, **fields)
    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 1)
    again = await play(tmp_path / "2", FakeModel([]), memory.resumed(), **fields)
    assert again == ended


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("bash", "{broken"), "not JSON"),
        (("bash", "[1]"), "no JSON object"),
        (("bash", {"cmd": "ls"}), "takes `command`"),
        (("python", {"code": "1"}), "there is no tool 'python'"),
    ],
)
async def test_a_wrong_call_is_reported_and_does_nothing(
    tmp_path: Path, call: tuple[str, dict[str, str] | str], problem: str
) -> None:
    """The model learns what was wrong with its call; no command runs."""
    model, provider = FakeModel([says("", call), DONE, DONE]), FakeProvider()
    await play(tmp_path, model, provider=provider)
    assert problem in model.requests[1].messages[-1].content
    assert provider.commands == []


async def test_silence_is_answered_once(tmp_path: Path) -> None:
    """A first reply without a call is answered by a reminder, the second one in a row ends the attempt."""
    model = FakeModel([says("Hm."), runs("ls"), says("Hm."), says("Done.")])
    ended = await play(tmp_path, model)
    assert "Nothing was called" in model.requests[1].messages[-1].content
    assert (ended.outcome, ended.detail) == (Outcome.SUBMITTED, "it ended without calling submit")


@pytest.mark.parametrize(
    ("limits", "outcome", "detail"),
    [
        (EpisodeLimits(turns=2), Outcome.LIMIT, "2 turns"),
        (EpisodeLimits(tokens=200), Outcome.BUDGET, "220 of 200 tokens"),
        (EpisodeLimits(cost_usd=0.015), Outcome.BUDGET, "$0.0200 of $0.015"),
    ],
)
async def test_limits_are_named_outcomes(
    tmp_path: Path, limits: EpisodeLimits, outcome: Outcome, detail: str
) -> None:
    """Each limit ends the attempt by its own name after the turn that reached it."""
    ended = await play(tmp_path, FakeModel([runs("ls")] * 3), limits=limits)
    assert (ended.outcome, ended.detail, ended.turns) == (outcome, detail, 2)


async def test_time_is_a_limit(tmp_path: Path) -> None:
    """An attempt whose time is over ends in the middle of a turn, and keeps what it paid."""

    class Slow(FakeModel):
        async def complete(self, request: ChatRequest) -> ChatReply:
            if self.requests:
                await asyncio.Event().wait()
            return await super().complete(request)

    ended = await play(tmp_path, Slow([runs("ls")]), limits=EpisodeLimits(wall_clock_s=0.2))
    assert (ended.outcome, ended.turns) == (Outcome.LIMIT, 1)


async def test_time_that_earlier_tries_took_is_gone(tmp_path: Path) -> None:
    """What was done before is done again whatever it takes; then the attempt has what is left: here nothing."""
    whole = Memory()
    slow = runs("one").but(latency_s=90.0)
    await play(tmp_path / "1", FakeModel([slow, DONE, DONE]), whole)
    rest, provider = Memory(whole.steps[:4]), FakeProvider(echoing)  # up to the command's result

    class Silent(FakeModel):
        async def complete(self, request: ChatRequest) -> ChatReply:
            await asyncio.Event().wait()
            return DONE

    limits = EpisodeLimits(wall_clock_s=80)
    ended = await play(tmp_path / "2", Silent(), rest, provider=provider, limits=limits)
    assert (ended.outcome, ended.detail, ended.turns) == (Outcome.LIMIT, "longer than 80 s", 1)
    assert len(provider.commands) == 1


@pytest.mark.parametrize(
    "reply", [RefusedError("it would not"), says("I", finish="content_filter")], ids=["error", "filter"]
)
async def test_a_refusal_is_an_outcome(tmp_path: Path, reply: ChatReply | Exception) -> None:
    """The attempt ends as refused; what it had written stays."""
    ended = await play(tmp_path, FakeModel([runs("ls"), reply]))
    assert ended.outcome is Outcome.REFUSED


@pytest.mark.parametrize("error", [ModelError("unreachable"), BudgetSpentError("no money")])
async def test_what_is_no_one_s_fault_is_raised(tmp_path: Path, error: Exception) -> None:
    """A failing endpoint and the run's spent money are the run's to handle: the attempt is no result."""
    with pytest.raises(type(error)):
        await play(tmp_path, FakeModel([runs("ls"), error]))


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Ending.TIMEOUT, "longer than 180 s"),
        (Ending.MEMORY, "out of memory"),
        (Ending.SANDBOX_DIED, "started anew"),
    ],
)
async def test_a_command_that_was_ended_says_why(tmp_path: Path, ending: Ending, expected: str) -> None:
    """The model learns why its command has no exit code; a dead sandbox is replaced by another."""
    provider = FakeProvider(lambda spec, command: answer(None, b"some\n", ending=ending))
    model = FakeModel([runs("x"), runs("y"), DONE, DONE])
    await play(tmp_path, model, provider=provider)
    content = model.requests[1].messages[-1].content
    assert content.startswith("some\n")
    assert expected in content
    assert len(provider.sandboxes) == (1 if ending is Ending.TIMEOUT else 2)
    assert all(sandbox.closed for sandbox in provider.sandboxes)


async def test_a_command_names_its_own_time_within_bounds(tmp_path: Path) -> None:
    """`timeout_s` is heeded up to the agent's bound."""
    provider = FakeProvider()
    calls = [("bash", {"command": "x", "timeout_s": seconds}) for seconds in (5, 1e9, -1)]
    await play(tmp_path, FakeModel([says("", *calls), DONE, DONE]), provider=provider)
    assert [command.timeout_s for command in provider.commands] == [5, 1800, 180]


async def test_a_long_command_is_written_to_a_file(tmp_path: Path) -> None:
    """A command longer than an argument can be runs all the same."""
    provider = FakeProvider()
    await play(tmp_path, FakeModel([runs("x" * 200_000), DONE, DONE]), provider=provider)
    assert provider.commands[0].stdin.endswith(b"x" * 1000)


async def test_a_model_without_tools_writes_blocks(tmp_path: Path) -> None:
    """With `calling=text` blocks are commands, and what they did comes as a message."""
    first = says("First:\n```bash\nls\n```\nThen:\n````bash\ncat <<X\n```\nX\n````\n```submit\n```\n")
    model = FakeModel([first, DONE])
    ended = await play(tmp_path, model, options={"calling": "text"})
    assert model.requests[0].tools == ()
    printed = model.requests[1].messages[-1]
    assert printed.role == "user"
    assert "ls\n[exit code 0]" in printed.content
    assert "cat <<X\n```\nX\n[exit code 0]" in printed.content
    assert (ended.outcome, ended.detail) == (Outcome.SUBMITTED, "")


async def test_a_block_without_end_is_not_run(tmp_path: Path) -> None:
    """Half a command that the output limit cut off does nothing."""
    provider = FakeProvider()
    model = FakeModel([says("```bash\nrm -rf", finish="length"), DONE, DONE])
    await play(tmp_path, model, options={"calling": "text"}, provider=provider)
    assert provider.commands == []
    assert "has no end" in model.requests[1].messages[-1].content


# --- going on

Cut = Callable[[list[dict[str, object]]], int]


@pytest.mark.parametrize("kept", range(1, 9))
async def test_an_interrupted_attempt_goes_on_where_it_was(tmp_path: Path, kept: int) -> None:
    """However many steps were on the disk: recorded replies are not asked for again, and the end is the same."""
    replies = [runs("one"), runs("two", "three"), says("", ("submit", {})), DONE]
    whole = Memory()
    expected = await play(tmp_path / "whole", FakeModel(replies), whole)
    assert len(whole.steps) == 10
    rest = Memory(whole.steps[:kept])
    spoken = sum(step["kind"] == "reply" for step in rest.earlier)
    model, provider = FakeModel(replies[spoken:]), FakeProvider(echoing)
    ended = await play(tmp_path / "rest", model, rest, provider=provider)
    assert ended == expected
    assert len(model.requests) == len(replies) - spoken
    assert [command.argv[-1][-3:] for command in provider.commands] == ["one", "two", "ree"]
    assert [step["kind"] for step in (*rest.earlier, *rest.steps)][-8:] == whole.kinds()[-8:]
    assert rest.of("diverged") == []


async def test_the_first_divergence_is_recorded(tmp_path: Path) -> None:
    """A command that now does something else is noted once; the model reads the recorded answer."""
    whole = Memory()
    await play(tmp_path / "1", FakeModel([runs("a"), runs("b"), DONE, DONE]), whole)
    rest = Memory(whole.steps[:5])  # up to the second command's reply
    model = FakeModel([DONE, DONE])
    provider = FakeProvider(lambda spec, command: answer(1, b"other\n"))
    await play(tmp_path / "2", model, rest, provider=provider)
    (diverged,) = rest.of("diverged")
    assert (diverged["turn"], diverged["was"], diverged["now"]) == (1, "a\n[exit code 0]", "other\n[exit code 1]")
    printed = [message.content for message in model.requests[0].messages if message.role == "tool"]
    assert printed == ["a\n[exit code 0]", "other\n[exit code 1]"]


# --- a full window


async def test_a_conversation_that_outgrows_the_window_is_condensed(tmp_path: Path) -> None:
    """Requests stay below the window though the outputs together do not; the instruction is never shortened."""
    big = FakeProvider(lambda spec, command: answer(stdout=b"word " * 2000))

    def counted(request: ChatRequest) -> ChatReply:
        reply = runs("x") if len(model.requests) <= 30 else DONE
        return reply.but(usage=TokenUsage(input_tokens=estimated_tokens(request)))

    model = FakeModel(say=counted, window=20_000)
    memory = Memory()
    ended = await play(tmp_path, model, memory, provider=big)
    assert ended.turns == 32
    assert memory.of("condensed")
    sizes = [await model.count_tokens(request) for request in model.requests]
    assert max(sizes) < 20_000
    assert all(request.messages[1].content == "Write it." for request in model.requests)


async def test_an_overflow_condenses_and_asks_again(tmp_path: Path) -> None:
    """Where the window is not known, the endpoint's complaint shortens the conversation."""
    replies: list[ChatReply | Exception] = [runs("x" * 5000) for _ in range(8)]
    model = FakeModel([*replies, ContextOverflowError("too long"), ContextOverflowError("too long"), DONE, DONE])
    memory = Memory()
    ended = await play(tmp_path, model, memory)
    assert ended.outcome is Outcome.SUBMITTED
    assert len(memory.of("condensed")) == 2
    lengths = [sum(len(message.content) for message in request.messages) for request in model.requests[8:11]]
    assert lengths[0] > lengths[1] > lengths[2]


async def test_two_replies_in_a_row_that_are_cut_off_are_a_limit(tmp_path: Path) -> None:
    """A model that is cut off twice did not hand in by itself; a single such reply is reported."""
    cut = says("I think", finish="length")
    ended = await play(tmp_path, FakeModel([cut, cut]), options={"nudges": 5})
    assert (ended.outcome, ended.turns) == (Outcome.LIMIT, 2)
    broken = says("", ("bash", '{"command": "cat <<EO'), finish="length")
    assert (await play(tmp_path / "2", FakeModel([broken, cut, DONE]))).outcome is Outcome.LIMIT
    assert (await play(tmp_path / "3", FakeModel([cut, runs("ls"), cut, DONE, DONE]))).outcome is Outcome.SUBMITTED
    assert (await play(tmp_path / "4", FakeModel([DONE, cut]))).outcome is Outcome.LIMIT


async def test_the_thoughts_of_the_last_turn_outlive_condensing(tmp_path: Path) -> None:
    """Endpoints refuse a tool's result whose call lacks its thoughts; those of older turns make room."""
    thought: JsonValue = [
        {"type": "thinking", "thinking": "hm " * 3000, "signature": "s"},
        {"type": "text", "text": "x"},
    ]
    reply = runs("echo " + "x" * 9000)
    message = reply.message.but(original={"content": thought})
    reply = reply.but(message=message)
    replies: list[ChatReply | Exception] = [reply, reply, reply, *[ContextOverflowError("no")] * 3, DONE, DONE]
    model = FakeModel(replies)
    await play(tmp_path, model)
    printed = [message for message in model.requests[-2].messages if message.role == "assistant"]
    assert printed[-1].original == {"content": [{"type": "thinking", "thinking": "hm " * 3000, "signature": "s"}]}
    assert not any(message.original for message in printed[:-1])


async def test_what_cannot_be_shortened_is_a_limit(tmp_path: Path) -> None:
    """A task that is larger than the window ends by that name, not as a failure to repeat."""

    def never(request: ChatRequest) -> ChatReply:
        raise ContextOverflowError("too long")

    ended = await play(tmp_path, FakeModel(say=never))
    assert ended.outcome is Outcome.LIMIT
    assert "cannot be made short enough" in ended.detail


# --- settings


def test_unknown_options_name_the_nearest() -> None:
    """A misspelt option is refused with a hint; a wrong value with its reason."""
    with pytest.raises(UsageError, match="did you mean 'turns'"):
        create({"turn": 3})
    with pytest.raises(UsageError, match="option turns of the agent loop"):
        create({"turns": 0})


def test_identity_follows_settings() -> None:
    """Runs with other settings of the agent are other runs."""
    assert create({}).identity() == create({}).identity()
    assert create({}).identity() != create({"calling": "text"}).identity()
