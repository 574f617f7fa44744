"""What stands between an opening and its closing."""

import re

from hypothesis import given
from hypothesis import strategies as st

from groundup.agents.delimited import enclosed

_OPENS = re.compile(r"<(a|b)>")
_WHOLE = re.compile(r"<(a|b)>(.*?)</\1>", re.DOTALL)


def found(text: str) -> list[tuple[str, str, int]]:
    return [
        (one.opening[1], one.inside, one.ends)
        for one in enclosed(text, _OPENS, lambda opening: f"</{opening[1]}>", re.NOFLAG)
    ]


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", "\n"]), max_size=30).map("".join))
def test_is_what_one_pattern_would_find(text: str) -> None:
    assert found(text) == [(one[1], one[2], one.end()) for one in _WHOLE.finditer(text)]


def test_openings_without_an_end_do_not_hide_others() -> None:
    assert found("<a><a><b>x</b><a>") == [("b", "x", 14)]


def test_each_closing_is_looked_for_once_where_there_is_none() -> None:
    asked = []

    def closes(opening: re.Match[str]) -> str:
        asked.append(opening.start())
        return "never"

    assert not [*enclosed("<a>" * 50_000, _OPENS, closes, re.NOFLAG)]
    assert len(asked) == 50_000
