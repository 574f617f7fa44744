"""What a process said last, in a line."""

import pytest

from groundup.grading.last_words import last_stack, last_words, logged_errors, pytest_words, stop_of
from groundup.sandbox.protocol import CommandResult, Ending

TRACEBACK = b"""Traceback (most recent call last):
  File "/workspace/app.py", line 3, in <module>
    open("/data/x")
FileNotFoundError: [Errno 2] No such file or directory: '/data/x'
"""
JAVA = b"""Exception in thread "main" java.lang.RuntimeException: no port
\tat com.example.App.main(App.java:5)
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
\t... 3 more
"""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (
            b"mkdir: cannot create directory: Read-only file system\n",
            "mkdir: cannot create directory: Read-only file system",
        ),
        (b"one\ntwo\nthree", "two | three"),
        (b"ready \xff\x1b[1m\n", "ready \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_last_lines_are_reported(log: bytes, words: str) -> None:
    """Empty lines say nothing, and nothing reaches a terminal that could control it."""
    assert last_words(log) == words


@pytest.mark.parametrize("log", [TRACEBACK, JAVA])
def test_frames_of_a_traceback_are_no_words(log: bytes) -> None:
    """The error is reported, in Python and in Java."""
    assert (
        last_words(log).rpartition(" | ")[2].startswith(("FileNotFoundError", "Caused by: java.net.BindException"))
    )


def test_the_last_words_of_a_traceback_name_the_line_of_the_tree() -> None:
    """An error raised in a package names the line of the submission that led to it."""
    raised = b'  File "/opt/env/lib/python3.10/os.py", line 680, in __getitem__\n    raise KeyError(key)\n'
    log = TRACEBACK.replace(b"FileNotFoundError", raised + b"FileNotFoundError")
    assert last_words(log).endswith("directory: '/data/x' (app.py, line 3)")


def test_errors_in_a_log_are_counted_and_the_most_frequent_is_named() -> None:
    """Of Python and of Java; a line that no frames belong to is none."""
    failing = TRACEBACK + b'127.0.0.1 - "GET /x HTTP/1.1" 500 -\n'
    java = b"java.lang.IllegalStateException: empty\n\tat java.base/java.util.List.of(List.java:7)\n"
    java += b"\tat com.example.App.main(App.java:5)\n\t... 3 more\n"

    assert logged_errors(b"started\n  with an indented line\nended\n") == ""
    found = "FileNotFoundError: [Errno 2] No such file or directory: '/data/x' (app.py, line 3)"
    assert logged_errors(failing * 2 + java) == f"3 errors in its log, most often {found}"
    assert logged_errors(java) == (
        "1 error in its log, most often java.lang.IllegalStateException: empty (App.java, line 5)"
    )


def test_long_words_keep_their_end() -> None:
    """A line has room for the cause, which stands last."""
    words = last_words(b"x" * 100_000 + b" the cause")

    assert len(words) <= 160
    assert words.endswith("the cause")


def test_an_error_without_syntax_is_reported_with_its_frame() -> None:
    """The nearest file and line above an error of pytest's output are its place."""
    printed = b"""ImportError while loading conftest '/workspace/tests/conftest.py'.
tests/conftest.py:1: in <module>
    import calc
calc/__init__.py:7: in <module>
    from . import missing
E   ImportError: cannot import name 'missing' from 'calc'
"""

    assert (
        pytest_words(printed) == "ImportError: cannot import name 'missing' from 'calc' (calc/__init__.py, line 7)"
    )


def test_a_usage_error_of_pytest_is_reported() -> None:
    """Where no exception is shown, pytest's own line is."""
    assert pytest_words(b"\nERROR: file or directory not found: tests/x.py\n\n") == (
        "ERROR: file or directory not found: tests/x.py"
    )
    assert pytest_words(b"nothing of the kind\n") == ""


STACK = b"""printed before
Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 359 in wait

Current thread 0x00007f02 [python] (most recent call first):
  File "/usr/lib/python3.12/ctypes/__init__.py", line 562 in string_at
  File "/workspace/calc/core\x1b[2J.py", line 9 in add
  File "/workspace/tests/test_calc.py", line 4 in test_add
  File "/opt/env/lib/site-packages/_pytest/python.py", line 159 in pytest_pyfunc_call
  File "/opt/groundup/runner.py", line 520 in main

Extension modules: _ctypes (total: 1)
"""


def test_the_stack_of_a_process_that_died_is_read_to_its_place_in_the_tree() -> None:
    """The innermost file of the tree is the place; frames of the runner are left out, and no code gets through."""
    place, stack = last_stack(STACK)

    assert place == "calc/core\\x1b[2J.py, line 9, in add"
    assert stack.splitlines() == [
        "tests/test_calc.py:4: in test_add",
        "calc/core\\x1b[2J.py:9: in add",
        "/usr/lib/python3.12/ctypes/__init__.py:562: in string_at",
    ]
    assert last_stack(b"no stack") == ("", "")


@pytest.mark.parametrize(
    ("ending", "code", "duration_s", "words"),
    [
        (Ending.EXITED, -11, 1.0, "ended the test process by SIGSEGV"),
        (Ending.EXITED, -61, 1.0, "ended the test process by signal 61"),
        (Ending.EXITED, 3, 1.0, "ended the test process with exit code 3"),
        (Ending.TIMEOUT, None, 40.0, "hung for 20 s"),
        (Ending.TIMEOUT, None, 60.0, "ran when the 60 s of all tests were over"),
        (Ending.PROCESSES, None, 1.0, "used too many processes"),
    ],
)
def test_what_ended_the_tests_is_named(ending: Ending, code: int | None, duration_s: float, words: str) -> None:
    """A hung test is kept apart from one that ran when the time of all was up, and signals have names."""
    result = CommandResult(exit_code=code, ending=ending, stdout=b"", stderr=b"", duration_s=duration_s)

    assert str(stop_of(result, test_s=20.0, all_s=60.0)) == words


def test_what_maven_prints_below_every_error_is_not_its_last_words() -> None:
    """The line that names the cause is; the JVM's note of our own variable is none either."""
    log = (
        b"Picked up JAVA_TOOL_OPTIONS: -XX:MaxRAM=2048m\n"
        b"[ERROR] No plugin found for prefix 'spring-boot' in the current project -> [Help 1]\n[ERROR] \n"
        b"[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n"
        b"[ERROR] Re-run Maven using the -X switch to enable full debug logging.\n[ERROR] \n"
        b"[ERROR] For more information about the errors and possible solutions, see:\n"
        b"[ERROR] [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/NoPluginFoundForPrefixException\n"
    )

    assert last_words(log) == "[ERROR] No plugin found for prefix 'spring-boot' in the current project -> [Help 1]"
    assert last_words(log.splitlines(keepends=True)[0]) == ""
