"""Traced tests: the same tests, in which compared values are sent away and literal expectations are removed. Pure.

A traced test compares nothing that can be compared outside. What it would compare with stays in this process, and
in the original's recorded trace. Lines stay where they are; ids may change, because parameters are part of them.
"""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

from groundup.domain.digests import digest_of
from groundup.grading.library.observing import PREFIX
from groundup.grading.library.source_text import SourceEdit, SourceText
from groundup.grading.library.tables import Column, columns, is_literal, literal_value, loaded
from groundup.grading.library.twin import HiddenSuite, Unit, applied
from groundup.grading.library.variables import Function
from groundup.grammars import python_tree

_EQUALITIES = frozenset(
    {
        "assertEqual",
        "assertEquals",
        "assertListEqual",
        "assertDictEqual",
        "assertTupleEqual",
        "assertSetEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
    }
)
_CONDITIONS = {"assertTrue": True, "assert_": True, "assertFalse": False}
_RAISES = {"raises": "raises", "assertRaises": "raises_in_case"}
_CATCHING = frozenset({*_RAISES, "suppress", "assertRaisesRegex", "assertRaisesRegexp", "subTest"})


_NONE = ast.Constant(None)


class SentKind(Enum):
    """What a place sends, and how it is judged."""

    VALUE = "value"
    """One value; the expectation is removed."""
    PAIR = "pair"
    """Two values, and whether they call themselves equal."""
    INSIDE = "inside"
    """A value in which the expectation, which is removed, is to be found."""
    TRUTH = "truth"
    """Whether a condition holds."""
    RAISED = "raised"
    """The classes of an exception; the one that is expected is removed."""


@dataclass(frozen=True)
class Site:
    """A place in a suite where a test compares."""

    number: int
    path: str
    kind: SentKind
    node: ast.stmt | ast.expr
    """What the call of an observing function replaces."""
    value: ast.expr
    expected: ast.expr | None = None
    """Literal, or a name that stands for one."""
    columns: tuple[Column, ...] = ()
    """Where that name's literals stand."""
    name: str = ""
    """Of the exception's class."""
    positive: bool = True

    @property
    def hides(self) -> bool:
        """Whether an expectation is removed here."""
        return self.kind in (SentKind.VALUE, SentKind.INSIDE, SentKind.RAISED)


class TracedSuite:
    """The traced form of a suite. *opened*: numbers of places that keep their expectation."""

    def __init__(self, suite: HiddenSuite, opened: Collection[int] = ()) -> None:
        self._suite = suite
        found = list(_numbered(suite))
        self.sites: dict[int, Site] = {site.number: _opened(site, opened) for site in found}

    def opened(self) -> "TracedSuite":
        """Return the suite in which all values are sent with what they are compared with."""
        return TracedSuite(self._suite, [one.number for one in self.sites.values() if one.kind is SentKind.VALUE])

    def form(self) -> str:
        """Return a digest of the traced tests: a trace is good for those only with which it was recorded."""
        # Without a seed no condition is asked as its opposite, so the digest is the same each time.
        sources = self.sources("")
        return digest_of({path: text.hex() for path, text in sources.items()})

    def asks_opposite(self, site: Site, seed: str) -> bool:
        """Say whether a condition is sent as its opposite in the tests of *seed*: a forger must read its text."""
        return bool(seed) and Random(f"{seed}:{site.number}").random() < 0.5  # noqa: S311 - the seed is the secret

    def sources(self, seed: str) -> dict[str, bytes]:
        """Return the sources that differ from the original's."""
        changed = {}
        for path in sorted({site.path for site in self.sites.values()}):
            text = self._suite.text(path)
            sites = [site for site in self.sites.values() if site.path == path]
            edits = [edit for site in sites for edit in self._edits(site, text, seed)]
            kept = {id(one) for site in sites if not site.hides for column in site.columns for one in column.nodes}
            hidden = {
                id(one): one for site in sites if site.hides for column in site.columns for one in column.nodes
            }
            # A name's literals go with the places that hid it, unless another place still sends them.
            edits += [_replaced(text, node, b"0") for key, node in hidden.items() if key not in kept]
            new = applied(text.source, edits)
            if _is_sound(new):
                changed[path] = new
        return changed

    def _edits(self, site: Site, text: SourceText, seed: str) -> Iterator[SourceEdit]:
        value = text.of(site.value)
        expected = _text(site.expected, text)
        if site.kind is SentKind.RAISED:
            assert isinstance(site.value, ast.Call)
            options = b"".join(b", " + text.of_keyword(one) for one in site.value.keywords)
            yield _called(text, site.value, _RAISES[_called_name(site.value)], site.number, options)
            return
        if site.kind is SentKind.TRUTH:
            if site.expected is not None:  # looked for in the value
                value = b"(" + expected + b") in (" + value + b")"
            is_asked = site.positive is not self.asks_opposite(site, seed)
            value = (b"(" if is_asked else b"not (") + value + b")"
            yield _called(text, site.node, "truth", site.number, b", " + value)
        elif site.kind is SentKind.PAIR:
            both = b", (" + value + b"), (" + expected + b")"
            yield _called(text, site.node, "pair", site.number, both)
        else:
            yield _called(text, site.node, "value", site.number, b", (" + value + b")")


def expectation_in(site: Site) -> object:
    """Return the literal that is looked for at a place of the kind INSIDE."""
    assert site.expected is not None
    return literal_value(site.expected)


def _opened(site: Site, opened: Collection[int]) -> Site:
    if site.number not in opened:
        return site
    if site.kind is SentKind.VALUE:
        return replace(site, kind=SentKind.PAIR)
    return replace(site, kind=SentKind.TRUTH) if site.kind is SentKind.INSIDE else site


def _numbered(suite: HiddenSuite) -> Iterator[Site]:
    number = 0
    for unit in suite.units():
        if _is_fixture(unit.function):
            continue
        for site in _Reader(unit).sites():
            number += 1
            yield replace(site, number=number)


class _Reader:
    """Reads where one function compares."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._columns = columns(unit.function)

    def sites(self) -> list[Site]:
        """Return the places; a name's literals are removed only where nothing but these places uses it."""
        found = list(self._block(self._unit.function.body))
        used = loaded(self._unit.function)
        expected = {id(site.expected) for site in found if site.kind is SentKind.VALUE}
        free = {name for name in self._columns if all(id(node) in expected for node in used if node.id == name)}
        return [self._settled(site, free) for site in found]

    def _settled(self, site: Site, free: Collection[str]) -> Site:
        if site.kind is not SentKind.VALUE or not isinstance(site.expected, ast.Name):
            return site
        # Used elsewhere as well: without its literals the test would do something else.
        if site.expected.id not in free:
            return replace(site, kind=SentKind.PAIR)
        return replace(site, columns=self._columns[site.expected.id])

    def _site(
        self, kind: SentKind, node: ast.stmt | ast.expr, value: ast.expr, expected: ast.expr | None = None
    ) -> Site:
        return Site(0, self._unit.path, kind, node, value, expected)

    def _block(self, body: Sequence[ast.stmt]) -> Iterator[Site]:
        for node in body:
            yield from self._statement(node)

    def _statement(self, node: ast.stmt) -> Iterator[Site]:
        match node:
            case ast.Assert(test=ast.BoolOp(op=ast.And(), values=parts)):
                for part in parts:
                    yield self._condition(part, part)
            case ast.Assert(test=test):
                yield self._condition(node, test)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
                yield from self._method(node, call, name)
            case ast.With() | ast.AsyncWith():
                if isinstance(node, ast.With):
                    yield from self._raising(node)
                names = {_called_name(item.context_expr) for item in node.items}
                if not names & _CATCHING:
                    yield from self._block(node.body)
            case ast.Try():
                # What stands below a `try` with handlers, or in `raises`, may be left half-way by an honest test:
                # a place there would be missing from its trace.
                yield from self._block([*node.orelse, *node.finalbody])
                if not node.handlers:
                    yield from self._block(node.body)
            case ast.ClassDef():
                return
            case _:
                for name in ("body", "orelse"):
                    yield from self._block(getattr(node, name, None) or ())

    def _condition(self, node: ast.stmt | ast.expr, test: ast.expr) -> Site:
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return self._equality(node, left, right)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]) if self._is_singleton(right):
                return self._site(SentKind.VALUE, node, left, right)
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                if is_literal(left) and not is_literal(right):
                    return self._site(SentKind.INSIDE, node, right, left)
        return self._site(SentKind.TRUTH, node, test)

    def _equality(self, node: ast.stmt | ast.expr, left: ast.expr, right: ast.expr) -> Site:
        for value, expected in ((left, right), (right, left)):
            if self._is_expectation(expected) and not is_literal(value):
                return self._site(SentKind.VALUE, node, value, expected)
        return self._site(SentKind.PAIR, node, left, right)

    def _is_singleton(self, node: ast.expr) -> bool:
        """Whether *node* is, or stands for, a literal of which there is only one: then `is` means `==`."""
        if isinstance(node, ast.Name):
            parts = [part for column in self._columns.get(node.id, ()) for part in column.nodes]
            return bool(parts) and all(map(self._is_singleton, parts))
        return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))

    def _is_expectation(self, node: ast.expr) -> bool:
        return is_literal(node) or (isinstance(node, ast.Name) and node.id in self._columns)

    def _method(self, node: ast.Expr, call: ast.Call, name: str) -> Iterator[Site]:
        if any(isinstance(one, ast.Starred) for one in call.args):
            return
        match call.args:
            case [value, expected, *_] if name in _EQUALITIES:
                yield self._equality(node, value, expected)
            case [sought, value, *_] if name == "assertIn" and is_literal(sought) and not is_literal(value):
                yield self._site(SentKind.INSIDE, node, value, sought)
            case [ast.Compare() as value, *_] if _CONDITIONS.get(name):
                yield self._condition(node, value)
            case [value, *_] if name in _CONDITIONS:
                yield replace(self._site(SentKind.TRUTH, node, value), positive=_CONDITIONS[name])
            case [value, *_] if name == "assertIsNone":
                yield self._site(SentKind.VALUE, node, value, _NONE)

    def _raising(self, node: ast.With) -> Iterator[Site]:
        for item in node.items:
            match item.context_expr:
                case ast.Call(args=[ast.Name(id=name) | ast.Attribute(attr=name)], keywords=keywords) as call:
                    plain = all(one.arg == "match" for one in keywords) and _called_name(call) in _RAISES
                    if plain and not (keywords and _called_name(call) == "assertRaises"):
                        yield replace(self._site(SentKind.RAISED, call, call), name=name)


def _text(node: ast.expr | None, text: SourceText) -> bytes:
    return b"None" if node is None or node is _NONE else text.of(node)


def _called(text: SourceText, node: ast.stmt | ast.expr, name: str, number: int, rest: bytes) -> SourceEdit:
    """Put a call of an observing function where *node* stands, on as many lines."""
    head = f"{PREFIX}{name}({number}".encode()
    return _replaced(text, node, head + rest, b")")


def _replaced(text: SourceText, node: ast.stmt | ast.expr, new: bytes, end: bytes = b"") -> SourceEdit:
    start, stop = text.start(node), text.stop(node)
    # Line numbers stay, so that tests that look at tracebacks or at their own source find what they expect.
    lost = text.source[start:stop].count(b"\n") - new.count(b"\n")
    if not end and lost > 0:
        new, end = b"(" + new, b")"
    return SourceEdit(start, stop, new + b"\n" * lost + end)


def _called_name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _is_fixture(function: Function) -> bool:
    names = (ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in function.decorator_list)
    return any(name.rpartition(".")[2] in ("fixture", "yield_fixture") for name in names)


def _is_sound(source: bytes) -> bool:
    try:
        python_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
