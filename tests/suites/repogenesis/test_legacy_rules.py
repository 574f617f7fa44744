"""What the older scripts read out of what they see."""

from pathlib import Path

import pytest

from groundup.suites.repogenesis.legacy_rules import (
    Counted,
    Started,
    files_named,
    find_file,
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
        (f"{COVERAGE}=== 3 passed, 2 failed in 1.0s ===", Counted(passed=3, failed=2, coverage=60)),
        ("=== 5 failed, 1 error in 1.0s ===", Counted(failed=5)),
        ("a service says 7 passed\n=== 3 passed ===", Counted(passed=7)),
        ("=== 4 skipped ===", Counted()),
        ("TIMEOUT", Counted()),
    ],
)
def test_the_first_count_of_each_kind_is_taken(output: str, counted: Counted) -> None:
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
    """Alive, or dead with a word that services print: deployed; else the exit code is told."""
    started = read_start(exit_code, output)
    assert started.success is success
    if not success:
        assert started == Started(success=False, message=f"Server exited with code {exit_code}")


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
