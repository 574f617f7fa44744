"""Why jobs fail, read from what their programs print."""

import pytest

from groundup.grading.ci.records import (
    FailureKind,
    JobFailure,
    JobOutcome,
    JobResult,
    StepRecord,
    explained,
    failure_of,
    with_hidden,
)

BUILD = [
    ("A compatible .NET SDK was not found.\n\nRequested SDK version: 9.0.100", "PROGRAM"),
    ("You must install or update .NET to run this application.\n\nFramework: 'Microsoft.NETCore.App'", "PROGRAM"),
    (
        "/a/Microsoft.Testing.Platform.MSBuild.targets(355,5): error : Testing with VSTest target is no longer "
        "supported by Microsoft.Testing.Platform on .NET 10 SDK and later. [/a/T.csproj]",
        "NEWER_SDK",
    ),
    ("/a/x.targets(4,5): error : Microsoft.NET.Test.Sdk doesn't support net6.0 [/a/T.csproj]", "MISSING_FEATURE"),
    ("/a/A.csproj : error NU1015: The following item(s) do not have a version specified: Log", "INVALID_VERSION"),
    ("x.targets(9,5): warning MSB9008: The referenced project ../B/B.csproj does not exist.", "NOT_FOUND"),
    ("Testhost process for source(s) '/a/T.dll' exited with error: Error:\n\nTest Run Aborted.", "NOT_RUN"),
    ("Test run summary: Zero tests ran\n  total: 0", "NOT_RUN"),
    ("thread 'rustc' panicked at compiler/x.rs:1:2:\nstack backtrace:\n   0: begin\n", "TOOLCHAIN"),
    (
        "error: could not compile `a`\n  process didn't exit successfully: `rustc -v` (signal: 11, SIGSEGV: x)",
        "TOOLCHAIN",
    ),
    ("Failed to create CoreCLR, HRESULT: 0x8007000E", "TOOLCHAIN"),
    ("ERROR: Could not find a version that satisfies the requirement nope-x (from versions: none)", "NOT_FOUND"),
    (
        "ERROR: Could not find a version that satisfies the requirement six==99 (from versions: 1.0)",
        "INVALID_VERSION",
    ),
    ("No solution found:\nbecause nope was not found in the package registry", "NOT_FOUND"),
    ("Because there is no version of six==99 and you require six==99, we can conclude", "INVALID_VERSION"),
    ("ERROR: ResolutionImpossible: for help visit", "CONFLICT"),
    ("npm error code E404\nnpm error 404 Not Found - GET http://x/nope", "NOT_FOUND"),
    ("npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for six@99", "INVALID_VERSION"),
    ("npm error code ERESOLVE", "CONFLICT"),
    (
        "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json and",
        "STALE_LOCK",
    ),
    ("npm error code EJSONPARSE", "BROKEN_FILE"),
    (
        "npm error code EUSAGE\nnpm error The `npm ci` command can only install with an existing",
        "NO_LOCK",
    ),
    ("error: Unable to find lockfile at `uv.lock`, but `--locked` was provided.", "NO_LOCK"),
    ("error: cannot create the lock file /w/Cargo.lock because --locked was passed to prevent this", "NO_LOCK"),
    ("error: No interpreter found for Python 3.15 in managed installations or search path", "PROGRAM"),
    ("ERROR: Package 'app' requires a different Python: 3.11.7 not in '>=3.12'", "PROGRAM"),
    ("error[E0554]: `#![feature]` may not be used on the stable release channel", "PROGRAM"),
    (" ERR_PNPM_OUTDATED_LOCKFILE  Cannot install", "STALE_LOCK"),
    ("error: no matching package named `nope` found", "NOT_FOUND"),
    ('error: failed to select a version for the requirement `serde = "^99"`', "INVALID_VERSION"),
    ("error: failed to parse manifest at `/workspace/x/Cargo.toml`", "BROKEN_FILE"),
    ("error[E0432]: unresolved import `serde`", "MISSING_IN_BUILD"),
    ("error: cannot update the lock file Cargo.lock because --locked was passed", "STALE_LOCK"),
    ("error: linker `cc` not found", "SYSTEM_PACKAGE"),
    ("  The system library `lept` required by crate `leptonica-sys` was not found.", "SYSTEM_PACKAGE"),
    ("error NU1101: Unable to find package Nope.", "NOT_FOUND"),
    ("dotnet-coverage is not found in NuGet feeds http://127.0.0.1:1/v3/index.json.", "NOT_FOUND"),
    ("error NU1102: Unable to find package Dapper with version (>= 99.0.0)", "INVALID_VERSION"),
    ("error NU1603: Warning As Error: A depends on B (>= 9.9.9) but B 9.9.9 was not found.", "INVALID_VERSION"),
    ("error NU1008: Projects that use central package version management should not", "INVALID_VERSION"),
    ("App.csproj : error NU1104: Unable to find project 'a.csproj'.", "NOT_FOUND"),
    ("error NETSDK1045: The current .NET SDK does not support targeting .NET 11.0.", "PROGRAM"),
    ("error NU1301: Unable to load the service index for source https://feed.example", "NETWORK"),
    ("App.cs(3,7): error CS0246: The type or namespace name 'Dapper' could not be found", "MISSING_IN_BUILD"),
    ("Temporary failure in name resolution", "NETWORK"),
    ("tox.ini: error: ModuleNotFoundError: No module named 'setuptools_scm'", "MISSING_IN_BUILD"),
]
TESTS = [
    ("E   ModuleNotFoundError: No module named 'requests'\n=== 1 error in 0.1s ===", "MISSING_IN_TEST"),
    ("Error: Cannot find module 'lodash'", "MISSING_IN_TEST"),
    ("sh: 1: jest: not found", "MISSING_IN_TEST"),
    ("error[E0433]: failed to resolve: use of undeclared crate or module `serde`", "MISSING_IN_TEST"),
    ("ImportError: cannot import name 'x' from 'y'", "MISSING_FEATURE"),
    ("FAILED tests/test_a.py::test_b - assert 1 == 2\n=== 1 failed, 3 passed in 0.2s ===", "TESTS"),
    ("App.cs(3,7): error CS0234: The type or namespace name 'Text' does not exist", "MISSING_IN_BUILD"),
    (
        "System.IO.FileNotFoundException : Could not load file or assembly 'Dapper, Version=2.0.0.0'",
        "MISSING_IN_TEST",
    ),
    ("Error:\n  An assembly specified in the application dependencies manifest (T.deps.json)", "MISSING_IN_TEST"),
    ("Test run summary: Failed! - bin/T.dll (net10.0|x64)", "TESTS"),
    ("not ok 1 - a\n  error: 'fetch failed'", "NETWORK"),
    ("test result: FAILED. 1 passed; 1 failed;", "TESTS"),
    ("\x1b[31mTests:       1 failed, 2 passed\x1b[0m", "TESTS"),
]


@pytest.mark.parametrize(("output", "kind"), BUILD)
def test_builds_fail_for_known_reasons(output: str, kind: str) -> None:
    """What installers and compilers of four languages say is read as the published analysis names it."""
    found = explained(output, in_tests=False)
    assert found is not None
    assert found.kind is FailureKind[kind]
    assert found.evidence
    assert found.evidence in output


@pytest.mark.parametrize(("output", "kind"), TESTS)
def test_tests_fail_for_known_reasons(output: str, kind: str) -> None:
    """What is missing shows itself while tests run, apart from tests that fail."""
    found = explained(output, in_tests=True)
    assert found is not None
    assert found.kind is FailureKind[kind]


def test_the_evidence_is_one_line() -> None:
    """The line that the kind was read from stands beside it, without colours and not endless."""
    found = explained("much\n\x1b[31mnpm error code E404 " + "x" * 5000 + "\x1b[0m\nmore", in_tests=False)
    assert found is not None
    assert found.evidence.startswith("npm error code E404")
    assert len(found.evidence) <= 300


def test_other_outcomes_explain_themselves() -> None:
    """A pass has no failure; time, skipped tests and limits are not read from logs."""
    red = StepRecord(key="1", title="pytest", tests=True, result="failure")
    assert failure_of(JobResult(outcome=JobOutcome.PASSED)) is None
    assert _kind(JobResult(outcome=JobOutcome.TIMEOUT)) is FailureKind.TIMEOUT
    assert _kind(JobResult(outcome=JobOutcome.NOT_RUN)) is FailureKind.NOT_RUN
    ended = JobResult(outcome=JobOutcome.FAILED, reason="step 'x' was ended: memory", failed_output="E0432")
    assert _kind(ended) is FailureKind.LIMIT
    strange = JobResult(outcome=JobOutcome.FAILED, steps=(red,), failed_output="a\nlast words\n")
    found = failure_of(strange)
    assert found is not None
    assert (found.kind, found.evidence) == (FailureKind.OTHER, "last words")


def _kind(result: JobResult) -> FailureKind:
    found = failure_of(result)
    assert found is not None
    return found.kind


@pytest.mark.parametrize(
    ("output", "kind", "evidence"),
    [
        (
            "+ nvm install 18\n/workspace/x/0.sh: line 1: nvm: command not found",
            "PROGRAM",
            "/workspace/x/0.sh: line 1: nvm: command not found",
        ),
        ("sh: 1: docker: not found", "PROGRAM", "sh: 1: docker: not found"),
        (
            "ImportError while importing test module '/w/tests/test_a.py'.\nE   ImportError: Unable to find zbar "
            "shared library",
            "SYSTEM_PACKAGE",
            "E   ImportError: Unable to find zbar shared library",
        ),
        (
            "  Failed Tests.Works [< 1 ms]\n  Error Message:\n   Assert.Equal() Failure\n\nFailed!  - Failed: 1",
            "TESTS",
            "Failed Tests.Works [< 1 ms]: Assert.Equal() Failure",
        ),
        ("failed Tests.Works (1s 012ms)\n  boom", "TESTS", "failed Tests.Works (1s 012ms)"),
        (
            "/workspace/x/src/A.cs(3,7): error CS0246: no X [/workspace/x/src/A.csproj::TargetFramework=net8.0]",
            "MISSING_IN_BUILD",
            "src/A.cs(3,7): error CS0246: no X [src/A.csproj::TargetFramework=net8.0]",
        ),
        (
            "/usr/share/dotnet/sdk/10.0.401/x/A.targets(184,5): error NETSDK1045: too old [/workspace/x/A.csproj]",
            "PROGRAM",
            "error NETSDK1045: too old [A.csproj]",
        ),
        (
            "/workspace/x/src/A.cs(5,43): error CS1525: Invalid expression term ';' [/workspace/x/src/A.csproj]",
            "OTHER",
            "src/A.cs(5,43): error CS1525: Invalid expression term ';' [src/A.csproj]",
        ),
        ("bash: pytest: command not found", "MISSING_IN_TEST", "bash: pytest: command not found"),
        (
            "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)",
            "MISSING_IN_TEST",
            "error: Failed to spawn: `pytest`",
        ),
        (
            "    def test_a():\nE       assert 1 == 2\n\ntests/test_app.py:3: AssertionError\n"
            "=== short test summary info ===\nFAILED tests/test_app.py::test_a - assert 1 == 2\n1 failed in 0.02s",
            "TESTS",
            "FAILED tests/test_app.py::test_a - assert 1 == 2",
        ),
        (
            "error: test failed, to rerun pass `--lib`\n\nCaused by:\n"
            "  process didn't exit successfully: `/w/app-b8f6` (signal: 11, SIGSEGV: invalid memory reference)",
            "OTHER",
            "process didn't exit successfully: `/w/app-b8f6` (signal: 11, SIGSEGV: invalid memory reference)",
        ),
        (
            "error: an inner attribute is not permitted in this context\n --> src/lib.rs:2:1\n"
            "error: could not compile `app` (lib) due to 1 previous error",
            "OTHER",
            "error: an inner attribute is not permitted in this context",
        ),
        ("\n> app@1.0.0 test\n> node app.test.js\n", "OTHER", "step failed"),
        (
            "ImportError while importing test module '/w/tests/test_a.py'.\nHint: make sure your modules have\n"
            "wordy/__init__.py:1: in <module>\n    import attr\nE   ModuleNotFoundError: No module named 'attr'",
            "MISSING_IN_TEST",
            "E   ModuleNotFoundError: No module named 'attr'",
        ),
        (
            "error: no such command: `hack`\n\nhelp: view all installed commands with `cargo --list`\n"
            "help: find a package to install `hack` with `cargo search cargo-hack`",
            "PROGRAM",
            "error: no such command: `hack`",
        ),
        (
            "npm error code 1\nnpm error path /workspace/app\nnpm error command sh -c node build.js\n"
            "npm error build step said nothing good\n"
            "npm error A complete log of this run can be found in: /home/user/.npm/_logs/2026-11-22-debug-0.log",
            "OTHER",
            "npm error build step said nothing good",
        ),
        (
            "node: error while loading shared libraries: libicu.so.72: cannot open shared object file",
            "TOOLCHAIN",
            "node: error while loading shared libraries: libicu.so.72: cannot open shared object file",
        ),
        (
            "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\n"
            "Error: Cannot find module '/usr/lib/node_modules/npm/bin/npm-cli.js'\n"
            "    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\n\nNode.js v20.20.2",
            "TOOLCHAIN",
            "Error: Cannot find module '/usr/lib/node_modules/npm/bin/npm-cli.js'",
        ),
        (
            "thread 'main' panicked at build.rs:3:5:\nthe compiler would not answer\nstack backtrace:\n"
            "   0: 0x55d0c8 - rust_begin_unwind\n   1: core::panicking::panic_fmt\n"
            "             at /rustc/abc/library/core/src/panicking.rs:75:14\n"
            "note: run with `RUST_BACKTRACE=full` for a verbose backtrace.",
            "OTHER",
            "thread 'main' panicked at build.rs:3:5:",
        ),
        (
            "Getting requirements to build wheel: finished with status 'error'\n"
            "  error: subprocess-exited-with-error\n  \n"
            "  x Getting requirements to build wheel did not run successfully.\n  │ exit code: 1\n"
            "  ╰─> [3 lines of output]\n      Traceback (most recent call last):\n"
            "      AttributeError: install_layout\n      [end of output]\n  \n"
            "  note: This error originates from a subprocess, and is likely not a problem with pip.\n"
            "error: subprocess-exited-with-error\n\nERROR: Failed to build 'x' when getting requirements",
            "OTHER",
            "AttributeError: install_layout",
        ),
        (
            "error: could not execute process `sccache rustc -vV` (never executed)\n\nCaused by:\n"
            "  No such file or directory (os error 2)",
            "PROGRAM",
            "error: could not execute process `sccache rustc -vV` (never executed)",
        ),
        (
            "npm error code E404\nnpm error 404 Not Found - GET http://x/nope - no such package\nnpm error 404",
            "NOT_FOUND",
            "npm error 404 Not Found - GET http://x/nope - no such package",
        ),
        (
            'Traceback (most recent call last):\n  File "/x/run.py", line 3, in <module>\n    main()\n'
            "SystemError: bad state\nmake: *** [Makefile:3: test] Error 1",
            "OTHER",
            "SystemError: bad state",
        ),
    ],
)
def test_the_true_cause_is_named(output: str, kind: str, evidence: str) -> None:
    """A program of the machine's is no dependency; hints, log files' paths and backtraces are no evidence."""
    step = StepRecord(key="0", title="test", tests=True, result="failure")
    result = JobResult(outcome=JobOutcome.FAILED, reason="step failed", steps=(step,), failed_output=output)
    failure = failure_of(result)
    assert failure is not None
    assert (failure.kind, failure.evidence) == (FailureKind[kind], evidence)


def test_an_exception_that_unittest_counts_is_named() -> None:
    """A test that ends by an exception shows it, rather than that there was one."""
    expired = "ERROR: test_a\n------\nTraceback (most recent call last):\nsubprocess.TimeoutExpired: Command 'x'\n"
    failure = explained(f"{expired}\nFAILED (errors=1)", in_tests=True)
    assert failure is not None
    assert failure.evidence == "subprocess.TimeoutExpired: Command 'x'"
    output = (
        "E\n======\nERROR: test_square (test_app.Sides.test_square)\n------\nTraceback (most recent call last):\n"
        "  File \"/workspace/tests/test_app.py\", line 6, in test_square\n    app.sides('circle')\n"
        "KeyError: 'circle'\n"
        "\n------\nRan 1 test in 0.001s\n\nFAILED (errors=1)\n"
    )
    assert explained(output, in_tests=True) == JobFailure(kind=FailureKind.TESTS, evidence="KeyError: 'circle'")


def test_a_hidden_package_is_named_with_both_dates() -> None:
    """A version that came after the cut-off is told as such; what the line does not name is not blamed."""
    result = JobResult(outcome=JobOutcome.FAILED, hidden={"apache-log": "2024-05-01", "six": "2025-01-01"})
    line = "ERROR: Could not find a version that satisfies the requirement Apache_Log>=2 (from versions: 1.0)"
    failure = with_hidden(
        JobFailure(kind=FailureKind.INVALID_VERSION, evidence=line), result, "2023-12-31T10:00:00Z"
    )
    told = "[packages until 2023-12-31: apache-log has releases from 2024-05-01 on that are hidden]"
    assert failure.evidence == f"{line} {told}"
    other = JobFailure(kind=FailureKind.TESTS, evidence="six failed")
    assert with_hidden(other, result, "2023-12-31") == other
    for text in (
        "E404 sixer",
        "NU1102: Unable to find package Six.Core with version (>= 1.0.0)",
        "NU1101: My.Six",
    ):
        third = JobFailure(kind=FailureKind.NOT_FOUND, evidence=text)
        assert with_hidden(third, result, "2023-12-31") == third
