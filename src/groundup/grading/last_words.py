"""The last words of a process: one line for people, taken from text that decides nothing. Pure."""

import re
from pathlib import PurePosixPath

from groundup.domain.names import printable, without_codes
from groundup.sandbox.protocol import WORKSPACE

_TAIL_BYTES = 16 * 1024
_LINES = 2
_MAX_CHARS = 160
_ERROR_LINE = re.compile(r"^E {2,}")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_FRAME = re.compile(r"^(\S+?\.py):(\d+): in ")
_OF_CODE = (
    r"(Import|ModuleNotFound|Name|NotImplemented|Syntax|Indentation)Error\b"
    r"|AttributeError: (module|type object) |TypeError: .*(\bargument\b(?! of type)|\barguments\b|is not callable)"
)
_OF_TIME = r"time[sd]?[ _-]?out|deadline|too (?:slow|long)|longer than|within \d"


def last_words(log: bytes) -> str:
    """Return the last two lines of *log* that no traceback indents; "" when there is none."""
    lines = [line for line in _lines(log) if not line.startswith((" ", "\t"))]
    return _cut(" | ".join(map(str.strip, lines[-_LINES:])))


def speaks_of_time(text: str) -> bool:
    """Whether *text* may say that something took too long."""
    return re.search(_OF_TIME, text, re.IGNORECASE) is not None


def speaks_of_code(text: str) -> bool:
    """Whether *text* begins with an error that no time mends: an absent name, an impossible call."""
    return re.match(_OF_CODE, text) is not None


def middle_cut(text: bytes, limit: int) -> bytes:
    """Return *text*, or its head and tail when it is longer than *limit*."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + b"\n... cut ...\n" + text[-half:]


def pytest_words(output: bytes) -> str:
    """Return the error at which pytest gave up, with file and line; "" where *output* tells none."""
    lines = _lines(output)
    errors = [at for at, line in enumerate(lines) if _ERROR_LINE.match(line)]
    if not errors:
        return _cut(next((line for line in reversed(lines) if line.startswith("ERROR:")), ""))
    error = _ERROR_LINE.sub("", lines[errors[-1]])
    for line in reversed(lines[: errors[-1]]):
        if found := _PLACE.search(line) or _FRAME.match(line):
            return _cut(f"{error} ({_shown(found[1])}, line {found[2]})")
    return _cut(error)


def _lines(text: bytes) -> list[str]:
    decoded = without_codes(text[-_TAIL_BYTES:].decode("utf-8", "replace"))
    return [line.rstrip() for line in decoded.splitlines() if line.strip()]


def _shown(place: str) -> str:
    """Return a path without the folder that every path in a sandbox begins with."""
    path = PurePosixPath(place)
    return str(path.relative_to(WORKSPACE)) if path.is_relative_to(WORKSPACE) else place


def _cut(text: str) -> str:
    """Keep the end, where the cause stands."""
    text = printable(text)
    return text if len(text) <= _MAX_CHARS else "..." + text[3 - _MAX_CHARS :]
