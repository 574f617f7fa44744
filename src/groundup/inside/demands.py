"""What a failed test demanded, in lines, told by the trusted runner where the compared objects are at hand.

It stands in one process with untrusted code, needs the standard library only, and works on Python 3.7 to 3.13.
All that it says is for people: no verdict reads it, whoever displays it caps it again, and whatever the objects do
while they are looked at costs no more than the lines.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import math
import re
import time
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

CHARS = 4000
"""Of all lines of one test."""
_LINES = 14
_VALUE = 600
"""Characters of a value that is shown whole: about a third of a screen, for two of them and the statement."""
_PART = 120
"""Characters around the first difference of longer texts."""
_DEEPEST = 12
_ITEMS = 5_000
"""Elements of one value that are looked at."""
_ALIGNED = 200
"""Elements of sequences and lines of texts that are aligned before they are compared."""
_STATEMENT = 10
_BUDGET_S = 2.0
"""Processor time of all tests; afterwards the text of the failure has to do."""
_PAIRS = (
    ("first", "second"),
    ("d1", "d2"),
    ("list1", "list2"),
    ("tuple1", "tuple2"),
    ("set1", "set2"),
    ("seq1", "seq2"),
    ("member", "container"),
    ("text", "expected_regex"),
    ("text", "unexpected_regex"),
    ("expr1", "expr2"),
    ("a", "b"),
)
"""What methods of unittest call the two values that they compare; all others tell theirs in their message."""
_FILLER = re.compile(
    r"^(?:Omitting \d+ identical|Use -v|Full diff:|Differing (?:items|attributes):|Common items:"
    r"|Matching attributes:"
    r"|(?:Left|Right) contains (?:one|\d+) more item|At index \d+ diff:|\.\.\.|Skipping \d+ identical"
    r"|\(\d+ lines? hidden\)|Drill down into differing attribute|Diff is \d+ characters long)"
)
_DIFFERENCE = re.compile(r"^(?:[-+?]\s|[-+]$|\s|E\s)")
_REFUSED = re.compile(r"TypeError: (?:[\w.<>]*\.)?(\w+)\(\) ")
_LACKS = re.compile(r"AttributeError: (?:type object )?'(\w+)'(?: object)? has no attribute")
_CLASS = 500
"""Lines above its first method in which a class begins."""
_NOT_SHOWN = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
_MISSING = object()
_VALUES = (str, bytes, list, dict, tuple, set)
"""Of what a snapshot holds."""
_Found = TypeVar("_Found")


class Demands:
    """Remembers the comparisons of the running test, and says of a failure what it demanded.

    *module*: this one, which nothing else can import; *roots*: where the submission lies; *tests*: where hidden
    tests lie, which may be below them.
    """

    def __init__(self, module: Any, roots: Sequence[str], tests: Sequence[str]) -> None:
        self.module = module
        self.roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._tests = tuple(tests)
        self._clock = time.clock_gettime
        self._spent_s = 0.0
        self._compared: list[tuple[str, str, list[str], tuple[Any, Any]]] = []
        self.pair: tuple[Any, Any] | None = None
        """The two values that the last failure told of; None where it told of none."""
        self._sources: dict[str, ast.Module | None] = {}

    def begin(self) -> None:
        """Forget the comparisons of the test before."""
        self._compared = []
        self.pair = None

    def compared(self, operator: str, left: Any, right: Any, summary: str) -> None:
        """Keep what differs in a comparison that pytest explains; the test may go on after it."""
        lines = self.within_budget(lambda: list(differences(operator, left, right)))
        self._compared.append((summary, operator, lines or [], (left, right)))
        del self._compared[:-5]

    def of(self, error: BaseException, message: str, file: str) -> tuple[str, str]:
        """Return what the test of *file* demanded, in lines, and where what it called is defined."""
        found = self.within_budget(lambda: self._told(error, message, file))
        if found is None:
            return "\n".join(_plain(message))[:CHARS], ""
        return found

    def within_budget(self, work: Callable[[], _Found]) -> _Found | None:
        """Return what *work* gives; None once such work took too long, or where an object breaks it off."""
        if self._spent_s > _BUDGET_S:
            return None
        began = self._clock(time.CLOCK_PROCESS_CPUTIME_ID)
        try:
            return work()
        except Exception:  # noqa: BLE001 - a hostile object may raise anything when it is looked at
            return None
        finally:
            self._spent_s += self._clock(time.CLOCK_PROCESS_CPUTIME_ID) - began

    def _told(self, error: BaseException, message: str, file: str) -> tuple[str, str]:
        frames = list(_frames(error))
        at = max((number for number, one in enumerate(frames) if self._is_test(one[0], file)), default=None)
        lines = list(self._values(error, message, frames))
        calls = ""
        if at is not None:
            frame, line = frames[at]
            statement, above = self._statement(frame.f_code.co_filename, line)
            if statement is not None:
                where = list(self._around(statement, above, frame, message))
                lines = where + lines
                calls = self._called(statement, above, frame, message)
        return "\n".join(_cut(line, 2 * _VALUE + 100) for line in lines[: _LINES + _STATEMENT])[:CHARS], calls

    def _is_test(self, frame: types.FrameType, file: str) -> bool:
        name = frame.f_code.co_filename
        return name == file or name.startswith(self._tests)

    def _values(self, error: BaseException, message: str, frames: list[Any]) -> Iterator[str]:
        """Yield what differs, then what else the message says."""
        known = self._differing(message) or self._of_unittest(frames)
        if not known:
            yield from _plain(message)
            return
        first, rest = known[:_LINES], [line for line in _plain(message) if not _DIFFERENCE.match(line)]
        yield from first
        if len(known) > _LINES:
            yield f"and {len(known) - _LINES} more differences"
        told = [
            line
            for line in message.splitlines()[1:]
            if line.strip().startswith(("+  where", "+    where", "+  and"))
        ]
        asserted = [line for line in rest if line.startswith("assert ")]
        yield from (asserted + [line.strip() for line in told])[:4]

    def _differing(self, message: str) -> list[str]:
        for summary, operator, lines, pair in reversed(self._compared):
            if summary in message if summary else " " + operator + " " in message:
                self.pair = pair
                if lines:
                    return list(lines)
        return []

    def _of_unittest(self, frames: list[Any]) -> list[str]:
        """Return what differs where a method of unittest compared: the outermost has the values as they were."""
        for frame, _ in frames:
            code = frame.f_code
            if not code.co_name.startswith("assert") or frame.f_globals.get("__name__") != "unittest.case":
                continue
            for left, right in _PAIRS:
                if left in frame.f_locals and right in frame.f_locals:
                    operator = {"assertIn": "in", "assertNotIn": "not in"}.get(code.co_name, "==")
                    if code.co_name.startswith("assertNot") or "Almost" in code.co_name or "Regex" in code.co_name:
                        operator = operator if "in" in operator else "values"
                    if "Count" in code.co_name:  # in any order; its message says how often each is there
                        return []
                    self.pair = frame.f_locals[left], frame.f_locals[right]
                    return list(differences(operator, *self.pair))
        return []

    def _statement(self, file: str, line: int) -> tuple[ast.stmt | None, list[ast.AST]]:
        """Return the innermost statement of a file that holds a line, and what it stands in, outermost first."""
        if file not in self._sources:
            try:
                self._sources[file] = ast.parse("".join(linecache.getlines(file)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._sources[file] = None
        tree: Any = self._sources[file]
        above: list[ast.AST] = []
        found = None
        while tree is not None:
            inner = None
            for child in _statements(tree):
                if child.lineno <= line:
                    inner = child
            if inner is None or (line > (getattr(inner, "end_lineno", None) or line)):
                break
            above.append(inner)
            found = tree = inner
        return found, above[:-1]

    def _around(
        self, statement: ast.stmt, above: list[ast.AST], frame: types.FrameType, message: str
    ) -> Iterator[str]:
        """Yield a statement that has more than one line, the exception expected around it, and its variables."""
        file = frame.f_code.co_filename
        yield from _whole(statement, file)
        if "DID NOT RAISE" not in message:
            for block in above:
                for item in getattr(block, "items", ()):
                    if _raises(item.context_expr):
                        yield "expected inside " + _source(file, item.context_expr)
        names = [node.id for node in ast.walk(_head(statement)) if isinstance(node, ast.Name)]
        told = []
        for name in dict.fromkeys(names):
            value = frame.f_locals.get(name, _MISSING)
            if value is _MISSING or isinstance(value, _NOT_SHOWN) or name in ("self", "cls"):
                continue
            text = shown(value)
            said = len(text) > 30 and text in message  # pytest's "where" lines show it, too
            if len(text) <= _PART and not text.startswith("<") and not said:
                told.append(name + " = " + text)
        if told:
            yield "with " + ", ".join(told[:6])

    def _called(self, statement: ast.stmt, above: list[ast.AST], frame: types.FrameType, message: str) -> str:
        """Return where the submission defines what *statement* calls, as `file:line: text`.

        Where it calls nothing of it, what stands in its block calls, or an earlier statement about its variables.
        """
        scope: Any = next(
            (one for one in reversed(above) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))), None
        )
        refused, lacks = _REFUSED.match(message), _LACKS.match(message)
        for part in [_head(statement), *_with_its_names(statement, scope)]:
            looked = _Names(frame, _assigned(scope, getattr(part, "lineno", statement.lineno)), set())
            first = ""
            for node in ast.walk(part):
                if isinstance(node, (ast.Call, ast.Name, ast.Attribute)):
                    found = looked.meant(node.func if isinstance(node, ast.Call) else node)
                    place = self._place_of(found, lacks.group(1) if lacks else "")
                    if place and (refused is None or refused.group(1) in place):
                        return place
                    first = first or place
            if first:
                return first
        return ""

    def _place_of(self, found: Any, lacks: str) -> str:
        """Return where *found* is defined; of the class *lacks*, in which something is missing, its own line."""
        kind = found.kind if isinstance(found, _Instance) else found if isinstance(found, type) else type(found)
        name = lacks if kind.__name__ == lacks else ""
        if name:
            found = kind
        if isinstance(found, _Instance):
            return ""
        for _ in range(5):
            if not isinstance(found, (staticmethod, classmethod, property)) and "__wrapped__" not in getattr(
                found, "__dict__", ()
            ):
                break
            found = (
                getattr(found, "fget", None) or getattr(found, "__func__", None) or found.__dict__["__wrapped__"]
            )
        if isinstance(found, type):
            found = vars(found).get("__init__") or next((one for one in vars(found).values() if _code(one)), None)
        code = _code(found)
        if code is None or not code.co_filename.startswith(self.roots) or code.co_filename.startswith(self._tests):
            return ""
        line = code.co_firstlineno
        for number in range(line, max(line - _CLASS, 0), -1) if name else ():
            text = linecache.getline(code.co_filename, number).strip()
            if re.match(rf"class {re.escape(name)}\b", text):
                return f"{code.co_filename}:{number}: {_cut(text, 200)}"
        for number in range(line, line + 10):
            text = linecache.getline(code.co_filename, number).strip()
            if text.startswith(("def ", "async def ", "class ")) or "lambda" in text:
                return f"{code.co_filename}:{number}: {_cut(text, 200)}"
        return f"{code.co_filename}:{line}: {_cut(linecache.getline(code.co_filename, line).strip(), 200)}"


class _Instance:
    """An object of a class, which was not made."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


class _Names:
    """What expressions of a test mean, found without running anything: by names, attributes and assignments."""

    def __init__(self, frame: types.FrameType, assigned: Mapping[str, ast.expr], busy: set[str]) -> None:
        self._frame = frame
        self._assigned = assigned
        self._busy = busy

    def meant(self, node: ast.AST) -> Any:
        """Return the object that an expression means; None where it is a value that is no code."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Attribute):
            return _attribute(self.meant(node.value), node.attr)
        if isinstance(node, ast.Await):
            return self.meant(node.value)
        if isinstance(node, ast.Call):
            called = self.meant(node.func)
            return _Instance(called) if isinstance(called, type) else called
        if isinstance(node, ast.Subscript):
            return self.meant(node.value)
        return None

    def _named(self, name: str) -> Any:
        value = self._frame.f_locals.get(name, _MISSING)
        if value is _MISSING:
            return self._frame.f_globals.get(name)
        if isinstance(value, _NOT_SHOWN):
            return value
        if name in self._assigned and name not in self._busy:
            self._busy.add(name)
            found = self.meant(self._assigned[name])
            if found is not None and not isinstance(found, _Instance):
                return found
        return value


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute as it is written down: asking the object could run its code."""
    if owner is None:
        return None
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(name)
    if isinstance(owner, _NOT_SHOWN) and not isinstance(owner, type):
        return owner  # of what a function returns nothing is known; the function is the better place
    kind = owner.kind if isinstance(owner, _Instance) else owner if isinstance(owner, type) else type(owner)
    mro = type.__dict__["__mro__"].__get__(kind)
    if kind is not owner and not isinstance(owner, _Instance):
        stored = next((vars(one)["__dict__"] for one in mro if "__dict__" in vars(one)), None)
        if isinstance(stored, types.GetSetDescriptorType):  # nobody replaced it by code
            own = stored.__get__(owner)
            if name in own:
                return own[name]
    for one in mro:
        if name in vars(one):
            return vars(one)[name]
    return None


def _code(found: Any) -> types.CodeType | None:
    function = found.__func__ if isinstance(found, (types.MethodType, staticmethod, classmethod)) else found
    function = function.fget if isinstance(function, property) else function
    return function.__code__ if isinstance(function, types.FunctionType) else None


def _assigned(scope: Any, line: int) -> dict[str, ast.expr]:
    """Return what the last assignments before a line of a function give to names."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(scope) if scope is not None else ():
        if getattr(node, "lineno", line) >= line:
            continue
        if isinstance(node, ast.Assign):
            found.update(
                (name.id, node.value)
                for target in node.targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            )
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    found[item.optional_vars.id] = item.context_expr
        elif isinstance(node, (ast.For, ast.AsyncFor)) and isinstance(node.target, ast.Name):
            found[node.target.id] = node.iter
    return found


def _whole(statement: ast.stmt, file: str) -> Iterator[str]:
    """Yield the lines of a statement that has several; of a block its head, unless it waits for an exception."""
    first, last = statement.lineno, getattr(statement, "end_lineno", None) or statement.lineno
    body = getattr(statement, "body", None)
    if body and not any(_raises(item.context_expr) for item in getattr(statement, "items", ())):
        last = max(first, body[0].lineno - 1)
    if last > first:
        text = [linecache.getline(file, number).rstrip() for number in range(first, last + 1)][:_STATEMENT]
        margin = min(len(one) - len(one.lstrip()) for one in text if one.strip())
        for one in text:
            yield "> " + one[margin:]


def _head(statement: ast.stmt) -> ast.AST:
    """Return a statement without the block below it."""
    if not getattr(statement, "body", None):
        return statement
    parts = [getattr(statement, name, None) for name in ("test", "iter")] + [
        item.context_expr for item in getattr(statement, "items", ())
    ]
    return ast.Tuple(elts=[one for one in parts if one is not None], ctx=ast.Load())


def _with_its_names(statement: ast.stmt, scope: Any) -> Iterator[ast.AST]:
    """Yield what stands in the block of *statement*, then earlier statements with a name of it, nearest first."""
    yield from getattr(statement, "body", None) or ()
    if scope is None:
        return
    names = _named_in(_head(statement))
    before = [one for one in ast.walk(scope) if isinstance(one, ast.stmt) and one.lineno < statement.lineno]
    for one in sorted(before, key=lambda one: -one.lineno):
        items = getattr(one, "items", ())
        if one is not scope and any(names & _named_in(part) for part in [_head(one), *items]):
            yield _head(one)
            yield from getattr(one, "body", ()) if items else ()


def _named_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {"self", "cls"}


def _statements(tree: ast.AST) -> Iterator[Any]:
    for _, block in ast.iter_fields(tree):
        if isinstance(block, list):
            for one in block:
                if isinstance(one, ast.stmt):
                    yield one
                elif isinstance(one, ast.ExceptHandler) or type(one).__name__ == "match_case":
                    yield from one.body


def _raises(expression: ast.expr) -> bool:
    called = expression.func if isinstance(expression, ast.Call) else expression
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return "raises" in name.lower() or name.startswith(("assertWarns", "warns", "assertLogs"))


def _source(file: str, node: Any) -> str:
    last = getattr(node, "end_lineno", None) or node.lineno
    text = "\n".join(linecache.getline(file, number).rstrip("\n") for number in range(node.lineno, last + 1))
    end = getattr(node, "end_col_offset", None)
    lines = text.split("\n")
    if end is not None:
        lines[-1] = lines[-1].encode()[:end].decode(errors="replace")
    lines[0] = lines[0].encode()[node.col_offset :].decode(errors="replace")
    return _cut(" ".join(line.strip() for line in lines), _VALUE)


def _frames(error: BaseException) -> Iterator[tuple[types.FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _plain(message: str) -> list[str]:
    """Return the lines of a failure's message below its first one, without pytest's filler."""
    lines = [line.rstrip() for line in message.splitlines()[1:]]
    told = [line for line in lines if line.strip(" ^~?-+") and not _FILLER.match(line.strip())]
    return told[:_LINES]


def differences(operator: str, left: Any, right: Any) -> Iterator[str]:
    """Yield what differs, a line each: paths with both values; of other comparisons both, where they are long."""
    if operator == "==":
        found: list[str] = []
        _walk("", left, right, found, 0, set())
        yield from found
        return
    texts = shown(left), shown(right)
    if max(map(len, texts)) > 60:
        yield "left  " + texts[0]
        yield "right " + texts[1]


def _walk(path: str, left: Any, right: Any, found: list[str], depth: int, seen: set[tuple[int, int]]) -> None:
    """Add to *found* a line for each part in which two values differ."""
    if len(found) > 4 * _LINES or (id(left), id(right)) in seen or _equal(left, right):
        return
    before, pair = len(found), (id(left), id(right))
    seen.add(pair)
    if depth < _DEEPEST:
        for children in KINDS:
            parts = children(left, right)
            if parts is not None:
                for name, one, other in parts:
                    if one is _MISSING or other is _MISSING:
                        side, value = ("left", one) if other is _MISSING else ("right", other)
                        found.append("{}: only {}: {}".format(path + name or "whole", side, shown(value)))
                    else:
                        _walk(path + name, one, other, found, depth + 1, seen)
                    if len(found) > 4 * _LINES:
                        return
                break
    seen.discard(pair)
    if len(found) == before:
        _leaf(path, left, right, found)


def _leaf(path: str, left: Any, right: Any, found: list[str]) -> None:
    where = path + ": " if path else ""
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)) and type(left) is type(right):
        found.extend(_texts(where, left, right))
        return
    one, other = _in_one_line(left), _in_one_line(right)
    if one == other:
        one, other = f"{_cut(one, _VALUE)} ({_type(left)})", f"{_cut(other, _VALUE)} ({_type(right)})"
    elif max(len(one), len(other)) > _VALUE:
        found.extend(_differing(where, one, other, str))
        return
    if path and len(one) + len(other) < _VALUE:
        found.append(f"{where}{one} != {other}")
    else:
        found.append(f"{where}left  {one}")
        found.append(f"{where}right {other}")


def _texts(where: str, left: Any, right: Any) -> Iterator[str]:
    """Yield two texts: whole, by lines where these are many, or the part that differs of long ones."""
    lines = left.splitlines(), right.splitlines()
    if max(map(len, lines)) > 1 and isinstance(left, str) and max(map(len, lines)) <= _ALIGNED:
        found = list(_by_lines(where, *lines))
        if not found and left.endswith("\n") != right.endswith("\n"):
            found = [
                "{}only the {} one ends in a line break".format(where, "left" if left[-1:] == "\n" else "right")
            ]
        if found:
            yield from found
            return
    if where and len(left) + len(right) <= _PART:
        yield f"{where}{shown(left)} != {shown(right)}"
        return
    if max(len(left), len(right)) <= _VALUE:
        yield f"{where}left  {shown(left)}"
        yield f"{where}right {shown(right)}"
        return
    yield from _differing(where, left, right, shown)


def _differing(where: str, left: Any, right: Any, told: Callable[[Any], str]) -> Iterator[str]:
    """Yield the part of two long texts from where they differ."""
    at = next(
        (number for number, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    begin = max(at - _PART // 2, 0)
    yield f"{where}differ from character {at} of {len(left)} and {len(right)}"
    yield f"{where}left  ...{told(left[begin : begin + 2 * _PART])}..."
    yield f"{where}right ...{told(right[begin : begin + 2 * _PART])}..."


def _by_lines(where: str, left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for number in range(max(b - a, d - c)):
            one = shown(left[a + number]) if a + number < b else None
            other = shown(right[c + number]) if c + number < d else None
            line = f"{where}line {(a if one is not None else c) + number + 1}: "
            yield line + (
                f"only right: {other}" if one is None else f"only left: {one}" if other is None
                else f"{one} != {other}"
            )  # fmt: skip


def _mappings(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    if not (isinstance(left, Mapping) and isinstance(right, Mapping)):
        return None
    return _by_key(left, right)


def _by_key(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    for number, key in enumerate([*left, *(key for key in right if key not in left)]):
        if number > _ITEMS:
            return
        name = f"[{_cut(shown(key), _PART)}]"
        yield name, left.get(key, _MISSING), right.get(key, _MISSING)


def _sets(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    if not (isinstance(left, Set) and isinstance(right, Set)):
        return None
    return _by_side(left, right)


def _by_side(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    only = [one for one in left if one not in right], [one for one in right if one not in left]
    if only[0]:
        yield "", _Listed(only[0]), _MISSING
    if only[1]:
        yield "", _MISSING, _Listed(only[1])


class _Listed:
    """Elements of a set, shown without brackets and in an order."""

    def __init__(self, elements: Collection[Any]) -> None:
        self._elements = elements

    def __repr__(self) -> str:
        return ", ".join(sorted(map(shown, self._elements)))


def _sequences(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    both = (left, right)
    if any(isinstance(one, (str, bytes, bytearray)) or _is_call(one) for one in both):
        return None
    if not all(isinstance(one, Sequence) for one in both):
        return None
    names = getattr(type(left), "_fields", None)
    if names and type(left) is type(right):
        return iter([("." + name, left[at], right[at]) for at, name in enumerate(names)])
    return _by_place(left, right)


def _by_place(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    lengths = len(left), len(right)
    if lengths[0] != lengths[1]:
        yield (".length", *lengths)  # Python 3.7 needs the brackets
    if lengths[0] != lengths[1] and max(lengths) <= _ALIGNED:
        texts = [shown(one) for one in left], [shown(one) for one in right]
        for tag, a, b, c, d in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
            for number in range(max(b - a, d - c)) if tag != "equal" else ():
                one = left[a + number] if a + number < b else _MISSING
                other = right[c + number] if c + number < d else _MISSING
                yield f"[{(a if one is not _MISSING else c) + number}]", one, other
        return
    for at in range(min(max(lengths), _ITEMS)):
        yield (
            f"[{at}]",
            left[at] if at < lengths[0] else _MISSING,
            right[at] if at < lengths[1] else _MISSING,
        )


def _arrays(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    """Of arrays their shapes, types and elements; one of the two may be a list."""
    if not any(hasattr(one, "shape") and hasattr(one, "tolist") for one in (left, right)):
        return None
    parts: list[tuple[str, Any, Any]] = []
    for name in ("shape", "dtype"):
        one, other = getattr(left, name, _MISSING), getattr(right, name, _MISSING)
        if one is not _MISSING and other is not _MISSING and not _equal(one, other):
            parts.append(("." + name, one, other))
    values = [one.tolist() if hasattr(one, "tolist") else one for one in (left, right)]
    return iter([*parts, ("", *values)] if values[0] is not left or values[1] is not right else parts)


def _approximate(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    """Of a container beside `pytest.approx` of one: each element beside its own tolerance."""
    if type(right).__name__.startswith("Approx") and not type(left).__name__.startswith("Approx"):
        expected = getattr(right, "expected", None)
        if isinstance(expected, Mapping) and isinstance(left, Mapping):
            return _by_key(left, {key: right._approx_scalar(value) for key, value in expected.items()})
        if isinstance(expected, Sequence) and not isinstance(expected, (str, bytes)):
            return _by_place(left, [right._approx_scalar(value) for value in expected])
        return iter(())
    if type(left).__name__.startswith("Approx"):
        return _approximate(right, left)
    return None


def _objects(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    """Of two objects of one class their fields, or their attributes."""
    kind = type(left)
    if kind is not type(right) or isinstance(left, _NOT_SHOWN) or _is_call(left):
        return None
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields:
        names = [name for name, field in fields.items() if getattr(field, "compare", True)]
    elif getattr(kind, "__attrs_attrs__", None):
        names = [field.name for field in kind.__attrs_attrs__ if getattr(field, "eq", True)]
    else:
        slots = getattr(kind, "__slots__", ())
        names = [*getattr(left, "__dict__", ()), *([slots] if isinstance(slots, str) else slots)]
        names += [name for name in getattr(right, "__dict__", ()) if name not in names]
        names += ["args"] if isinstance(left, BaseException) else []
    found = []
    for name in names[:100]:
        one, other = getattr(left, name, _MISSING), getattr(right, name, _MISSING)
        if one is not _MISSING or other is not _MISSING:
            found.append(("." + name, one, other))
    return iter(found)


def _within(left: Any, right: Any) -> Iterator[tuple[str, Any, Any]] | None:
    """Of a value and an object that shows itself as one, as a snapshot does: the value that it shows."""
    if isinstance(left, _VALUES) is isinstance(right, _VALUES):
        return None
    plain, other = (left, right) if isinstance(left, _VALUES) else (right, left)
    try:
        value = ast.literal_eval(_in_one_line(other))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if type(value) is not type(plain):
        return None
    return iter([("", left, value) if plain is left else ("", value, right)])


KINDS = (_within, _approximate, _mappings, _sets, _sequences, _arrays, _objects)
"""What takes two values apart: name and both sides of each part; None where it does not know such values."""


def _is_call(value: Any) -> bool:
    """Whether it is a call that a mock recorded: a tuple that shows itself better than its parts."""
    kind = type(value)
    return kind.__name__ == "_Call" and kind.__module__ in ("unittest.mock", "mock.mock")


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are equal by their own word; arrays, which have one for each element, are not."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right):
        return left is right
    try:
        return bool(left == right)
    except Exception:  # noqa: BLE001 - whatever a comparison raises
        return False


def _type(value: Any) -> str:
    return type(value).__module__ + "." + type(value).__qualname__


def shown(value: Any) -> str:
    """Return a value in one line, the middle of a long one cut."""
    return _cut(_in_one_line(value), _VALUE)


def _in_one_line(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as problem:  # noqa: BLE001 - a hostile object may raise anything
        return f"<{type(value).__name__} whose repr raises {type(problem).__name__}>"
    return " ".join(text.split("\n"))


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room // 2] + " ... " + text[-room // 2 :]
