"""What addresses of pages hold besides names."""


def whole_number(text: str | None, least: int = 0) -> int:
    """Return a whole number from an address; *least* or 0 for what is none."""
    try:
        return max(int(text or 0), least)
    except ValueError:
        return 0
