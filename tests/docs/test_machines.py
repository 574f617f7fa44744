"""The table of machines is what `.ci/fresh-machine --record` measured, and no older than the release."""

from benchmarks.machines import PAGE, rows, table, version


def test_the_page_shows_what_is_on_record() -> None:
    """Nobody wrote a figure by hand."""
    assert table(rows()) in PAGE.read_text(encoding="utf-8")


def test_each_machine_was_tried_with_this_version() -> None:
    """A release that nobody tried on bare machines is none: `.ci/fresh-machine --as user --record`."""
    assert {row["version"] for row in rows()} == {version()}
