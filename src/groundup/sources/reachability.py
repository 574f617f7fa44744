"""Which modules of a package run when it is imported, and which only later or never."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from groundup.sources.python_imports import Import
from groundup.sources.python_layout import PythonLayout
from groundup.sources.records import Manner, SourcePlace


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
