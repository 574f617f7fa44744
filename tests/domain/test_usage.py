"""What replies took together: tokens, guesses, money."""

from types import SimpleNamespace

import pytest

from groundup.domain.usage import ModelUse, TokenUsage

ONE = TokenUsage(input_tokens=1000, output_tokens=20, cached_input_tokens=300, reasoning_tokens=4)
TWO = TokenUsage(input_tokens=1, output_tokens=2, cached_input_tokens=3, reasoning_tokens=5)


def test_tokens_are_added_field_by_field_and_told() -> None:
    """With what they cost, where that is known."""
    assert (
        TokenUsage(input_tokens=1001, output_tokens=22, cached_input_tokens=303, reasoning_tokens=9) == ONE + TWO
    )
    assert ONE.told(None) == "1,000 + 20 tokens"
    assert ONE.told(0.0) == "1,000 + 20 tokens, $0.0000"
    assert ONE.told(1.5) == "1,000 + 20 tokens, $1.5000"


def reply(cost: float | None, *, cached: bool = False, estimated: bool = False, lost: int = 0) -> SimpleNamespace:
    """Return what a reply used."""
    return SimpleNamespace(
        usage=TWO, cost_usd=cost, cached=cached, estimated=estimated, lost=TokenUsage(output_tokens=lost)
    )


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        (None, reply(None), None),
        (None, reply(0.5), 0.5),
        (1.0, reply(0.5), 1.5),
        (1.0, reply(None), 1.0),
        (1.0, reply(0.5, cached=True), 1.0),
        (None, reply(0.5, cached=True), 0.0),
        (None, reply(0.0), 0.0),
    ],
)
def test_a_reply_from_the_cache_is_a_turn_and_costs_nothing(
    before: float | None, said: SimpleNamespace, after: float | None
) -> None:
    """A model without a price has no cost, whatever else was paid."""
    found = ModelUse(turns=2, usage=ONE, cost_usd=before).plus(said)
    assert found == ModelUse(turns=3, usage=ONE + TWO, cost_usd=after)


def test_what_broke_off_is_paid_for_and_guessed() -> None:
    """As is what an endpoint does not report; a guess stays one."""
    found = ModelUse().plus(reply(None, lost=7))
    assert (found.usage.output_tokens, found.estimated) == (9, True)
    assert ModelUse().plus(reply(None, estimated=True)).estimated
    assert ModelUse(estimated=True).plus(reply(None)).estimated
    assert not ModelUse().plus(reply(None)).estimated


def test_uses_are_added() -> None:
    """A cost that is not known adds nothing."""
    one, two = ModelUse(turns=2, usage=ONE, cost_usd=0.5), ModelUse(turns=3, usage=TWO, estimated=True)
    assert one.with_use(two) == ModelUse(turns=5, usage=ONE + TWO, estimated=True, cost_usd=0.5)
    assert two.with_use(two).cost_usd is None
    assert one.with_use(one) == ModelUse(turns=4, usage=ONE + ONE, cost_usd=1.0)
