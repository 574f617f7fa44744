"""What goes back to a model in other words, and what stays as it was."""

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import Message, Picture, ToolCall

CALL = ToolCall(id="1", name="run", arguments="{}")


@pytest.mark.parametrize(
    ("original", "kept"),
    [
        ({}, {}),
        ({"reasoning_details": [{"type": "text"}]}, {"reasoning_details": [{"type": "text"}]}),
        ({"content": "a text"}, {"content": "a text"}),
        ({"content": []}, {"content": []}),
        (
            {
                "content": [
                    {"type": "thinking", "signature": "x"},
                    {"type": "text", "text": "old words"},
                    {"type": "redacted_thinking", "data": "y"},
                    "thinking",
                    None,
                    {"type": "tool_use", "id": "1"},
                    {"type": "reasoning"},
                    {},
                ],
                "id": 7,
            },
            {
                "content": [
                    {"type": "thinking", "signature": "x"},
                    {"type": "redacted_thinking", "data": "y"},
                    {"type": "reasoning"},
                ],
                "id": 7,
            },
        ),
    ],
)
def test_thoughts_stay_where_a_message_is_rewritten(
    original: dict[str, JsonValue], kept: dict[str, JsonValue]
) -> None:
    """An endpoint takes back what it signed; words and calls are the new ones, and the message was not changed."""
    message = Message(role="assistant", content="old words", reasoning="hm", original=original)
    before = message.model_dump_json()
    found = message.rewritten("new words", (CALL,))
    assert found == Message(
        role="assistant", content="new words", tool_calls=(CALL,), reasoning="hm", original=kept
    )
    assert message.model_dump_json() == before


def test_a_picture_is_an_address_of_its_own() -> None:
    """As endpoints and browsers take it."""
    assert Picture(media_type="image/gif", data="R0lG").url == "data:image/gif;base64,R0lG"
