"""`runs.training`: which attempts become rows, and what a row holds."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.domain.errors import MissingExtraError
from groundup.models.asking.chat import FORM
from groundup.runs.exporting import export
from groundup.runs.training import ChosenEpisodes
from groundup.store.folder import RunFolder
from tests.serving.house import Client, job_in, opened


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
    assert names(run, ChosenEpisodes(best=1)) == ["task-0000/1"]
    assert names(run, ChosenEpisodes(failures=True)) == ["task-0000/0"]


async def test_rows_are_conversations_with_rewards(run: RunFolder, tmp_path: Path) -> None:
    """A client's commands are calls of tools, and their results follow; all rows have the same keys."""
    from groundup.settings import Settings

    written = export(run, tmp_path / "rows", "messages", Settings(), ChosenEpisodes(min_score=0))
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
    from groundup.settings import Settings

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


async def test_other_forms_hold_the_same(run: RunFolder, tmp_path: Path) -> None:
    """ShareGPT has a turn for each call; ATIF has the reward; Parquet is read back, or asks for its extra."""
    from groundup.settings import Settings

    export(run, tmp_path / "sharegpt", "sharegpt", Settings(), ChosenEpisodes(best=1))
    row = json.loads((tmp_path / "sharegpt" / "served.jsonl").read_text())
    turns = [turn["from"] for turn in row["conversations"]]
    assert turns == ["human", "function_call", "observation", "function_call", "observation"]
    export(run, tmp_path / "atif", "atif", Settings())
    document = json.loads((tmp_path / "atif" / "task-0000" / "1" / "trajectory.json").read_text())
    assert (document["extra"]["reward"], document["extra"]["passed"]) == (1.0, 2)
    assert [step["source"] for step in document["steps"]] == ["user", "agent", "agent"]
    try:
        export(run, tmp_path / "parquet", "parquet", Settings(), ChosenEpisodes(min_score=0))
    except MissingExtraError as error:
        pytest.skip(str(error))
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "parquet" / "served.parquet")
    assert table["reward"].to_pylist() == [0.5, 1.0]
    # Another run's file has the same types, though nothing in it has a reward.
    async with opened(job_in(tmp_path / "other")) as house, Client(house.address) as client:
        await client.bash(await client.create(), "ls")
    export(RunFolder(house.job.path), tmp_path / "other-rows", "parquet", Settings())
    other = parquet.read_table(tmp_path / "other-rows" / "served.parquet")
    assert (other.schema, other["reward"].to_pylist()) == (table.schema, [None])
    assert set(table.column_names) == set(row) - {"conversations"} | {"messages"}


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
