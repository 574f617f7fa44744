"""A conversation as strict endpoints take it: what a model got wrong in one turn is no reason to refuse the next.

What was said is mended only as far as the forms demand: arguments are a JSON object, names and ids have letters
that are allowed, no id is used twice, nothing is empty. A right conversation is returned as it is.
"""

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from groundup.domain.conversations import Message, ToolCall

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOTHING = "(nothing)"
"""Stands where an empty text would be refused."""
UNREADABLE = "unreadable_arguments"
"""The argument that holds what a model wrote instead of JSON."""


def sendable(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the conversation with everything mended that a strict endpoint would refuse."""
    return tuple(_mended(messages))


def _mended(messages: Iterable[Message]) -> Iterator[Message]:
    used: set[str] = set()
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    """New ids of the calls without a result so far, by the id as it was."""
    for number, message in enumerate(messages):
        if message.role == "assistant":
            calls = tuple(_call(call, used, f"call_{number}_{n}") for n, call in enumerate(message.tool_calls))
            waiting.clear()
            for was, now in zip(message.tool_calls, calls, strict=True):
                waiting[was.id].append(now.id)
            said = message.content if calls or message.content.strip() else _NOTHING
            changed = calls != message.tool_calls or said != message.content
            yield message.rewritten(said, calls) if changed else message
            continue
        changes: dict[str, object] = {} if message.content.strip() else {"content": _NOTHING}
        if message.role == "tool" and message.tool_call_id is not None and waiting.get(message.tool_call_id):
            changes["tool_call_id"] = waiting[message.tool_call_id].popleft()
        yield message.model_copy(update=changes) if changes else message


def _call(call: ToolCall, used: set[str], otherwise: str) -> ToolCall:
    identifier = call.id
    if not _NAME.fullmatch(identifier) or identifier in used:
        identifier = otherwise
        while identifier in used:
            identifier += "_"
    used.add(identifier)
    name = call.name if _NAME.fullmatch(call.name) else re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unnamed"
    arguments = call.arguments if _is_object(call.arguments) else _framed(call.arguments)
    return call.model_copy(update={"id": identifier, "name": name, "arguments": arguments})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refused), dict)
    except (ValueError, RecursionError):
        return False


def _refused(name: str) -> None:
    raise ValueError(f"{name} is Python's, not JSON's")


def _framed(text: str) -> str:
    return json.dumps({UNREADABLE: text}, ensure_ascii=False) if text.strip() else "{}"
