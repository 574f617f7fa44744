"""How many tests passed, by the lines that test runners really print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.ci.passed_tests import passed_tests


@pytest.mark.parametrize(
    ("output", "count"),
    [
        (
            "Passed!  - Failed:     0, Passed:     2, Skipped:     1, Total:     3, Duration: 9 ms - T.dll",
            2,
        ),
        (
            "Skipped! - Failed:     0, Passed:     0, Skipped:     2, Total:     2, Duration: 1 ms - T.dll",
            0,
        ),
        ("Test Run Successful.\nTotal tests: 3\n     Passed: 2\n    Skipped: 1\n Total time: 3.4 Seconds\n", 2),
        ("Test summary: total: 2, failed: 0, \x1b[32;1msucceeded: 2\x1b[m, skipped: 0, duration: 6.7s", 2),
        ("Test run summary: Passed!\n  total: 3\n  failed: 0\n  succeeded: 2\n  skipped: 1\n  duration: 1s\n", 2),
        ("   Tests  Total: 5, Errors: 0, Failed: 0, Skipped: 1, Not Run: 1, Time: 0.1s", 3),
        ("\x1b[37m   xv3  Total: 2, Errors: 0, Failed: 0, Skipped: 1, Not Run: 0, Time: 1.513s\n\x1b[0m", 1),
        ("No test is available in /a/T.dll. Make sure that test discoverer & executors are registered", 0),
        ("No test matches the given testcase filter `Nothing` in /a/T.dll", 0),
        ("test result: ok. 5 passed; 0 failed; 1 ignored\n\ntest result: ok. 0 passed; 0 failed; 0 ignored", 5),
        ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", 0),
        ("     Summary [   0.012s] 10 tests run: 10 passed, 0 skipped", 10),
        ("Tests:       1 skipped, 5 passed, 6 total", 5),
        ("Tests:       2 skipped, 2 total", 0),
        ("No tests found, exiting with code 0", 0),
        (" Test Files  1 passed (1)\n      Tests  7 passed | 1 skipped (8)", 7),
        ("      Tests  2 skipped (2)", 0),
        ("No test files found, exiting with code 0", 0),
        ("  12 passing (30ms)\n  1 pending", 12),
        ("  0 passing (1ms)", 0),
        ("1..5\n# tests 5\n# pass 5\n# fail 0", 5),
        ("\u2139 tests 3\n\u2139 pass 3", 3),
        ("============ 5 passed, 1 skipped, 3 warnings in 65.21s (0:01:05) ============", 5),
        ("3 skipped, 2 xfailed in 0.1s", 2),
        ("==== 4 skipped in 0.10s ====", 0),
        ("no tests ran in 0.01s", 0),
        ("Ran 5 tests in 0.001s\n\nOK (skipped=2)", 3),
        ("Ran 2 tests in 0.001s\n\nOK (skipped=2)", 0),
        ("py310: commands succeeded\n  congratulations :)", None),
        ("  Lib -> /workspace/app/Lib/bin/Debug/net8.0/Lib.dll\n", None),
        ("[INF] Passed!  - Failed: 0, Passed: 2, Skipped: 0\n[INF] No test is available in /a/T.dll", None),
    ],
)
def test_closing_lines_are_read(output: str, count: int | None) -> None:
    """Sums of all that pass; 0 only where a line says so; what no line says is not known."""
    assert passed_tests(f"before\n{output}\nafter") == count


@given(st.text(max_size=200) | st.text("Passed!:=0123456789 -,()skipedrunTOtal\n", max_size=300))
def test_any_output_has_a_count_or_none(output: str) -> None:
    """Whatever a job prints: no error, and no count below zero."""
    found = passed_tests(output)
    assert found is None or found >= 0


def test_long_outputs_are_read_in_little_time() -> None:
    """What is hostile makes no expression slow: each line is looked at once, and its beginning only."""
    assert passed_tests("0 failed, " * 1_000_000 + "\n" * 1_000_000 + " " * 1_000_000) is None
