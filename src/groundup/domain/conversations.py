"""What an agent and a model exchange: messages, tools, replies and what they used."""

from typing import Literal

from pydantic import Field, JsonValue

from groundup.domain.records import Record
from groundup.domain.usage import TokenUsage


class Tool(Record):
    """A function that a model may call."""

    name: str
    description: str
    parameters: dict[str, JsonValue] = Field(description="JSON schema of its arguments, an object")


class ToolCall(Record):
    """A call that a model asked for."""

    id: str
    name: str
    arguments: str = Field(description="as the model wrote them: JSON if all is well")
    original: dict[str, JsonValue] = Field(
        default={}, description="what else the endpoint sent with it, such as a signature: goes back unchanged"
    )


class Picture(Record):
    """A picture that a model is shown."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str = Field(description="its bytes in base 64")

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    images: tuple[Picture, ...] = Field(default=(), description="role `user`: shown after the text")
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = Field(default=None, description="role `tool`: which call it answers")
    reasoning: str | None = Field(
        default=None, description="role `assistant`: thoughts, where the endpoint sends them"
    )
    original: dict[str, JsonValue] = Field(
        default={},
        description="role `assistant`: what must go back unchanged, by the keys of the endpoint's form: "
        "`reasoning_details`, or `content` with signed thoughts in it",
    )

    def rewritten(self, content: str, tool_calls: tuple[ToolCall, ...]) -> "Message":
        """Return the message in other words. Thoughts cannot be rewritten: they stay, in front."""
        original = dict(self.original)
        if isinstance(parts := original.get("content"), list):
            original["content"] = [part for part in parts if _is_thought(part)]
        return self.but(content=content, tool_calls=tool_calls, original=original)


def _is_thought(part: JsonValue) -> bool:
    return isinstance(part, dict) and part.get("type") in {"thinking", "redacted_thinking", "reasoning"}


class ChatRequest(Record):
    """What a model is asked."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    temperature: float | None = Field(default=None, description="None: the endpoint's default")
    max_output_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    extra: dict[str, JsonValue] = Field(default={}, description="further keys of the request's JSON, as they are")


Finish = Literal["stop", "length", "tool_calls", "content_filter", "other"]
"""Why a reply ended."""


class ReplyTokens(Record):
    """The tokens of one reply, as far as the endpoint gave them; for training."""

    prompt_ids: tuple[int, ...] = Field(default=(), description="of everything that was asked")
    ids: tuple[int, ...] = Field(default=(), description="of the reply")
    logprobs: tuple[float, ...] = Field(default=(), description="of the reply's tokens, natural logarithms")


class ChatReply(Record):
    """What it answered."""

    message: Message
    finish: Finish
    usage: TokenUsage = TokenUsage()
    estimated: bool = Field(
        default=False, description="whether tokens are estimated because the endpoint did not report them"
    )
    cost_usd: float | None = Field(default=None, description="by its price, with what was lost; None: no price")
    lost: TokenUsage = Field(
        default=TokenUsage(),
        description="of answers before this one that broke off and may have been billed; estimated from above",
    )
    model: str = Field(default="", description="as the endpoint names it")
    latency_s: float = 0.0
    tries: int = Field(default=1, ge=1)
    cached: bool = Field(default=False, description="from the response cache: nothing was paid")
    tokens: ReplyTokens = ReplyTokens()
