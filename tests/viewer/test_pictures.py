"""The documentation's pictures show what the viewer shows today."""

from pathlib import Path

from tests.viewer.made import served
from tests.viewer.pictured import WORDS, pictured_words, write_runs


def test_pictures_show_the_words_of_today(tmp_path: Path) -> None:
    """Pages changed their words since their pictures were made: make browser SCREENSHOTS=docs makes them anew."""
    with served(write_runs(tmp_path)) as place:
        assert pictured_words(place) == WORDS.read_text(encoding="utf-8")
