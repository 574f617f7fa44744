"""The kinds of steps in a trajectory, and what can be read from them. Every agent records its model's replies so.

`began` (by the run): agent, version, model; `message`: role, content; `reply`: turn, message, finish, usage,
cost_usd, model, latency_s, cached; `result`: turn, call, name, content, exit_code, seconds; `diverged`: turn,
call, was, now; `condensed`: turn, what; `ended` (by the run): outcome, detail. An agent may add kinds and fields.
"""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue, ValidationError

from groundup.domain.conversations import ChatReply, TokenUsage
from groundup.domain.records import Record

Step = Mapping[str, JsonValue]
REPLY = "reply"


class Paid(Record):
    """What replies cost together."""

    turns: int = 0
    usage: TokenUsage = TokenUsage()
    estimated: bool = False
    """Whether the endpoint did not tell the tokens of some reply."""
    cost_usd: float | None = None
    """None as long as no reply had a price."""

    def plus(self, reply: ChatReply) -> "Paid":
        """Return the sum with another reply; one from the response cache is a turn and costs nothing."""
        cost = self.cost_usd
        if reply.cost_usd is not None:
            cost = (cost or 0.0) + (0.0 if reply.cached else reply.cost_usd)
        return Paid(
            turns=self.turns + 1,
            usage=self.usage + reply.usage,
            estimated=self.estimated or reply.estimated,
            cost_usd=cost,
        )


def reply_fields(reply: ChatReply, turn: int) -> dict[str, JsonValue]:
    """Return the fields of the step `reply`."""
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


def paid_for(steps: Iterable[Step]) -> Paid:
    """Return what the replies among *steps* cost."""
    paid = Paid()
    for step in steps:
        if (reply := reply_of(step)) is not None:
            paid = paid.plus(reply)
    return paid


def spent_s(steps: Iterable[Step]) -> float:
    """Return how long replies and calls among *steps* took, one after the other."""
    spent = 0.0
    for step in steps:
        seconds = step.get("latency_s" if step.get("kind") == REPLY else "seconds")
        spent += seconds if isinstance(seconds, int | float) else 0.0
    return spent
