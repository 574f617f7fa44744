"""Tests of groundup.models.prices and groundup.models.prices: what calls cost, and that a budget holds."""

import asyncio
from datetime import date
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.usage import TokenUsage
from groundup.models.prices import CostLedger, Price, price_of
from groundup.models.protocol import BudgetSpentError
from groundup.models.settings import ModelSettings

FILE = """
[[price]]
model = "openai/special"
input = 2.0
output = 8.0
cached = 0.5
as_of = 2026-01-31
source = "made up"

[[price]]
model = "openai/*"
input = 1.0
output = 4.0

[[price]]
model = "*/small"
input = 0.1
output = 0.4
"""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A price file."""
    path = tmp_path / "prices.toml"
    path.write_text(FILE)
    return path


def test_what_a_call_costs() -> None:
    """Cached input has its own price, input written to a cache another; both are part of the input."""
    price = Price(input=2.0, output=8.0, cached=0.5, cache_write=3.0)
    usage = TokenUsage(input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000)
    assert price.cost_usd(usage) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8)
    assert price.cost_usd(usage, cache_write_tokens=200_000) == pytest.approx(0.4 * 2 + 0.2 * 3 + 0.2 + 0.8)


def test_the_first_price_that_fits(prices: Path) -> None:
    """A price file is read from the top; a star stands for anything; unknown models have no price."""
    settings = ModelSettings(prices=prices)
    assert price_of("openai/special", settings) == Price(
        model="openai/special", input=2, output=8, cached=0.5, as_of=date(2026, 1, 31), source="made up"
    )
    found = price_of("openai/other", settings)
    assert found is not None
    assert found.input == 1.0
    anyones = price_of("groq/small", settings)
    assert anyones is not None
    assert anyones.input == 0.1
    assert price_of("deepseek/x", settings) is None
    assert price_of("openai/special", ModelSettings()) is None


def test_a_price_on_the_command_line_comes_first(prices: Path) -> None:
    """What is said last holds."""
    found = price_of("openai/special", ModelSettings(prices=prices, price="3:9:1"))
    assert found is not None
    assert (found.input, found.output, found.cached) == (3, 9, 1)


@pytest.mark.parametrize("text", ["", "1", "a:b", "1:2:3:4", "-1:2"])
def test_prices_that_are_none(text: str) -> None:
    """A price that cannot be read is reported, with how to say it."""
    if text:
        with pytest.raises(UsageError, match="INPUT:OUTPUT"):
            price_of("openai/x", ModelSettings(price=text))


@pytest.mark.parametrize("text", ["[[price]]\ninput = 1\n", "price = 3", "=", "[[price]]\ninput=-1\noutput=2"])
def test_price_files_that_are_none(text: str, tmp_path: Path) -> None:
    """A price file that cannot be understood is named."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"bad\.toml"):
        price_of("openai/x", ModelSettings(prices=path))


async def test_reservations_wait_for_each_other() -> None:
    """A call that fits only if another one turns out cheap waits for it, and is refused only then."""
    ledger = CostLedger(1.0)
    await ledger.reserve(0.7)
    waiting = asyncio.ensure_future(ledger.reserve(0.7))
    await asyncio.sleep(0)
    assert not waiting.done()
    ledger.settle(0.7, 0.2)
    await waiting
    ledger.settle(0.7, 0.7)
    with pytest.raises(BudgetSpentError, match=r"\$1 only \$0\.1000"):
        await ledger.reserve(0.2)


async def test_what_earlier_starts_paid_counts() -> None:
    """A resumed run goes on with what is left."""
    with pytest.raises(BudgetSpentError):
        await CostLedger(1.0, spent_usd=1.0).reserve(0.01)


async def test_without_a_limit_nothing_is_refused() -> None:
    """No limit, no reservations; what is paid is still summed."""
    ledger = CostLedger(None)
    await ledger.reserve(1e9)
    ledger.settle(1e9, 2.5)
    assert ledger.spent_usd == 2.5
