"""What calls of models used, apart from what was said: most of a run needs to know no more."""

from typing import Protocol

from pydantic import Field

from groundup.domain.figures import money
from groundup.domain.records import Record


class TokenUsage(Record):
    """Tokens of one call or of many. Cached and reasoning tokens are part of input and output."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_input_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Return the sum, field by field."""
        return TokenUsage(**{name: value + getattr(other, name) for name, value in self})

    def told(self, cost_usd: float | None) -> str:
        """Return input and output in words, and what they cost."""
        words = f"{self.input_tokens:,} + {self.output_tokens:,} tokens"
        return words if cost_usd is None else f"{words}, {money(cost_usd)}"


class Paid(Protocol):
    """A reply, as far as it counts."""

    @property
    def usage(self) -> TokenUsage:
        """Its tokens."""
        ...

    @property
    def estimated(self) -> bool:
        """Whether they are guessed."""
        ...

    @property
    def cached(self) -> bool:
        """Whether it came from the response cache."""
        ...

    @property
    def cost_usd(self) -> float | None:
        """What it costs; None: its model has no price."""
        ...

    @property
    def lost(self) -> TokenUsage:
        """Tokens of answers before it that broke off; what they cost is part of `cost_usd`."""
        ...


class ModelUse(Record):
    """What replies of a model took together."""

    turns: int = Field(default=0, ge=0)
    usage: TokenUsage = TokenUsage()
    estimated: bool = Field(
        default=False, description="whether tokens are guessed that an endpoint did not report"
    )
    cost_usd: float | None = Field(default=None, description="None: the model has no price")

    def plus(self, reply: "Paid") -> "ModelUse":
        """Return the sum with another reply; one from the response cache is a turn and costs nothing."""
        cost = self.cost_usd
        if reply.cost_usd is not None:
            cost = (cost or 0.0) + (0.0 if reply.cached else reply.cost_usd)
        return ModelUse(
            turns=self.turns + 1,
            usage=self.usage + reply.usage + reply.lost,
            estimated=self.estimated or reply.estimated or reply.lost != TokenUsage(),
            cost_usd=cost,
        )

    def with_use(self, other: "ModelUse") -> "ModelUse":
        """Return the sum of both."""
        costs = [use.cost_usd for use in (self, other) if use.cost_usd is not None]
        return ModelUse(
            turns=self.turns + other.turns,
            usage=self.usage + other.usage,
            estimated=self.estimated or other.estimated,
            cost_usd=sum(costs) if costs else None,
        )
