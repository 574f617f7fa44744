"""The modules of an original's library, and what they need so that they and the hidden tests load."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from groundup.grading.library.hidden import HiddenTests
from groundup.grammars import python_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
CREATING = ("__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__", "__call__")


@dataclass(frozen=True)
class Library:
    """The modules of a library, to be changed in place, and without what it or its tests do not load."""

    trees: Mapping[Path, ast.Module]
    packages: frozenset[str]
    called: Collection[Function]
    """Functions that are called while modules are loaded, as far as their names say."""
    used_by_itself: frozenset[str]
    used_by_tests: frozenset[str]

    def functions(self, path: Path) -> list[Function]:
        """Return the functions and methods of a module, without those inside others."""
        return list(outermost(self.trees[path]))


def library_of(original: Path, hidden: HiddenTests) -> Library:
    """Read the modules of the library and its tests; what is no Python of today is left alone."""
    trees = {path: tree for path in sources(original, hidden) if (tree := _tree(path)) is not None}
    itself = {name for tree in trees.values() for node in _while_loading(tree) for name in _names_in(node)}
    places = (original / one for one in hidden.protected)
    tests = [path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place])]
    imports = (node for path in tests for node in ast.walk(_tree(path) or ast.Module([], [])))
    wanted = {alias.name for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names}
    packages = frozenset(name.partition(".")[0] for name in hidden.packages)
    return Library(trees, packages, _called_while_loading(trees.values()), frozenset(itself), frozenset(wanted))


def sources(original: Path, hidden: HiddenTests) -> list[Path]:
    """Return the modules of the library, tests left out."""
    found = []
    for root in hidden.import_roots:
        for package in hidden.packages:
            place = (original / root).joinpath(*package.split("."))
            found += sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    protected = [original / path for path in hidden.protected]
    kept = (path for path in found if path.is_file() and not any(path.is_relative_to(one) for one in protected))
    return list(dict.fromkeys(kept))


def _tree(path: Path) -> ast.Module | None:
    try:
        return python_tree(path.read_bytes()) if path.suffix == ".py" else None
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def outermost(node: ast.AST) -> Iterator[Function]:
    """Yield the functions and methods below *node* without those inside others."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child
        else:
            yield from outermost(child)


def _while_loading(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what a module evaluates when it is loaded: all but the bodies of its functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            waiting += [*node.decorator_list, node.args]
        else:
            waiting += ast.iter_child_nodes(node)


def _names_in(node: ast.AST) -> Iterator[str]:
    """Yield the name that a node looks up. What is imported can be left out, and is none."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
            yield name


def _called_while_loading(trees: Iterable[ast.Module]) -> set[Function]:
    """Return the functions with the names of what is called when modules are loaded, and of what those call."""
    named: dict[str, list[Function]] = {}
    waiting: list[str] = []
    for tree in trees:
        waiting += [name for node in _while_loading(tree) for name in _names_called(node)]
        for function in outermost(tree):
            named.setdefault(function.name, []).append(function)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = [one for one in node.body if isinstance(one, Function) and one.name in CREATING]
                named.setdefault(node.name, []).extend(own)
    called = set()
    while waiting:
        for function in named.pop(waiting.pop(), ()):
            called.add(function)
            waiting += [name for node in ast.walk(function) for name in _names_called(node)]
    return called


def _names_called(node: ast.AST) -> Iterator[str]:
    called = [node.func] if isinstance(node, ast.Call) else getattr(node, "decorator_list", [])
    for one in called:
        # `super().__init__` says nothing of which one it is.
        yield from (name for name in _names_in(one) if not name.startswith("__"))
