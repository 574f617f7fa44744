"""The last words of a process: one line for people, taken from text that decides nothing. Pure."""

import re
import signal
from collections import Counter
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.domain.names import printable, without_codes
from groundup.sandbox.protocol import WORKSPACE, CommandResult, Ending

PARTING_SIGNAL = 60
"""A process of tests that gets it writes its stack and ends; nothing else uses this signal."""
LIMITS = {Ending.MEMORY: "much memory", Ending.DISK: "much disk space", Ending.PROCESSES: "many processes"}

_TAIL_BYTES = 16 * 1024
_LINES = 2
_MAX_CHARS = 160
_STACK_BYTES = 256 * 1024
_STACK = re.compile(r"^(?:Stack|Current thread .*) \(most recent call first\):\n((?:  File .*\n)+)", re.MULTILINE)
"""As Python's faulthandler writes it."""
_STACK_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
_OF_RUNNERS = re.compile(r"^/.*/(?:_pytest/|pluggy/|runner\.pyc?$)|^<frozen ")
_MAX_FRAMES = 30
_MAX_PLACE = 120
_MAX_STACK = 4000
_JAVA_FRAME = re.compile(r"\s+at (?:(?:java|javax|jdk|sun)[./].*|.*\((\w+\.(?:java|kt)):(\d+)\)|.*\))$")
_INDENT = (" ", "\t")
_ERROR_LINE = re.compile(r"^E {2,}")
_TELLS_NOTHING = re.compile(
    r"Picked up JAVA_TOOL_OPTIONS"
    r"|\[ERROR\] *(?:$|To see the full stack|Re-run Maven|For more information about|\[Help \d)"
)
"""What the JVM prints of our own variable, and Maven below every error."""
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_FRAME = re.compile(r"^(\S+?\.py):(\d+): in ")
_OF_CODE = (
    r"(Import|ModuleNotFound|Name|NotImplemented|Syntax|Indentation)Error\b"
    r"|AttributeError: (module|type object) |TypeError: .*(\bargument\b(?! of type)|\barguments\b|is not callable)"
)
_OF_TIME = r"time[sd]?[ _-]?out|deadline|too (?:slow|long)|longer than|within \d"


def last_words(log: bytes) -> str:
    """Return the last two lines of *log* that no traceback indents, with its place; "" when there is none."""
    lines = [line for line in _lines(log) if not _TELLS_NOTHING.match(line)]
    said = [at for at, line in enumerate(lines) if not line.startswith((*_INDENT, "Traceback (most recent"))]
    words = " | ".join(lines[at].strip() for at in said[-_LINES:])
    return _cut(words + (_place_above(lines, said[-1]) if said else ""))


def logged_errors(log: bytes) -> str:
    """Count the tracebacks of Python and Java in *log*, and name the most frequent error; "" for none."""
    lines = _lines(log, len(log))
    errors = Counter(
        line + place
        for at, line in enumerate(lines)
        if not line.startswith(_INDENT) and (place := _place_above(lines, at) or _java_place_below(lines, at))
    )
    if not errors:
        return ""
    number = errors.total()
    return f"{number} error{'s'[: number - 1]} in its log, most often {_cut(errors.most_common(1)[0][0])}"


def _place_above(lines: list[str], at: int) -> str:
    """Return the innermost place of the tree in the traceback that ends in a line, or its innermost of all."""
    places: list[str] = []
    for line in reversed(lines[:at]):
        if not line.startswith(_INDENT):
            break
        if found := _PLACE.search(line):
            places.append(f" ({_shown(found[1])}, line {found[2]})")
    return next((place for place in places if not place.startswith(" (/")), places[0] if places else "")


def _java_place_below(lines: list[str], at: int) -> str:
    """Return the first place outside of Java itself in the frames below a line."""
    for line in lines[at + 1 :]:
        found = _JAVA_FRAME.match(line)
        if found is None:
            break
        if found[1]:
            return f" ({found[1]}, line {found[2]})"
    return ""


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


class LastWords(NamedTuple):
    """How a test ended the process of tests. The place comes out of the sandbox, so it may be a lie."""

    words: str = "ended the test process"
    place: str = ""
    """File, line and function of the tree that were running last; "" where nothing tells."""
    stack: str = ""

    @property
    def detail(self) -> str:
        """What a traceback would show, with the words below it; "" where no stack is known."""
        return f"{self.stack}\nE   {self.words}" if self.stack else ""

    def __str__(self) -> str:
        return f"{self.words} in {self.place}" if self.place else self.words


def stop_of(result: CommandResult, test_s: float, all_s: float) -> LastWords:
    """Say how a test ended its process, which had *test_s* for one test and *all_s* for all."""
    if result.ending in LIMITS:
        return LastWords(f"used too {LIMITS[result.ending]}")
    if result.ending.is_out_of_time:
        is_over = result.counted_s >= all_s
        words = f"ran when the {all_s:.0f} s of all tests were over" if is_over else f"hung for {test_s:.0f} s"
        return LastWords(words, *last_stack(result.stderr))
    code = result.exit_code
    if code is not None and code < 0:
        return LastWords(f"ended the test process by {signal_name(-code)}", *last_stack(result.stderr))
    return LastWords() if code is None else LastWords(f"ended the test process with exit code {code}")


def last_stack(stderr: bytes) -> tuple[str, str]:
    """Return where in the tree a process stood last, and its innermost frames as pytest shows them."""
    stacks = _STACK.findall(stderr[-_STACK_BYTES:].decode("utf-8", "replace"))
    frames = [
        (_shown(printable(path)), line, printable(name))
        for path, line, name in _STACK_FRAME.findall(stacks[-1] if stacks else "")
        if not _OF_RUNNERS.search(_shown(path))
    ]
    places = (f"{path}, line {line}, in {name}" for path, line, name in frames if not path.startswith("/"))
    stack = "\n".join(f"{path}:{line}: in {name}" for path, line, name in reversed(frames[:_MAX_FRAMES]))
    return next(places, "")[:_MAX_PLACE], stack[-_MAX_STACK:]


def signal_name(number: int) -> str:
    """Return such as `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _lines(text: bytes, tail_bytes: int = _TAIL_BYTES) -> list[str]:
    decoded = without_codes(text[-tail_bytes:].decode("utf-8", "replace"))
    return [line.rstrip() for line in decoded.splitlines() if line.strip()]


def _shown(place: str) -> str:
    """Return a path without the folder that every path in a sandbox begins with."""
    path = PurePosixPath(place)
    return str(path.relative_to(WORKSPACE)) if path.is_relative_to(WORKSPACE) else place


def _cut(text: str) -> str:
    """Keep the end, where the cause stands."""
    text = printable(text)
    return text if len(text) <= _MAX_CHARS else "..." + text[3 - _MAX_CHARS :]
