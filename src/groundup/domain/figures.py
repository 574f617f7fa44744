"""Figures as people read them, wherever they stand: in tables, pages, messages. Pure.

Nothing is rounded to what it is not: all and nothing, and no cost, are shown only where they are exact.
"""

import math
from datetime import UTC, datetime


def amount(number: float) -> str:
    """Return a count without a point, and a sum of shares with three digits after it."""
    if not math.isfinite(number) or abs(number) >= 1e15 or 0 < abs(number) < 0.0005:
        return f"{number:g}"  # no count; damaged records say so
    return f"{number:.0f}" if number == int(number) else f"{number:.3f}"


def percent(value: float, digits: int = 1) -> str:
    """Return a share in percent."""
    shown, least = f"{value * 100:.{digits}f}", 10.0**-digits
    if value > 0 and float(shown) == 0:
        return f"<{least:g} %"
    if value < 1 and float(shown) >= 100:
        return f">{100 - least:g} %"
    return f"{shown} %"


def money(usd: float, digits: int = 4) -> str:
    """Return a sum in USD."""
    shown = f"{usd:.{digits}f}"
    return f"<${10**-digits:.{digits}f}" if usd > 0 and float(shown) == 0 else f"${shown}"


def minute(moment: datetime) -> str:
    """Return a moment to the minute, in UTC as ids of runs have it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def size(count: float) -> str:
    """Return a number of bytes."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("KB", "MB", "GB"):
        count /= 1000
        if count < 999.95 or unit == "GB":
            break
    return f"{count:.1f} {unit}"
