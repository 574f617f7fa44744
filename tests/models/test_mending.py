"""Conversations that a strict endpoint would refuse, mended before they are sent."""

import json

import pytest

from groundup.domain.conversations import Message, ToolCall
from groundup.models.asking.forms import sendable


def asks(*calls: tuple[str, str, str], text: str = "") -> Message:
    """Return a reply with these calls: id, name, arguments."""
    made = tuple(ToolCall(id=identifier, name=name, arguments=given) for identifier, name, given in calls)
    return Message(role="assistant", content=text, tool_calls=made)


def test_what_needs_no_mending_goes_as_it_is() -> None:
    """An endpoint keeps what it knows of the beginning."""
    sound = (
        Message(role="user", content="Write it."),
        asks(("a", "bash", '{"command": "ls"}')),
        Message(role="tool", content="x", tool_call_id="a"),
        asks(text="done"),
    )
    assert sendable(sound) == sound


def test_empty_turns_say_that_they_are() -> None:
    """Endpoints refuse them; a reply that only calls is not empty."""
    given = (
        Message(role="user", content=" \n"),
        asks(text=" "),
        asks(("a", "bash", "{}"), text=" "),
        Message(role="tool", content="", tool_call_id="a"),
    )
    assert [one.content for one in sendable(given)] == ["(nothing)", "(nothing)", " ", "(nothing)"]


def test_each_call_has_a_name_of_its_own_and_its_result_follows() -> None:
    """A model that calls all its calls alike gets each result for the right one."""
    given = (
        asks(("a", "bash", "{}"), ("a", "bash", "{}"), ("", "bash", "{}")),
        *(Message(role="tool", content=text, tool_call_id=of) for text, of in (("1", "a"), ("2", "a"), ("3", ""))),
        asks(("call_0_1", "bash", "{}")),
        Message(role="tool", content="4", tool_call_id="call_0_1"),
    )
    first, *results, second, last = sendable(given)
    ids = [call.id for call in first.tool_calls]
    assert ids == ["a", "call_0_1", "call_0_2"]
    assert [one.tool_call_id for one in results] == ids
    assert [call.id for call in second.tool_calls] == [last.tool_call_id] == ["call_4_0"]


@pytest.mark.parametrize(
    ("name", "sent"), [("bash", "bash"), ("ba sh.x", "ba_sh_x"), ("", "unnamed"), ("x" * 65, "x" * 64)]
)
def test_a_tool_has_a_name_that_endpoints_take(name: str, sent: str) -> None:
    """Up to 64 letters, digits and two signs."""
    (found,) = sendable([asks(("a", name, "{}"))])
    assert found.tool_calls[0].name == sent


@pytest.mark.parametrize("arguments", ["{", "[1]", '{"a": NaN}', '"text"'])
def test_arguments_that_are_no_object_are_sent_in_one(arguments: str) -> None:
    """What the model wrote is in it; none at all are an empty object."""
    unread, empty = (next(iter(sendable([asks(("a", "bash", text))]))).tool_calls[0] for text in (arguments, " "))
    assert list(json.loads(unread.arguments).values()) == [arguments]
    assert empty.arguments == "{}"
