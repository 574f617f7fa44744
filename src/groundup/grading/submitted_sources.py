"""The sources that were handed in, as a person would search them: lines, functions, and what answers a request.

Nothing is parsed or run. What they say is a stranger's, and no verdict reads it.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from groundup.sources.files import SKIPPED_FOLDERS
from groundup.trees.walking import read_own

_READ = frozenset({".py", ".java", ".kt", ".js", ".ts", ".mjs", ".cjs", ".go", ".rb", ".rs"})
_NOT_READ = SKIPPED_FOLDERS | {"test", "tests", "target"}
_MOST_FILES = 400
_LARGEST = 256 * 1024
_LONGEST = 200
_WIDEST = 400
"""Characters of a line that are looked at."""
_COMMENT = ("#", "//", "*", "/*")
_LITERAL = re.compile(r"([\"'`])(/?[^\"'`\s]*)\1")
_VERB = re.compile(r"(?<![A-Za-z])(GET|POST|PUT|PATCH|DELETE|[Gg]et|[Pp]ost|[Pp]ut|[Pp]atch|[Dd]elete)(?![a-z])")
_ROUTED = re.compile(r"@\w*(?:Get|Post|Put|Patch|Delete|Request)Mapping\b|@(?:GET|POST|PUT|PATCH|DELETE|Path)\b")
_PREFIX = re.compile(
    r"(?:@RequestMapping\(|@Path\(|@Controller\(|APIRouter\(.*prefix\s*=|Blueprint\(.*url_prefix\s*=)[^\"']*[\"']([^\"']*)"
)
_DEFINED = re.compile(r"^\s*(?:async\s+)?def (\w+)|^\s*(?:[\w<>\[\],.?@]+\s+)+(\w+)\s*\([^;]*$")
_JAVA_METHOD = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|protected|static|final|synchronized|default|abstract)\s+)*"
    r"(?:<[^()]*>\s+)?[A-Za-z][\w.]*(?:<[^()=;]*>)?(?:\[\])*\s+(?P<name>\w+)\s*\((?:[^;]*$|[^;{]*\{)"
)
_NO_JAVA_METHOD = re.compile(
    r"^\s*(?:return|new|else|throw|case|assert\w*)\b|\b(?:if|for|while|switch|catch|synchronized)\s*\("
)
_VARIABLE = re.compile(r"^(?:\{.*\}|<.*>|:\w+|.*[([\\*].*)$")
_LEAST_ALIKE = 0.6
"""Of two words of paths, one of which may be meant for the other."""
_OTHER_METHOD = 0.85
"""What a route that fits but for its method is worth, beside one that fits but for a word."""
OR_IN = "; or in what it calls: "
"""Between what answers a request and functions that it calls, one of which may be at fault."""
_HELPERS = 4
"""Of what answers a request, that are shown."""
_CONSTANT = re.compile(r"(?:[\w<>\[\]]+ )*([A-Z][A-Z_0-9]+)\s*(?::[^=]+)?=[^=]")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(|::(\w+)")
_REFERENCE = re.compile(r"::(\w+)|\b(?:[a-z]\w*\.)*([A-Za-z_]\w*)\b(?!\s*[(.\w])")
"""In the line of a route, what may be the name of the function that answers."""
_FUNCTION = (
    r"^\s*(?:(?:async\s+)?def\s+{name}\b|func\s+(?:\([^)]*\)\s*)?{name}\(|(?:export\s+)?(?:async\s+)?function\s+{name}\b"
    r"|(?:export\s+)?(?:const|let|var)\s+{name}\s*=\s*(?:async\s*)?(?:\(|function\b|\w+\s*=>)"
    r"|(?:pub\s+)?(?:async\s+)?fn\s+{name}\b)"
)


class _Route(NamedTuple):
    """A line that may say which requests are answered."""

    path: str
    number: int
    prefix: str
    templates: list[str]


class Sources:
    """The sources of a submission, by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {path: [line[:_WIDEST] for line in text.splitlines()] for path, text in texts.items()}
        self._functions: dict[str, tuple[str, int] | None] = {}
        self._java = {path for path in self._lines if path.endswith((".java", ".kt"))}

    @classmethod
    def of(cls, tree: Path, names: Collection[str] = ()) -> "Sources":
        """Read those of *tree*, and files of these *names* or endings, as many as a person would look at."""
        paths: list[Path] = []
        for folder, folders, files in os.walk(tree):
            folders[:] = [name for name in folders if name not in _NOT_READ]
            paths += [
                path
                for name in files
                if (path := Path(folder, name)).suffix in _READ or name in names or path.suffix in names
            ]
        texts: dict[str, str] = {}
        for path in sorted(paths):
            if len(texts) >= _MOST_FILES:
                break
            if (content := read_own(path, _LARGEST)) is not None:  # what cannot be read defines nothing
                texts[path.relative_to(tree).as_posix()] = content.decode("utf-8", "replace")
        return cls(texts)

    def line(self, path: str, number: int) -> str:
        """Return the text of a line; "" where there is none."""
        lines = self._lines.get(path, ())
        return lines[number - 1].strip()[:_LONGEST] if 0 < number <= len(lines) else ""

    def numbered(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield the lines of a file with their numbers."""
        yield from enumerate(self._lines.get(path, ()), 1)

    def paths(self) -> Iterable[str]:
        """Return the paths of all files, the empty ones too."""
        return self._lines.keys()

    def every(self) -> Iterator[tuple[str, int, str]]:
        """Yield path, number and text of each line."""
        for path in self._lines:
            for number, line in self.numbered(path):
                yield path, number, line

    def lines_with(self, pattern: re.Pattern[str]) -> list[tuple[str, int]]:
        """Return path and number of each line that matches somewhere, but comments."""
        return [
            (path, number)
            for path, number, line in self.every()
            if pattern.search(line) and not line.lstrip().startswith(_COMMENT)
        ]

    def named(self, end: str) -> str:
        """Return the one path that ends in *end*; "" where none or several do."""
        found = [path for path in self._lines if path == end or path.endswith(f"/{end}")]
        return found[0] if len(found) == 1 else ""

    def text(self, path: str) -> Sequence[str]:
        """Return the lines of a file."""
        return self._lines.get(path, ())

    def shown(self, path: str, number: int) -> str:
        """Return a place as `file:line: text`."""
        return f"{path}:{number}: {self.line(path, number)}"

    def handler(self, method: str, address: str) -> tuple[str, int, int] | None:
        """Return file, first and last line of what answers a request; None where that is not clear."""
        route = self.route(method, address)
        if route is None:
            return None
        path, number = self._referred(*route)
        return path, number, block_end(self._lines[path], number)

    def route(self, method: str, address: str) -> tuple[str, int] | None:
        """Return the line that says what answers a request; None where that is not clear."""
        wanted = address.partition("?")[0].strip("/").split("/")
        best: dict[int, list[tuple[str, int]]] = {}
        for route in self._routes():
            points = max(_matches(wanted, route.prefix, one) for one in route.templates)
            verbs = self._verbs(route) if points else set()
            if not points or (verbs and method not in verbs):
                continue
            best.setdefault(points + (4 if verbs else 0), []).append((route.path, route.number))
        return self._only_one(best[max(best)] if best else [])

    def route_like(self, method: str, address: str) -> tuple[str, int] | None:
        """Return the one route most like a request that none answers: of another method, or with another word."""
        wanted = address.partition("?")[0].strip("/").split("/")
        found: dict[float, list[tuple[str, int]]] = {}
        for route in self._routes():
            likeness = max(_likeness(wanted, route.prefix, one) for one in route.templates)
            if likeness < _LEAST_ALIKE:
                continue
            likeness += 1.0 if method in self._verbs(route) else _OTHER_METHOD * (likeness == 1.0)
            found.setdefault(likeness, []).append((route.path, route.number))
        return self._only_one(found[max(found)] if found else [])

    def _only_one(self, places: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
        """Return the only one of the lines of routes, or the only decorator: forms and links name routes, too."""
        declared = [one for one in places if self.line(*one).startswith("@")] if len(places) > 1 else places
        return declared[0] if len(declared) == 1 else None

    def routes_unasked(self, method: str, address: str, asked: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
        """Return routes of a method that differ by one word from a request, without those *asked*."""
        wanted = address.partition("?")[0].strip("/").split("/")
        taken = {self.route(*one) for one in asked}
        return [
            (route.path, route.number)
            for route in self._routes()
            if (route.path, route.number) not in taken
            and method in self._verbs(route)
            and any(_differing(wanted, route.prefix, one) == 1 for one in route.templates)
        ]

    def _routes(self) -> Iterator["_Route"]:
        """Yield the lines that may say which requests are answered."""
        for path, lines in self._lines.items():
            prefix = ""
            for number, line in enumerate(lines, 1):
                if line.lstrip().startswith(_COMMENT):
                    continue
                if found := _PREFIX.search(line):
                    is_whole = "@" not in found[0] or _stands_on_class(lines, number)
                    prefix = found[1] if is_whole else prefix
                    if is_whole:
                        continue
                literals = [one[2] for one in _LITERAL.finditer(line) if one[2].startswith("/")]
                if literals or _ROUTED.search(line):
                    yield _Route(path, number, prefix, literals or [""])

    def _verbs(self, route: "_Route") -> set[str]:
        """Return the methods that a route names, or the definition around it; empty: any."""
        lines = self._lines[route.path]
        named = {one[1].upper() for one in _VERB.finditer(_without_literals(lines[route.number - 1]))}
        around = _enclosing(lines, route.number).replace("_", " ")
        return named or {one[1].upper() for one in _VERB.finditer(around)}

    def _referred(self, path: str, number: int) -> tuple[str, int]:
        """Return the function that the line of a route names, else the line."""
        line = self._lines[path][number - 1]
        if line.lstrip().startswith("@") or line.rstrip().endswith(("{", "(", "->", "=>")):
            return path, number
        after = line[max((one.end() for one in _LITERAL.finditer(line)), default=0) :]
        for found in _REFERENCE.finditer(after):
            if (place := self.function(found[1] or found[2])) is not None:
                return place
        return path, number

    def function(self, name: str) -> tuple[str, int] | None:
        """Return where the only function or method of that name is defined; None where it is not clear."""
        if name not in self._functions:
            self._functions[name] = self._function(name)
        return self._functions[name]

    def _function(self, name: str) -> tuple[str, int] | None:
        pattern = re.compile(_FUNCTION.format(name=re.escape(name)))
        found = [place for place in self.lines_with(pattern) if place[0] not in self._java]
        if not found and (method := self.method(name)) is not None and method[0] in self._java:
            return method
        return found[0] if len(found) == 1 else None

    def helpers(self, path: str, first: int, last: int) -> list[tuple[str, str, int]]:
        """Return name, path and line of what some lines call, or use of the file's constants, in their order."""
        found: dict[str, tuple[str, str, int]] = {}
        constants = {one[1]: number for number, line in self.numbered(path) if (one := _CONSTANT.match(line))}
        for line in self._lines[path][first - 1 : last]:
            for name in re.findall(r"\b[A-Z][A-Z_0-9]+\b", line):
                if name in constants:
                    found.setdefault(name, (name, path, constants[name]))
            for one in _CALL.finditer(line):
                name = one[1] or one[2]
                place = None if name in found else self.function(name)
                if place is not None and (place[0] != path or not first <= place[1] <= last):
                    found[name] = (name, *place)
        return [*found.values()]

    def answering(self, handler: tuple[str, int, int]) -> str:
        """Return what answers a request as `file:line: text`, with what it calls."""
        path, first, last = handler
        called = self.helpers(path, first, last)[:_HELPERS]
        helpers = ", ".join(f"{name} ({file}:{line})" for name, file, line in called)
        return self.shown(path, first) + (f"{OR_IN}{helpers}" if helpers else "")

    def method(self, name: str) -> tuple[str, int] | None:
        """Return where the only method of Java of that name is defined."""
        found = [
            (path, number)
            for path, number, line in self.every()
            if name in line and (begun := java_method(line)) is not None and begun["name"] == name
        ]
        return found[0] if len(found) == 1 else None


def java_method(line: str) -> re.Match[str] | None:
    """Return what of a line begins a method or record of Java, with its `name`; None where none begins there."""
    return None if _NO_JAVA_METHOD.search(line) else _JAVA_METHOD.match(line)


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


def block_end(lines: Sequence[str], number: int) -> int:
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
    """Return how well a route fits a path: most where all of it does, less where its end does, else 0."""
    own = [part for part in template.strip("/").split("/") if part]
    whole = [*(part for part in prefix.strip("/").split("/") if part), *own]
    is_inner = len(whole) > len(wanted)  # a test's client may know the first part of all paths
    for parts, points in (
        (whole, 3 * (len(whole) == len(wanted))),
        (own, len(own) <= len(wanted)),
        (whole[len(whole) - len(wanted) :], int(is_inner)),
    ):
        if points and parts:
            ends = wanted[len(wanted) - len(parts) :]
            if all(_VARIABLE.match(one) or one == part for one, part in zip(parts, ends, strict=True)):
                literal = sum(not _VARIABLE.match(one) for one in parts)
                return points * 10 + literal if literal else 0
    return 0


def _differing(wanted: Sequence[str], prefix: str, template: str) -> int:
    """Return how many words at the end of a path a route has otherwise."""
    parts = [part for part in [*prefix.strip("/").split("/"), *template.strip("/").split("/")] if part][
        -len(wanted) :
    ]
    ends = wanted[len(wanted) - len(parts) :]
    return sum(one != part and not _VARIABLE.match(one) for one, part in zip(parts, ends, strict=True))


def _likeness(wanted: Sequence[str], prefix: str, template: str) -> float:
    """Return how like a path a route is: 1 where it fits, less where one word differs, 0 where more does."""
    whole = [part for part in [*prefix.strip("/").split("/"), *template.strip("/").split("/")] if part]
    parts = whole[-len(wanted) :]  # a test's client may know the first part of all paths
    if len(parts) < len(wanted):
        wanted = wanted[-len(parts) :] if parts else []
    other = [
        pair for pair in zip(parts, wanted, strict=True) if pair[0] != pair[1] and not _VARIABLE.match(pair[0])
    ]
    if len(other) > 1 or not any(not _VARIABLE.match(part) for part in parts):
        return 0.0
    return SequenceMatcher(None, *other[0]).ratio() if other else 1.0
