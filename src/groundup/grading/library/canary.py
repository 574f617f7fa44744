"""Tests of our own, hidden among the original's, that cannot honestly pass.

A submission that makes pytest call everything a success makes them pass too. They are copies of the suite's own
tests with one false expectation, named with the suite's words, in files that look like the others, and drawn anew
for each run: so they cannot be told from their neighbours. Where a suite has nothing to copy, they are made up.
"""

import ast
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from random import Random

from pydantic import Field

from groundup.domain.records import Record
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.library.source_text import SourceEdit
from groundup.grading.library.twin import HiddenSuite, Unit, applied

_FEWEST_WORDS = 6
"""In the names of a suite's tests; fewer give names that can be told."""
_FEWEST_TIDY = 6
"""Tests that leave nothing undone; where there are fewer, a copy would always be of the same ones."""
_DRAWS = 10
"""Of each expectation: some false forms are other words, some the same ones in another order."""
_HARMLESS = (
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)
_TEST_FILE = re.compile(r"(test_.*|.*_test)\.py")
_WORD = re.compile(r"[a-z]{3,12}")


class Canary(Record):
    """One test file with one test that must not pass."""

    path: str
    named: bool = Field(
        description="whether pytest must be given its name, because it lies in no folder that pytest is given"
    )
    content: bytes
    key: NumberedTest
    is_copy: bool = Field(default=False, description="of a test that asks something of the library")
    copied: str = Field(default="", description="the name of the function that it is a copy of")
    is_telling: bool = Field(default=True, description="whether no mistake of a library makes it pass but by luck")


def told_of(canary: Canary, results: Mapping[NumberedTest, Result]) -> list[Result]:
    """Return the results of a canary; a fixture that all tests use may have made several tests of it."""
    return [result for key, result in results.items() if key.id.partition("[")[0] == canary.key.id]


def own_tests(canaries: Sequence[Canary], results: Iterable[NumberedTest]) -> set[NumberedTest]:
    """Return those of *results* that are ours."""
    paths = {canary.path for canary in canaries}
    return {key for key in results if key.id.partition("::")[0] in paths}


def draw_canaries(
    hidden: HiddenTests, suite: HiddenSuite | None = None, avoided: Collection[str] = ()
) -> tuple[Canary, ...]:
    """Return two canaries: copies of tests of *suite*, or made-up ones beside the first and the last tests.

    *avoided*: names and lots of functions that may pass with false expectations.
    """
    # A submission can read all tests that lie beside it. So neither name, place nor text may set a canary apart.
    names = _Names(hidden, suite, Random(secrets.randbits(64)))  # noqa: S311 - the machine's own seed
    # A copy may be of a test that starts something and fails before it stops it.
    copies = [] if suite is None or not hidden.copied_canaries else _copies(hidden, suite, avoided, names)
    return tuple(copies) or tuple(_made_up(hidden.arguments[at], names) for at in (0, -1))


class _Names:
    """Draws names that no other test or file of a suite has: of its own words, where it has enough of them."""

    def __init__(self, hidden: HiddenTests, suite: HiddenSuite | None, random: Random) -> None:
        self.random = random
        self._pattern = hidden.canary_name
        functions = frozenset() if suite is None else suite.names()
        paths = frozenset() if suite is None else suite.paths()
        self._taken = {*functions, *(PurePosixPath(path).name for path in paths)}
        words = {word for name in functions for word in _WORD.findall(name)} - {"test"}
        self._words = sorted(words) if len(words) >= _FEWEST_WORDS else []

    def function(self) -> str:
        return self._fresh("test_{}")

    def file(self) -> str:
        return self._fresh(self._pattern)

    def _fresh(self, pattern: str) -> str:
        # A suite has so many words that a free name is found soon; made-up ones are random.
        while True:
            chosen = self.random.sample(self._words, self.random.randint(1, 3)) if self._words else []
            name = pattern.format("_".join(chosen) or secrets.token_hex(5))
            if name not in self._taken:
                self._taken.add(name)
                return name


def _made_up(argument: str, names: _Names) -> Canary:
    place = PurePosixPath(argument.partition("::")[0])
    in_folder = not place.suffix
    path = str((place if in_folder else place.parent) / names.file())
    name, value, other = names.function(), secrets.token_hex(5), secrets.token_hex(5)
    body = f'def {name}():\n    value = "{value}"\n    assert value.upper() == "{other}"\n'
    key = NumberedTest.of(f"{path}::{name}")
    return Canary(path=path, named=not in_folder, content=body.encode(), key=key)


def _copies(hidden: HiddenTests, suite: HiddenSuite, avoided: Collection[str], names: _Names) -> list[Canary]:
    """Return copies of two tests; none where fewer can be copied."""
    allowed = (unit for unit in suite.units() if not {unit.name, suite.lot(unit)} & {*avoided})
    units = [unit for unit in allowed if _can_be_copied(unit, suite)]
    # What a failing test leaves undone would break the tests after it.
    tidy = [unit for unit in units if _leaves_nothing_undone(unit.function)]
    chosen = tidy if len(tidy) >= _FEWEST_TIDY else units
    placed = [(unit, place) for unit in chosen if (place := _place(unit.path, hidden))]
    # One copy alone may pass by an honest fault of the library, and is no evidence: see `canary_that_lied`.
    if len(placed) < 2:
        return []
    others: list[tuple[Unit, str, Sequence[SourceEdit]]] = []
    telling: list[tuple[Unit, str, Sequence[SourceEdit]]] = []
    for unit, place in names.random.sample(placed, len(placed)):
        edits, is_telling = _falsified(unit, suite, names.random)
        (telling if is_telling else others).append((unit, place, edits))
        if len(telling) == 2:
            break
    # A stub that returns None passes what is negated: two such copies may both pass without any forging.
    is_telling = len(telling) == 2
    drawn = [*telling, *others][:2]
    return [_copy(unit, place, edits, suite, names, is_telling=is_telling) for unit, place, edits in drawn]


def _falsified(unit: Unit, suite: HiddenSuite, random: Random) -> tuple[Sequence[SourceEdit], bool]:
    """Return a false form of one expectation, a telling one if a few draws give any, and whether it is."""
    certain = [one for one in unit.expectations if one.is_certain]
    edits: Sequence[SourceEdit] = ()
    for one in random.sample(certain, len(certain)) * _DRAWS:
        edits = one.falsified(random)
        if suite.text(unit.path).is_telling(edits):
            return edits, True
    return edits, False


def _copy(
    unit: Unit, place: str, falsified: Sequence[SourceEdit], suite: HiddenSuite, names: _Names, *, is_telling: bool
) -> Canary:
    name = names.function()
    path = str(PurePosixPath(unit.path).with_name(names.file()))
    return Canary(
        path=path,
        named=place == "file",
        content=_copied(unit, suite, name, falsified),
        key=NumberedTest.of(f"{path}::{name}"),
        is_copy=True,
        copied=unit.name,
        is_telling=is_telling,
    )


def _place(path: str, hidden: HiddenTests) -> str | None:
    """Return how pytest comes to the folder of *path*: by "folder", or only when a "file" is named."""
    arguments = [PurePosixPath(argument.partition("::")[0]) for argument in hidden.arguments]
    if any(PurePosixPath(path).is_relative_to(one) for one in arguments if not one.suffix):
        return "folder"
    return "file" if PurePosixPath(path) in arguments else None


def _can_be_copied(unit: Unit, suite: HiddenSuite) -> bool:
    """Whether a copy in a file of its own is sure to fail, and does nothing else twice."""
    body = suite.body(unit.path)
    return (
        unit.is_test
        and unit.function in body
        and _TEST_FILE.fullmatch(PurePosixPath(unit.path).name) is not None
        and any(one.is_certain for one in unit.expectations)
        and not unit.function.decorator_list
        and all(isinstance(node, _HARMLESS) or _is_text(node) for node in body)
    )


def _leaves_nothing_undone(function: ast.AST) -> bool:
    """Whether a test, after its first expectation, only binds names and expects more: it restores nothing."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    lines = [node.lineno for node in statements if _expects(node)]
    later = [node for node in statements if lines and node.lineno > min(lines) and not _expects(node)]
    return all(isinstance(node, ast.Assign) and all(map(_is_local, node.targets)) for node in later)


def _expects(node: ast.stmt) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name.startswith("assert"):
            return True
    return False


def _is_local(target: ast.expr) -> bool:
    return all(isinstance(node, ast.Name | ast.Tuple | ast.List | ast.expr_context) for node in ast.walk(target))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _copied(unit: Unit, suite: HiddenSuite, name: str, falsified: Sequence[SourceEdit]) -> bytes:
    """Return the module of *unit* with this test only, under another name and with what is *falsified*."""
    text = suite.text(unit.path)
    edits: list[SourceEdit] = []
    for node in _unneeded(unit, suite.body(unit.path)):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        edits.append(SourceEdit(text.line(first), text.stop(node), b""))
    start = text.start(unit.function)
    at = text.source.index(unit.name.encode(), start)
    edits.append(SourceEdit(at, at + len(unit.name.encode()), name.encode()))
    copied = applied(text.source, [*edits, *falsified])
    return re.sub(rb"\n{4,}", b"\n\n\n", copied).strip() + b"\n"


def _unneeded(unit: Unit, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the functions and classes that the test does not mention, directly or not."""
    named = {
        node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    # Other tests of the module must not be run a second time by its copy.
    needed: set[str] = set()
    waiting = list(unit.mentions)
    while waiting:
        word = waiting.pop()
        if word in named and word not in needed:
            needed.add(word)
            waiting += [node.id for node in ast.walk(named[word]) if isinstance(node, ast.Name)]
            waiting += [node.arg for node in ast.walk(named[word]) if isinstance(node, ast.arg)]
    for node in named.values():
        is_automatic = any("autouse" in ast.unparse(one) for one in getattr(node, "decorator_list", ()))
        if node is not unit.function and node.name not in needed and not is_automatic:
            yield node
