"""The table of machines is what `.ci/fresh-machine --record` measured, and no older than the release."""

from benchmarks.machines import PAGE, result, rows, table, version


def test_the_page_shows_what_is_on_record() -> None:
    """Nobody wrote a figure by hand."""
    assert table(rows()) in PAGE.read_text(encoding="utf-8")


def test_each_machine_was_tried_with_this_version() -> None:
    """A release that nobody tried on bare machines is none: `.ci/fresh-machine --as user --record`."""
    assert {row["version"] for row in rows()} == {version()}


def test_a_run_with_failures_is_counted_too() -> None:
    """make adds a line of its own to pytest's closing one."""
    output = (
        "3 tests were skipped\n==== 2 failed, 7 passed, 3 skipped in 61.20s (0:01:01) ====\nmake: *** Error 1\n"
    )
    assert result("make test", "62", "1", output) == {"tests": "2 failed, 7 passed, 3 skipped, 1 min 2 s"}
