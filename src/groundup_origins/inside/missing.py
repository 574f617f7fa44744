"""Statements that a function may lack: as another function has them, or as what lost tests alone give it tells.

`mends` tries them in a forked child. It stands in one process with untrusted code, needs the standard library
only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_MOST = 16
"""Statements that are tried in one function."""
_RENAMED = 4
_TURNS = 24
"""Conditions by what lost tests alone give."""
_SHELVES = 4
"""Lists of a file in which a function may lack to keep what it makes."""
_STATEMENTS = 12
"""Plain statements of other functions, and of other blocks, that are tried in one function."""
_WAYS_OUT = (ast.Raise, ast.Return, ast.Continue, ast.Break)


class Donor(NamedTuple):
    """A statement of a function that another one may lack."""

    function: Any
    statement: Any
    names: frozenset[str]
    """What its condition uses; empty for one that only sets a variable."""
    own: bool
    """Whether the function itself may lack it once more."""


def donors(functions: Sequence[Any]) -> list[Donor]:
    """Return the checks of some functions, then what sets a variable to a constant, also the other way round."""
    checks, settings = [], []
    node: Any
    for function in functions:
        for node in ast.walk(function.node) if not function.is_assignment else ():
            if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
                body, used = node.body[0], _names(node.test)
                if isinstance(body, (*_WAYS_OUT, ast.Assign)):
                    checks.append(Donor(function, node, used, own=False))
                if _sets_truth(body):  # what one sets, another sets back
                    back = ast.If(test=node.test, body=[_flipped(body)], orelse=[])
                    checks.append(Donor(function, ast.copy_location(back, node), used, own=False))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                is_shared = getattr(getattr(node.targets[0], "value", None), "id", "") == "self"
                both = [node, _flipped(node)] if _sets_truth(node) else [node]
                settings += [Donor(function, one, frozenset(), own=not is_shared) for one in both]
    return [*checks, *settings]


def inserted(changes: Any, function: Any, given: Sequence[Donor]) -> Iterator[Any]:
    """Yield changes that put a statement before one of a function; *given*: of the functions of its file."""
    if function.is_assignment:
        return
    offers = function.offers()
    own, known = offers.names, offers.own | offers.shared
    found: dict[str, tuple[int, Any]] = {}
    for one in given:
        if len(found) >= _MOST:
            break
        if one.own == (one.function is function) and one.function.classes[:1] == function.classes[:1]:
            tier = changes.LESS if one.names else changes.CRUDE
            for statement in _fitting(one, known, own[:_RENAMED]):
                found.setdefault(ast.dump(statement), (tier, statement))
    for parent, field, number in _slots(function.node):
        for tier, statement in found.values():
            yield _before(changes, parent, field, number, statement, tier)


class PlainStatement(NamedTuple):
    """A statement of a function that changes something, more than a variable, and holds no others."""

    function: Any
    statement: Any
    text: str
    names: frozenset[str]
    beside: frozenset[str]
    """Between what it stands, as `_beside` has it."""


def plain_statements(functions: Sequence[Any]) -> list[PlainStatement]:
    """Return those of some functions, each once of a function."""
    found: dict[tuple[int, str], PlainStatement] = {}
    for function in functions:
        for parent, field, number in _slots(function.node) if not function.is_assignment else ():
            block = getattr(parent, field)
            one = block[number]
            is_call = isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
            is_set = isinstance(one, ast.Assign) and not isinstance(one.targets[0], ast.Name)
            if is_call or is_set or isinstance(one, ast.AugAssign):
                text, beside = ast.dump(one), _beside(block[:number], block[number + 1 :])
                plain = PlainStatement(function, one, text, _names(one), beside)
                found.setdefault((id(function), text), plain)
    return [*found.values()]


def prepared(changes: Any, function: Any, others: Sequence[Any]) -> Iterator[Any]:
    """Yield changes by which a method first calls another of its class that takes and gives nothing.

    *others*: the functions of its file. One that no method of the class calls is the likelier one.
    """
    if function.is_assignment or not function.classes or "self" not in function.offers().own:
        return
    beside = [one for one in others if one.classes == function.classes and not one.is_assignment]
    called = {one.attr for other in beside for one in ast.walk(other.node) if isinstance(one, ast.Attribute)}
    for other in beside:
        node = other.node
        gives = any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(node))
        takes = len(node.args.args) != 1 or node.decorator_list or node.name.startswith("__")
        if other is not function and not gives and not takes:
            call = ast.copy_location(ast.parse(f"self.{node.name}()").body[0], function.node.body[0])
            tier = changes.CRUDE if node.name in called else changes.LESS
            yield _before(changes, function.node, "body", 0, call, tier)


def _beside(before: Sequence[Any], after: Sequence[Any]) -> frozenset[str]:
    """Return the statement before a place and the one behind it, or that the block ends there."""
    told = {f"after {ast.dump(before[-1])}"} if before else set()
    is_end = not after or isinstance(after[0], _WAYS_OUT)
    return frozenset(told | {"the end" if is_end else f"before {ast.dump(after[0])}"})


def repeated(changes: Any, function: Any, given: Sequence[PlainStatement]) -> Iterator[Any]:
    """Yield changes that repeat a plain statement of a function in another of its blocks, or one of another's.

    *given*: of the functions of its file. One that uses what the function takes or makes and uses nowhere is what
    it most probably lacks; then one of its own, or that several others have. Each comes later where it would not
    stand beside what it stands beside there.
    """
    if function.is_assignment:
        return
    offers = function.offers()
    known = offers.own | offers.shared
    tiers: dict[str, int] = {}
    found: dict[str, Any] = {}
    neighbours: dict[str, set[str]] = {}
    plain = [*_stored(function, offers), *sorted(given, key=lambda one: one.function is not function)]
    for other in plain:
        for one in _fitting(other, known, offers.unused) if other.function.classes == function.classes else ():
            text = other.text if one is other.statement else ast.dump(one)
            is_wanted = _names(one) & {*offers.unused}
            is_likely = other.function is function or text in found
            tier = changes.SLIP if is_wanted else changes.LESS if is_likely else changes.CRUDE
            found.setdefault(text, one)
            neighbours.setdefault(text, set()).update(other.beside)
            tiers[text] = min(tier, tiers.get(text, tier))
    likely = sorted(found, key=tiers.__getitem__)[:_STATEMENTS]
    later = {changes.SLIP: changes.LESS}
    for parent, field, number in _slots(function.node):
        block = getattr(parent, field)
        places = [(False, _beside(block[:number], block[number:]))]
        if number == len(block) - 1 and not isinstance(block[number], _WAYS_OUT):
            places.append((True, _beside(block, ())))
        for text in likely:
            if found[text] in (block[number], block[number - 1] if number else None):
                continue
            for is_after, beside in places:
                tier = tiers[text] if beside & neighbours[text] else later.get(tiers[text], changes.CRUDE)
                yield _before(changes, parent, field, number, found[text], tier, is_after=is_after)


def _stored(function: Any, offers: Any) -> Iterator[PlainStatement]:
    """Yield statements that keep what a new object is given and its `__init__` uses nowhere, in that order."""
    given = function.node.args
    taken = [one.arg for one in (*given.args, *given.kwonlyargs)]
    for number, name in enumerate(taken) if function.node.name == "__init__" else ():
        for mark in ("", "_") if name in offers.unused else ():
            beside = [f"after {ast.dump(_kept_as(mark, one))}" for one in taken[number - 1 : number]]
            beside += [f"before {ast.dump(_kept_as(mark, one))}" for one in taken[number + 1 : number + 2]]
            one = ast.copy_location(_kept_as(mark, name), function.node)
            yield PlainStatement(function, one, ast.dump(one), _names(one), frozenset(beside))


def _kept_as(mark: str, name: str) -> Any:
    return ast.parse(f"self.{mark}{name} = {name}").body[0]


def _renamed(statement: Any, strange: frozenset[str], name: str) -> Any:
    new = copy.deepcopy(statement)
    for one in ast.walk(new):
        if isinstance(one, ast.Name) and one.id in strange:
            one.id = name
    return new


def kept(changes: Any, function: Any, others: Sequence[Any]) -> Iterator[Any]:
    """Yield changes that add what a function makes to a list that it or one of the *others* of its file reads."""
    if function.is_assignment:
        return
    known = function.offers().own | function.offers().shared
    shelves: dict[str, Any] = {}
    for other in others:
        for node in ast.walk(other.node):
            read = node.iter if isinstance(node, (ast.For, ast.comprehension)) else None
            if isinstance(read, (ast.Subscript, ast.Attribute)) and _names(read) <= known:
                shelves.setdefault(ast.dump(read), read)
    for parent, field, number in _slots(function.node):
        before: Any = getattr(parent, field)[number - 1] if number else None
        made: Any = before.targets[0] if isinstance(before, ast.Assign) else None
        is_made = isinstance(made, ast.Name) and isinstance(before.value, (ast.Dict, ast.Call))
        for shelf in [*shelves.values()][:_SHELVES] if is_made else ():
            add = ast.parse(f"_.append({made.id})").body[0]
            vars(add)["value"].func.value = shelf
            yield _before(changes, parent, field, number, ast.copy_location(add, before), changes.SLIP)


def _fitting(given: Donor | PlainStatement, known: frozenset[str], instead: Sequence[str]) -> Iterator[Any]:
    """Yield a statement as it is where a function has its names, else with its one other name replaced."""
    strange = given.names - known
    if not strange:
        yield given.statement
    elif len(strange) == 1:
        for name in instead:
            yield _renamed(given.statement, strange, name)


def _names(node: Any) -> frozenset[str]:
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _sets_truth(node: Any) -> bool:
    return isinstance(node, ast.Assign) and isinstance(getattr(node.value, "value", None), bool)


def _slots(node: Any) -> Iterator[tuple[Any, str, int]]:
    """Yield where the statements of a function stand."""
    for one in ast.walk(node):
        for field in ("body", "orelse", "finalbody"):
            held = getattr(one, field, None)
            for number, statement in enumerate(held if isinstance(held, list) else ()):
                if isinstance(statement, ast.stmt):
                    yield one, field, number


def _before(
    changes: Any, parent: Any, field: str, number: int, statement: Any, tier: int, *, is_after: bool = False
) -> Any:
    old = getattr(parent, field)[number]
    body, where = ([old, statement], "after it: ") if is_after else ([statement, old], "before it: ")
    new = ast.If(test=ast.Constant(value=True, kind=None), body=body, orelse=[])
    return changes.CodeChange(parent, field, number, ast.copy_location(new, old), tier, statement, where)


def by_state(
    changes: Any, function: Any, raises: str, lost: Mapping[int, set[Any]], passing: Mapping[int, set[Any]]
) -> Iterator[Any]:
    """Yield changes that raise before a line what a test expected, on what lost tests alone give the function.

    *lost*, *passing*: by line what its variables were, each as `(name, type, is_empty)`.
    """
    known = (
        one for one in ast.walk(function.node) if _raised(one) == raises and getattr(one, "cause", None) is None
    )
    refusal = next(known, None) or ast.parse(f"raise {raises}").body[0]
    for parent, field, number in _slots(function.node):
        line = getattr(parent, field)[number].lineno
        seen = passing.get(line, set())
        for state in sorted(lost.get(line, set()), key=sorted) if seen else ():
            for condition in [*_conditions(state, seen)][:_TURNS]:
                check = ast.parse(f"if {condition}:\n    pass").body[0]
                for one in ast.walk(check):
                    ast.copy_location(one, getattr(parent, field)[number])
                vars(check)["body"] = [refusal]
                yield _before(changes, parent, field, number, check, changes.STATE)


def _raised(node: Any) -> str:
    """Return the name of the exception that a statement raises."""
    given = getattr(node, "exc", None)
    given = getattr(given, "func", given)
    return str(getattr(given, "attr", getattr(given, "id", "")))


def _conditions(state: Iterable[Any], seen: Iterable[Any]) -> Iterator[str]:
    """Yield conditions that hold in one state and in none of others."""
    told = [(one, test) for one in sorted(state) for test in _tests(*one)]
    common = [*seen]
    for name, kind, _ in sorted(state):
        kinds = {other[1] for one in common for other in one if other[0] == name}
        if (
            len(kinds) == 1
            and kinds != {kind}
            and not kinds & {"", "NoneType"}
            and not min(kinds).startswith("is ")
        ):
            yield f"not isinstance({name}, {min(kinds)})"
    alone = [text for _, (text, holds) in told if not any(any(map(holds, other)) for other in common)]
    yield from alone
    if not alone:
        for at, (_, (text, holds)) in enumerate(told):
            for _, (second, also) in told[at + 1 :]:
                if not any(any(map(holds, other)) and any(map(also, other)) for other in common):
                    yield f"{text} and {second}"


def _tests(name: str, kind: str, is_empty: bool) -> Iterator[tuple[str, Any]]:
    """Yield conditions on one variable, each with what says whether it holds of a variable."""
    if kind == "NoneType":
        yield f"{name} is None", lambda one: one[0] == name and one[1] == kind
    elif kind.startswith("is "):
        yield f"{name} {kind}", lambda one: one[0] == name and one[1] == kind
    elif kind:
        yield f"isinstance({name}, {kind})", lambda one: one[0] == name and one[1] == kind
        if is_empty:
            yield f"not {name}", lambda one: one[0] == name and one[2]


def _flipped(assignment: Any) -> Any:
    value = ast.copy_location(ast.Constant(value=not assignment.value.value, kind=None), assignment.value)
    return ast.copy_location(ast.Assign(targets=assignment.targets, value=value), assignment)
