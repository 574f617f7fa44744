"""Scripts: the replies of a scripted model, turn by turn. The format is in docs/models.md.

Which turn comes next follows from the request alone (how many times the assistant has spoken in it), so one
script serves any number of conversations at once, and a conversation that is taken up again goes on where it was.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from groundup.domain.conversations import ChatRequest
from groundup.domain.errors import UsageError
from groundup.domain.records import Record, plainly
from groundup.trees.walking import LARGE, read_regular

FailureName = Literal[
    "rate_limit",
    "overload",
    "overflow",
    "refusal",
    "key",
    "quota",
    "request",
    "broken",
    "empty",
    "drop",
    "error",
    "choice_error",
    "absent",
]


def _checked_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return value


Pattern = Annotated[str, AfterValidator(_checked_pattern)]


class ScriptedCall(Record):
    """A call of a tool. Arguments that are a text are sent as they are, also when they are no JSON."""

    tool: str
    arguments: dict[str, JsonValue] | str = {}
    id: str | None = Field(default=None, description="None: one of its own")

    def text(self) -> str:
        """Return the arguments as a model writes them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Turn(Record):
    """One reply, and what goes wrong before it."""

    content: str = ""
    content_file: str | None = Field(default=None, description="a file beside the script, instead of `content`")
    reasoning: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    finish: Literal["length", "content_filter"] | None = None
    latency_s: float | None = Field(default=None, ge=0)
    fail: tuple[FailureName, ...] = Field(default=(), description="how the first answers to a request fail")
    retry_after_s: float | None = Field(default=None, ge=0, description="sent with rate limits")
    output_tokens: int | None = Field(default=None, ge=0, description="None: estimated")


class ScriptedConversation(Record):
    """The turns for requests whose text matches *when*."""

    when: Pattern = Field(default="", description="regular expression, searched in system and first user message")
    turns: tuple[Turn, ...] = Field(default=(), alias="turn")
    then: Literal["stop", "repeat"] = Field(
        default="stop", description="after the last turn: a closing word, or the last turn again"
    )


class Rule(Turn):
    """A turn that is replayed whenever the last message matches, before all conversations."""

    when: Pattern


class Script(Record):
    """A whole script."""

    latency_s: float = Field(default=0.0, ge=0)
    context_tokens: int | None = Field(default=None, ge=1, description="longer requests overflow")
    strict: bool = Field(default=False, description="refuse what the sternest providers refuse, and sign thoughts")
    stream_only: bool = Field(default=False, description="refuse requests that want no stream")
    key: str | None = Field(default=None, description="the only key that is accepted; None: any or none")
    rules: tuple[Rule, ...] = Field(default=(), alias="rule")
    conversations: tuple[ScriptedConversation, ...] = Field(default=(), alias="conversation")
    turns: tuple[Turn, ...] = Field(default=(), alias="turn")
    then: Literal["stop", "repeat"] = "stop"

    def turn_for(self, request: ChatRequest) -> Turn:
        """Return the reply to *request*."""
        last = request.messages[-1].content if request.messages else ""
        for rule in self.rules:
            if re.search(rule.when, last):
                return rule
        opening = "\n".join(_opening(request))
        for conversation in self.conversations:
            if re.search(conversation.when, opening):
                return _nth(conversation.turns, conversation.then, request)
        return _nth(self.turns, self.then, request)


CLOSING = Turn(content="That is all.")
"""The reply when a script has no more turns."""


def _opening(request: ChatRequest) -> list[str]:
    texts = [message.content for message in request.messages if message.role == "system"]
    first = next((message.content for message in request.messages if message.role == "user"), "")
    return [*texts, first]


def _nth(turns: tuple[Turn, ...], then: str, request: ChatRequest) -> Turn:
    spoken = sum(message.role == "assistant" for message in request.messages)
    if spoken < len(turns):
        return turns[spoken]
    return turns[-1] if then == "repeat" and turns else CLOSING


def load_script(path: Path) -> Script:
    """Read a script: .toml, .json (the same keys) or .jsonl (a turn a line). Raises `UsageError`."""
    try:
        script = Script.model_validate(_document(path, read_regular(path, LARGE).decode()))
        return _with_files(script, path.parent)
    except OSError as error:
        raise UsageError(f"the script {error.filename} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"the script {path}: {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    except ValueError as error:  # of the three syntaxes, and of text that is not UTF-8
        raise UsageError(f"the script {path} cannot be understood: {error}") from error


def _document(path: Path, text: str) -> object:
    if path.suffix == ".jsonl":
        return {"turn": [json.loads(line) for line in text.splitlines() if line.strip()]}
    return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)


def _with_files(script: Script, folder: Path) -> Script:
    def filled(turn: Turn) -> Turn:
        if turn.content_file is None:
            return turn
        return turn.but(content=read_regular(folder / turn.content_file).decode())

    return script.but(
        rules=tuple(filled(rule) for rule in script.rules),
        turns=tuple(filled(turn) for turn in script.turns),
        conversations=tuple(
            conversation.but(turns=tuple(filled(turn) for turn in conversation.turns))
            for conversation in script.conversations
        ),
    )
