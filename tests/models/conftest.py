"""What tests of models share: scripts as files, and requests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.domain.conversations import ChatRequest, Message

Write = Callable[[str], str]


@pytest.fixture
def scripted(tmp_path: Path) -> Write:
    """Return what writes a script and returns the name of its model."""

    def write(text: str) -> str:
        path = tmp_path / "script.toml"
        path.write_text(text)
        return f"scripted/{path}"

    return write


def saying(*texts: str) -> ChatRequest:
    """Return a request in which user and assistant take turns."""
    roles = ("user", "assistant")
    return ChatRequest.model_validate(
        {"messages": [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]}
    )


def user(text: str) -> Message:
    """Return a user's message."""
    return Message(role="user", content=text)
