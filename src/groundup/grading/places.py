"""Where a submission defines what a lost test asked a service or a Java class for, out of its sources and logs.

For people alone: sources and logs are a stranger's, so a place is a claim and decides nothing.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.domain.names import printable, without_codes
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.sandbox.protocol import WORKSPACE
from groundup.sources.files import SKIPPED_FOLDERS
from groundup.trees.walking import read_regular

CHAINED = "The above exception was the direct cause of the following exception:"
"""As Python writes between an exception and the one that it led to."""
_READ = frozenset({".py", ".java", ".kt", ".js", ".ts", ".mjs", ".cjs", ".go", ".rb", ".rs"})
_NOT_READ = SKIPPED_FOLDERS | {"test", "tests", "target"}
_MOST_FILES = 400
_LARGEST = 256 * 1024
_LONGEST = 200
_WIDEST = 400
"""Characters of a line that are looked at."""
_ERRORS = 50
_FRAMES = 20
_LITERAL = re.compile(r"([\"'`])(/?[^\"'`\s]*)\1")
_VERB = re.compile(r"(?<![A-Za-z])(GET|POST|PUT|PATCH|DELETE|[Gg]et|[Pp]ost|[Pp]ut|[Pp]atch|[Dd]elete)(?![a-z])")
_ROUTED = re.compile(r"@\w*(?:Get|Post|Put|Patch|Delete|Request)Mapping\b|@(?:GET|POST|PUT|PATCH|DELETE|Path)\b")
_PREFIX = re.compile(
    r"(?:@RequestMapping\(|@Path\(|@Controller\(|APIRouter\(.*prefix\s*=|Blueprint\(.*url_prefix\s*=)[^\"']*[\"']([^\"']*)"
)
_DEFINED = re.compile(r"^\s*(?:async\s+)?def (\w+)|^\s*(?:[\w<>\[\],.?@]+\s+)+(\w+)\s*\([^;]*$")
_NO_DEFINITION = re.compile(r"^\s*(?:return|new|else|throw|case)\b")
_VARIABLE = re.compile(r"^(?:\{.*\}|<.*>|:\w+|.*[([\\*].*)$")
_EXCHANGE = re.compile(r"^last exchange: ([A-Z]+) (\S+)(?:, sent .*)? -> (?:no answer|(\d{3}))", re.MULTILINE)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)')
_JAVA_FRAME = re.compile(r"^\s+at (?:[\w.$]+/)?([\w.$]+)\.[\w$<>]+\((\w+\.\w+):(\d+)\)")
_JAVA_CALL = re.compile(r"\b(\w+)\s*\(")
_JAVA_MORE = re.compile(r"^\s+(?:at |\.\.\. \d+ more)|^\s*$")
_ERROR = re.compile(r"^(?:Caused by: )?(?:Exception in thread \S+ )?([\w.$]*(?:Error|Exception|Exit)\w*(?::.*)?)$")


class Error(NamedTuple):
    """An error in a service's log."""

    said: str
    frames: tuple[tuple[str, int], ...]
    """Places in the submission, the innermost last."""
    around: str
    """The lines just before and after it, which may name the request."""


class Sources:
    """The sources of a submission, by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {path: [line[:_WIDEST] for line in text.splitlines()] for path, text in texts.items()}

    @classmethod
    def of(cls, tree: Path) -> "Sources":
        """Read those of *tree*, as many as a person would look at."""
        paths: list[Path] = []
        for folder, folders, names in os.walk(tree):
            folders[:] = [name for name in folders if name not in _NOT_READ]
            paths += [path for name in names if (path := Path(folder, name)).suffix in _READ]
        texts: dict[str, str] = {}
        for path in sorted(paths):
            if len(texts) >= _MOST_FILES:
                break
            with contextlib.suppress(OSError, ValueError):  # what cannot be read defines nothing
                text = read_regular(path, _LARGEST).decode("utf-8", "replace")
                texts[path.relative_to(tree).as_posix()] = text
        return cls(texts)

    def line(self, path: str, number: int) -> str:
        """Return the text of a line; "" where there is none."""
        lines = self._lines.get(path, ())
        return lines[number - 1].strip()[:_LONGEST] if 0 < number <= len(lines) else ""

    def named(self, end: str) -> str:
        """Return the one path that ends in *end*; "" where none or several do."""
        found = [path for path in self._lines if path == end or path.endswith(f"/{end}")]
        return found[0] if len(found) == 1 else ""

    def shown(self, path: str, number: int) -> str:
        """Return a place as `file:line: text`."""
        return f"{path}:{number}: {self.line(path, number)}"

    def handler(self, method: str, address: str) -> tuple[str, int, int] | None:
        """Return file, first and last line of what answers a request; None where that is not clear."""
        wanted = address.partition("?")[0].strip("/").split("/")
        best: dict[int, list[tuple[str, int]]] = {}
        for path, lines in self._lines.items():
            prefix = ""
            for number, line in enumerate(lines, 1):
                if found := _PREFIX.search(line):
                    is_whole = "@" not in found[0] or _stands_on_class(lines, number)
                    prefix = found[1] if is_whole else prefix
                    if is_whole:
                        continue
                literals = [one[2] for one in _LITERAL.finditer(line) if one[2].startswith("/")]
                if not literals and not _ROUTED.search(line):
                    continue
                points = max(_matches(wanted, prefix, one) for one in literals or [""])
                verbs = {one[1].upper() for one in _VERB.finditer(_without_literals(line))}
                if points and not verbs:
                    verbs = {one[1].upper() for one in _VERB.finditer(_enclosing(lines, number).replace("_", " "))}
                if not points or (verbs and method not in verbs):
                    continue
                best.setdefault(points + (4 if verbs else 0), []).append((path, number))
        if not best or len(top := best[max(best)]) != 1:
            return None
        path, number = top[0]
        lines = self._lines[path]
        return path, number, _end_of(lines, number)

    def method(self, name: str) -> tuple[str, int] | None:
        """Return where the only method of that name is defined."""
        found = [
            (path, number)
            for path, lines in self._lines.items()
            for number, line in enumerate(lines, 1)
            if name in line
            and re.search(rf"^\s*(?:[\w<>\[\],.?@]+\s+)+{name}\s*\([^;]*(?:\{{|$|\))", line)
            and not _NO_DEFINITION.match(line)
        ]
        return found[0] if len(found) == 1 else None


def _without_literals(line: str) -> str:
    return _LITERAL.sub("", line) if "methods" not in line else line.replace("_", " ")


def _stands_on_class(lines: Sequence[str], number: int) -> bool:
    """Whether an annotation at a line belongs to a class."""
    for line in lines[number - 1 : number + 6]:
        if re.search(r"\b(?:class|interface)\s+\w", line):
            return True
        if "(" in line and not line.strip().startswith("@"):
            return False
    return False


def _enclosing(lines: Sequence[str], number: int) -> str:
    """Return the definition above a line; "" where none is."""
    own = len(lines[number - 1]) - len(lines[number - 1].lstrip())
    for line in reversed(lines[: number - 1]):
        if _DEFINED.match(line) and len(line) - len(line.lstrip()) < own:
            return line
    return ""


def _end_of(lines: Sequence[str], number: int) -> int:
    """Return the last line of what begins at a line: before the next one that is no deeper, past decorators."""
    depth = len(lines[number - 1]) - len(lines[number - 1].lstrip())
    at = number
    while at < len(lines) and not _DEFINED.match(lines[at - 1]) and lines[at - 1].lstrip().startswith("@"):
        at += 1
    for after in range(at + 1, len(lines) + 1):
        line = lines[after - 1]
        if line.strip() and len(line) - len(line.lstrip()) <= depth and line.strip()[0] not in ")}]":
            return after - 1
    return len(lines)


def _matches(wanted: Sequence[str], prefix: str, template: str) -> int:
    """Return how well a route fits a path: 3 where all of it does, 1 where its end does, 0 where it does not."""
    own = [part for part in template.strip("/").split("/") if part]
    whole = [*(part for part in prefix.strip("/").split("/") if part), *own]
    for parts, points in ((whole, 3 * (len(whole) == len(wanted))), (own, len(own) <= len(wanted))):
        if points and parts:
            ends = wanted[len(wanted) - len(parts) :]
            if all(_VARIABLE.match(one) or one == part for one, part in zip(parts, ends, strict=True)):
                literal = sum(not _VARIABLE.match(one) for one in parts)
                return points * 10 + literal if literal else 0
    return 0


def errors_in(log: bytes, sources: Sources) -> list[Error]:
    """Return the tracebacks of Python and Java in a service's log that name a line of the submission."""
    lines = without_codes(log.decode("utf-8", "replace")).splitlines()
    found: list[Error] = []
    for at, line in enumerate(lines):
        if (said := _ERROR.match(line.strip())) is None or len(found) >= _ERRORS:
            continue
        frames = tuple(_python_frames(lines, at, sources)) or tuple(_java_frames(lines, at, sources))
        if frames:
            found.append(Error(printable(said[1])[:300], frames[-_FRAMES:], "\n".join(_around(lines, at))))
    return found


def _around(lines: Sequence[str], at: int) -> Iterator[str]:
    first = at
    while first > 0 and (lines[first - 1].startswith((" ", "\t", "Traceback")) or not lines[first - 1].strip()):
        first -= 1
    yield from lines[max(first - 2, 0) : first]
    yield from lines[at + 1 : at + 3]


def _python_frames(lines: Sequence[str], at: int, sources: Sources) -> Iterator[tuple[str, int]]:
    first = at
    while first > 0 and lines[first - 1].startswith((" ", "\t")):
        first -= 1
    for line in lines[first:at]:
        if (frame := _FRAME.match(line)) is not None:
            path = frame[1].removeprefix(f"{WORKSPACE}/").removeprefix("./")
            if sources.line(path, int(frame[2])):
                yield path, int(frame[2])


def _java_frames(lines: Sequence[str], at: int, sources: Sources) -> Iterator[tuple[str, int]]:
    frames = []
    for line in lines[at + 1 : at + 200]:
        if not _JAVA_MORE.match(line):
            break
        if frame := _JAVA_FRAME.match(line):
            folder = frame[1].rpartition(".")[0].replace(".", "/")
            path = sources.named(f"{folder}/{frame[2]}" if folder else frame[2])
            if path and sources.line(path, int(frame[3])):
                frames.append((path, int(frame[3])))
    yield from reversed(frames)


def of_service(results: Mapping[NumberedTest, Result], log: bytes, sources: Sources) -> dict[NumberedTest, Result]:
    """Return the lost ones of *results* with where the service went wrong: its own error, else what answers."""
    errors = errors_in(log, sources)
    found = {}
    for test, result in results.items():
        asked = [*_EXCHANGE.finditer(result.demand)]
        if result.outcome not in ("failed", "error") or not asked:
            continue
        method, address, status = asked[-1].groups()
        handler = sources.handler(method, address)
        is_broken = status is None or status >= "500"
        error = _of_request(errors, method, address, handler) if is_broken else None
        if error is not None:
            told = f"the service: {error.said}"
            detail = f"{as_frames(error, sources)}\n\n{CHAINED}\n\n{result.detail}"
            found[test] = result.but(detail=detail, demand=f"{result.demand}\n{told}")
        elif handler is not None:
            found[test] = result.but(calls=sources.shown(handler[0], handler[1]))
    return found


def _of_request(
    errors: Sequence[Error], method: str, address: str, handler: tuple[str, int, int] | None
) -> Error | None:
    """Return the error that a request led to; None where more than one may be it."""
    path = address.partition("?")[0]
    if handler is not None:
        file, first, last = handler
        inside = [one for one in errors if any(at == file and first <= line <= last for at, line in one.frames)]
        if inside and len({one.frames[-1] for one in inside}) == 1:
            return inside[0]
    named = [one for one in errors if re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", one.around)]
    named = [one for one in named if method in one.around] or named
    for some in (named, errors):
        if some and len({one.frames[-1] for one in some}) == 1:
            return some[0]
    return None


def as_frames(error: Error, sources: Sources) -> str:
    """Return an error as pytest shows one in short."""
    frames = [f"{path}:{line}: in service\n    {sources.line(path, line)}" for path, line in error.frames]
    return "\n".join([*frames, f"E   {error.said}"])


def called_in_java(statement: str, above: Iterable[str], sources: Sources) -> str:
    """Return where a submission defines what a statement of a Java test calls, as `file:line: text`.

    *above*: the lines before it, the nearest first, which may give its variables their values.
    """
    texts = [statement]
    names = set(re.findall(r"\b[a-z]\w*\b(?!\s*\()", statement))
    texts += [line for line in above if (given := re.search(r"\b(\w+)\s*=[^=]", line)) and given[1] in names]
    for text in texts:
        for name in _JAVA_CALL.findall(text):
            if (place := sources.method(name)) is not None:
                return sources.shown(*place)
    return ""
