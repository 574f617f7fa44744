"""What addresses of pages hold besides names."""

_MOST = 2**62
"""What files and SQLite can count to."""


def whole_number(text: str | None, least: int = 0) -> int:
    """Return a whole number from an address, *least* for a smaller one; 0 for what is none."""
    try:
        return max(min(int(text or 0), _MOST), least)
    except ValueError:
        return 0
