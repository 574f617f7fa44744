"""What the older scripts read out of what they see."""

from pathlib import Path

import pytest

from groundup.suites.repogenesis.legacy_rules import (
    LegacyCounts,
    Started,
    files_named,
    find_file,
    read_java_tests,
    read_output,
    read_start,
)
from tests.grading.library.laboratory import write_tree

COVERAGE = """
Name     Stmts   Miss  Cover   Missing
--------------------------------------
app.py      10      4    60%   3-6
TOTAL       10      4    60%
"""


@pytest.mark.parametrize(
    ("output", "counted"),
    [
        (f"{COVERAGE}=== 3 passed, 2 failed in 1.0s ===", LegacyCounts(passed=3, failed=2, coverage=60)),
        ("=== 5 failed, 1 error in 1.0s ===", LegacyCounts(failed=5)),
        ("a service says 7 passed\n=== 3 passed ===", LegacyCounts(passed=7)),
        ("=== 4 skipped ===", LegacyCounts()),
        ("TIMEOUT", LegacyCounts()),
    ],
)
def test_the_first_count_of_each_kind_is_taken(output: str, counted: LegacyCounts) -> None:
    """Errors and skips count nowhere; a line that looks like counts is one."""
    assert read_output(output) == counted


@pytest.mark.parametrize(
    ("exit_code", "output", "success"),
    [
        (None, "", True),
        (1, " * Running on http://0.0.0.0:5000", True),
        (1, "Started nothing at all", True),
        (98, "OSError: Address already in use", True),
        (0, "done", False),
        (3, "Traceback", False),
    ],
)
def test_a_word_is_enough_for_a_service_that_died(exit_code: int | None, output: str, success: bool) -> None:
    """Alive, or dead with a word that services print: deployed; else the exit code is reported."""
    started = read_start(exit_code, output)
    assert started.success is success
    if not success:
        assert started == Started(success=False, message=f"Server exited with code {exit_code}", said=output)


def test_the_last_words_of_a_service_that_died_are_kept_apart() -> None:
    """The message is the published one; the words are for people."""
    started = read_start(1, "starting\nmkdir: Read-only file system\n")

    assert started.message == "Server exited with code 1"
    assert started.said == "starting | mkdir: Read-only file system"


def test_files_are_found_from_the_root_down(tmp_path: Path) -> None:
    """The root comes first, then the shallowest, down to the sixth level; links lead nowhere."""
    tree = write_tree(tmp_path / "t", {"b/start.sh": "", "a/x/start.sh": "", "1/2/3/4/5/6/7/deep.sh": ""})
    (tree / "link").mkdir()
    (tree / "link/start.sh").symlink_to("/etc/passwd")
    assert find_file(tree, "start.sh") == tree / "b/start.sh"
    assert find_file(tree, "deep.sh") is None
    (tree / "start.sh").write_text("")
    assert find_file(tree, "start.sh") == tree / "start.sh"
    assert [str(path.relative_to(tree)) for path in files_named(tree, "start.sh")] == [
        "start.sh",
        "b/start.sh",
        "a/x/start.sh",
    ]


MAVEN = """
[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.1 s - in tests.NotesTest
[INFO] Tests run: 2, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.1 s - in tests.MoreTest
[INFO] Results:
[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1
"""


@pytest.mark.parametrize(
    ("reports", "output", "counted"),
    [
        ([(3, 1, 0, 1), (2, 0, 1, 0)], MAVEN, LegacyCounts(passed=2, failed=2, skipped=1, coverage=None)),
        (None, MAVEN, LegacyCounts(passed=4, failed=4, skipped=2, coverage=None)),
        ([], MAVEN, LegacyCounts(coverage=None)),
        (None, "[ERROR] COMPILATION ERROR", LegacyCounts(coverage=None)),
        (None, "Tests run: \x1b[0;1;32m3\x1b[m, Failures: 0, Errors: 0, Skipped: 0", LegacyCounts(coverage=None)),
        ([(1, 5, 0, 0)], "", LegacyCounts(failed=5, coverage=None)),
    ],
)
def test_reports_come_before_lines_which_count_twice(
    reports: list[tuple[int, int, int, int]] | None, output: str, counted: LegacyCounts
) -> None:
    """Reports that cannot be read leave no way to the lines; skipped tests are reported in Java."""
    assert read_java_tests(reports, output) == counted
    assert counted.reported == counted.passed + counted.failed + counted.skipped


def test_services_in_java_have_words_of_their_own() -> None:
    """`Tomcat started` is one, Flask's `Running on` is none."""
    assert read_start(1, "Tomcat started on port 8080", "java").success
    assert not read_start(1, "Running on http://0.0.0.0:5000", "java").success
    assert read_start(1, "Address already in use", "java").message == "Server deployable (port conflict)"
