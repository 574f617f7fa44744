"""Flags of `groundup judge`."""

from typing import Annotated, TypedDict

from groundup.api.flags import FlagHelp, Jobs, MaxCost, Names, Output, PriceOfTokens, Prices, Tasks


class JudgeFlags(TypedDict, total=False):
    """What `judge` takes: who judges what, and for how much."""

    model: Annotated[Names, FlagHelp("A judge, as PROVIDER/MODEL; can be repeated.", "Options", "-m")]
    base_url: Annotated[
        Names, FlagHelp("Address of the judges' endpoint: one for all, or one for each -m in order.", "Options")
    ]
    context_tokens: Annotated[
        int | None, FlagHelp("Size of a judge's context window (default: 32768).", "Options", least=6000)
    ]
    own_temperature: Annotated[
        bool, FlagHelp("Leave the temperature to the endpoint; some models refuse 0.", "Options")
    ]
    price: PriceOfTokens
    prices: Prices
    max_cost: Annotated[MaxCost, "Most that all judges may cost together, in USD."]
    jobs: Annotated[Jobs, "Questions at once (default: 8)."]
    of: Annotated[
        Names,
        FlagHelp("What to judge: repository, readme, tests (default: all three).", "Options", metavar="MATTERS"),
    ]
    tasks: Annotated[Tasks, "Only these tasks; can be repeated."]
    output: Output
