"""Which hidden tests have cases that their file alone puts in order, though pytest names some by the library.

pytest names a case by the `__name__` of a function or class among its parameters. A submission that has a lambda,
an alias or another class there passes the same case under another name. Its place tells which one it is, where the
test's file decides how many cases there are: tables are written out there, and objects of the library only stand
in them. Decided by the text of the tests; nothing runs.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grammars import python_tree

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_HARMLESS = frozenset({"enumerate", "list", "product", "range", "tuple", "zip"})
"""What may be called with tables: as many cases come out, whatever stands in them."""
_NUMBER = re.compile(r"\d+$")


def case_order(
    original: Path, tests: HiddenTests, modules: Iterable[Path], collected: Iterable[NumberedTest]
) -> dict[str, tuple[str, ...]]:
    """Return for such a test the parameters of all its cases, in the order of *collected*.

    *original*: a tree with the tests as they are graded; *modules*: the files of its library.
    """
    defined = _defined_in(modules)
    cases: dict[str, list[NumberedTest]] = {}
    for test in collected:
        if "[" in test.id:
            cases.setdefault(test.without_parameters, []).append(test)
    hosts = frozenset(name.partition(".")[0] for name in tests.packages)
    files: dict[str, TestFile] = {}
    found = {}
    for name, ones in sorted(cases.items()):
        parameters = [one.id[len(name) + 1 : -1] for one in ones]
        is_whole = all(one.id.endswith("]") and one.ordinal == 1 for one in ones)
        if not is_whole or not any(_is_named_by(text, defined) for text in parameters):
            continue  # before a file is read
        path = ones[0].file
        file = files[path] = files.get(path) or TestFile(original, path, hosts)
        names = defined & file.names
        if any(_is_named_by(text, names) for text in parameters) and file.decides_cases_of(name.split("::")[1:]):
            found[name] = tuple(parameters)
    return found


def _is_named_by(parameters: str, defined: Collection[str]) -> bool:
    """Whether a part of a case's name is a function, a class or an enumeration's member of the library."""
    parts = (part.partition(".")[0] for part in parameters.split("-"))
    return any(part in defined or _NUMBER.sub("", part) in defined for part in parts)


def _defined_in(modules: Iterable[Path]) -> frozenset[str]:
    return frozenset(
        node.name
        for module in modules
        for node in ast.walk(_parsed(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


def _parsed(path: Path) -> ast.Module:
    try:
        return python_tree(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


class TestFile:
    """A file of tests in the tree *original*, of the library whose packages have the top names *hosts*."""

    __test__ = False

    def __init__(self, original: Path, file: str, hosts: Collection[str]) -> None:
        """Read it and what pytest reads before it; one that cannot be read decides nothing."""
        path = original / file
        self._tree = _parsed(path)
        self.names = frozenset(_identifiers(self._tree)) - frozenset(dir(builtins))
        """What its code mentions; texts are no names of objects."""
        self._functions = {node.name: node for node in self._tree.body if isinstance(node, Function)}
        self._values = dict(_assigned_once(self._tree))
        folders = [folder for folder in path.parents if folder.is_relative_to(original)]
        beside = {
            place.stem
            for folder in folders
            for place in folder.iterdir()
            if place.suffix == ".py" or place.is_dir()
        }
        self._harmless = frozenset(dir(builtins)) | frozenset(_imported(self._tree, beside | {*hosts}))
        configurations = [_parsed(folder / "conftest.py") for folder in folders]
        self._given = frozenset(
            name
            for tree in configurations
            for node in ast.walk(tree)
            if isinstance(node, Function)
            for name, table in _fixture_of(node)
            if table is not None
        )
        is_open = any("pytest_generate_tests" in ast.unparse(tree) for tree in (self._tree, *configurations))
        self._decides = not is_open and "pytestmark" not in self._values

    def decides_cases_of(self, path: list[str]) -> bool:
        """Whether the cases of the test at *path*, such as a class and its method, follow from this file alone."""
        above, node = self._found(path)
        if (
            not self._decides
            or node is None
            or any(ast.unparse(base) != "object" for one in above for base in one.bases)
        ):
            return False
        tables = [*self._marked(above, node), *self._given_by_fixtures(above, node)]
        if any(table is None for table in tables):
            return False
        known = [table for table in tables if table is not None]
        return any(map(self._refers, known)) and all(map(self._is_fixed, known))

    def _found(self, path: list[str]) -> tuple[list[ast.ClassDef], Function | None]:
        """Return the classes around a test, and the test; one that is inherited is not found."""
        above: list[ast.ClassDef] = []
        body: list[ast.stmt] = self._tree.body
        for name in path[:-1]:
            inner = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
            if len(inner) != 1:
                return [], None
            above.append(inner[0])
            body = inner[0].body
        last = [node for node in body if isinstance(node, Function) and node.name == path[-1]]
        return (above, last[0]) if len(last) == 1 else ([], None)

    def _marked(self, above: list[ast.ClassDef], node: Function) -> Iterator[ast.expr | None]:
        """Yield the table of each mark; None for a decorator that is not understood."""
        for decorator in (one for owner in (*above, node) for one in owner.decorator_list):
            mark = self._values.get(decorator.id, decorator) if isinstance(decorator, ast.Name) else decorator
            if not isinstance(mark, ast.Call):
                yield from (None,) if self._refers(mark) else ()
            elif ast.unparse(mark.func).endswith("parametrize"):
                yield mark.args[1] if len(mark.args) > 1 else None
            elif self._refers(mark.func):
                yield None

    def _given_by_fixtures(self, above: list[ast.ClassDef], node: Function) -> Iterator[ast.expr | None]:
        """Yield the table of each fixture that the test needs; None: it stands in another file."""
        bodies = (self._tree.body, *(owner.body for owner in above))
        here = {
            name: (one, table)
            for body in bodies
            for one in body
            if isinstance(one, Function)
            for name, table in _fixture_of(one)
        }
        asked, seen = [one.arg for one in node.args.args], set[str]()
        while asked:
            name = asked.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in here:
                fixture, table = here[name]
                asked += [one.arg for one in fixture.args.args]
                yield from () if table is None else (table,)
            elif name in self._given:
                yield None

    def _is_fixed(self, node: ast.AST, seen: frozenset[str] = frozenset(), *, in_table: bool = False) -> bool:
        """Whether the library cannot change how many things *node* holds: it only stands in tables."""
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return all(self._is_fixed(one, seen, in_table=True) for one in elements)
            case ast.Starred():
                return not self._refers(node, seen)
            case _ if in_table or not self._refers(node, seen):
                return True
            case ast.Name(id=name) if name in self._values and name not in seen:
                return self._is_fixed(self._values[name], seen | {name})
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if (
                name in self._functions and name not in seen
            ):
                return self._returns_fixed(self._functions[name], seen | {name})
        return False

    def _returns_fixed(self, function: Function, seen: frozenset[str]) -> bool:
        """Whether a function without branches makes a table of fixed size, by assignments and additions."""
        fixed: set[str] = set()
        for statement in function.body:
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_made_of(value, fixed, seen):
                    fixed.add(name)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=name), attr=how), args=[value], keywords=[]
                    )
                ) if name in fixed and (
                    how == "append" or (how == "extend" and self._is_made_of(value, fixed, seen))
                ):
                    continue
                case ast.Return(value=ast.AST() as value):
                    return self._is_made_of(value, fixed, seen)
                case _:
                    return False
        return False

    def _is_made_of(self, node: ast.AST, fixed: Collection[str], seen: frozenset[str]) -> bool:
        """Whether *node* is a table of fixed size where the variables *fixed* are some."""
        match node:
            case ast.Name(id=name) if name in fixed:
                return True
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _HARMLESS:
                return all(self._is_made_of(one, fixed, seen) for one in arguments)
        return self._is_fixed(node, seen)

    def _refers(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
        """Whether *node* may hold something of the library, or of a file that is not read here."""
        for name in {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - seen - self._harmless:
            behind = self._values.get(name)
            if behind is None or self._refers(behind, seen | {name}):
                return True
        return False


def _identifiers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _assigned_once(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables of a module that get one value and no method of theirs is called."""
    names = Counter(
        one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    )
    touched = {
        one.value.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
    }
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if names[name] == 1 and name not in touched:
                yield name, value


def _imported(tree: ast.Module, near: Collection[str]) -> Iterator[str]:
    """Yield the names that are imported from modules which are not *near*: the library's or the tests'."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops = [(one.name.partition(".")[0], one.asname) for one in node.names]
            yield from (alias or top for top, alias in tops if top not in near)
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").partition(".")[0] not in near
        ):
            yield from (one.asname or one.name for one in node.names)


def _fixture_of(function: Function) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the name of a fixture with its table, where *function* is one."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not ast.unparse(called).endswith("fixture"):
            continue
        options = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
        match options.get("name"):
            case ast.Constant(value=str() as name):
                yield name, options.get("params")
            case _:
                yield function.name, options.get("params")
