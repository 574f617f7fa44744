"""Every import of one Python file and how it is made, and the oldest Python that its syntax runs on.

Which modules of a package run when it is imported, and which only later or never.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import ancestors, captures, line_of, parse, text_of
from groundup.sources.names import NAMESPACES
from groundup_infer.python_layout import PythonLayout, SourcePlace
from groundup_infer.records import Manner

_QUERY = """
(import_statement) @import
(import_from_statement) @from
(call function: [(identifier) (attribute)] @function arguments: (argument_list . (string) @literal))
"""
_DYNAMIC = re.compile(r"(^|\.)(import_module|__import__|importorskip|import_string|optional_import|try_import)$")
_MODULE = re.compile(r"\.*[^\W\d]\w*(\.[^\W\d]\w*)*")
_IMPORT_ERRORS = re.compile(r"\b(ImportError|ModuleNotFoundError|Exception|BaseException)\b")
_VERSION = re.compile(r"version_info|hexversion|\bPY[23]|python_version|\bPY3?\d\d+|VERSION")
_PLATFORM = re.compile(r"platform|os\.name|\bWINDOWS\b|\bIS_WIN|\bWIN32\b|_windows\b", re.IGNORECASE)
_VERSION_TEST = re.compile(
    r"(?:sys\.)?version_info\s*(?:\[:2\]|\[:3\])?\s*(>=|<=|<|>)\s*\(\s*(\d+)\s*,?\s*(\d*)[^)]*\)"
)
_MARGIN = re.compile(rb"\n(?!except\b|else\b|elif\b|finally\b)[A-Za-z_@]")
_OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">"}


class Import(NamedTuple):
    """One imported module."""

    module: str
    """Dotted, as written, without leading dots."""
    level: int
    """Number of leading dots."""
    names: tuple[str, ...]
    """What `from` takes; `*` for everything."""
    line: int
    manners: frozenset[Manner]
    marker: str = ""
    """What a test of the interpreter's version around it implies."""
    blames: str = ""
    """For a fallback: the module whose import failed."""


def python_imports(source: bytes) -> list[Import]:
    """Return the imports of UTF-8 *source* in order. Never fails: what cannot be parsed is left out."""
    found: list[Import] = []
    function = ""
    for name, node in captures("python", _QUERY, parse("python", _head_with_imports(source)).root_node):
        if name == "function":
            function = text_of(node)
        elif name == "literal":
            found.extend(_dynamic(function, node))
        else:
            found.extend(_statement(node))
    return found


_CYTHON = re.compile(rb"^(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([\w., \t]+))", re.MULTILINE)
_CYTHON_OWN = frozenset({"libc", "libcpp", "cpython", "cython", "posix", "openmp"})
"""What Cython itself brings, for compiling."""


def cython_imports(source: bytes) -> list[Import]:
    """Return the imports at the margin of a Cython file, `cimport` too: its module is loaded at run time."""
    found = []
    for match in _CYTHON.finditer(source):
        taken, listed = (part.decode("utf-8", "replace") if part else "" for part in match.groups())
        for text in [taken] if taken else [one.split(" as ")[0] for one in listed.split(",")]:
            module = text.strip().lstrip(".")
            if not _MODULE.fullmatch(module) or module.partition(".")[0] in _CYTHON_OWN:
                continue
            level, line = len(text.strip()) - len(module), source.count(b"\n", 0, match.start()) + 1
            found.append(Import(module, level, (), line, frozenset()))
    return found


def _head_with_imports(source: bytes) -> bytes:
    """Cut off what follows the last mention of an import: most files import at the top, and parsing is the work.

    The cut is before a statement at the margin, so that every import keeps what is around it.
    """
    last = source.rfind(b"import")
    if last < 0:
        return b""
    match = _MARGIN.search(source, last)
    if match is None:
        return source
    head = source[: match.start() + 1]
    strings = head.count(b'"""') + head.count(b"'''")
    return source if strings % 2 else head


def _statement(node: Node) -> Iterator[Import]:
    if node.type == "import_statement":
        for item in node.children_by_field_name("name"):
            target = item.child_by_field_name("name") if item.type == "aliased_import" else item
            module = _dotted(target)
            if module:
                yield Import(module, 0, (), line_of(item), *_context(node, module))
        return
    target = node.child_by_field_name("module_name")
    if target is None:
        return
    written = "".join(text_of(target).split())
    module = written.lstrip(".")
    if module and not _MODULE.fullmatch(module):
        return
    taken = []
    for item in node.children_by_field_name("name"):
        inner = item.child_by_field_name("name") if item.type == "aliased_import" else item
        taken.append(_dotted(inner))
    if any(child.type == "wildcard_import" for child in node.children):
        taken.append("*")
    level = len(written) - len(module)
    context = _context(node, "" if level else module)
    yield Import(module, level, tuple(filter(None, taken)), line_of(node), *context)


def _dotted(node: Node | None) -> str:
    if node is None:
        return ""
    text = "".join(text_of(node).split())
    return text if _MODULE.fullmatch(text) else ""


def _dynamic(function: str, literal: Node) -> Iterator[Import]:
    if not _DYNAMIC.search(function):
        return
    text = "".join(text_of(child) for child in literal.children if child.type == "string_content")
    if any(child.type == "interpolation" for child in literal.children) or not _MODULE.fullmatch(text):
        return
    manners, marker, blames = _context(literal)
    if function.endswith("importorskip"):
        manners |= {Manner.GUARDED}
    module = text.lstrip(".")
    yield Import(module, len(text) - len(module), (), line_of(literal), manners | {Manner.DYNAMIC}, marker, blames)


def _context(node: Node, module: str = "") -> tuple[frozenset[Manner], str, str]:
    """Return how *node* is reached; branches that all import *module* are no condition of it."""
    manners: set[Manner] = set()
    marker, blames = "", ""
    for parent, child in ancestors(node):
        kind = parent.type
        if module and child.type in _BRANCHES and _in_each_branch(parent, module):
            continue
        if kind in {"function_definition", "lambda"}:
            manners.add(Manner.LAZY)
        elif kind == "try_statement":
            manner, blamed = _tried(parent, child)
            if manner:
                manners.add(manner)
                blames = blames or blamed
        elif kind in {"if_statement", "elif_clause", "else_clause"}:
            manner, implied = _branch(parent, child)
            if manner:
                manners.add(manner)
                marker = marker or implied
        elif kind == "with_statement" and re.search(
            r"suppress\(.*(ImportError|ModuleNotFound|Exception)", _head(parent)
        ):
            manners.add(Manner.GUARDED)
    if Manner.FALLBACK in manners and (version := _came_with(blames)) and not marker:
        # A backport stands in for a module that older interpreters lack: a requirement on those.
        manners = manners - {Manner.FALLBACK} | {Manner.VERSION}
        marker = f'python_version < "{version}"'
    return frozenset(manners), marker, blames


_BRANCHES = frozenset({"block", "except_clause", "else_clause"})


def _in_each_branch(parent: Node, module: str) -> bool:
    """Whether each part of an `if` with an `else`, or of a `try` that catches failed imports, has *module*."""
    owner = parent.parent if parent.type in {"elif_clause", "else_clause"} else parent
    if owner is None or owner.type not in {"if_statement", "try_statement"}:
        return False
    caught = [one for one in owner.children if one.type == "except_clause" and _catches_import_errors(one)]
    others = [one for one in owner.children if one.type in {"elif_clause", "else_clause"}]
    if owner.type == "try_statement":
        parts = [owner, *caught] if caught else []
    else:
        parts = [owner, *others] if any(one.type == "else_clause" for one in others) else []
    wanted = _provided_part(module)
    return bool(parts) and all(wanted in _imported_at_once(part) for part in parts)


def _imported_at_once(part: Node) -> set[str]:
    """Return what stands in the block of *part* itself."""
    block = next((one for one in part.children if one.type == "block"), None)
    found: set[str] = set()
    for line in block.named_children if block is not None else ():
        if line.type == "import_from_statement":
            found.add(_provided_part(_dotted(line.child_by_field_name("module_name"))))
        elif line.type == "import_statement":
            for item in line.children_by_field_name("name"):
                found.add(_provided_part(_dotted(item.child_by_field_name("name") or item)))
    return found


def _provided_part(module: str) -> str:
    """Return as much of *module* as tells its distribution."""
    return ".".join(module.split(".")[: 2 if module.partition(".")[0] in NAMESPACES else 1])


def _head(node: Node) -> str:
    body = node.child_by_field_name("body")
    whole = node.text or b""
    return (whole[: body.start_byte - node.start_byte] if body else whole[:400]).decode("utf-8", "replace")


def _catches_import_errors(clause: Node) -> bool:
    head = " ".join(text_of(child) for child in clause.children if child.type not in {"block", "comment"})
    return head.replace(" ", "") in {"except:", "except*"} or _IMPORT_ERRORS.search(head) is not None


_CAME_WITH = {"tomllib": "3.11", "zoneinfo": "3.9", "graphlib": "3.9"} | {
    f"typing.{name}": version
    for version, names in {
        "3.10": "Concatenate ParamSpec ParamSpecArgs ParamSpecKwargs TypeAlias TypeGuard is_typeddict",
        "3.11": "LiteralString Never NotRequired Required Self TypeVarTuple Unpack assert_never assert_type "
        "dataclass_transform reveal_type",
        "3.12": "TypeAliasType override",
        "3.13": "NoDefault ReadOnly TypeIs",
    }.items()
    for name in names.split()
}
"""Modules of the standard library, and young names in them, with the version that brought them."""


def _came_with(missing: str) -> str | None:
    return _CAME_WITH.get(missing) or _CAME_WITH.get(missing.partition(".")[0])


def _tried(statement: Node, child: Node) -> tuple[Manner | None, str]:
    handlers = [
        part for part in statement.children if part.type == "except_clause" and _catches_import_errors(part)
    ]
    if not handlers:
        return None, ""
    if child.type == "except_clause":
        return (Manner.FALLBACK, _first_import(statement)) if child in handlers else (None, "")
    if child.type == "finally_clause":
        return None, ""
    raising = all(_raises(handler) for handler in handlers)
    return (Manner.DEMANDED if raising else Manner.GUARDED), ""


def _first_import(statement: Node) -> str:
    body = statement.child_by_field_name("body")
    for _, item in captures("python", "[(import_statement) (import_from_statement)] @i", body) if body else []:
        target = item.child_by_field_name("module_name") or item.child_by_field_name("name")
        if target is not None:
            if target.type == "aliased_import":
                target = target.child_by_field_name("name")
            module = _dotted(target)
            taken = [f"{module}.{text_of(one).split()[0]}" for one in item.children_by_field_name("name")]
            return max((one for one in taken if one in _CAME_WITH), key=_CAME_WITH.__getitem__, default=module)
    return ""


def _raises(handler: Node) -> bool:
    block = next((child for child in handler.children if child.type == "block"), None)
    if block is None or not block.named_children:
        return False
    last = block.named_children[-1]
    if last.type == "raise_statement":
        return True
    return last.type == "expression_statement" and re.match(r"(sys\.)?exit\(", text_of(last)) is not None


def _branch(clause: Node, child: Node) -> tuple[Manner | None, str]:
    """Judge the branch of an `if` that *child* is in. The `else` belongs to the whole statement."""
    if clause.type in {"if_statement", "elif_clause"} and child.type in {"elif_clause", "else_clause"}:
        return None, ""  # judged at the clause itself
    negated = clause.type == "else_clause"
    owner = clause.parent if negated else clause
    if owner is None or owner.type not in {"if_statement", "elif_clause"}:
        return None, ""
    if negated:  # the last test before the `else` is the one that decides most
        owner = next((part for part in reversed(owner.children) if part.type == "elif_clause"), owner)
    condition = owner.child_by_field_name("condition")
    if condition is None or (not negated and child == condition):
        return None, ""
    text = text_of(condition)
    if text.strip().startswith("not "):
        negated, text = not negated, text.strip()[4:]
    return _condition(text, negated)


def _condition(text: str, negated: bool) -> tuple[Manner | None, str]:
    if "TYPE_CHECKING" in text:
        return (None if negated else Manner.TYPING), ""
    if "__name__" in text:
        return (None if negated else Manner.LAZY), ""
    test = _VERSION_TEST.search(text)
    if test and not re.search(r"\b(and|or)\b", text):
        operator = _OPPOSITE[test.group(1)] if negated else test.group(1)
        return Manner.VERSION, f'python_version {operator} "{test.group(2)}.{test.group(3) or 0}"'
    if _VERSION.search(text):
        return Manner.VERSION, ""
    if _PLATFORM.search(text):
        return Manner.PLATFORM, _platform_marker(text, negated)
    return Manner.CONDITIONAL, ""


def _platform_marker(text: str, negated: bool) -> str:
    test = re.fullmatch(r"\(?\s*(sys\.platform|os\.name)\s*(==|!=)\s*['\"](\w+)['\"]\s*\)?", text.strip())
    if not test:
        return ""
    operator = test.group(2) if not negated else {"==": "!=", "!=": "=="}[test.group(2)]
    name = {"sys.platform": "sys_platform", "os.name": "os_name"}[test.group(1)]
    return f'{name} {operator} "{test.group(3)}"'


_SIMPLE = (
    ("3.12", re.compile(rb"^\s*type \w+(\[[^\]]*\])? = ", re.MULTILINE)),
    ("3.11", re.compile(rb"^\s*except\s*\*", re.MULTILINE)),
    ("3.10", re.compile(rb"^\s*match .+:\s*(#.*)?\n\s+case .+:", re.MULTILINE)),
    ("3.8", re.compile(rb"[(\s]\w+ := ")),
)
_CONFIRMING = {"3.12": "type_alias_statement", "3.10": "match_statement", "3.8": "named_expression"}


def oldest_python(sources: Iterable[bytes]) -> str | None:
    """Return `>=3.x` for the newest syntax found, or None when none newer than 3.7 is seen."""
    best: tuple[int, ...] = (3, 7)
    for source in sources:
        for version, pattern in _SIMPLE:
            number = tuple(map(int, version.split(".")))
            if number > best and pattern.search(source) and _confirmed(source, version):
                best = number
    return f">={best[0]}.{best[1]}" if best > (3, 7) else None


def _confirmed(source: bytes, version: str) -> bool:
    """Whether the syntax tree agrees: the text may stand in a string."""
    kind = _CONFIRMING.get(version)
    root = parse("python", source).root_node
    if kind is None:
        clauses = captures("python", "(except_clause) @found", root)
        return any(re.match(r"except\s*\*", text_of(clause)) for _, clause in clauses)
    return bool(captures("python", f"({kind}) @found", root))


class Reach(IntEnum):
    """How surely loading the package runs a module; higher is surer."""

    NEVER = 0
    LATER = 1
    """Only through an import that is lazy, guarded or conditional."""
    ENTRY = 2
    """Eagerly from an entry point."""
    ROOT = 3
    """Eagerly from the package root."""


class Reached(NamedTuple):
    """The reach of each module, and its distance from where the walk began."""

    reach: dict[str, Reach]
    depth: dict[str, int]
    edges: Mapping[str, list[tuple[str, bool]]]
    """Module -> those that it loads, and whether eagerly."""


_HARD = frozenset({Manner.VERSION, Manner.DEMANDED})
"""Manners that do not keep an import from happening."""


def is_eager(item: Import) -> bool:
    """Whether the import happens whenever its module is loaded."""
    return not item.manners - _HARD


def local_targets(item: Import, importer: str, is_package: bool, modules: Mapping[str, str]) -> list[str]:
    """Return the repository's own modules that *item* loads, parents first; empty when it is not local."""
    base = item.module
    if item.level:
        parts = importer.split(".") if importer else []
        keep = len(parts) - item.level + (1 if is_package else 0)
        if keep < 0:
            return []
        base = ".".join(filter(None, [*parts[:keep], item.module]))
    found = [base, *(f"{base}.{name}" for name in item.names if name != "*")]
    chain: dict[str, None] = {}
    for name in found:
        chain.update(dict.fromkeys(one for one in [*_above(name), name] if one in modules))
    return list(chain)


def walk(layout: PythonLayout, imports: Mapping[str, list[Import]]) -> Reached:
    """Walk from the package roots, then from entry points, then along everything that is not typing-only.

    A package that loads its names lazily by a stub (`lazy_loader.attach_stub`) offers what its stub imports.
    """
    stubs = {
        path: imports.get(f"{path}i", [])
        for path, items in imports.items()
        if path.endswith("__init__.py") and any(item.module == "lazy_loader" for item in items)
    }
    reach = dict.fromkeys(layout.modules, Reach.NEVER)
    depth: dict[str, int] = {}
    edges = {
        name: _edges(name, path, [*imports.get(path, []), *stubs.get(path, [])], layout)
        for name, path in layout.modules.items()
    }
    known = Reached(reach, depth, edges)
    # The surest first: a module keeps the highest reach that it gets.
    _spread(known, Reach.ROOT, _roots(layout), edges)
    _spread(known, Reach.ENTRY, _with_parents(_entries(layout), layout), edges)
    hard = [name for name in layout.modules if reach[name] > Reach.NEVER]
    _spread(known, Reach.LATER, hard, edges)
    return known


def shares(
    reached: Reached, needs: Mapping[str, Collection[str]], counted: Collection[str], lazily: bool = False
) -> dict[str, float]:
    """Return for each name in *needs* (module -> what it needs itself) the share of *counted* that need it.

    A module needs what those need that it loads: eagerly, or at all with *lazily*.
    This tells what a package stands on where its root loads nothing.
    """
    names = sorted({name for found in needs.values() for name in found})
    bits = {name: 1 << position for position, name in enumerate(names)}
    masks = {module: sum(bits[name] for name in set(needs.get(module, ()))) for module in reached.edges}
    importers: dict[str, list[str]] = defaultdict(list)
    for module, targets in reached.edges.items():
        parent = module.rpartition(".")[0]
        loaded = {target for target, eager in targets if eager or lazily} | ({parent} & reached.edges.keys())
        for target in loaded:
            importers[target].append(module)
    queue = deque(module for module, mask in masks.items() if mask)
    while queue:
        module = queue.popleft()
        for importer in importers[module]:
            merged = masks[importer] | masks[module]
            if merged != masks[importer]:
                masks[importer] = merged
                queue.append(importer)
    found = Counter(masks[module] for module in counted)
    total = max(len(counted), 1)
    return {name: sum(times for mask, times in found.items() if mask & bits[name]) / total for name in names}


def _roots(layout: PythonLayout) -> list[str]:
    """Return the import roots; of one that other distributions share, the outermost packages of its own."""
    packages = [name for name in layout.modules if _is_package(name, layout)]
    solid = {name for name in packages if name not in layout.namespaces}
    roots = [name for name in layout.roots if name in layout.modules and name not in layout.namespaces]
    for root in set(layout.roots).difference(roots):
        inside = [name for name in packages if name.startswith(f"{root}.")]
        own = solid.intersection(inside) or set(inside)
        roots += sorted(name for name in own if not own.intersection(_above(name)))
    return roots


@lru_cache(maxsize=65_536)
def _above(name: str) -> tuple[str, ...]:
    """Return the packages that *name* lies in, outermost first."""
    return tuple(name[:position] for position, letter in enumerate(name) if letter == ".")


def _spread(known: Reached, level: Reach, starts: list[str], edges: Mapping[str, list[tuple[str, bool]]]) -> None:
    """Raise everything that *starts* load to *level*; below ENTRY, along lazy imports too."""
    queue = deque((name, 0) for name in starts)
    visited: set[str] = set()
    while queue:
        name, distance = queue.popleft()
        if name in visited:
            continue
        visited.add(name)
        if known.reach[name] < level:
            known.reach[name] = level
            known.depth.setdefault(name, distance)
        for target, eager in edges[name]:
            if (eager or level < Reach.ENTRY) and target not in visited:
                queue.append((target, distance + 1))


def _with_parents(names: Iterable[str], layout: PythonLayout) -> list[str]:
    result: dict[str, None] = {}
    for name in names:
        result.update(dict.fromkeys(one for one in [*_above(name), name] if one in layout.modules))
    return list(result)


def _is_package(name: str, layout: PythonLayout) -> bool:
    return layout.modules[name].endswith("__init__.py")


def _entries(layout: PythonLayout) -> list[str]:
    entries = [*layout.project.scripts, *layout.project.plugins]
    entries += [f"{root}.__main__" for root in layout.roots]
    return [name for name in entries if name in layout.modules]


def _edges(name: str, path: str, items: list[Import], layout: PythonLayout) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for item in items:
        if Manner.TYPING in item.manners:
            continue
        eager = is_eager(item)
        targets = local_targets(item, name, _is_package(name, layout), layout.modules)
        found += [
            (target, eager)
            for target in targets
            if layout.places.get(layout.modules[target]) is not SourcePlace.TEST
        ]
    return found
