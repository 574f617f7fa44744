"""The agent `loop`: what it calls, how it ends, and that an interrupted attempt goes on where it was."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents.base import AgentResult, EpisodeLimits, SubmitResult
from groundup.agents.loop import create
from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.errors import UsageError
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import (
    BudgetSpentError,
    CallWatch,
    ContextOverflowError,
    ModelError,
    RefusedError,
    RequestRejectedError,
)
from groundup.sandbox.protocol import Command, CommandResult, Ending, SandboxSpec
from tests.agents.fakes import FakeModel, Memory, agent_context, runs, says
from tests.sandbox.fake import FakeProvider, answer

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
    submit = SubmitResult(shown=False, ends=True)
    ended = await play(tmp_path / "1", FakeModel([says("", ("submit", {}))]), memory, submit=submit)
    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 1)
    # It is not handed in again: what was answered is on record.
    again = await play(tmp_path / "2", FakeModel([]), memory.resumed(), submit=submit.but(ends=False))
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
        async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
            if self.requests:
                await asyncio.Event().wait()
            return await super().complete(request, watch)

    ended = await play(tmp_path, Slow([runs("ls")]), limits=EpisodeLimits(wall_clock_s=0.2))
    assert (ended.outcome, ended.turns) == (Outcome.LIMIT, 1)


async def test_time_that_earlier_tries_took_is_gone(tmp_path: Path) -> None:
    """What was done before is done again whatever it takes; then the attempt has what is left: here nothing."""
    whole = Memory()
    slow = runs("one").but(latency_s=90.0)
    await play(tmp_path / "1", FakeModel([slow, DONE, DONE]), whole)
    rest, provider = Memory(whole.steps[:4]), FakeProvider(echoing)  # up to the command's result

    class Silent(FakeModel):
        async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
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
        (Ending.MEMORY, "used more than 512 MB of memory"),
        (Ending.SANDBOX_DIED, "its first process died"),
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


# --- summaries and notes

FACT = "the port is 7431-quartz"


def forgetful(turns: int, window: int) -> FakeModel:
    """Return a model that knows only what its request holds; its last command says what it knows of the fact."""

    def say(request: ChatRequest) -> ChatReply:
        known = FACT if any(FACT in message.content for message in request.messages) else "forgotten"
        if "outgrow your window" in request.messages[-1].content:
            reply = says(f"What I was told: {known}.")
        else:
            done = len([one for one in model.requests if "outgrow" not in one.messages[-1].content])
            reply = runs(f"work {done}") if done < turns else runs(f"echo {known}") if done == turns else DONE
        return counted(request, reply)

    model = FakeModel(say=say, window=window)
    return model


def counted(request: ChatRequest, reply: ChatReply) -> ChatReply:
    """Return *reply* with the tokens of its request."""
    return reply.but(usage=TokenUsage(input_tokens=estimated_tokens(request), output_tokens=20))


def telling(spec: SandboxSpec, command: Command) -> CommandResult:
    """Tell the fact in the middle of the first output alone; print much."""
    said = f" {FACT} " if command.argv[-1].endswith("work 1") else " "
    return answer(stdout=b"a word " * 70 + said.encode() + b"a word " * 70)


@pytest.mark.parametrize(("condensing", "known"), [("summary", FACT), ("cut", "forgotten")])
async def test_an_early_fact_outlives_500_turns_by_summaries(tmp_path: Path, condensing: str, known: str) -> None:
    """A window of two dozen turns is filled again and again; each summary holds what the one before it held."""
    model, memory, provider = forgetful(500, 8000), Memory(), FakeProvider(telling)
    options = {"turns": 900, "condensing": condensing}
    ended = await play(tmp_path, model, memory, provider=provider, options=options)
    assert ended.outcome is Outcome.SUBMITTED
    assert provider.commands[-1].argv[-1].endswith(f"echo {known}")
    summaries = [step for step in memory.of("reply") if "summary_until" in step]
    assert (len(summaries) >= 15) == (condensing == "summary")
    assert ended.turns == len(memory.of("reply")) == len(model.requests)
    assert max(estimated_tokens(request) for request in model.requests) < 8000
    assert all(request.messages[1].content == "Write it." for request in model.requests)


@pytest.mark.parametrize("kept", [11, 30, 31, 32, 60])
async def test_summaries_are_replayed_and_not_paid_twice(tmp_path: Path, kept: int) -> None:
    """An attempt that ends anywhere goes on with the same requests, and asks for no recorded reply again."""
    whole, model, options = Memory(), forgetful(40, 4000), {"condensing": "summary"}
    provider = FakeProvider(telling)
    ended = await play(tmp_path / "1", model, whole, provider=provider, options=options)
    assert sum("summary_until" in step for step in whole.of("reply")) >= 3
    rest, again = Memory(whole.steps[:kept]), forgetful(40, 4000)
    recorded = sum(step["kind"] == "reply" for step in whole.steps[:kept])
    again.requests += model.requests[:recorded]
    resumed = await play(tmp_path / "2", again, rest, provider=FakeProvider(telling), options=options)
    assert resumed == ended
    assert again.requests == model.requests


async def test_a_summary_that_comes_to_nothing_is_followed_by_cutting(tmp_path: Path) -> None:
    """A model that answers with calls alone is asked twice in a row, then its old turns are cut."""

    def say(request: ChatRequest) -> ChatReply:
        return counted(request, runs("x") if len(model.requests) < 60 else DONE)

    model = FakeModel(say=say, window=6000)
    memory = Memory()
    big = FakeProvider(lambda spec, command: answer(stdout=b"word " * 400))
    ended = await play(tmp_path, model, memory, provider=big)
    assert ended.outcome is Outcome.SUBMITTED
    assert sum("summary_until" in step for step in memory.of("reply")) == 2
    assert memory.of("condensed")


async def test_a_summary_counts_as_a_turn(tmp_path: Path) -> None:
    """The limits of an attempt hold for what summaries take, too."""
    ended = await play(
        tmp_path, forgetful(500, 4000), limits=EpisodeLimits(turns=25), provider=FakeProvider(telling)
    )
    assert (ended.outcome, ended.turns) == (Outcome.LIMIT, 25)


async def test_notes_stay_word_for_word(tmp_path: Path) -> None:
    """What `todo` wrote last is in every request after old turns were left out."""
    plan = says("", ("todo", {"notes": "1. parse 2. print"}))

    def say(request: ChatRequest) -> ChatReply:
        if "outgrow your window" in request.messages[-1].content:
            return counted(request, says("I did much."))
        reply = plan if len(model.requests) == 1 else runs("x") if len(model.requests) < 40 else DONE
        return counted(request, reply)

    model = FakeModel(say=say, window=8000)
    big = FakeProvider(lambda spec, command: answer(stdout=b"word " * 400))
    await play(tmp_path, model, provider=big, options={"tools": "todo"})
    noted = [message.content for message in model.requests[-1].messages if "[Your notes:]" in message.content]
    assert noted == [noted[0]]
    assert "I did much." in noted[0]
    assert noted[0].endswith("[Your notes:]\n1. parse 2. print")


async def test_further_tools_are_offered_only_where_they_are_asked_for(tmp_path: Path) -> None:
    """A call of a tool that is not there names those that are."""
    model = FakeModel([says("", ("edit", {"path": "a", "old": "", "new": "x"})), DONE, DONE])
    await play(tmp_path / "1", model)
    assert model.requests[1].messages[-1].content == "there is no tool 'edit'; call bash or submit"
    model = FakeModel([says("", ("read", {"path": "a"})), DONE, DONE])
    await play(tmp_path / "2", model, options={"tools": "read,todo", "system": "Be brief.\n{rules}"})
    assert [tool.name for tool in model.requests[0].tools] == ["bash", "submit", "read", "todo"]
    assert model.requests[0].messages[0].content.startswith("Be brief.\nYou are a software engineer")
    assert "`read` shows" in model.requests[0].messages[0].content
    with pytest.raises(UsageError, match="calling=tools"):
        create({"tools": "read", "calling": "text"})


def run_here(spec: SandboxSpec, command: Command) -> CommandResult:
    """Run a Python program of ours in the workspace, without a sandbox."""
    argv = [sys.executable, *command.argv[1:]]
    done = subprocess.run(argv, input=command.stdin, capture_output=True, cwd=spec.workspace, check=False)
    return answer(done.returncode, done.stdout, done.stderr)


async def test_files_are_read_and_edited(tmp_path: Path) -> None:
    """`edit` replaces exact text that stands there once; else it says what is wrong and changes nothing."""
    calls: list[tuple[str, dict[str, JsonValue]]] = [
        ("edit", {"path": "src/a.py", "old": "", "new": "one\ntwo\ntwo\r\n"}),
        ("edit", {"path": "src/a.py", "old": "two", "new": "2"}),
        ("edit", {"path": str(tmp_path / "workspace/src/a.py"), "old": "two", "new": "2", "all": True}),
        ("edit", {"path": "src/a.py", "old": "three", "new": "3"}),
        ("edit", {"path": "src/a.py", "old": ""}),
        ("read", {"path": "src/a.py", "start": 2, "lines": 1}),
        ("read", {"path": "src"}),
        ("read", {"path": "absent\0"}),
    ]
    model = FakeModel([says("", *calls), DONE, DONE])
    await play(tmp_path, model, provider=FakeProvider(run_here), options={"tools": "edit,read"})
    told = [message.content for message in model.requests[1].messages if message.role == "tool"]
    assert told[0] == "src/a.py is written\n"
    assert "holds the old text 2 times" in told[1]
    assert told[2].endswith("src/a.py, 2 times\n")
    assert "does not hold the old text" in told[3]
    assert told[4:7] == ["nothing was done: 'new' is missing\n", "2\t2\n[1 more lines]\n", "a.py\n"]
    assert "nothing was done" in told[7]
    assert (tmp_path / "workspace/src/a.py").read_bytes() == b"one\n2\n2\r\n"


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


async def test_an_image_follows_the_results(tmp_path: Path) -> None:
    """The model is shown it in a message after all results; what is too large, or none, is said in a sentence."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.png").write_bytes(PNG)
    (tmp_path / "workspace" / "large.jpg").write_bytes(b"\xff\xd8\xff" + b"\0" * 4_000_000)
    calls: list[tuple[str, dict[str, JsonValue]]] = [
        ("read", {"path": "a.png"}),
        ("read", {"path": "large.jpg"}),
        ("bash", {"command": "true"}),
    ]
    model = FakeModel([says("", *calls), DONE, DONE])
    await play(tmp_path, model, provider=FakeProvider(run_here), options={"tools": "read"})
    first, large, _, shown = model.requests[1].messages[-4:]
    assert (first.role, first.content) == ("tool", f"a.png is an image of {len(PNG)} bytes; it follows")
    assert "cannot be shown" in large.content
    assert (shown.role, shown.content, shown.images[0].media_type) == ("user", "a.png:", "image/png")
    assert base64.b64decode(shown.images[0].data) == PNG
    assert not any(message.images for message in model.requests[1].messages[:-1])


async def test_an_attempt_shows_twenty_images(tmp_path: Path) -> None:
    """However they are spread over turns: each stays in the conversation and is paid for with every reply."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.png").write_bytes(PNG)
    looks = [says("", *[("read", {"path": "a.png"})] * 11) for _ in range(2)]
    model = FakeModel([*looks, DONE, DONE])
    await play(tmp_path, model, provider=FakeProvider(run_here), options={"tools": "read"})
    messages = model.requests[2].messages
    assert sum(len(message.images) for message in messages) == 20
    refused = [message.content for message in messages if "no more than 20 images" in (message.content or "")]
    assert len(refused) == 2


async def test_a_model_without_images_gets_a_sentence(tmp_path: Path) -> None:
    """Its endpoint refuses them once, which costs nothing; from then on none is sent."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.png").write_bytes(PNG)
    look = says("", ("read", {"path": "a.png"}))
    refused = RequestRejectedError("image input is not supported")
    model = FakeModel([look, refused, look, DONE, DONE])
    ended = await play(tmp_path, model, provider=FakeProvider(run_here), options={"tools": "read"})
    assert ended.turns == 4
    assert model.requests[1].messages[-1].images
    assert not any(message.images for request in model.requests[2:] for message in request.messages)
    assert "takes no images" in model.requests[2].messages[-1].content
    assert "takes no images" in model.requests[3].messages[-1].content


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
