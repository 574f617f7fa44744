"""How often tests try what chance makes: a third, the same each time, or all of it anew by `make thorough`."""

import os

THOROUGH = bool(os.environ.get("THOROUGH"))


def often(times: int) -> int:
    """Return how many of *times* tries are made."""
    return times if THOROUGH else -(-times // 3)
