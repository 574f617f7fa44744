"""Texts for fields and parameters of which only the name is known: the one table of them.

Strict grading sends always the same; who makes tests draws words and numbers, so that two requests differ.
"""

from typing import NamedTuple

UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


class SampleText(NamedTuple):
    """What a field is sent whose name holds *word*."""

    word: str
    fixed: str | None
    drawn: str | None
    """With `{word}`, `{Word}`, `{number}` and `{day}`."""


SAMPLE_TEXTS = (
    SampleText("uuid", UUID, None),
    SampleText("email", "sample.person@example.com", "{word}.{number}@example.com"),
    SampleText("mail", None, "{word}.{number}@example.com"),
    SampleText("password", "Sample-Passw0rd", "{Word}-Pass-{number}"),
    SampleText("phone", "13800000000", "138{number:08d}"),
    SampleText("url", "http://localhost/sample", "http://localhost/{word}/{number}"),
    SampleText("uri", "http://localhost/sample", "http://localhost/{word}/{number}"),
    SampleText("date", "2024-01-02", "2024-01-{day:02d}"),
    SampleText("time", "2024-01-02T03:04:05Z", "2024-01-{day:02d}T03:04:05"),
    SampleText("user", None, "{word}{number}"),
    SampleText("name", None, "{word} {number}"),
    SampleText("title", None, "{Word} {number}"),
    SampleText("slug", None, "{word}-{number}"),
)
"""The first that fits decides."""


def fixed_text(described: str) -> str:
    """Return the text for a field by its name and what is said of it."""
    found = (one.fixed for one in SAMPLE_TEXTS if one.fixed and one.word in described.lower())
    return next(found, "sample")


def drawn_form(name: str) -> str:
    """Return the form of drawn texts for a field by its name."""
    return next((one.drawn for one in SAMPLE_TEXTS if one.drawn and one.word in name.lower()), "{word} {number}")
