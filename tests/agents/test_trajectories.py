"""What the steps of a trajectory come to, and how other tools get them."""

import json
from typing import Any

from pydantic import JsonValue

from groundup.agents.trajectories import (
    REPLY,
    Step,
    as_atif,
    call_text,
    lost_by,
    of_clients,
    paid_for,
    reply_fields,
)
from groundup.domain.conversations import ChatReply, Message, ToolCall
from groundup.domain.usage import TokenUsage
from groundup.models.attempts import LOST_STEP

DEEP = "[" * 100_000


def reply(turn: int, *calls: str, cost: float | None = 0.25, cached: bool = False) -> Step:
    """Return the step of a reply that calls `bash` with each of these arguments."""
    made = tuple(ToolCall(id=f"c{number}", name="bash", arguments=given) for number, given in enumerate(calls))
    usage = TokenUsage(input_tokens=10, output_tokens=2, cached_input_tokens=4)
    message = Message(role="assistant", content="so", tool_calls=made)
    said = ChatReply(message=message, finish="tool_calls", usage=usage, model="m")
    return {"kind": "reply", "at": "noon", **reply_fields(said.but(cost_usd=cost, cached=cached), turn)}


def exported(*steps: Step) -> dict[str, Any]:
    """Return the document of these steps."""
    return as_atif(steps, "s")


def test_lost_calls_are_paid_for() -> None:
    """They may be billed; a step that cannot be read counts nothing, and neither does a kept reply."""
    lost: Step = {"kind": LOST_STEP, "usage": {"input_tokens": 7}, "cost_usd": 0.5}
    broken: Step = {"kind": LOST_STEP, "usage": "many"}
    steps: list[Step] = [
        reply(1),
        reply(2, cached=True),
        {"kind": "reply", "turn": 3},
        lost,
        broken,
        {"kind": "message"},
    ]
    paid = paid_for(steps)
    assert (paid.turns, paid.cost_usd, paid.usage.input_tokens) == (2, 0.75, 27)
    assert (lost_by(steps).cost_usd, lost_by(steps).usage.input_tokens) == (0.5, 7)


def test_people_see_a_command_as_it_was_meant() -> None:
    """Any other arguments are shown as the model wrote them."""
    assert call_text('{"command": "ls"}') == "ls"
    for other in ('{"command": 1}', '{"path": "a"}', "[1]", "no JSON", DEEP):
        assert call_text(other) == other


def test_results_belong_to_the_calls_that_they_answer() -> None:
    """By turn and number; what answers no call of a tool stands in the turn without a name."""
    document = exported(
        {"kind": "began", "agent": "loop", "version": "3", "model": "p/m"},
        {"kind": "message", "role": "system", "content": "Write it."},
        {"kind": "message", "role": "odd", "content": "?"},
        reply(1, '{"command": "ls"}', "no JSON", DEEP),
        reply(2),
        {"kind": "result", "turn": 1, "call": 1, "content": "b"},
        {"kind": "result", "turn": 2, "call": 0, "content": "of a text"},
        {"kind": "result", "turn": 9, "call": 0, "content": "of no turn"},
        {"kind": "ended", "outcome": "submitted"},
        {"kind": "ended", "outcome": "stopped", "detail": "by hand"},
    )
    assert document["agent"] == {"name": "loop", "version": "3", "model_name": "p/m"}
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3, 4]
    assert [step["source"] for step in document["steps"]] == ["system", "user", "agent", "agent"]
    calls = document["steps"][2]["tool_calls"]
    arguments: list[JsonValue] = [{"command": "ls"}, {"unreadable": "no JSON"}, {"unreadable": DEEP}]
    assert [call["arguments"] for call in calls] == arguments
    assert document["steps"][2]["observation"] == {"results": [{"content": "b", "source_call_id": "c1"}]}
    assert document["steps"][3]["observation"] == {"results": [{"content": "of a text"}]}
    assert document["final_metrics"] == {
        "total_prompt_tokens": 20,
        "total_completion_tokens": 4,
        "total_cached_tokens": 8,
        "total_steps": 4,
        "total_cost_usd": 0.5,
    }
    assert document["extra"] == {"outcome": "stopped", "detail": "by hand"}


def test_a_kept_reply_cost_nothing_and_one_without_a_price_says_so() -> None:
    """No price is no zero."""
    (free,), (unknown,) = (exported(step)["steps"] for step in (reply(1, cached=True), reply(1, cost=None)))
    assert free["metrics"]["cost_usd"] == 0.0
    assert "cost_usd" not in unknown["metrics"]
    assert "total_cost_usd" not in exported(reply(1, cost=None))["final_metrics"]


def test_what_clients_of_a_server_did_are_calls_with_results() -> None:
    """Their own words are not known; each of their steps is a turn, and a grading has its score."""
    document = exported(
        {"kind": "command", "command": "ls", "content": "a.py", "at": "noon"},
        {"kind": "graded", "message": "1 of 2", "score": 0.5},
    )
    first, second = document["steps"]
    assert first["tool_calls"] == [
        {"tool_call_id": "call_1", "function_name": "bash", "arguments": {"command": "ls"}}
    ]
    assert (first["timestamp"], first["observation"]["results"][0]["content"]) == ("noon", "a.py")
    assert second["tool_calls"][0] | {"tool_call_id": ""} == {
        "tool_call_id": "",
        "function_name": "submit",
        "arguments": {},
    }
    assert second["observation"]["results"] == [{"content": "1 of 2", "source_call_id": "call_2"}]


def test_nothing_is_a_document_as_well() -> None:
    """The format wants a step, and somebody who made it."""
    document = exported()
    assert document["steps"] == [{"step_id": 1, "source": "user", "message": ""}]
    assert document["agent"] == {"name": "unknown", "version": "0"}


def test_what_clients_of_a_server_did_reads_as_calls_and_results() -> None:
    """In turns; all else stays, and texts of any alphabet stay readable."""
    note: Step = {"kind": "note", "at": "0"}
    steps: list[Step] = [
        note,
        {"kind": "command", "at": "1", "command": "echo ä", "content": "ä\n"},
        {"kind": "submitted", "at": "2", "message": "Submitted."},
        {"kind": "graded", "at": "3", "message": "Half.", "score": 0.5},
    ]
    found = of_clients(steps)
    assert found[0] is note
    calls = [step for step in found if step["kind"] == REPLY]
    assert [step["at"] for step in calls] == ["1", "2", "3"]
    made = [json.dumps(step, ensure_ascii=False) for step in calls]
    assert "echo ä" in made[0]
    assert [f'"call_{turn}"' in text for turn, text in enumerate(made, start=1)] == [True] * 3
    assert [step for step in found if step["kind"] == "result"] == [
        {"kind": "result", "turn": 1, "call": 0, "name": "bash", "content": "ä\n"},
        {"kind": "result", "turn": 2, "call": 0, "name": "submit", "content": "Submitted."},
        {"kind": "result", "turn": 3, "call": 0, "name": "submit", "content": "Half.", "score": 0.5},
    ]
    assert len(found) == 7
