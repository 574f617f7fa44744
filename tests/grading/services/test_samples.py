"""Texts for fields of which only the name is known."""

import pytest

from groundup.grading.services.samples import UUID, drawn_form, fixed_text


@pytest.mark.parametrize(
    ("described", "fixed", "drawn"),
    [
        ("userEmail", "sample.person@example.com", "{word}.{number}@example.com"),
        ("profile_url", "http://localhost/sample", "http://localhost/{word}/{number}"),
        ("username", "sample", "{word}{number}"),
        ("item_uuid", UUID, "{word} {number}"),
        ("colour", "sample", "{word} {number}"),
    ],
)
def test_a_name_says_what_is_sent(described: str, fixed: str, drawn: str) -> None:
    """One table decides, for what is always the same and for what is drawn."""
    assert (fixed_text(described), drawn_form(described)) == (fixed, drawn)


@pytest.mark.parametrize("name", ["updated_url", "update_phone"])
def test_what_a_name_begins_with_hides_no_end(name: str) -> None:
    """`updated_url` is an address, although `update` holds `date`."""
    assert fixed_text(name) != fixed_text("date")
