"""Sets of words, written as one text: long tables stay readable and in one piece."""


def words(text: str) -> frozenset[str]:
    """Return the words of *text*."""
    return frozenset(text.split())
