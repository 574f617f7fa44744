"""What an agent is told, sentence by sentence, and where each bound of its loop and its window lies."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents.calls import calls_in_python, calls_in_tags
from groundup.agents.loop import create
from groundup.agents.observations import in_words, limit_of_program, processes_ran_out
from groundup.agents.patches import UnfitPatchError, is_patch, patched, replaced
from groundup.agents.resuming import Replay
from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.limits import EpisodeLimits, Limits
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import RefusedError
from groundup.sandbox.protocol import Ending
from tests.agents.fakes import FakeModel, Memory, agent_context, runs, says
from tests.agents.test_loop import DONE, play
from tests.sandbox.fake import FakeProvider, answer

LIMITS = Limits(memory_mb=4096, processes=24, disk_mb=10240)
KEPT = "what lies in /workspace and the home is kept, /tmp and processes are gone"


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (Ending.TIMEOUT, "ended: it ran longer than 2.5 s; start what takes long in the background"),
        (
            Ending.MEMORY,
            f"the sandbox was ended: its processes used more than 4,096 MB of memory; {KEPT}",
        ),
        (
            Ending.PROCESSES,
            f"the sandbox was ended: more than 24 processes and threads ran at once; {KEPT}",
        ),
        (
            Ending.DISK,
            "the sandbox was ended: more than 10,240 MB lay in /workspace, the home or the Python environment; "
            f"else {KEPT}",
        ),
        (Ending.SANDBOX_DIED, f"the sandbox was ended: its first process died; {KEPT}"),
        (Ending.WALL_CLOCK, "the sandbox was ended: its time is over"),
    ],
)
def test_a_command_that_was_ended_says_why_below_its_output(ending: Ending, told: str) -> None:
    """Whatever it printed, and whether that was cut."""
    ended = answer(None, b"out").but(ending=ending, stderr=b"err")
    for truncated in (False, True):
        assert in_words(ended.but(truncated=truncated), 2.5, LIMITS) == f"outerr\n[{told}]"


@pytest.mark.parametrize(
    ("met", "told"),
    [
        (
            Ending.MEMORY,
            "out of memory: a process was killed, for all together may use 4,096 MB, /tmp included",
        ),
        (Ending.PROCESSES, "too many processes: 24 may run at once, counting threads and the background"),
        (Ending.DISK, "too large a file: the sandbox may write 10,240 MB"),
    ],
)
def test_a_limit_that_was_met_is_told_beside_the_exit_code(met: Ending, told: str) -> None:
    """It says more than that the output was cut."""
    assert in_words(answer(7, b"x\n").but(met=(met,), truncated=True), 1, LIMITS) == f"x\n[exit code 7; {told}]"
    assert processes_ran_out(answer(0).but(met=(met,))) is (met is Ending.PROCESSES)


def test_an_output_that_was_cut_says_so() -> None:
    """And one without an end has its line ended; silence is no empty line."""
    cut = "the output is too long: its middle is left out; write it to a file and read parts of it"
    assert in_words(answer(0, b"x").but(truncated=True), 1, LIMITS) == f"x\n[exit code 0; {cut}]"
    assert in_words(answer(3), 1, LIMITS) == "[exit code 3]"


@pytest.mark.parametrize(
    ("printed", "ran_out"),
    [
        (b"bash: fork: Resource temporarily unavailable\n", True),
        (b"RuntimeError: can't start new thread\n", True),
        (b"sh: Cannot fork\n", True),
        (b"Cannot fork\n", False),
        (b"bash: fork: Resource temporarily unavailable\n" + b"x" * 2000, False),
    ],
)
def test_that_processes_ran_out_stands_at_the_end_of_an_output(printed: bytes, ran_out: bool) -> None:
    """In the last 2,000 characters, of either stream."""
    assert processes_ran_out(answer(0, printed)) is ran_out
    assert processes_ran_out(answer(0).but(stderr=printed)) is ran_out


def test_how_a_program_was_ended() -> None:
    """For reports: a clause for each limit, and none for one that ended by itself or with its sandbox."""
    told = {ending: limit_of_program(answer(None).but(ending=ending), LIMITS) for ending in Ending}
    assert told == {
        Ending.EXITED: None,
        Ending.SANDBOX_DIED: None,
        Ending.TIMEOUT: "the program did not end in time",
        Ending.WALL_CLOCK: "the program did not end in time",
        Ending.MEMORY: "the program needed more than the 4,096 MB of memory that it may have",
        Ending.DISK: "the program wrote more than the 10,240 MB to disk that it may",
        Ending.PROCESSES: "the program ran more than the 24 processes and threads at once that it may",
    }


# --- the loop


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("bash", {"cmd": "ls"}), "bash takes `command`, a text; nothing was done"),
        (("bash", {"command": 3}), "bash takes `command`, a text; nothing was done"),
        (("python", {}), "there is no tool 'python'; call bash, submit, read or todo"),
        (("x" * 101, {}), f"there is no tool '{'x' * 100}'; call bash, submit, read or todo"),
        (("edit", {}), "there is no tool 'edit'; call bash, submit, read or todo"),
        (("todo", {}), "todo takes `notes`, a text; nothing was done"),
        (("todo", {"notes": "x" * 8000}), "Noted."),
        (
            ("todo", {"notes": "x" * 8001}),
            "notes have at most 8000 characters, and these 8001; nothing was done",
        ),
    ],
)
async def test_what_a_call_is_answered(tmp_path: Path, call: tuple[str, dict[str, JsonValue]], told: str) -> None:
    """A wrong one learns what is right."""
    model = FakeModel([says("", call), DONE, DONE])
    await play(tmp_path, model, options={"tools": "read, todo"})
    assert model.requests[1].messages[-1].content == told


@pytest.mark.parametrize(
    ("asked", "given"),
    [(None, 7.0), (0, 7.0), (-1, 7.0), ("5", 7.0), (0.5, 0.5), (20, 20.0), (21, 20.0)],
)
async def test_a_command_has_the_time_that_it_names(tmp_path: Path, asked: JsonValue, given: float) -> None:
    """Within its bound; what is no time is the usual one."""
    provider = FakeProvider()
    arguments: dict[str, JsonValue] = {"command": "ls", **({} if asked is None else {"timeout_s": asked})}
    model = FakeModel([says("", ("bash", arguments)), DONE, DONE])
    await play(tmp_path, model, provider=provider, options={"command_s": 7, "longest_command_s": 20})
    assert [command.timeout_s for command in provider.commands] == [given]


CUT = says("I think", finish="length")


@pytest.mark.parametrize(
    ("replies", "options", "ended"),
    [
        ([says("no", finish="content_filter")], {}, (Outcome.REFUSED, "the endpoint's filter ended the reply", 1)),
        ([RefusedError("it must not")], {}, (Outcome.REFUSED, "it must not", 0)),
        ([DONE, DONE], {}, (Outcome.SUBMITTED, "it ended without calling submit", 2)),
        ([DONE], {"nudges": 0}, (Outcome.SUBMITTED, "it ended without calling submit", 1)),
        ([DONE, DONE, DONE], {"nudges": 2}, (Outcome.SUBMITTED, "it ended without calling submit", 3)),
        ([says("", ("submit", {})), DONE], {"nudges": 5}, (Outcome.SUBMITTED, "", 2)),
        ([CUT, CUT], {"nudges": 5}, (Outcome.LIMIT, "2 replies in a row were cut off for their length", 2)),
        ([CUT], {"nudges": 0}, (Outcome.LIMIT, "1 replies in a row were cut off for their length", 1)),
        ([runs("a")] * 3, {"turns": 2}, (Outcome.LIMIT, "2 turns", 2)),
    ],
)
async def test_how_an_attempt_ends(
    tmp_path: Path,
    replies: list[ChatReply | Exception],
    options: dict[str, JsonValue],
    ended: tuple[Outcome, str, int],
) -> None:
    """Its outcome, the sentence and how many replies there were."""
    result = await play(tmp_path, FakeModel(replies), options=options)
    assert (result.outcome, result.detail, result.turns) == ended


async def test_a_silent_reply_is_told_what_was_wrong_with_it(tmp_path: Path) -> None:
    """That nothing was called, and that it was cut off, where it was."""
    nudge = "Nothing was called. If you are done, say so in one sentence; otherwise go on with the tools."
    model = FakeModel([DONE, CUT, runs("ls"), DONE, DONE, DONE])
    await play(tmp_path, model, options={"nudges": 2})
    assert model.requests[1].messages[-1].content == nudge
    assert model.requests[2].messages[-1].content == (
        f"Your reply was cut off, for it was too long; write less at once. {nudge}"
    )


@pytest.mark.parametrize(
    ("limits", "ended"),
    [
        (EpisodeLimits(turns=1, tokens=110), "1 turns"),
        (EpisodeLimits(tokens=110), "110 of 110 tokens"),
        (EpisodeLimits(tokens=111), "220 of 111 tokens"),
        (EpisodeLimits(cost_usd=0.01), "$0.0100 of $0.01"),
        (EpisodeLimits(cost_usd=0.0101), "$0.0200 of $0.0101"),
    ],
)
async def test_a_limit_is_reached_by_what_it_says(tmp_path: Path, limits: EpisodeLimits, ended: str) -> None:
    """Each reply takes 110 tokens and a cent."""
    assert (await play(tmp_path, FakeModel([runs("ls")] * 3), limits=limits)).detail == ended


def test_what_an_attempt_is_expected_to_take(tmp_path: Path) -> None:
    """Each turn repeats the conversation; the run's limit and the agent's own bound the turns."""
    context = agent_context(tmp_path, FakeModel())
    cases: list[tuple[dict[str, JsonValue], EpisodeLimits, int, int]] = [
        ({}, EpisodeLimits(), 90, 2_835_360),
        ({"turns": 10}, EpisodeLimits(), 10, 35_040),
        ({"turns": 10}, EpisodeLimits(turns=20), 20, 140_080),
        ({}, EpisodeLimits(turns=200), 90, 2_835_360),
    ]
    for options, limits, turns, read in cases:
        expected = TokenUsage(input_tokens=read, output_tokens=350 * turns)
        assert create(options).expected_usage(context.task, limits, lambda: tmp_path) == expected


# --- the window

SPENT = 15_000
"""Three quarters of a window of 20,000 tokens; a quarter, less than the usual reserve, is for the reply."""


def full(used: int) -> FakeModel:
    """Return a model whose window is full to *used* tokens before its seventh request, as its endpoint counts."""

    def say(request: ChatRequest) -> ChatReply:
        asked = len(model.requests)
        reply = says("I did much.") if "outgrow your window" in request.messages[-1].content else runs("x")
        added = estimated_tokens(request.but(messages=(PRINTED,)))
        usage = TokenUsage(input_tokens=used - added if asked == 6 else 1)
        return (reply if asked < 8 else DONE).but(usage=usage)

    model = FakeModel(say=say, window=20_000)
    return model


BIG = FakeProvider(lambda spec, command: answer(stdout=b"word " * 2000))
PRINTED = Message(role="tool", tool_call_id="call-0", content="word " * 2000 + "\n[exit code 0]")


@pytest.mark.parametrize(("used", "is_full"), [(SPENT, False), (SPENT + 1, True)])
async def test_a_window_is_full_above_three_quarters(tmp_path: Path, used: int, is_full: bool) -> None:
    """To the very token: then the model sums its old turns up, or they are cut where that is wanted."""
    for condensing in ("summary", "cut"):
        model, memory = full(used), Memory()
        options = {"condensing": condensing, "turns": 8}
        await play(tmp_path / condensing, model, memory, provider=BIG, options=options)
        asked = ["outgrow your window" in request.messages[-1].content for request in model.requests]
        assert asked[6] is (is_full and condensing == "summary")
        assert bool(memory.of("condensed")) is (is_full and condensing == "cut")


# --- what a model writes as text


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<invoke name="write"><parameter name="path">a.py</parameter></invoke>', [{"path": "a.py"}]),
        ("<function=write><parameter=path>\na.py\n</parameter></function>", [{"path": "a.py"}]),
        (
            "<tool_call>write<arg_key>path</arg_key>\n<arg_value>a.py</arg_value></tool_call>",
            [{"path": "a.py"}],
        ),
        (
            '<x:invoke name="write"><x:parameter name="content">\n  a\nb\n</x:parameter></x:invoke>',
            [{"content": "  a\nb\n"}],
        ),
        ('<INVOKE name="w"><PARAMETER name=path>a</PARAMETER></INVOKE>', [{"path": "a"}]),
        ('<invoke name="a"></invoke><invoke name="b">', [{}]),
        ("nothing", []),
    ],
)
def test_calls_in_tags(text: str, calls: list[dict[str, str]]) -> None:
    """A single word has no line end around it; of several lines only the first is the template's."""
    assert [*calls_in_tags(text)] == calls


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("write_file('a.py', 'x')", [("a.py", "x")]),
        ("tools.create_file(path='a.py', content='x')", [("a.py", "x")]),
        ("Path('a.py').write_text('x')", [("a.py", "x")]),
        ("save('a.py', 'x', True)", [("a.py", "x")]),
        ("print('a.py', 'x')", []),
        ("write_file(path, 'x')", []),
        ("write_file('a.py')", []),
        ("write_file('a.py', 3)", []),
        ("(lambda: 0)('a.py', 'x')", []),
        ("write_file('a.py', 'x'", []),
        ("write_file('a.py', '" + "x" * 1_000_000 + "')", []),
    ],
)
def test_calls_in_python(text: str, calls: list[tuple[str, str]]) -> None:
    """Of functions that write, with a path and a content that both stand there; a million characters are read."""
    assert [(one["path"], one["content"]) for one in calls_in_python(text)] == calls


@pytest.mark.parametrize(
    ("old", "before", "after", "new"),
    [
        ("a\nb\n", "b\n", "c\n", "a\nc\n"),
        ("a\na\n", "a\n", "b\n", "b\na\n"),
        ("a  \nb\t\n", "a\nb\n", "c\n", "c\n"),
        ("x\na  \nb\ny\n", "a\nb\n", "", "x\ny\n"),
        (None, "", "a\n", "a\n"),
        ("a\n", " \n", "b\n", "a\nb\n"),
    ],
)
def test_a_change_takes_the_place_of_what_it_names(old: str | None, before: str, after: str, new: str) -> None:
    """Once, with blanks at line ends aside; a change of nothing is added at the end."""
    assert replaced("a.py", None if old is None else old.encode(), before, after) == new


def test_a_change_that_fits_nowhere_says_which() -> None:
    """With its first 80 characters, or that there is no such file."""
    long = "y" * 90
    with pytest.raises(UnfitPatchError) as caught:
        replaced("a.py", b"x\n", f"{long}\n", "")
    assert str(caught.value) == f"the patch of a.py does not apply: '{'y' * 80}' is not in it"
    with pytest.raises(UnfitPatchError) as caught:
        replaced("a.py", None, "x\n", "")
    assert str(caught.value) == "the patch of a.py does not apply: there is no such file"
    with pytest.raises(UnfitPatchError, match=r"^the patch names no file$"):
        patched("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", lambda _: None)


DIFF = """--- a/old.py
+++ b/new.py
@@ -1,2 +1,2 @@
 a
-b
+c
\\ No newline at end of file
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
--- /dev/null
+++ b/fresh.py
@@ -0,0 +1 @@
+y
```
z
"""
APPLY = """*** Begin Patch
*** Add File: one.py
+a
+b
*** Update File: two.py
@@ def f():
 a
-b
+c
@@
-d
*** End Patch
"""


def test_patches_of_each_form() -> None:
    """Renames read the old file, what is taken away stays, several hunks of one file all apply, once each."""
    there = {"old.py": b"a\nb\n", "two.py": b"a\nb\nd\ne\n", "s.py": b"a\nb\n"}
    assert patched(DIFF, there.get) == {"new.py": "a\nc\n", "fresh.py": "y\n"}
    assert patched(APPLY, there.get) == {"one.py": "a\nb\n", "two.py": "a\nc\ne\n"}
    block = "<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n"
    searches = "**s.py**\n" + block.format("a", "x") + block.format("b", "y")
    assert patched(searches, there.get) == {"s.py": "x\ny\n"}
    assert [is_patch(text) for text in (DIFF, APPLY, searches, "a = 1", "--- a\n+++ b\n")] == [
        True,
        True,
        True,
        False,
        False,
    ]


# --- an attempt that goes on


async def test_what_is_on_record_is_handed_out_once() -> None:
    """Replies in turn, results by turn and number; the first result that differs is recorded, others are not."""
    memory = Memory()
    first = Replay(memory)

    async def ask() -> ChatReply:
        return runs("ls")

    assert (first.resumed, first.replaying, first.turn) == (False, False, 0)
    await first.reply(ask, summary_until=4)
    assert first.result(0, "a", name="bash") == "a"
    assert first.result(1, "b") == "b"
    again = Replay(rest := memory.resumed())
    assert (again.resumed, again.replaying, again.recorded_summary()) == (True, True, 4)
    await again.reply(ask)
    assert (again.turn, again.replaying, again.recorded_summary()) == (1, False, None)
    assert again.result(0, "other") == "a"
    assert again.result(1, "other") == "b"
    assert again.result(2, "new") == "new"
    assert rest.kinds() == ["diverged", "result"]
    assert (rest.steps[0]["was"], rest.steps[0]["now"], rest.steps[0]["call"]) == ("a", "other", 0)
    third = Replay(rest.resumed())
    await third.reply(ask)
    third.result(0, "another")
    assert third.recorded_condensing() == []
