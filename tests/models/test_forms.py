"""What is wrong with a request that an agent's program sends."""

import pytest
from pydantic import ValidationError

from groundup.domain.conversations import Message, ToolCall
from groundup.domain.records import Record
from groundup.models.answering.forms import invalid
from groundup.models.asking.forms import parse_json, sendable


class _Request(Record):
    model: str
    messages: tuple[str, ...]


def test_of_several_faults_the_first_is_told() -> None:
    """In the order of the form, with the name of its field."""
    with pytest.raises(ValidationError) as raised:
        _Request.model_validate({})
    assert str(invalid(raised.value)).startswith("model: ")


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": [1, "x"]}', {"a": [1, "x"]}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\uD800 and \\udc00"', "? and ?"),
        (b'{"\\udfff": 1}', {"?": 1}),
        (b"null", None),
    ],
)
def test_lone_halves_of_characters_are_replaced(content: bytes, value: object) -> None:
    """No other text can hold them."""
    assert parse_json(content) == value


def test_json_that_is_too_deep_is_none() -> None:
    """In words that a model or a program can be told."""
    with pytest.raises(ValueError, match=r"^it is nested too deeply$"):
        parse_json(b"[" * 100_000)
    with pytest.raises(ValueError, match="Expecting"):
        parse_json(b"{")


def _called(*calls: tuple[str, str, str]) -> Message:
    given = tuple(ToolCall(id=identifier, name=name, arguments=arguments) for identifier, name, arguments in calls)
    return Message(role="assistant", tool_calls=given)


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        (("a", "bash", "{}"), ("a", "bash", "{}")),
        (("", "bash", '{"a": 1}'), ("call_0_0", "bash", '{"a": 1}')),
        (("a b", "my tool", ""), ("call_0_0", "my_tool", "{}")),
        (("a" * 64, "b" * 64, " "), ("a" * 64, "b" * 64, "{}")),
        (("a" * 65, "b" * 65, "[1]"), ("call_0_0", "b" * 64, '{"unreadable_arguments": "[1]"}')),
        (("a", "", "ls"), ("a", "unnamed", '{"unreadable_arguments": "ls"}')),
        (("a", "bash", '{"a": NaN}'), ("a", "bash", '{"unreadable_arguments": "{\\"a\\": NaN}"}')),
        (("a", "bash", "\u00e4"), ("a", "bash", '{"unreadable_arguments": "\u00e4"}')),
    ],
)
def test_what_a_strict_endpoint_refuses_of_a_call_is_mended(
    call: tuple[str, str, str], sent: tuple[str, str, str]
) -> None:
    """Ids and names of letters, arguments that are an object of JSON."""
    (message,) = sendable([_called(call)])
    assert [(one.id, one.name, one.arguments) for one in message.tool_calls] == [sent]


def test_ids_that_come_twice_are_made_different_and_results_follow() -> None:
    """In the order of the calls; a result of no call keeps its id, and an empty text becomes a word."""
    results = [Message(role="tool", content=text, tool_call_id="a") for text in ("1", " ", "3")]
    calls = [("call_2_1", "bash", "{}"), ("a", "bash", "{}"), ("a", "bash", "{}")]
    sent = sendable([
        Message(role="user", content=""), _called(("a", "bash", "{}")), _called(*calls[:1], *calls[1:]), *results,
        Message(role="assistant", content=" "), Message(role="tool", content="late", tool_call_id="a"),
    ])  # fmt: skip
    assert [[call.id for call in message.tool_calls] for message in sent if message.tool_calls] == [
        ["a"],
        ["call_2_1", "call_2_1_", "call_2_2"],
    ]
    told = [(message.tool_call_id, message.content) for message in sent if message.role == "tool"]
    assert told == [("call_2_1_", "1"), ("call_2_2", "(nothing)"), ("a", "3"), ("a", "late")]
    assert [message.content for message in sent if message.role != "tool"] == ["(nothing)", "", "", "(nothing)"]
