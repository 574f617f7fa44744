"""Times as people write them: `90s`, `10m`, `12h`, `30d`."""

import re

from groundup.domain.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def duration(text: str, bare: str | None = "s") -> float:
    """Return a time such as `90s`, `10m` or `8h` in seconds; a number alone is in the unit *bare* (None: refused).

    Raises `UsageError`.
    """
    written = text.strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)([smhdw]?)", written)
    unit = match and (match[2] or bare)
    if not match or not unit:
        raise UsageError(f"{text!r} is no time: it must be a number with s, m, h, d or w, such as 30d, 8h or 90s")
    return float(match[1]) * _UNITS[unit]
