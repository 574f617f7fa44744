"""Moments as registries write them."""

from datetime import UTC, datetime


def instant(text: object) -> datetime | None:
    """Return the moment that *text* names, in UTC where it names no zone; None when it names none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
