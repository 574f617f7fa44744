"""How many tests passed and failed, by the lines that test runners really print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.ci.tallies import tallies_of


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
        ("3 skipped, 2 xfailed in 0.1s", 0),
        ("==== 4 skipped in 0.10s ====", 0),
        ("no tests ran in 0.01s", 0),
        ("Ran 5 tests in 0.001s\n\nOK (skipped=2)", 3),
        ("Ran 2 tests in 0.001s\n\nOK (skipped=2)", 0),
        ("py310: commands succeeded\n  congratulations :)", None),
        ("  Lib -> /workspace/app/Lib/bin/Debug/net8.0/Lib.dll\n", None),
        ("[INF] Passed!  - Failed: 0, Passed: 2, Skipped: 0\n[INF] No test is available in /a/T.dll", 2),
        ("2 failed in 0.22s", (0, 2)),
        ("========== 1 failed, 3 passed, 1 skipped, 2 warnings in 1.02s ==========", (3, 1)),
        ("1 error in 0.74s", (0, 1)),
        ("2 passed, 1 warning, 3 subtests passed in 0.02s", 2),
        ("1 passed, 1 rerun in 0.10s", 1),
        ("ss                                       [100%]", 0),
        (".F.                                      [100%]", (2, 1)),
        ("....  [100%]\n4 passed in 0.02s", 4),
        ("\nResults (0.05s):\n       5 passed\n       1 failed\n", (5, 1)),
        ("Ran 2 tests in 0.001s\n\nFAILED (failures=2)", (0, 2)),
        ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)", (1, 2)),
        (".s\n-----\nRan 1 test in 0.000s\n\nOK (skipped=1)", 1),
        (".s\n-----\nRan 2 tests in 0.000s\n\nOK (skipped=1)", 1),
        ("ss\n-----\nRan 0 tests in 0.000s\n\nOK (skipped=2)", 0),
        (
            "test_a (t.T) ... ok\ntest_b (t.T) ... skipped 'no'\n\n---\nRan 1 test in 0s\n\nOK (skipped=1)",
            1,
        ),
        ("x\n-----\nRan 1 test in 0.000s\n\nOK (expected failures=1)", 0),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 0),
        ("Ran 2 tests in 0.05s\n\nPASSED (skips=1, successes=1)", 1),
        ("  Ran 5 tests with 1 failures, 1 errors and 1 skipped in 0.2 seconds.", (2, 2)),
        ("2 scenarios passed, 1 failed, 0 skipped", (2, 1)),
        ("SUCCESS in 0.05 seconds [ 3 passed  1 skipped ]", 3),
        ("3 tests, 2 passed, 1 failed", (2, 1)),
        ("2 passed and 0 failed.\nTest passed.", 2),
        ("***Test Failed*** 1 failure.", (None, 1)),
        ("Ran: 2 tests in 0.0500 sec.\n - Passed: 1\n - Skipped: 0\n - Failed: 1\n", (1, 1)),
        ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 1 s", (2, 1)),
        ("Total tests: 3\n     Passed: 2\n     Failed: 1\n", (2, 1)),
        ("Test summary: total: 2, failed: 1, succeeded: 1, skipped: 0, duration: 6.7s", (1, 1)),
        ("Test run summary: Failed!\n  total: 3\n  failed: 1\n  succeeded: 2\n", (2, 1)),
        ("Test run summary: Zero tests ran - App.dll (net8.0|x64)", 0),
        ("Test Count: 3, Passed: 2, Failed: 1, Warnings: 0, Inconclusive: 0, Skipped: 0", (2, 1)),
        ("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured", (1, 2)),
        ("     Summary [   0.012s] 10 tests run: 8 passed (1 slow), 1 failed, 1 timed out, 3 skipped", (8, 2)),
        ("error: no tests to run", 0),
        ("3 scenarios (2 passed, 1 failed)", (2, 1)),
        ("Tests:       3 failed, 3 total", (0, 3)),
        ("Tests:       1 failed, 2 todo, 4 passed, 7 total", (4, 1)),
        ("Tests:       0 total", 0),
        ("      Tests  1 skipped | 1 todo (2)", 0),
        ("      Tests  2 failed (2)", (0, 2)),
        ("      Tests  1 failed | 3 passed (4)\n     Errors  1 error", (3, 2)),
        ("      Tests  no tests", 0),
        ("  2 passing (5ms)\n  1 failing", (2, 1)),
        ('    "passes": 0,\n    "pending": 0,\n    "failures": 0,', 0),
        ("  1 test skipped", 0),
        ("  1 test todo", 0),
        ("  2 tests failed", (None, 2)),
        ("  1 test passed\n  1 uncaught exception", (1, 1)),
        ("  \u2716 Couldn\u2019t find any files to test", 0),
        ("1 of 3 tests failed", (2, 1)),
        ("2 specs, 2 failures", (0, 2)),
        ("2 specs, 0 failures, 1 pending spec", 1),
        ("Incomplete: No specs found", 0),
        ('  Total:     2\n  Passed:    1\n  Skipped:   0\n   FAIL  "adds"', (1, 1)),
        ("# tests 2\n# pass  1\n# fail  1", (1, 1)),
        ("\u2139 pass 0\n\u2139 fail 0\n\u2139 cancelled 1", (0, 1)),
        ("TAP version 13\n1..0", 0),
        ("1..0 # no tests", 0),
        ("TAP version 14\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n1..3", (1, 1)),
        ("# { total: 4, pass: 3, fail: 1 }", (3, 1)),
        ("Asserts:  3 passed, 1 failed, of 4", (3, 1)),
        ("Asserts:  3 pass  0 fail  3 of 3 complete", 3),
        ("Chrome Headless 120 (Linux): Executed 0 of 0 ERROR (0.003 secs / 0 secs)", 0),
        (
            "Firefox 1 (Linux): Executed 1 of 3 SUCCESS\nFirefox 1 (Linux): Executed 3 of 3 (1 FAILED) (1 secs)",
            (2, 1),
        ),
        ("  3 passed (1.2s)\n  1 failed\n", (3, 1)),
        (" 3 pass\n 1 fail\n", (3, 1)),
        ("FAILED | 1 passed | 1 failed (5ms)", (1, 1)),
        ("Chromium: |####| 2/2 test files | 3 passed, 1 failed", (3, 1)),
        ("3 tests, 1 failure, 1 skipped", (1, 1)),
        ("67% tests passed, 1 tests failed out of 3", (2, 1)),
        ("No tests were found!!!", 0),
        ("packages/a test: # pass 0\npackages/b test: # pass 2", 2),
        ("@own/a:test: Tests:       1 failed, 1 total", (0, 1)),
        ("@own/a:   2 passing (3ms)", 2),
        ("[test] # pass 3", 3),
        ("\u27a4 YN0000: [@own/a]: # pass 1", 1),
        ("tests-1  | Ran 2 tests in 0.001s\ntests-1  | \ntests-1  | FAILED (errors=1)", (1, 1)),
        ("AssertionError: 1 passed in 0.1s", None),
    ],
)
def test_closing_lines_are_read(output: str, count: int | tuple[int | None, int] | None) -> None:
    """Sums of all that pass, and fail; 0 only where a line says so; what no line says is not known."""
    passed, failed = count if isinstance(count, tuple) else (count, 0)
    assert told(f"before\n{output}\nafter") == (passed, failed)


def told(output: str) -> tuple[int | None, int]:
    """Return how many passed in all, None where no line says it, and how many failed."""
    tallies = tallies_of(output)
    known = [tally.passed for tally in tallies if tally.passed is not None]
    return sum(known) if known else None, sum(tally.failed for tally in tallies)


@given(st.text(max_size=200) | st.text("Passed!:=0123456789 -,()skipedrunTOtal\n", max_size=300))
def test_any_output_has_a_count_or_none(output: str) -> None:
    """Whatever a job prints: no error, and no count below zero."""
    assert all((tally.passed or 0) >= 0 and tally.failed >= 0 for tally in tallies_of(output))


def test_long_outputs_are_read_in_little_time() -> None:
    """What is hostile makes no expression slow: each line is looked at once, and its beginning only."""
    assert tallies_of("0 failed, " * 1_000_000 + "\n" * 1_000_000 + " " * 1_000_000) == ()


@pytest.mark.parametrize(
    "line", ["===== {} passed in 1.00s =====", "Ran {} tests in 0.1s\n\nOK", "Tests: {} passed, {} total"]
)
def test_numbers_of_any_length_are_read(line: str) -> None:
    """What a job prints takes its grader down in no way."""
    assert all((tally.passed or 0) <= 10**15 for tally in tallies_of(line.replace("{}", "1" * 5000)))
