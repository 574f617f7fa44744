"""What a question costs over all its tries, and how an attempt hears of it."""

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.usage import ModelUse, TokenUsage
from groundup.models import attempts
from groundup.models.asking.forms import CountedTokens, Parsed
from groundup.models.client import _Bill
from groundup.models.prices import CostLedger, Price, estimated_text_tokens, estimated_tokens
from tests.agents.fakes import FakeModel, says
from tests.models.conftest import saying

ASKED = saying("hi").but(max_output_tokens=2)
READ = estimated_tokens(ASKED)
PRICE = Price(input=1.0, output=1_000_000.0, cache_write=3.0)


def parsed(**counted: int) -> Parsed:
    """Return a reply of which so much is counted."""
    reply = ChatReply(message=Message(role="assistant", content="word " * 9), finish="stop")
    return Parsed(reply=reply, counted=CountedTokens(**counted))


async def test_each_try_is_paid_for_once() -> None:
    """An answer that was lost is guessed from above, and no longer than it may have been."""
    ledger = CostLedger(100.0)
    bill = _Bill(ASKED, (PRICE, ledger, 5.0), None)
    assert (bill.cost_usd, bill.usage, bill.lost_use) == (0.0, TokenUsage(), ModelUse())
    async with bill.attempt():
        bill.lost("many words, more than two tokens")
    lost = 2 + READ / 1e6
    assert ledger.spent_usd == pytest.approx(lost)
    async with bill.attempt():
        bill.lost("")
    lost_usd = lost + READ / 1e6
    assert ledger.spent_usd == pytest.approx(lost_usd)
    assert bill.lost_use.usage == TokenUsage(input_tokens=2 * READ, output_tokens=2)
    assert bill.lost_use.estimated
    assert bill.lost_use.cost_usd == pytest.approx(lost_usd)
    async with bill.attempt():
        bill.answered(parsed(input_tokens=10, output_tokens=1, cache_write_tokens=4))
    assert bill.usage == TokenUsage(input_tokens=10, output_tokens=1)
    assert ledger.spent_usd == bill.cost_usd == pytest.approx(lost_usd + 1 + (6 + 4 * 3) / 1e6)
    assert ledger._reserved == []


@pytest.mark.parametrize(
    ("counted", "usage"),
    [
        ({}, (READ, estimated_text_tokens("word " * 9))),
        ({"input_tokens": 0}, (0, estimated_text_tokens("word " * 9))),
        ({"output_tokens": 0}, (READ, 0)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4)),
    ],
)
def test_what_is_not_counted_is_guessed(counted: dict[str, int], usage: tuple[int, int]) -> None:
    """And without a price it costs nothing that is known."""
    bill = _Bill(ASKED.but(max_output_tokens=None), (None, CostLedger(None), 0.0), None)
    bill.answered(parsed(**counted))
    assert (bill.usage.input_tokens, bill.usage.output_tokens, bill.cost_usd) == (*usage, None)
    bill.lost("many words, more than two tokens")
    assert bill.lost_use.usage.output_tokens == estimated_text_tokens("many words, more than two tokens")
    assert bill.lost_use.cost_usd is None


async def test_an_attempt_shows_what_is_being_written_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of it at once, and nothing twice; what was lost adds up and is recorded."""
    now = [100.0]
    monkeypatch.setattr("groundup.models.attempts.time.monotonic", lambda: now[0])
    shown: list[str] = []
    recorded: list[tuple[str, dict[str, JsonValue]]] = []
    model = FakeModel([says("done")])
    attempt = attempts.AttemptModel(model, 0, lambda kind, **fields: recorded.append((kind, fields)), shown.append)
    for at, text in (
        (0.0, "a"),
        (0.5, "b"),
        (1.0, "c"),
        (1.9, "d"),
        (1.9, ""),
        (1.9, ""),
        (5.0, ""),
        (5.1, "e"),
        (9.0, "e"),
    ):
        now[0] = 100.0 + at
        attempt.saying(text)
    assert shown == ["a", "c", "", "e"]
    attempts.AttemptModel(model, 0, lambda kind, **fields: None).saying("nobody looks")
    for tokens in (3, 4):
        attempt.lost(ModelUse(usage=TokenUsage(input_tokens=tokens), estimated=True))
    assert attempt.lost_use.usage.input_tokens == 7
    assert [kind for kind, _ in recorded] == ["lost"] * 2
    assert recorded[0][1]["usage"] == {"input_tokens": 3}
    assert (attempt.name, attempt.context_tokens) == (model.name, model.context_tokens)
    reply = await attempt.complete(ChatRequest(messages=(Message(role="user", content="hi"),)))
    assert reply.message.content == "done"
