"""A specification extracted from an original: its README, its signatures and docstrings, and no code of functions.

No model writes here, so behaviour is told only as far as the authors told it. Every name that the hidden tests
import stands in it, and no body of a test does.
"""

import ast
import contextlib
import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from groundup.grading.library.hidden import HiddenTests, source_files
from groundup.grammars import python_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.sets import canary_line

MARK = "extracted"
_READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md")
_LARGEST_README = 60_000
_LONGEST_VALUE = 80
_RUN = 3
"""Lines in a row as in a test are a part of its body."""
_LEAST_LINE = 12
"""Shorter lines are alike by accident."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_EVERYWHERE = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float, type) for name in dir(kind)
)
"""What objects of Python have, too: to reach it says nothing of the library."""
_CUT = "(left out: it stands in a hidden test)"


def extracted(recipe: Recipe, root: Path, canary: str) -> str:
    """Return the specification of *recipe*, whose original is at *root*."""
    modules = dict(modules_of(root, recipe.tests))
    used = used_names(root, recipe.tests, modules)
    parts = [title(recipe, canary, MARK), _readme(root), environment_section(recipe), "## Interface\n", _INTERFACE]
    parts += [_module(name, tree, used.get(name, set())) for name, tree in modules.items()]
    text = without_tests("\n".join(part for part in parts if part), root, recipe.tests)
    return text + _unstated(text, used)


def title(recipe: Recipe, canary: str, mark: str, model: str = "") -> str:
    """Return how a specification begins: what it is of, the canary, and who wrote it."""
    if mark == MARK:
        whence = (
            f"This specification was {mark} from the README, the signatures and the docstrings of "
            f"{recipe.source.label}: nobody wrote it for this task."
        )
    else:
        whence = f"This specification was {mark} by {model} from the sources and docs of {recipe.source.label}."
    return (
        f"# {recipe.source.name}\n\n"
        f"{canary_line(canary)}\n\n"
        f"{whence} Write the library; hidden tests of its authors judge it.\n"
    )


def _readme(root: Path) -> str:
    for name in _READMES:
        path = root / name
        if path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8", errors="replace")
            more = "\n\n(The rest was left out.)" if len(text) > _LARGEST_README else ""
            return f"## From its {name}\n\n{text[:_LARGEST_README].strip()}{more}\n"
    return ""


def environment_section(recipe: Recipe) -> str:
    """Return what is installed where the tests run, and where they import the library from."""
    tests, own = recipe.tests, recipe.environment
    listed = "\n".join(own.lock)
    packages = ", ".join(f"`{name}`" for name in tests.packages)
    lines = [
        "## Environment\n",
        f"Python {own.python}. Tests import {packages} from {_places(tests)}. Installed, and nothing else:\n",
        f"```\n{listed}\n```\n",
    ]
    if tests.distribution is not None:
        for group, points in tests.distribution.entry_points.items():
            lines.append(
                f"Entry points of `{group}`: " + ", ".join(f"`{k} = {v}`" for k, v in points.items()) + "\n"
            )
    return "\n".join(lines)


def _places(tests: HiddenTests) -> str:
    roots = tests.import_roots[:1]
    return "the root of the repository" if roots == (".",) else f"the folder `{roots[0]}` of the repository"


_INTERFACE = "Public names of each module, and further ones that the tests import. Bodies are left out.\n"


# --- the interface


def modules_of(root: Path, tests: HiddenTests) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of the library by name."""
    for path in source_files(root, tests):
        name = _module_name(path.relative_to(root), tests)
        try:
            yield name, python_tree(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue


def _module_name(path: Path, tests: HiddenTests) -> str:
    roots = sorted((Path(place) for place in tests.import_roots), key=lambda place: -len(place.parts))
    inner = next((path.relative_to(place) for place in roots if path.is_relative_to(place)), path)
    parts = inner.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module(name: str, tree: ast.Module, wanted: set[str]) -> str:
    stated = [text for node in _statements(tree.body) for text in _stated(node, wanted)]
    doc = ast.get_docstring(tree)
    reexported = sorted(_reexported(tree, wanted))
    if not (stated or doc or reexported or wanted):
        return ""
    lines = [f"### `{name}`\n"]
    lines += [f"{doc}\n"] if doc else []
    lines += [
        "Imports, for others to import from it: " + ", ".join(f"`{one}`" for one in reexported) + "\n"
    ] * bool(reexported)
    lines += ["```python\n" + "\n\n".join(stated) + "\n```\n"] if stated else []
    return "\n".join(lines)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what a module says at its top, also under `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [inner for handler in node.handlers for inner in handler.body]
            yield from _statements([*node.body, *handlers, *node.orelse])


def _stated(node: ast.stmt, wanted: set[str]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_shown(node.name, wanted):
        yield _function(node)
    elif isinstance(node, ast.ClassDef) and _is_shown(node.name, wanted):
        yield _class(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if any(_is_shown(name, wanted) for name in names):
            yield _value(node, names)


def _is_shown(name: str, wanted: set[str]) -> bool:
    return not name.startswith("_") or name in wanted or name in ("__version__", "__all__")


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    shown = copy.copy(node)
    doc = ast.get_docstring(node, clean=False)
    shown.body = [ast.Expr(ast.Constant(doc if doc is not None else ...))]
    return ast.unparse(shown)


def _class(node: ast.ClassDef) -> str:
    shown = copy.copy(node)
    doc = ast.get_docstring(node, clean=False)
    body: list[ast.stmt] = [ast.Expr(ast.Constant(doc))] if doc is not None else []
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and _is_method_shown(item.name):
            inner = copy.copy(item)
            said = ast.get_docstring(item, clean=False)
            inner.body = [ast.Expr(ast.Constant(said if said is not None else ...))]
            body.append(inner)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            body.append(item if _is_short(item.value) else _without_value(item))
        elif isinstance(item, ast.Assign) and _is_short(item.value):
            body.append(item)
        elif isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            body.append(ast.parse(_class(item)).body[0])
    shown.body = body or [ast.Expr(ast.Constant(...))]
    return ast.unparse(shown)


def _is_method_shown(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _is_short(value: ast.expr | None) -> bool:
    return value is None or len(ast.unparse(value)) <= _LONGEST_VALUE


def _without_value(item: ast.AnnAssign) -> ast.AnnAssign:
    shown = copy.copy(item)
    shown.value = None
    return shown


def _value(node: ast.Assign | ast.AnnAssign, names: list[str]) -> str:
    """Return a constant: its value where that is short and says nothing by running."""
    if node.value is not None and _is_short(node.value) and not isinstance(node.value, ast.Lambda):
        return ast.unparse(node)
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(_without_value(node))
    return "\n".join(f"{name} = ..." for name in names)


def _reexported(tree: ast.Module, wanted: set[str]) -> Iterator[str]:
    """Yield what a module imports of its own package, by the names under which it can be had there."""
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                name = one.asname or one.name
                if name != "*" and (name in wanted or (node.level and not name.startswith("_"))):
                    yield name


# --- what the hidden tests use


@dataclass
class _Uses:
    """What one test file uses of the library."""

    modules: Mapping[str, ast.Module]
    bound: frozenset[str]
    """Names that some module binds: a text that ends in another one is a file's name or the like."""
    names: dict[str, set[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Local name -> module."""

    def add(self, module: str, name: str) -> None:
        if f"{module}.{name}" not in self.modules:
            self.names.setdefault(module, set()).add(name)


def used_names(root: Path, tests: HiddenTests, modules: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Return module -> names in it, and of its objects, that the hidden tests import, reach or patch."""
    found: dict[str, set[str]] = {}
    bound = frozenset(name for tree in modules.values() for node in ast.walk(tree) for name in _bound(node))
    members = {module: _members(tree) for module, tree in modules.items()}
    for tree in _test_trees(root, tests):
        uses = _Uses(modules, bound)
        tops = {name.partition(".")[0] for name in tests.packages}
        for node in ast.walk(tree):
            _imported(node, uses, tops)
        for node in ast.walk(tree):
            _reached(node, uses)
        reached = set(_reached_of_objects(tree))
        for module, inside in members.items():
            for name in inside & reached:
                uses.add(module, name)
        for module, names in uses.names.items():
            found.setdefault(module, set()).update(names)
    for module, names in list(found.items()):
        for origin, name in _origins(module, names, modules):
            found.setdefault(origin, set()).add(name)
    return found


def _origins(module: str, names: set[str], modules: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """Yield where the *names* that *module* imports from others of the library are defined: one step back."""
    for node in _statements(modules[module].body) if module in modules else ():
        if isinstance(node, ast.ImportFrom):
            origin = _absolute(module, node, modules)
            if origin in modules:
                yield from ((origin, one.name) for one in node.names if (one.asname or one.name) in names)


def _absolute(module: str, node: ast.ImportFrom, modules: Mapping[str, ast.Module]) -> str:
    if not node.level:
        return node.module or ""
    is_package = any(name.startswith(f"{module}.") for name in modules)
    parts = module.split(".")
    above = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*above, *([node.module] if node.module else [])])


def _test_code(root: Path, tests: HiddenTests) -> Iterator[Path]:
    for kept in tests.protected:
        place = root / kept
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place] * (place.suffix == ".py")


def _test_trees(root: Path, tests: HiddenTests) -> Iterator[ast.Module]:
    for path in _test_code(root, tests):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            yield python_tree(path.read_bytes())


def _imported(node: ast.AST, uses: _Uses, tops: set[str]) -> None:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if node.module.partition(".")[0] in tops:
            for one in node.names:
                uses.aliases[one.asname or one.name] = f"{node.module}.{one.name}"
                if one.name != "*":
                    uses.add(node.module, one.name)
    elif isinstance(node, ast.Import):
        for one in node.names:
            if one.name.partition(".")[0] in tops:
                uses.aliases[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        module, _, name = node.value.rpartition(".")
        if module in uses.modules and name in uses.bound:
            uses.add(module, name)


def _reached(node: ast.AST, uses: _Uses) -> None:
    """Take `alias.name`, where the alias stands for a module."""
    if isinstance(node, ast.Attribute):
        module = _dotted(node.value, uses.aliases)
        if module in uses.modules:
            uses.add(module, node.attr)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]


def _members(tree: ast.Module) -> set[str]:
    """Return what objects of a module have and those of Python do not: methods, and attributes that are set."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            parts = [inner] if isinstance(inner, _DEFINITIONS) else ast.walk(inner)
            found.update(name for part in parts for name in _bound(part))
    return found - _EVERYWHERE


def _reached_of_objects(tree: ast.Module) -> Iterator[str]:
    """Yield the attributes that tests read or set, but for those of the tests' own objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            yield node.attr


def _dotted(node: ast.expr, aliases: Mapping[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, aliases)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def _unstated(text: str, used: Mapping[str, set[str]]) -> str:
    """Return a section with the names that tests use and that stand nowhere yet, such as ones made at run time."""
    missing = unstated_names(text, used)
    lines = [f"- `{module}`: {', '.join(f'`{name}`' for name in names)}" for module, names in missing.items()]
    silent = [f"- `{module}`" for module in sorted(used) if not _stands(module, text) and module not in missing]
    if not (lines or silent):
        return ""
    return "\n## Further names that the tests use\n\n" + "\n".join([*lines, *silent]) + "\n"


def unstated_names(text: str, used: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return module -> names of *used* that stand nowhere in *text*; modules of which all stand are left out."""
    missing = {
        module: sorted(name for name in names if not _stands(name, text, after_dot=True))
        for module, names in sorted(used.items())
    }
    return {module: names for module, names in missing.items() if names}


def unstated_texts(text: str, root: Path, tests: HiddenTests, modules: Mapping[str, ast.Module]) -> list[str]:
    """Return what stands in texts of the library and of its hidden tests, such as messages, and not in *text*."""
    own = {said for tree in modules.values() for said in _texts(tree)}
    asked = {said for tree in _test_trees(root, tests) for said in _texts(tree)}
    all_own, all_asked, stated = "\0".join(own), "\0".join(asked), _bare(text)
    shared = {said for said in own if said in all_asked} | {said for said in asked if said in all_own}
    return sorted(said for said in shared if _bare(said) not in stated)


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the telling texts of *tree* that are no statements, as docstrings are."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield from [node.value.strip()] * (len(node.value.strip()) >= _LEAST_LINE)


def _bare(text: str) -> str:
    """Return *text* without what is written otherwise in a program or in Markdown."""
    return re.sub(r"[\s\\`]+", "", text)


def _stands(name: str, text: str, *, after_dot: bool = False) -> bool:
    before = r"\w" if after_dot else r"\w."
    return re.search(rf"(?<![{before}]){re.escape(name)}(?!\w)", text) is not None


# --- what must not stand in it


def without_tests(text: str, root: Path, tests: HiddenTests) -> str:
    """Return *text* without runs of lines that stand in the body of a hidden test."""
    lines = text.splitlines()
    kept: list[str] = []
    number = 0
    for start, end in [*_runs(lines, bodies_of_tests(root, tests)), (len(lines), len(lines))]:
        kept += lines[number:start]
        kept += [_CUT] * (end > start)
        number = end
    return "\n".join(kept) + "\n"


def copied_runs(text: str, bodies: Iterable[list[str]]) -> list[list[str]]:
    """Return runs of lines of *text* that stand in *bodies*."""
    lines = text.splitlines()
    return [lines[start:end] for start, end in _runs(lines, bodies)]


def _runs(lines: list[str], bodies: Iterable[list[str]]) -> Iterator[tuple[int, int]]:
    """Yield where a run of *lines* begins and ends that stands in *bodies*, empty lines between included."""
    known = frozenset(line for body in bodies for line in body)
    alike = [_plain(line) in known for line in lines]
    number = 0
    while number < len(lines):
        end = number
        while end < len(lines) and (alike[end] or (end > number and not lines[end].strip())):
            end += 1
        if sum(alike[number:end]) >= _RUN:
            yield number, end
            number = end
        else:
            number += 1


def bodies_of_tests(root: Path, tests: HiddenTests) -> Iterator[list[str]]:
    """Yield the telling lines of each hidden test's body."""
    for path in _test_code(root, tests):
        code = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = python_tree(code)
        except (SyntaxError, ValueError, RecursionError):
            continue
        lines = code.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                inside = lines[node.body[0].lineno - 1 : node.end_lineno]
                yield body_lines("\n".join(inside))


def body_lines(code: str) -> list[str]:
    """Return the lines of *code* that are long enough to be known again, without space."""
    return [plain for line in code.splitlines() if len(plain := _plain(line)) >= _LEAST_LINE]


def _plain(line: str) -> str:
    return re.sub(r"\s+", "", line.strip().removeprefix(">>>").removeprefix("..."))
