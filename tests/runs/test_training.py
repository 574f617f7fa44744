"""`runs.training`: which attempts become rows, and what a row holds."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from groundup.agents.trajectories import REPLY, Step
from groundup.domain.subjects import AttemptKey
from groundup.models.asking.chat import FORM
from groundup.runs.exporting import export
from groundup.runs.training import ChosenEpisodes, main_conversation, scored
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.reports.made import run_of
from tests.serving.house import Client, job_in, opened
from tests.store.folders import write_run


@pytest.fixture
async def run(tmp_path: Path) -> RunFolder:
    """A server's run: two attempts at the first task, worth 0.5 and 1, and one without a reward at the second."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        for word in ("half", "pass"):
            sid = await client.create()
            await client.bash(sid, f"behave {word}")
            await client.call(sid, "submit")
        sid = await client.create(1)
        await client.bash(sid, "behave infrastructure")
        await client.call(sid, "submit")
        return RunFolder(house.job.path)


def names(run: RunFolder, chosen: ChosenEpisodes) -> list[str]:
    """Return the attempts that are chosen."""
    return [str(key) for key in chosen.of(run.config().planned.keys, run.latest())]


async def test_attempts_are_chosen_by_their_rewards(run: RunFolder) -> None:
    """Without a reward an attempt passes only where nothing is asked."""
    assert names(run, ChosenEpisodes()) == ["task-0000/0", "task-0001/0", "task-0000/1"]
    assert names(run, ChosenEpisodes(min_score=0.6)) == ["task-0000/1"]
    assert names(run, ChosenEpisodes(min_score=0.5)) == ["task-0000/0", "task-0000/1"]
    assert names(run, ChosenEpisodes(best=1)) == ["task-0000/1"]
    assert names(run, ChosenEpisodes(best=2)) == ["task-0000/0", "task-0000/1"]
    assert names(run, ChosenEpisodes(failures=True)) == ["task-0000/0"]
    assert scored(None) == {"reward": None, "passed": None, "total": None, "status": "none"}
    assert scored(run.latest()[AttemptKey(task="task-0001", index=0)])["status"] == "infrastructure"


async def test_rows_are_conversations_with_rewards(run: RunFolder, tmp_path: Path) -> None:
    """A client's commands are calls of tools, and their results follow; all rows have the same keys."""
    written = export(run, tmp_path / "rows", "messages", Settings(), ChosenEpisodes(min_score=0)).attempts
    assert [str(key) for key in written] == ["task-0000/0", "task-0000/1"]
    rows = [json.loads(line) for line in (tmp_path / "rows" / "served.jsonl").read_text().splitlines()]
    assert [(row["reward"], row["rewards"], row["passed"], row["total"]) for row in rows] == [
        (0.5, [0.5], 1, 2),
        (1.0, [1.0], 2, 2),
    ]
    first = rows[0]["messages"]
    assert [message["role"] for message in first] == ["user", "assistant", "tool", "assistant", "tool"]
    assert first[0]["content"].startswith("Write task-0000.")
    call = first[1]["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == {"command": "behave half"}
    assert (first[2]["tool_call_id"], first[2]["content"]) == (call["id"], "done\n[exit code 0]")
    assert first[4]["content"].startswith("Submitted. Score 0.5000")
    assert len({tuple(row) for row in rows}) == 1


async def test_rows_have_the_tools_that_were_offered(tmp_path: Path) -> None:
    """Not only those that were called, and as the model saw them: a template writes them into its prompt."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        sid = await client.create()
        await client.call(sid, "submit")
        told = (await client.get("/tools")).json()["tools"]
    export(RunFolder(house.job.path), tmp_path / "rows", "messages", Settings())
    (row,) = [json.loads(line) for line in (tmp_path / "rows" / "served.jsonl").read_text().splitlines()]
    offered = [tool["function"] for tool in json.loads(row["tools"])]
    assert [(tool["name"], tool["description"], tool["parameters"]) for tool in offered] == [
        (tool["name"], tool["description"], tool["input_schema"]) for tool in told
    ]


async def test_trajectories_hold_the_same(run: RunFolder, tmp_path: Path) -> None:
    """ATIF has the reward and the counts, and a step for each reply."""
    export(run, tmp_path / "atif", "atif", Settings())
    document = json.loads((tmp_path / "atif" / "task-0000" / "1" / "trajectory.json").read_text())
    assert (document["extra"]["reward"], document["extra"]["passed"]) == (1.0, 2)
    assert [step["source"] for step in document["steps"]] == ["user", "agent", "agent"]
    run.attempt(AttemptKey(task="task-0000", index=0)).trajectory_file.write_text("")
    found = export(run, tmp_path / "again", "atif", Settings())
    assert [str(key) for key in found.attempts] == ["task-0001/0", "task-0000/1"], "without steps there is none"
    assert (found.planned, found.changed) == (len(run.config().planned.keys), ())


def test_tokens_come_with_a_reply() -> None:
    """Where an endpoint gives token ids and log-probabilities they are kept, streamed or whole."""
    logprobs: list[JsonValue] = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]
    message: JsonValue = {"role": "assistant", "content": "ab"}
    choice: dict[str, JsonValue] = {"message": message, "finish_reason": "stop"}
    given: dict[str, JsonValue] = {"token_ids": [7, 8], "logprobs": {"content": logprobs}}
    whole: dict[str, JsonValue] = {"prompt_token_ids": [1, 2, 3], "choices": [{**choice, **given}]}
    tokens = FORM.parsed(whole).reply.tokens
    assert (tokens.prompt_ids, tokens.ids, tokens.logprobs) == ((1, 2, 3), (7, 8), (-0.5, -1.0))
    events: list[dict[str, JsonValue]] = [
        {"choices": [{"delta": {"content": text}, "token_ids": [number], "logprobs": {"content": [one]}}]}
        for text, number, one in zip("ab", (7, 8), logprobs, strict=True)
    ]
    events.append({"prompt_token_ids": [1, 2, 3], "choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert FORM.parsed(FORM.joined(events)).reply.tokens == tokens
    assert FORM.parsed({"choices": [choice]}).reply.tokens.ids == ()


def steps_of_a_program() -> list[dict[str, JsonValue]]:
    """Return what a command-line agent records: a side question, work, a late system message, words taken back."""

    def said(exchange: int, place: int, role: str, content: str, **more: JsonValue) -> dict[str, JsonValue]:
        return {"kind": "message", "exchange": exchange, "place": place, "role": role, "content": content, **more}

    def reply(exchange: int, place: int, content: str, *calls: str, **more: JsonValue) -> dict[str, JsonValue]:
        made: list[JsonValue] = [{"id": f"c{name}", "name": name, "arguments": '{"x": 1}'} for name in calls]
        message: JsonValue = {"role": "assistant", "content": content, "tool_calls": made}
        usage: JsonValue = {"input_tokens": 10, "output_tokens": 2}
        fields: dict[str, JsonValue] = {"exchange": exchange, "place": place, "message": message, "usage": usage}
        return {"kind": "reply", "turn": exchange, "finish": "stop", **fields, **more}

    tools: JsonValue = [{"name": "read", "description": "reads", "parameters": {"type": "object"}}]
    return [
        {"kind": "program", "preset": "p"},
        said(1, 0, "user", "What is this about?"),
        reply(1, 1, "A title", continues=None, shared=0),
        said(2, 0, "user", "Write it.", tools=tools),
        said(2, 1, "system", "You are an agent."),
        reply(2, 2, "I look.", "read", "list", continues=None, shared=0),
        said(3, 3, "tool", "a file", tool_call_id="cread"),
        said(3, 4, "tool", "a list", tool_call_id="clist"),
        said(3, 5, "system", "Time flies."),
        reply(3, 6, "Nothing yet.", continues=2, shared=3),
        # The program takes back its last reply, and asks again with other words.
        said(4, 6, "user", "Go on."),
        reply(4, 7, "Done.", continues=3, shared=6),
    ]


def test_a_programs_row_is_its_main_conversation(run: RunFolder, tmp_path: Path) -> None:
    """Tools as offered, one system message first, results by their calls; nothing that was taken back."""
    text = "".join(json.dumps(step) + "\n" for step in steps_of_a_program())
    run.attempt(AttemptKey(task="task-0000", index=1)).trajectory_file.write_text(text)
    export(run, tmp_path / "rows", "messages", Settings(), ChosenEpisodes(best=1))
    row = json.loads((tmp_path / "rows" / "served.jsonl").read_text())
    assert [(one["role"], one["content"]) for one in row["messages"]] == [
        ("system", "You are an agent.\n\nTime flies."),
        ("user", "Write it."),
        ("assistant", "I look."),
        ("tool", "a file"),
        ("tool", "a list"),
        ("user", "Go on."),
        ("assistant", "Done."),
    ]
    assert [one["tool_call_id"] for one in row["messages"] if one["role"] == "tool"] == ["cread", "clist"]
    assert [one["function"]["name"] for one in json.loads(row["tools"])] == ["read"]
    assert (row["reward"], row["rewards"], row["turns"]) == (1.0, [1.0], 2)
    assert (row["input_tokens"], row["output_tokens"]) == (40, 8)  # of the attempt, side questions among them


def said(place: int, text: str) -> Step:
    """Return a message at its place in a request."""
    return {"kind": "message", "role": "user", "content": text, "place": place}


def answered(exchange: int, continues: int | None = None, shared: int = 0) -> Step:
    """Return a reply in an exchange."""
    message: dict[str, JsonValue] = {"role": "assistant", "content": f"r{exchange}"}
    about: dict[str, JsonValue] = {"continues": continues, "shared": shared, "place": shared + 1}
    return {"kind": REPLY, "turn": exchange, "exchange": exchange, "message": message, "finish": "stop", **about}


@pytest.mark.parametrize(
    ("steps", "main"),
    [
        ([said(0, "a"), answered(0)], [0, 1]),
        (
            [said(0, "a"), answered(0), said(0, "title?"), answered(1), said(2, "b"), answered(2, 0, 2)],
            [0, 1, 4, 5],
        ),
        ([said(0, "a"), answered(0), said(0, "b"), answered(1)], [2, 3]),
        ([said(0, "a"), answered(0), said(1, "b"), answered(1, 0, 1), said(1, "c"), answered(2, 0, 1)], [0, 4, 5]),
        ([said(0, "a"), answered(0), said(2, "b"), {"kind": "unanswered"}, answered(1, 0, 2)], [0, 1, 4]),
        (
            [
                said(0, "a"),
                answered(0),
                said(2, "b"),
                answered(1, 0, 2),
                {"kind": "program"},
                said(0, "a"),
                answered(0),
            ],
            [5, 6],
        ),
        ([said(0, "a"), answered(0, 7, 3)], [0, 1]),
    ],
)
def test_the_conversation_with_most_replies_is_the_main_one(steps: list[Step], main: list[int]) -> None:
    """Each request goes on from another with what it shares; a question without an answer is in none.

    Of two with as many replies the newer counts; a program that is started again begins anew.
    """
    assert [*main_conversation(steps)] == [steps[at] for at in main]


def test_steps_without_exchanges_are_one_conversation() -> None:
    """As the agents here write them."""
    steps: list[Step] = [{"kind": "message"}, {"kind": "result"}, {"kind": "program"}]
    assert main_conversation(steps) is steps


def chosen_of(chosen: ChosenEpisodes, *rewards: tuple[str, float]) -> list[str]:
    """Return which of some graded attempts are chosen; the reward is out of 10."""
    config, lines = run_of(
        "r", {task: [(one, 10) for name, one in rewards if name == task] for task, _ in rewards}
    )
    return [str(key) for key in chosen.of(config.planned.keys, lines)]


def test_the_best_of_each_task_are_chosen() -> None:
    """Of equal ones the first; both ends of a bound count."""
    every = (("a", 5), ("a", 10), ("a", 5), ("b", 0), ("b", 0))
    assert set(chosen_of(ChosenEpisodes(best=1), *every)) == {"a/1", "b/0"}
    assert set(chosen_of(ChosenEpisodes(best=2), *every)) == {"a/0", "a/1", "b/0", "b/1"}
    assert set(chosen_of(ChosenEpisodes(min_score=0.5), *every)) == {"a/0", "a/1", "a/2"}
    assert set(chosen_of(ChosenEpisodes(min_score=0.51), *every)) == {"a/1"}
    assert set(chosen_of(ChosenEpisodes(failures=True, best=1), *every)) == {"a/0", "b/0"}


def test_a_row_in_full(tmp_path: Path) -> None:
    """Every key, also where nothing is known: of a reply with tokens, a fenced block, and a system's message."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench", made_by_agent=True))
    usage: JsonValue = {"input_tokens": 10, "output_tokens": 2}
    call: JsonValue = {"id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    own: JsonValue = {"id": "c2", "name": "own", "arguments": "{}"}
    message: JsonValue = {"role": "assistant", "content": "I look.", "reasoning": "Why", "tool_calls": [call, own]}
    plain: JsonValue = {"role": "assistant", "content": "Done."}
    tokens: JsonValue = {"prompt_ids": [1], "ids": [2, 3], "logprobs": [-0.5, -1.0]}
    common: dict[str, JsonValue] = {"kind": "reply", "finish": "stop", "usage": usage, "cost_usd": 0.25}
    steps: list[dict[str, JsonValue]] = [
        {"kind": "began"},
        {"kind": "message", "role": "system", "content": "Be good."},
        {"kind": "message", "content": "Write it."},
        {**common, "turn": 1, "message": message, "tokens": tokens},
        {"kind": "result", "turn": 1, "call": 1, "content": "second"},
        {"kind": "result", "turn": 1, "call": 2, "content": "none of them"},
        {"kind": "result", "turn": 1, "call": 0, "content": None, "score": 0.25},
        {**common, "turn": 2, "message": plain},
        {"kind": "result", "turn": 2, "content": "a block", "score": 0.5},
    ]
    key = AttemptKey(task="sqlparse")
    run.attempt(key).trajectory_file.write_text("".join(json.dumps(step) + "\n" for step in steps))
    found = export(run, tmp_path / "rows", "messages", Settings())
    assert (found.attempts, found.planned, found.changed) == ([key], 3, ())
    (row,) = [json.loads(line) for line in (tmp_path / "rows" / "one.jsonl").read_text().splitlines()]
    bash = {
        "name": "bash",
        "description": "",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}, "timeout_s": {"type": "number"}},
            "required": ["command"],
        },
    }
    assert json.loads(row.pop("tools")) == [{"type": "function", "function": bash}]
    none: dict[str, list[float]] = {"prompt_ids": [], "ids": [], "logprobs": []}
    assert row.pop("tokens") == [{**none, "prompt_ids": [1], "ids": [2, 3], "logprobs": [-0.5, -1.0]}, none]

    def said(role: str, content: str, **fields: object) -> dict[str, object]:
        absent: dict[str, object] = {"tool_calls": [], "tool_call_id": "", "reasoning_content": ""}
        return {"role": role, "content": content, **absent, **fields}

    made = [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
        {"id": "c2", "type": "function", "function": {"name": "own", "arguments": "{}"}},
    ]
    assert row == {
        "messages": [
            said("system", "Be good."),
            said("user", "Write it."),
            said("assistant", "I look.", tool_calls=made, reasoning_content="Why"),
            said("tool", "second", tool_call_id="c2"),
            said("user", "none of them"),
            said("tool", "", tool_call_id="c1"),
            said("assistant", "Done."),
            said("user", "a block"),
        ],
        "reward": 442 / 461,
        "passed": 442,
        "total": 461,
        "status": "graded",
        "rewards": [0.25, 0.5],
        "task": "sqlparse",
        "index": 0,
        "run": "one",
        "suite": "nl2repobench",
        "grader": "strict",
        "agent": "loop",
        "model": "scripted/model",
        "outcome": "submitted",
        "turns": 2,
        "input_tokens": 20,
        "output_tokens": 4,
        "cost_usd": 0.5,
    }


@pytest.mark.parametrize("bounds", [{"min_score": -0.1}, {"min_score": 1.1}, {"best": 0}])
def test_bounds_that_choose_nothing_are_refused(bounds: dict[str, float]) -> None:
    """A reward is a share, and somebody wants at least one attempt."""
    with pytest.raises(ValidationError):
        ChosenEpisodes.model_validate(bounds)
    assert (ChosenEpisodes(min_score=0).min_score, ChosenEpisodes(min_score=1, best=1).best) == (0, 1)
