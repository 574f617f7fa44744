"""What a process said last, in a line."""

import pytest

from groundup.grading.last_words import last_words, pytest_words

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
