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


TIERED = Price(
    input=1, output=2, cached=0.5, cache_write=4, above=100, above_input=10, above_output=20, above_cached=5
)


@pytest.mark.parametrize(
    ("price", "read", "cached", "written", "output", "micro_usd"),
    [
        (TIERED, 100, 40, 0, 10, 60 + 20 + 20),
        (TIERED, 101, 40, 0, 10, 610 + 200 + 200),
        (TIERED, 100, 40, 30, 0, 30 + 20 + 120),
        (TIERED, 101, 40, 30, 0, 310 + 200 + 120),
        (TIERED, 100, 200, 30, 0, 50),
        (TIERED, 100, 40, 300, 0, 20 + 240),
        (Price(input=1, output=2), 100, 40, 30, 1, 102),
        (Price(input=1, output=2, cached=0, cache_write=0), 100, 40, 30, 0, 30),
        (Price(input=1, output=2, above=100, above_output=3), 101, 0, 0, 1, 104),
    ],
)
def test_each_part_of_a_request_has_its_price(
    price: Price, read: int, cached: int, written: int, output: int, micro_usd: float
) -> None:
    """Above a tier all of it costs more, where that is said; no part counts twice, whatever a server reports."""
    usage = TokenUsage(input_tokens=read, cached_input_tokens=cached, output_tokens=output)
    assert price.cost_usd(usage, written) == pytest.approx(micro_usd / 1e6)


def test_every_price_that_is_none_says_why(tmp_path: Path) -> None:
    """The sentence names the file, and the place in it."""
    said = {
        "[[price]]\ninput = 1\n": "the price file FILE: price.0.output: ",
        "[[price]]\ninput = 1\noutput = 2\nabove = 0\n": "the price file FILE: price.0.above: ",
        "=": "the price file FILE is not valid TOML: ",
        "a = " + "[" * 5000: "the price file FILE is not valid TOML: ",
    }
    path = tmp_path / "prices.toml"
    for text, sentence in said.items():
        path.write_text(text)
        with pytest.raises(UsageError) as caught:
            price_of("openai/x", ModelSettings(prices=path))
        assert str(caught.value).replace(str(path), "FILE").startswith(sentence)
    with pytest.raises(UsageError) as caught:
        price_of("openai/x", ModelSettings(prices=tmp_path / "absent"))
    assert str(caught.value) == f"the price file {tmp_path / 'absent'} cannot be read: No such file or directory"
    for price in ("1", "a:b", "1:2:3:4", "-1:2", "1:nan"):
        with pytest.raises(UsageError) as caught:
            price_of("openai/x", ModelSettings(price=price))
        assert str(caught.value) == (
            f"--price {price!r} is no price: say INPUT:OUTPUT or INPUT:OUTPUT:CACHED, such as 1.25:10"
        )


def test_a_limit_without_a_price_is_refused() -> None:
    """A limit that cannot be kept is not accepted; with a price, or without a limit, nothing is wrong."""
    with pytest.raises(UsageError) as caught:
        price_of("openai/x", ModelSettings(max_cost_usd=1))
    assert str(caught.value) == (
        "a limit on the cost needs a price for openai/x: add it to a price file (--prices) or say "
        "--price INPUT:OUTPUT in USD per million tokens"
    )
    assert price_of("openai/x", ModelSettings(max_cost_usd=1, price="1:2")) == Price(input=1, output=2)


async def test_a_budget_is_spent_to_the_last_cent() -> None:
    """A call that takes all that is left goes; the next one is told what is left, which is never less than 0."""
    ledger = CostLedger(1.0)
    await ledger.reserve(1.0)
    ledger.settle(1.0, 1.25)
    with pytest.raises(BudgetSpentError) as caught:
        await ledger.reserve(0.5)
    assert str(caught.value) == (
        "of the budget of $1 only $0.0000 are left and the next call may cost $0.5000; raise --max-cost to go on"
    )


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
