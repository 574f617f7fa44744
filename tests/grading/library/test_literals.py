"""Other literals in place of the tests' own."""

import ast
import re
import warnings

from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.library.literals import has_unknown_escape

_PIECES = st.lists(st.sampled_from(["\\" + one for one in "abfnrtvxNuU0123456789'\"\\qsd.{"] + list("abcx 019{}")))
_PREFIXES = st.sampled_from(["", "b", "r", "rb", "u", "B"])


@given(_PREFIXES, st.sampled_from(["'", '"', "'''"]), _PIECES)
def test_unknown_escapes_are_those_that_python_warns_of(prefix: str, quote: str, pieces: list[str]) -> None:
    """Octal numbers over 0o377 count as unknown with every Python; it warns of them from 3.12 on."""
    source = f"({prefix}{quote}{''.join(pieces)}{quote})"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            ast.parse(source, mode="eval")
        except (SyntaxError, ValueError):
            return

    is_large = "r" not in prefix and re.search(r"\\[4-7][0-7]{2}", source) is not None
    assert has_unknown_escape(source) == (bool(warned) or is_large)
