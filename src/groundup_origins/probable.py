"""Where in a submission the cause of a lost test probably lies, by what the test said and the sources alone.

Where two lines could be meant, none is told.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from groundup.domain.names import number_of
from groundup.domain.verdicts import TRIED, TestResult
from groundup.grading.guesses import several
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources
from groundup.sandbox.protocol import WORKSPACE

_LACKS = re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_NOT_IMPORTED = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
_NO_MODULE = re.compile(r"No module named '(?P<package>\w+)(?:\.\w+)*\.(?P<name>\w+)'")
_CLASS_LACKS = re.compile(r"(?:type object )?'(?P<kind>\w+)'(?: object)? has no attribute '(?P<name>\w+)'")
_MISFIT = re.compile(r"TypeError: (?:[\w.<>]*\.)?(?P<name>\w+)\(\) (?:missing|got|takes)\b")
_UNCALLED = re.compile(r"(?:\bassert |: |[!=]= )<bound method (?:\w+\.)*(?P<name>\w+) of ")
_ENDED = re.compile(r"ended the (?:test )?process")
_ENDS = re.compile(r"\b(?:os\._exit|sys\.exit|os\.abort|os\.kill|signal\.raise_signal|exit|quit)\(")
_DEFINED = re.compile(
    r"^(?P<indent>\s*)(?:async\s+)?(?:def|class)\s+(?P<name>\w+)|^(?P<variable>\w+)\s*(?::[^=]+)?="
)
_FUNCTION_BEGINS = re.compile(r"^\s*(?:async\s+)?def\s")
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): ")
_QUOTED = re.compile(r"(?P<quote>[\"'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)")
_FILLED = re.compile(r"\{[^{}]*\}|%[-\d.]*[sdrf]|\$\{[^}]*\}")
"""What is filled into a text by a program."""
_LEAST = 3
"""Characters of a literal that is looked for."""
_PAIRS = (
    re.compile(r"(?P<wrong>b?'(?:[^'\\\n]|\\.)*'|b?\"(?:[^\"\\\n]|\\.)*\") (?:!=|==) (?P<right>b?['\"].*)"),
    re.compile(r"^(?:.*: )?left +(?P<wrong>b?['\"].*)\n(?:.*: )?right +(?P<right>b?['\"].*)", re.MULTILINE),
    re.compile(r"expected: ?<(?P<right>[^<>]*)> +but was: ?<(?P<wrong>[^<>]*)>"),
    re.compile(
        r"[Ee]xpected: *(?P<right>.+?)\s*(?:\\n|\n)\s*(?:[Aa]ctual|but was): *(?P<wrong>.+?)\s*(?:\\n|\n|$)"
    ),
)
"""How tests tell two texts, one of which is wrong."""
_MEMBER = re.compile(
    r"assert (?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\") (?:not )?in |(?:not|unexpectedly) found in "
)
"""How tests tell that one text was looked for in another, which says nothing of the rest of that one."""
_Lost = TypeVar("_Lost", Result, TestResult)


def guessed(results: Mapping[NumberedTest, Result], sources: Sources) -> dict[NumberedTest, Result]:
    """Return *results*, the lost ones with where their cause probably lies, where that can be told."""
    return {
        test: _guessed(result, sources) if result.outcome in ("failed", "error") else result
        for test, result in results.items()
    }


def with_guesses(tests: tuple[TestResult, ...], submission: Path) -> tuple[TestResult, ...]:
    """Return *tests*, the lost ones with where in *submission* their cause probably lies, where known."""
    if not any(one.lost for one in tests):
        return tests
    sources = Sources.of(submission)
    return tuple(_guessed(one, sources) if one.lost else one for one in tests)


def _guessed(lost: _Lost, sources: Sources) -> _Lost:
    if TRIED.search(lost.probably):
        return lost.but(probably=several(lost.probably))
    known = lost.probably.splitlines()
    named = named_place(lost.message, sources)
    place = named or written_place(lost.message, lost.demand, sources)
    is_first = named or any(_is_within(place, one, sources) for one in known)
    return lost.but(probably=several(place, *known) if is_first else several(*known[:2], place, *known[2:]))


def _is_within(place: str, origin: str, sources: Sources) -> bool:
    """Whether a line stands in the function that returned at another, which a second run of the test saw."""
    found, returned = _PLACE.match(place), _PLACE.match(origin.removeprefix(f"{WORKSPACE}/"))
    if not found or not returned or found["file"] != returned["file"] or not found["file"].endswith(".py"):
        return False
    number, last = number_of(found["line"]), number_of(returned["line"])
    between = [line for at, line in sources.numbered(found["file"]) if number < at <= last]
    return number < last and not any(map(_FUNCTION_BEGINS.match, between))


def probable_place(message: str, demand: str, sources: Sources) -> str:
    """Return as `file:line: text` where the cause of a failure probably lies; "" where that cannot be told."""
    return named_place(message, sources) or written_place(message, demand, sources)


def named_place(message: str, sources: Sources) -> str:
    """Return the place that a message leads to by a name, or by how the process ended; "" for others."""
    if found := _LACKS.search(message) or _NOT_IMPORTED.search(message):
        return _in_module(found["module"], found["name"], sources)
    if found := _NO_MODULE.search(message):
        return _elsewhere(found["package"], found["name"], sources)
    if found := _CLASS_LACKS.search(message):
        return _in_class(found["kind"], found["name"], sources)
    if found := _MISFIT.search(message) or _UNCALLED.search(message):
        defined = sources.function(found["name"])
        return sources.shown(*defined) if defined is not None else ""
    if _ENDED.search(message):
        return only(sources, [place for place in sources.lines_with(_ENDS) if place[0].endswith(".py")])
    return ""


def written_place(message: str, demand: str, sources: Sources) -> str:
    """Return the one line whose literal stands in the wrong one of two texts that a test compares; or ""."""
    for wrong, right in [] if _MEMBER.search(message) else texts(f"{message}\n{demand}"):
        if place := _literal(wrong, right, sources):
            return place
    return ""


def pieces(text: str) -> Iterator[str]:
    """Yield the parts of literals that a program does not fill in."""
    for quoted in _QUOTED.finditer(text):
        yield from (piece for piece in _FILLED.split(quoted["text"]) if len(piece) >= _LEAST)


def only(sources: Sources, places: Sequence[tuple[str, int]]) -> str:
    """Return the only one of some places as `file:line: text`; "" where there are none or several."""
    return sources.shown(*places[0]) if len(places) == 1 else ""


def _in_module(module: str, name: str, sources: Sources) -> str:
    """Return where *module* imports *name* under another one, or other names of the only module that defines it.

    Else where that one does, else what in *module* is called most like it, else its first line.
    """
    path = module.replace(".", "/")
    file = sources.named(f"{path}/__init__.py") or sources.named(f"{path}.py")
    if not file:
        return ""
    renamed = [one for one in sources.lines_with(re.compile(rf"\b{name}\s+as\s")) if one[0] == file]
    defined = sources.lines_with(
        re.compile(rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*(?::[^=]+)?=(?!=)")
    )
    stem = re.escape(PurePosixPath(defined[0][0]).stem) if len(defined) == 1 else "$"
    beside = re.compile(rf"^\s*from\s+[\w.]*\b{stem}\s+import\b|^\s*from\s+\.+{stem}\s+import\b")
    imports = [one for one in sources.lines_with(beside) if one[0] == file]
    known = only(sources, renamed) or only(sources, imports[:1]) or only(sources, defined)
    return known or _like(file, name, sources.numbered(file), sources, 1)


def _elsewhere(package: str, name: str, sources: Sources) -> str:
    """Return the first line of the one module of a package that is called so in another place than was asked."""
    file = sources.named(f"{name}.py") or sources.named(f"{name}/__init__.py")
    return sources.shown(file, 1) if package in file.split("/")[:-1] else ""


def _in_class(kind: str, name: str, sources: Sources) -> str:
    """Return what in a class is called most like *name*, else where the class begins."""
    begins = sources.lines_with(re.compile(rf"^\s*class {re.escape(kind)}\b"))
    if len(begins) != 1:
        return ""
    file, first = begins[0]
    lines = [*sources.numbered(file)][first - 1 :]
    outer = depth(lines[0][1])
    end = next(
        (at for at, (_, line) in enumerate(lines[1:], 1) if line.strip() and depth(line) <= outer), len(lines)
    )
    return _like(file, name, lines[1:end], sources, first)


def _like(file: str, name: str, lines: Iterable[tuple[int, str]], sources: Sources, first: int) -> str:
    defined: dict[str, int] = {}
    for number, line in lines:
        if found := _DEFINED.match(line):
            defined.setdefault(found["name"] or found["variable"], number)
    parts = [one for one in defined if len(name) > _LEAST and (name in one or (one in name and len(one) > _LEAST))]
    like = difflib.get_close_matches(name, defined, n=1, cutoff=0.8) or parts
    like = like or difflib.get_close_matches(name, defined, n=1, cutoff=0.5)
    return sources.shown(file, defined[like[0]] if like else first)


def depth(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip())


def texts(said: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that a failure compares, the wrong one first."""
    for pattern in _PAIRS:
        for found in pattern.finditer(said):
            yield _plain(found["wrong"]), _plain(found["right"])


def _plain(shown: str) -> str:
    try:
        value = ast.literal_eval(shown.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return shown.strip("'\" ")
    return value if isinstance(value, str) else shown


def _literal(wrong: str, right: str, sources: Sources) -> str:
    """Return the one line whose literal stands in the wrong text and not in the right one."""
    found: dict[str, list[tuple[str, int]]] = {}
    for path, number, line in sources.every():
        for piece in pieces(line):
            if piece not in right and piece in wrong:
                found.setdefault(piece, []).append((path, number))
    if not found:
        return ""
    longest = found[max(found, key=len)]
    return only(sources, [*dict.fromkeys(longest)])
