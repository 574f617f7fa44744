"""Python: which imports are of other distributions, and of which. Decides nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import CYTHON, SourceFile, SourceFiles
from groundup.sources.names import (
    NAMESPACES,
    ModuleProvider,
    companions,
    is_standard,
    normalised,
    popular,
    python_provider,
)
from groundup_infer.python_features import Features, ImportUse, features, optional_words, setting_of
from groundup_infer.python_imports import (
    Import,
    Reach,
    Reached,
    cython_imports,
    is_eager,
    local_targets,
    oldest_python,
    python_imports,
    walk,
)
from groundup_infer.python_layout import (
    PythonLayout,
    SourcePlace,
    lay_out,
)


class DistributionCandidate(NamedTuple):
    """A distribution that some import speaks for."""

    name: str
    known: bool
    uses: tuple[ImportUse, ...]
    features: Features


class Candidates(NamedTuple):
    """All that is known of a repository before any decision."""

    layout: PythonLayout
    candidates: tuple[DistributionCandidate, ...]
    requires_python: str | None
    files: int


def collect(tree: SourceFiles, priors: Mapping[str, float]) -> Candidates:
    """Read all imports and describe every distribution behind them."""
    layout = lay_out(tree)
    sources = [source for source in tree.sources if source.path in layout.places]
    imports = {source.path: _counted(source) for source in sources}
    reached = walk(layout, imports)
    family = _family(layout)
    grouped: dict[str, list[ImportUse]] = defaultdict(list)
    known: dict[str, bool] = {}
    for path, items in imports.items():
        for item in items:
            for found, module in _foreign(path, item, layout, tree.beside):
                provider = found if found.known or family is None else _in_family(found, module, family)
                if provider.name != layout.project.name:
                    known[provider.name] = provider.known
                    grouped[provider.name].append(
                        _use(path, item._replace(module=module), layout, reached, tree.whole)
                    )
    words = optional_words(source.data for source in sources)
    setting = setting_of(layout, reached, words, _brought(grouped), grouped)
    candidates = [
        DistributionCandidate(name, known[name], tuple(uses), features(name, known[name], uses, setting, priors))
        for name, uses in sorted(grouped.items())
    ]
    package = [
        source.data
        for source in sources
        if layout.places[source.path] is SourcePlace.PACKAGE and source.suffix not in CYTHON
    ]
    return Candidates(layout, tuple(candidates), oldest_python(package), len(sources))


def _brought(grouped: Mapping[str, list[ImportUse]]) -> dict[str, frozenset[str]]:
    """Tell which distributions come along with others that the package imports eagerly."""
    eager = {
        name
        for name, uses in grouped.items()
        if any(use.place is SourcePlace.PACKAGE and is_eager(use.item) for use in uses)
    }
    bringers: dict[str, set[str]] = defaultdict(set)
    for name in eager:
        for other in companions().get(name, ()):
            bringers[other].add(name)
    return {name: frozenset(found) for name, found in bringers.items()}


def _counted(source: SourceFile) -> list[Import]:
    items = (cython_imports if source.suffix in CYTHON else python_imports)(source.data)
    return items if source.lines is None else [item for item in items if item.line in source.lines]


def _foreign(
    path: str, item: Import, layout: PythonLayout, beside: Mapping[str, str]
) -> Iterator[tuple[ModuleProvider, str]]:
    """Yield who provides what *item* imports, unless Python or the project itself does."""
    top = item.module.partition(".")[0]
    if item.level or not top or is_standard(top):
        return
    if item.module not in layout.modules and (neighbour := _neighbour(item, beside)):
        yield ModuleProvider(neighbour, known=True), item.module
        return
    shared = top in NAMESPACES or top in layout.namespaces
    targets = local_targets(item, "", is_package=False, modules=layout.modules)
    if targets and not (shared and (targets == [top] or _only_shared(item, targets, layout))):
        return
    if top in layout.roots and not shared:
        return
    modules = [item.module]
    if shared:
        modules = [f"{item.module}.{name}" for name in item.names if name != "*"] or [item.module]
        modules = [module for module in modules if "." in module]
    for module in modules:
        provider = python_provider(module, shared=shared)
        if provider.name and (shared or not _is_local(path, top, provider, layout)):
            yield provider, module


def _neighbour(item: Import, beside: Mapping[str, str]) -> str:
    """Return the distribution of another project of the repository that *item* imports from; empty: none."""
    if not beside:
        return ""
    names = [item.module, *(f"{item.module}.{name}" for name in item.names)]
    parents = [item.module[:at] for at, letter in enumerate(item.module) if letter == "."]
    return next((beside[name] for name in (*names, *reversed(parents)) if name in beside), "")


class Family(NamedTuple):
    """Distributions whose names begin with a word that their imports lack."""

    prefix: str
    first: str
    """The word that follows it, with which imports begin."""


def _family(layout: PythonLayout) -> Family | None:
    """Tell by the project's own name and import: `apache-airflow-providers-http` is `airflow.providers.http`."""
    project = layout.project.name
    for dotted in sorted(layout.modules, key=len):
        spelled = normalised(dotted)
        if project.endswith(f"-{spelled}"):
            return Family(project.removesuffix(spelled), spelled.partition("-")[0])
    return None


def _in_family(found: ModuleProvider, module: str, family: Family) -> ModuleProvider:
    """Return the relative of the project that provides *module*; *found* where it seems to be none."""
    parts = module.split(".")
    if normalised(parts[0]).partition("-")[0] != family.first:
        return found
    for length in range(min(len(parts), 4), 0, -1):
        name = family.prefix + normalised(".".join(parts[:length]))
        if name in popular():
            return ModuleProvider(name, known=True)
    return found._replace(name=family.prefix + found.name)


def _only_shared(item: Import, targets: list[str], layout: PythonLayout) -> bool:
    """Whether the repository has nothing of what *item* imports but namespace packages above it."""
    last = targets[-1]
    is_above = item.module.startswith(f"{last}.") or (item.module == last and bool(set(item.names) - {"*"}))
    return is_above and last in layout.namespaces


def _is_local(path: str, top: str, provider: ModuleProvider, layout: PythonLayout) -> bool:
    """Whether *top* is more likely a file of the repository than a distribution.

    A folder deep in the package, or among its tests, does not hide a distribution of its name from the package.
    """
    if _is_beside(path, top, layout):
        return True
    if provider.known:
        return False
    if path.endswith(CYTHON):
        return True  # headers that stand beside it, or are written when it is built
    if top in layout.folders or path not in layout.names:
        return top in layout.folders or top in layout.siblings or top in layout.loose
    beside = f"{PurePosixPath(path).parent.as_posix()}/{top}/__init__.py".removeprefix("./")
    return beside in layout.places or top in layout.loose


def _is_beside(path: str, top: str, layout: PythonLayout) -> bool:
    """Whether a script finds *top* in its own folder; modules of a package look in the import roots alone."""
    beside = (PurePosixPath(path).parent / f"{top}.py").as_posix()
    return path not in layout.names and beside != path and beside in layout.places


def _use(path: str, item: Import, layout: PythonLayout, reached: Reached, whole: bool) -> ImportUse:
    module = layout.names.get(path)
    if not whole:
        return ImportUse(path, item, SourcePlace.PACKAGE, Reach.ROOT, 0)
    if module is None:
        return ImportUse(path, item, layout.places[path], Reach.NEVER, 0)
    return ImportUse(
        path, item, layout.places[path], reached.reach.get(module, Reach.NEVER), reached.depth.get(module, 9)
    )
