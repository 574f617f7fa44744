"""Honest mutants of originals: a few small faults, and faults as models make them in a share of the functions.

Owns what is wrong in a mutant; the same chance gives the same mutant. All of it is Python that can be read, and
most can be imported: names that are used while modules are loaded are spared, in three mutants of four.
"""

import ast
import copy
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.library_modules import Function, Library, library_of, outermost
from typing_extensions import override

from groundup.grading.library.hidden import HiddenTests
from groundup.grammars import python_tree
from groundup.trees.writer import copy_tree

LEAST, MOST = 0.03, 0.7
"""The share of the functions that a fault of a model's takes."""
SPARING = 0.75
CONSTANTS: tuple[object, ...] = (None, True, False, 0, 1, "", "x", [], {})
SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}


@dataclass(frozen=True)
class Mutant:
    """What is wrong in a mutant: its kind, the share of the functions that have it, and each fault in words."""

    kind: str
    share: float
    faults: tuple[str, ...]


def write_mutant(
    original: Path, hidden: HiddenTests, target: Path, chance: random.Random, kinds: Collection[str]
) -> Mutant:
    """Write *original* with faults to the absent *target*; the kind is drawn from *kinds*."""
    library = library_of(original, hidden)
    before = {path: ast.unparse(tree) for path, tree in library.trees.items()}
    order = sorted(kinds, key=lambda kind: chance.random() ** (1 / WEIGHTS[kind]), reverse=True)
    found = ((kind, KINDS[kind](library, chance)) for kind in order)
    kind, (share, more) = next(((kind, done) for kind, done in found if done[1]), (order[0], (0.0, [])))
    faults = [] if kind == "original" else _small_faults(library, chance)
    copy_tree(original, target)
    for path, tree in library.trees.items():
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text != before[path]:
            (target / path.relative_to(original)).write_text(text + "\n", encoding="utf-8")
    return Mutant(kind, share, tuple([fault for fault in more if fault] + faults))


def write_faults(
    original: Path, hidden: HiddenTests, target: Path, seed: str, drawn: int, chosen: Collection[int]
) -> tuple[str, ...]:
    """Write *original* with those of *drawn* faults that are *chosen*, and return all in words.

    The same *seed* draws the same faults, each in its own place, some of them in one function.
    """
    chance = random.Random(seed)
    library = library_of(original, hidden)
    before = {path: ast.unparse(tree) for path, tree in library.trees.items()}
    functions = [(path, node) for path, tree in library.trees.items() for node in outermost(tree)]
    places = [(path, node) for path, function in functions for node in _places_in(function)]
    picked = chance.sample(places, min(drawn, len(places)))
    told = []
    for number, (path, node) in enumerate(picked):
        words = _made_wrong(node if number in chosen else copy.deepcopy(node), chance)
        told.append(f"{path.name} {words}")
    copy_tree(original, target)
    for path, tree in library.trees.items():
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text != before[path]:
            (target / path.relative_to(original)).write_text(text + "\n", encoding="utf-8")
    return tuple(told)


def _small_faults(library: Library, chance: random.Random) -> list[str]:
    candidates = [(path, node) for path, tree in library.trees.items() for node in _places(tree)]
    drawn = chance.sample(candidates, min(len(candidates), chance.randint(1, 3)))
    return [f"{path.name} {_made_wrong(node, chance)}" for path, node in drawn]


def _places(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what can be made wrong, inside functions."""
    for function in outermost(tree):
        yield from _places_in(function)


def _places_in(function: Function) -> Iterator[ast.AST]:
    yield function
    for node in ast.walk(function):
        is_number = isinstance(node, ast.Constant) and type(node.value) is int
        if is_number or isinstance(node, ast.If) or (isinstance(node, ast.Compare) and len(node.ops) == 1):
            yield node


def _made_wrong(node: ast.AST, chance: random.Random) -> str:
    """Change *node* in its place and return what was done."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            value = chance.choice(CONSTANTS)
            node.body = python_tree(f"return {value!r}").body
            return f"{node.name} returns {value!r}"
        case ast.If():
            taken = chance.random() < 0.5
            node.test = ast.Constant(value=taken)
            return f"line {node.lineno}: if {taken}"
        case ast.Compare(ops=[operator]):
            node.ops = [SHIFTED.get(type(operator), type(operator))()]
            return f"line {node.lineno}: {type(operator).__name__} shifted"
        case ast.Constant(value=bool() as value):
            node.value = not value
            return f"line {node.lineno}: {value} is {node.value}"
        case ast.Constant(value=int() | float() as value):
            node.value = value + chance.choice((-1, 1))
            return f"line {node.lineno}: {value} is {node.value}"
    return "nothing"


Done = tuple[float, list[str]]
Change = Callable[[Function, random.Random], bool]
"""Changes a function, and says whether it could."""


def _in_a_share(change: Change, named: str = "") -> Callable[[Library, random.Random], Done]:
    """Return the kind that makes *change* in a share of the functions, or of those that are *named* so."""

    def faults(library: Library, chance: random.Random) -> Done:
        spared = library.called if chance.random() < SPARING else ()
        pool = [(path, node) for path in library.trees for node in library.functions(path)]
        pool = [(path, node) for path, node in pool if not named or node.name == named]
        wanted, done = chance.uniform(LEAST, MOST) * len(pool), list[str]()
        for path, node in chance.sample(pool, len(pool)):
            if len(done) < max(1, round(wanted)) and node not in spared and change(node, chance):
                done.append(f"{path.name} {node.name}")
        return len(done) / max(1, len(pool)), done

    return faults


def _with_body(source: str) -> Change:
    def change(node: Function, chance: random.Random) -> bool:
        node.body = [*_docstring(node), *python_tree(source).body]
        return True

    return change


def _docstring(node: Function) -> Sequence[ast.stmt]:
    return node.body[:1] if ast.get_docstring(node, clean=False) is not None else []


def _returns_first_argument(node: Function, chance: random.Random) -> bool:
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) and len(names) > 1 else names
    return bool(names) and _with_body(f"return {names[0]}")(node, chance)


def _swallows(node: Function, chance: random.Random) -> bool:
    first = _docstring(node)
    guarded = python_tree("try:\n    pass\nexcept Exception:\n    return None").body[0]
    assert isinstance(guarded, ast.Try)
    guarded.body = node.body[len(first) :] or [ast.Pass()]
    node.body = [*first, guarded]
    return True


def _off_by_one(node: Function, chance: random.Random) -> bool:
    inside = (found for part in (node.args, *node.body) for found in ast.walk(part))
    numbers = [one for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, int | float)]
    if numbers:
        _made_wrong(chance.choice(numbers), chance)
    return bool(numbers)


def _missing(library: Library, chance: random.Random) -> Done:
    """Remove a share of the functions, wherever they are."""
    pool = [(path, node) for path in library.trees for node in library.functions(path)]
    wanted = max(1, round(chance.uniform(LEAST, MOST) * len(pool)))
    can_go = _can_go(library, chance)
    gone = [(path, node) for path, node in chance.sample(pool, len(pool)) if can_go(node)][:wanted]
    _remove(library, [node for _, node in gone])
    return len(gone) / max(1, len(pool)), [f"{path.name} {node.name}" for path, node in gone]


def _stale(library: Library, chance: random.Random) -> Done:
    """Empty one module of its functions."""
    can_go = _can_go(library, chance)
    going = {path: [node for node in library.functions(path) if can_go(node)] for path in library.trees}
    holding = [path for path, nodes in going.items() if nodes]
    if not holding:
        return 0.0, []
    path = chance.choice(holding)
    _remove(library, going[path])
    total = sum(len(library.functions(one)) for one in library.trees) + len(going[path])
    return len(going[path]) / total, [f"{path.name} {node.name}" for node in going[path]]


def _can_go(library: Library, chance: random.Random) -> Callable[[Function], bool]:
    loading, called = library.used_by_itself, library.called
    if chance.random() >= SPARING:
        loading, called = frozenset(), ()
    spared = loading | library.used_by_tests if chance.random() < SPARING else frozenset[str]()
    return lambda node: node.name not in spared and node not in called


def _remove(library: Library, gone: Collection[Function]) -> None:
    """Remove functions, and those of modules from where they are imported and from lists of what is exported."""
    removed = {id(node) for node in gone}
    functions = [node for tree in library.trees.values() for node in tree.body if isinstance(node, Function)]
    kept = {node.name for node in functions if id(node) not in removed}
    names = {node.name for node in functions if id(node) in removed} - kept
    for tree in library.trees.values():
        _Removal(removed, names, library.packages).visit(tree)


class _Removal(ast.NodeTransformer):
    """Takes functions out of a module, and *names* from what it imports of the library and from its `__all__`."""

    def __init__(self, functions: Collection[int], names: Collection[str], packages: Collection[str]) -> None:
        self._functions, self._names, self._packages = functions, names, packages

    @override
    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, Function):  # what others have inside is theirs
            return None if id(node) in self._functions else node
        node = super().visit(node)
        if not isinstance(node, ast.Module) and getattr(node, "body", None) == []:
            vars(node)["body"] = [ast.Pass()]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Import no more than there is."""
        if node.level or str(node.module).partition(".")[0] in self._packages:
            node.names = [alias for alias in node.names if alias.name not in self._names]
        return node if node.names else ast.Pass()

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Shorten `__all__`."""
        if ast.unparse(node.targets[0]) == "__all__" and isinstance(node.value, ast.List | ast.Tuple):
            node.value.elts = [one for one in node.value.elts if getattr(one, "value", None) not in self._names]
        return node


WEIGHTS = {
    "original": 1,
    "small": 4,
    "missing": 6,
    "none": 6,
    "argument": 4,
    "unwritten": 6,
    "swallow": 4,
    "off": 4,
    "stale": 4,
    "equal": 1,
    "exit": 1,
}
"""How often each kind is drawn, beside the others; the last two have no place in most libraries."""
KINDS: dict[str, Callable[[Library, random.Random], Done]] = {
    "original": lambda library, chance: (0.0, [""]),
    "small": lambda library, chance: (0.0, [""]),
    "missing": _missing,
    "none": _in_a_share(_with_body("return None")),
    "argument": _in_a_share(_returns_first_argument),
    "unwritten": _in_a_share(_with_body("raise NotImplementedError")),
    "swallow": _in_a_share(_swallows),
    "off": _in_a_share(_off_by_one),
    "stale": _stale,
    "equal": _in_a_share(_with_body("return True"), named="__eq__"),
    "exit": _in_a_share(_with_body("return True"), named="__exit__"),
}
