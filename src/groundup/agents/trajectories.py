"""The steps of a trajectory, which every agent records alike, and their export as ATIF (schema version 1.4).

`began` (by the run): agent, version, model; `message`: role, content, and tools where it is known what a model is
offered; `reply`: turn, message, finish, usage, cost_usd, model, latency_s, cached; `result`: turn, call, name,
content, exit_code, seconds; `workspace` (by the run): what a turn did to files; `diverged`: turn, call, was, now;
`condensed`: turn, mark, hardness; `lost` (by the run): usage and cost_usd of a call that has no reply and may be
billed; `resembles` (by the run): detail; `ended` (by the run): outcome, detail. An agent may add kinds and fields.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue, ValidationError

from groundup.domain.conversations import ChatReply, Message, ToolCall
from groundup.domain.usage import ModelUse
from groundup.models.attempts import LOST_STEP

Step = Mapping[str, JsonValue]
REPLY = "reply"


def reply_fields(reply: ChatReply, turn: int) -> dict[str, JsonValue]:
    return {"turn": turn, **reply.model_dump(mode="json", exclude_defaults=True)}


def reply_of(step: Step) -> ChatReply | None:
    """Return the reply that *step* recorded; None for other steps, and for one that cannot be read."""
    if step.get("kind") != REPLY:
        return None
    fields = {name: value for name, value in step.items() if name in ChatReply.model_fields}
    try:
        return ChatReply.model_validate(fields)
    except ValidationError:
        return None


def call_text(text: str) -> str:
    """Return what people see of a call's arguments: a command as it was meant, any other as it was written."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    command = document.get("command") if isinstance(document, dict) else None
    return command if isinstance(command, str) else text


def paid_for(steps: Iterable[Step]) -> ModelUse:
    """Return what the replies among *steps* cost, and the calls that have none."""
    paid = ModelUse()
    for step in steps:
        if (reply := reply_of(step)) is not None:
            paid = paid.plus(reply)
        elif step.get("kind") == LOST_STEP:
            paid = paid.with_use(_use_of(step))
    return paid


def lost_by(steps: Iterable[Step]) -> ModelUse:
    """Return what calls without a reply may have cost."""
    return paid_for(step for step in steps if step.get("kind") == LOST_STEP)


def _use_of(step: Step) -> ModelUse:
    try:
        return ModelUse.model_validate({name: step[name] for name in ModelUse.model_fields if name in step})
    except ValidationError:
        return ModelUse()


def spent_s(steps: Sequence[Step]) -> float:
    """Return the attempt's time so far: as *steps* note it, else what replies and calls took, one after the other.

    Agents note it that ask several questions at once, or whose programs do things that nothing records.
    """
    noted = [seconds for step in steps if isinstance(seconds := step.get("spent_s"), int | float)]
    if noted:
        return max(noted)
    spent = 0.0
    for step in steps:
        seconds = step.get("latency_s" if step.get("kind") == REPLY else "seconds")
        spent += seconds if isinstance(seconds, int | float) else 0.0
    return spent


def of_clients(steps: Iterable[Step]) -> list[Step]:
    """Return *steps* with what clients of a server did as replies that call tools, and results.

    `command`, `graded` and `submitted` are steps of driven episodes, whose players' own words are not known.
    """
    found: list[Step] = []
    turn = 0
    for step in steps:
        kind = step.get("kind")
        if kind not in ("command", "graded", "submitted"):
            found.append(step)
            continue
        turn += 1
        name = "bash" if kind == "command" else "submit"
        given = {"command": step.get("command")} if kind == "command" else {}
        call = ToolCall(id=f"call_{turn}", name=name, arguments=json.dumps(given, ensure_ascii=False))
        reply = ChatReply(message=Message(role="assistant", tool_calls=(call,)), finish="tool_calls")
        found.append({"kind": REPLY, "at": step.get("at"), **reply_fields(reply, turn)})
        content = step.get("content", step.get("message", ""))
        score = {"score": step.get("score")} if kind == "graded" else {}
        found.append({"kind": "result", "turn": turn, "call": 0, "name": name, "content": content, **score})
    return found


SCHEMA = "ATIF-v1.4"
_SOURCES = {"system": "system", "user": "user", "assistant": "agent"}


def as_atif(
    steps: Sequence[Step], session: str, scored: Mapping[str, JsonValue] | None = None
) -> dict[str, JsonValue]:
    """Return the trajectory *steps* of one attempt as a document of the format, with reward and counts."""
    steps = of_clients(steps)
    began: Step = next((step for step in steps if step.get("kind") == "began"), {})
    agent: dict[str, JsonValue] = {"name": began.get("agent") or "unknown", "version": began.get("version") or "0"}
    if began.get("model"):
        agent["model_name"] = began["model"]
    turns = _turns(steps)
    paid = paid_for(steps)
    final: dict[str, JsonValue] = {
        "total_prompt_tokens": paid.usage.input_tokens,
        "total_completion_tokens": paid.usage.output_tokens,
        "total_cached_tokens": paid.usage.cached_input_tokens,
        "total_steps": len(turns),
    }
    if paid.cost_usd is not None:
        final["total_cost_usd"] = paid.cost_usd
    ended: Step = next((step for step in reversed(steps) if step.get("kind") == "ended"), {})
    return {
        "schema_version": SCHEMA,
        "session_id": session,
        "agent": agent,
        "steps": [*turns] or [_step(1, "user", "", {})],
        "final_metrics": final,
        "extra": {"outcome": ended.get("outcome"), "detail": ended.get("detail"), **(scored or {})},
    }


def _turns(steps: Iterable[Step]) -> list[dict[str, JsonValue]]:
    """Messages and replies in order; what tools did belongs to the reply that called them."""
    turns: list[dict[str, JsonValue]] = []
    by_turn: dict[JsonValue, tuple[dict[str, JsonValue], ChatReply]] = {}
    for step in steps:
        reply = reply_of(step)
        if step.get("kind") == "message":
            source = _SOURCES.get(str(step.get("role")), "user")
            turns.append(_step(len(turns) + 1, source, str(step.get("content", "")), step))
        elif reply is not None:
            turns.append(_of_reply(len(turns) + 1, reply, step))
            by_turn[step.get("turn")] = (turns[-1], reply)
        elif step.get("kind") == "result" and step.get("turn") in by_turn:
            turn, said = by_turn[step.get("turn")]
            _add_result(turn, said.message.tool_calls, step)
    return turns


def _step(number: int, source: str, message: str, step: Step) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {"step_id": number, "source": source, "message": message}
    if step.get("at"):
        made["timestamp"] = step["at"]
    return made


def _of_reply(number: int, reply: ChatReply, step: Step) -> dict[str, JsonValue]:
    made = _step(number, "agent", reply.message.content, step)
    if reply.model:
        made["model_name"] = reply.model
    if reply.message.reasoning:
        made["reasoning_content"] = reply.message.reasoning
    if reply.message.tool_calls:
        made["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": _arguments(call)}
            for call in reply.message.tool_calls
        ]
    metrics: dict[str, JsonValue] = {
        "prompt_tokens": reply.usage.input_tokens,
        "completion_tokens": reply.usage.output_tokens,
        "cached_tokens": reply.usage.cached_input_tokens,
    }
    if reply.cost_usd is not None:
        metrics["cost_usd"] = 0.0 if reply.cached else reply.cost_usd
    made["metrics"] = metrics
    return made


def _arguments(call: ToolCall) -> JsonValue:
    """Return a call's arguments as an object, as the format wants them."""
    try:
        document: JsonValue = json.loads(call.arguments)
    except (ValueError, RecursionError):
        document = call.arguments
    return document if isinstance(document, dict) else {"unreadable": document}


def _add_result(turn: dict[str, JsonValue], calls: Sequence[ToolCall], step: Mapping[str, JsonValue]) -> None:
    observation = turn.setdefault("observation", {"results": []})
    assert isinstance(observation, dict)
    results = observation["results"]
    assert isinstance(results, list)
    result: dict[str, JsonValue] = {"content": step.get("content")}
    number = step.get("call")
    if isinstance(number, int) and number < len(calls):  # a fenced block in a text is no call of a tool
        result["source_call_id"] = calls[number].id
    results.append(result)
