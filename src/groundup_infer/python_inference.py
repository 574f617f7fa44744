"""Python: from imports to dependencies, each required, optional or for development, with its evidence.

What the decision between required and optional is made from: a few numbers about each distribution.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import CYTHON, READ, SourceFile, SourceFiles, below
from groundup.sources.names import (
    NAMESPACES,
    ModuleProvider,
    companions,
    is_standard,
    normalised,
    popular,
    python_provider,
    words,
)
from groundup.sources.python_layout import (
    PythonLayout,
    SourcePlace,
    enclosing_folder,
    lay_out,
    modules_beside,
    outside,
    projects_below,
)
from groundup_infer.python_imports import (
    Import,
    Reach,
    Reached,
    cython_imports,
    is_eager,
    local_targets,
    oldest_python,
    python_imports,
    shares,
    walk,
)
from groundup_infer.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    Manner,
)


class ImportUse(NamedTuple):
    """One import of something that the repository does not provide."""

    path: str
    item: Import
    place: SourcePlace
    reach: Reach
    depth: int


class Setting(NamedTuple):
    """What all candidates of one repository share."""

    layout: PythonLayout
    package_files: int
    reached_share: float
    """Of the package's modules, how many are reached eagerly."""
    optional_words: frozenset[str]
    """Import roots and distributions that the code tests for, or asks its user to install."""
    brought: Mapping[str, frozenset[str]]
    """Distribution -> those among the repository's eager imports that bring it along."""
    eager_shares: Mapping[str, float]
    """Distribution -> the share of the package's modules that cannot be loaded without it."""
    shares: Mapping[str, float]
    """The same along lazy imports too."""
    lazy_style: float
    """Of what the package imports from elsewhere, the share that it imports inside functions."""
    most_files: int
    """Of the distribution that most of the package's files import, how many do."""


_TESTED_FOR = re.compile(
    rb"(?:find_spec|importorskip|is_installed|is_available|module_available|package_available|has_module|RequirementCache|"
    rb"requires?_package|import_optional_dependency|skip_if_no|minversion|version_of|requires_backends?)"
    rb"\(\s*[\"']([A-Za-z][\w.-]*)"
)
_TOLD_TO_INSTALL = re.compile(
    rb"(?:pip3?|conda|uv|poetry|apt-get)(?: -m)? (?:install|add)((?: +-{1,2}[\w-]+)*(?: +[`'\"]?[\w.\[\]=<>-]+)+)"
)


def optional_words(sources: Iterable[bytes]) -> frozenset[str]:
    """Return what some code tests the presence of or asks its user to install, normalised."""
    found: set[str] = set()
    for source in sources:
        if b"install" in source or b"find_spec" in source or b"skip" in source or b"vailable" in source:
            found.update(match.decode("ascii").partition(".")[0] for match in _TESTED_FOR.findall(source))
            for match in _TOLD_TO_INSTALL.findall(source):
                found.update(re.findall(r"(?<![-\w\[])[A-Za-z][\w-]+", match.decode("ascii")))
    return frozenset(normalised(word) for word in found)


def setting_of(
    layout: PythonLayout,
    reached: Reached,
    words: frozenset[str],
    brought: Mapping[str, frozenset[str]],
    grouped: Mapping[str, Sequence[ImportUse]],
) -> Setting:
    """Summarise a repository; *grouped*: distribution -> its imports."""
    modules = [name for name, path in layout.modules.items() if layout.places.get(path) is SourcePlace.PACKAGE]
    eager = sum(1 for name in modules if reached.reach.get(name, Reach.NEVER) >= Reach.ENTRY)
    by_name = {name: _Uses(uses) for name, uses in grouped.items()}
    needed: dict[str, set[str]] = defaultdict(set)
    wanted: dict[str, set[str]] = defaultdict(set)
    for name, uses in by_name.items():
        for use in uses.real:
            module = layout.names.get(use.path)
            if module is not None and use not in uses.soft:
                wanted[module].add(name)
                if is_eager(use.item):
                    needed[module].add(name)
    real = sum(len(uses.real) for uses in by_name.values())
    return Setting(
        layout,
        len(modules),
        eager / len(modules) if modules else 0.0,
        words,
        brought,
        shares(reached, needed, modules),
        shares(reached, wanted, modules, lazily=True),
        sum(len(uses.lazy) for uses in by_name.values()) / max(real, 1),
        max((len(uses.files) for uses in by_name.values()), default=0),
    )


_PLUGIN_FOLDER = re.compile(
    r"(^|/)_?(contrib|plugins?|extras?|ext|extensions?|integrations?|backends?|adapters?|drivers?|providers?|optional|"
    r"vendor|vendored|_vendor|third_party|externals?|compat\w*|_compat\w*|experimental|loggers|callbacks|connectors?|"
    r"transports?|storage|storages|exporters?|formatters|loaders)(/|\.py$)"
)
_VENDORED = re.compile(r"(^|/)(_?vendor(ed)?|third_?party|externals?|extern|_vendor)/")
_TOOLS = words(
    """
    pytest setuptools sphinx mypy nox tox coverage hypothesis mock ipython ipdb nose wheel build twine black
    ruff flake8 pylint isort pre-commit ipykernel matplotlib pandas torch tensorflow django sqlalchemy jupyter
    notebook cython pybind11 setuptools-scm pytest-asyncio pytest-cov docutils trio gevent eventlet uvloop
    tornado twisted simplejson ujson orjson redis boto3 colorama pywin32 pip gunicorn uvicorn freezegun faker
    tensorboardx wandb keras jax polars pyarrow dask xarray networkx scipy sklearn scikit-learn ipywidgets
    pillow moto vcrpy win32-setctime psycopg2 psycopg pymysql
    """
)
_RARELY_REQUIRED = words(
    """
    pytest sphinx mypy nox tox coverage hypothesis nose wheel twine black ruff pylint ipykernel pre-commit
    mock cython setuptools-scm pytest-asyncio pytest-cov freezegun faker moto vcrpy ipdb ipython
    """
)

Features = dict[str, float]
"""By name, in the order of the weights in `data/python_weights.json`."""


class _Uses:
    """How one distribution is imported, sorted by manner and reach."""

    def __init__(self, uses: Sequence[ImportUse]) -> None:
        self.all = uses
        self.package = [use for use in uses if use.place is SourcePlace.PACKAGE]
        self.real = [use for use in self.package if Manner.TYPING not in use.item.manners]
        self.eager = [use for use in self.real if is_eager(use.item)]
        self.soft = [use for use in self.real if use.item.manners & {Manner.GUARDED, Manner.FALLBACK}]
        self.lazy = [use for use in self.real if Manner.LAZY in use.item.manners and use not in self.soft]
        self.reach = Counter(use.reach for use in self.eager)
        self.manners = Counter(manner for use in self.package for manner in use.item.manners)
        self.files = {use.path for use in self.package}
        self.eager_files = {use.path for use in self.eager}
        self.hard = bool(self.reach[Reach.ROOT] or self.reach[Reach.ENTRY])
        """Whether importing the package, or starting a program of its, needs it."""


def features(
    name: str, known: bool, uses: Sequence[ImportUse], setting: Setting, priors: Mapping[str, float]
) -> Features:
    """Return the features of distribution *name*."""
    sorted_uses = _Uses(uses)
    found = {"bias": 1.0, **_by_manner(sorted_uses), **_by_place(name, sorted_uses, setting)}
    found |= _by_setting(name, known, sorted_uses, setting)
    prior = priors.get(name, 0.0)
    found |= {"prior": prior, "prior_weak": prior * (not sorted_uses.hard)}
    return {key: float(value) for key, value in found.items()}


def _by_manner(uses: _Uses) -> Features:
    """Return what follows from how far and in which manner it is imported."""
    return {
        "root_eager": uses.reach[Reach.ROOT] > 0,
        "root_eager_top": any(use.depth <= 1 and use.reach is Reach.ROOT for use in uses.eager),
        "entry_eager": uses.reach[Reach.ENTRY] > 0 and not uses.reach[Reach.ROOT],
        "later_eager": uses.reach[Reach.LATER] > 0 and not uses.hard,
        "never_eager": uses.reach[Reach.NEVER] > 0 and not uses.hard and not uses.reach[Reach.LATER],
        "root_lazy": any(use.reach >= Reach.ENTRY for use in uses.lazy) and not uses.hard,
        "any_lazy": bool(uses.lazy),
        "only_lazy": bool(uses.lazy) and not uses.eager and not uses.soft,
        "guarded": bool(uses.soft),
        "only_guarded": bool(uses.soft) and not uses.eager and not uses.lazy,
        "guarded_root": any(use.reach >= Reach.ENTRY for use in uses.soft),
        "demanded": uses.manners[Manner.DEMANDED] > 0,
        "only_demanded": bool(uses.real) and all(Manner.DEMANDED in use.item.manners for use in uses.real),
        "fallback": uses.manners[Manner.FALLBACK] > 0,
        "only_typing": bool(uses.package) and not uses.real,
        "also_typing": bool(uses.real) and uses.manners[Manner.TYPING] > 0,
        "version": uses.manners[Manner.VERSION] > 0,
        "only_version": bool(uses.real) and all(Manner.VERSION in use.item.manners for use in uses.real),
        "platform": bool(uses.real) and all(Manner.PLATFORM in use.item.manners for use in uses.real),
        "conditional": bool(uses.real) and all(Manner.CONDITIONAL in use.item.manners for use in uses.real),
        "dynamic": uses.manners[Manner.DYNAMIC] > 0 and not uses.eager,
    }


def _by_place(name: str, uses: _Uses, setting: Setting) -> Features:
    """Return what follows from where and how often it is imported."""
    return {
        "only_outside": not uses.package,
        "outside_too": bool(uses.package) and len(uses.package) < len(uses.all),
        "script": any(use.place is SourcePlace.SCRIPT for use in uses.all) and not uses.package,
        "log_files": math.log1p(len(uses.files)),
        "log_eager_uses": math.log1p(len(uses.eager)),
        "share_files": len(uses.eager_files) / max(setting.package_files, 1),
        "share_unguarded": len(uses.eager) / len(uses.package) if uses.package else 0.0,
        "plugin_folder": bool(uses.files) and all(_PLUGIN_FOLDER.search(path) for path in uses.files),
        "namesake_file": _namesake(name, uses.files, uses.all),
        "vendored": bool(uses.files) and all(_VENDORED.search(path) for path in uses.files),
    }


def _by_setting(name: str, known: bool, uses: _Uses, setting: Setting) -> Features:
    """Return what follows from names, and from the rest of the repository."""
    opening = 1.0 - setting.reached_share
    spellings = {name, *(normalised(use.item.module.partition(".")[0]) for use in uses.all)}
    return {
        "tool": name in _TOOLS,
        "rarely_required": name in _RARELY_REQUIRED,
        "known": known,
        "kin": _kin(name, setting.layout.project.name),
        "depth": math.log1p(min((use.depth for use in uses.eager if use.reach >= Reach.ENTRY), default=0)),
        "open_package": opening,
        "never_eager_open": opening * (uses.reach[Reach.NEVER] > 0 and not uses.hard),
        "later_eager_open": opening * (uses.reach[Reach.LATER] > 0 and not uses.hard),
        "single_file_never": len(uses.eager_files) == 1 and not uses.hard,
        "no_package": setting.package_files == 0,
        "build_only": bool(uses.all) and all(use.place is SourcePlace.BUILD for use in uses.all),
        "tested_for": bool(setting.optional_words & spellings),
        "brought": bool(setting.brought.get(name)),
        "brought_hard": bool(setting.brought.get(name)) and uses.hard,
        "log_lazy_files": math.log1p(len({use.path for use in uses.lazy})),
        "eager_share": setting.eager_shares.get(name, 0.0),
        "eager_share_open": opening * setting.eager_shares.get(name, 0.0),
        "eager_share_weak": setting.eager_shares.get(name, 0.0) * (not uses.hard),
        "wanted_share": setting.shares.get(name, 0.0),
        "wanted_share_weak": setting.shares.get(name, 0.0) * (not uses.hard),
        "lazy_style": setting.lazy_style,
        "lazy_style_only": setting.lazy_style * bool(uses.lazy and not uses.eager and not uses.soft),
        "files_of_most": len(uses.files) / max(setting.most_files, 1),
        "outside_hard": any(is_eager(use.item) for use in uses.all if use.place is not SourcePlace.PACKAGE),
        "small_package": 1 / (1 + setting.package_files),
        "open_log_files": opening * math.log1p(len(uses.eager_files)),
        "no_soft_no_outside": (
            bool(uses.eager) and not uses.soft and not uses.lazy and len(uses.package) == len(uses.all)
        ),
    }


def _namesake(name: str, files: set[str], uses: Sequence[ImportUse]) -> bool:
    """Whether every file that imports it is named after it: an integration, not a foundation."""
    plain = {
        re.sub(r"[^a-z0-9]", "", word.lower()) for word in (name, *(use.item.module.split(".")[0] for use in uses))
    }
    plain = {word for word in plain if len(word) > 2}
    return bool(files) and all(
        any(
            word in re.sub(r"[^a-z0-9/]", "", str(PurePosixPath(path).with_suffix("")).lower()).split("/", 1)[-1]
            for word in plain
        )
        for path in files
    )


def _kin(name: str, project: str) -> bool:
    """Whether the names of distribution and project are of one family, as plugins and their hosts are."""
    if not project:
        return False
    return (
        project.partition("-")[0] == name.partition("-")[0] or project.startswith(name) or name.startswith(project)
    )


class Weights(NamedTuple):
    """The fitted decision; see `docs/developers/inference.md`."""

    values: Mapping[str, float]
    priors: Mapping[str, float]
    threshold: float


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


_LIMITS = (
    "Distributions that no source file imports (plugins found by entry point, data packages, command-line tools) "
    "leave no trace and are missing.",
    "Versions are not inferred: an import does not show which release it was written for.",
    "Extras of a dependency (name[extra]) are not inferred.",
)


@cache
def weights() -> Weights:
    """Load the fitted decision that ships with the package."""
    text = files("groundup_infer").joinpath("data/python_weights.json").read_text(encoding="utf-8")
    loaded = json.loads(text)
    return Weights(loaded["weights"], loaded["priors"], loaded["threshold"])


def infer_python(tree: SourceFiles) -> Inference:
    """Infer the dependencies of the Python part of *tree*."""
    if folder := enclosing_folder(tree):
        return _placed(infer_python(below(tree, folder)), folder)
    if projects := projects_below(tree) if tree.whole else {}:
        return _together(tree, projects)
    fitted = weights()
    found = collect(tree, fitted.priors)
    stubs = _describes_another(found.layout)
    dependencies = [
        _judge(
            candidate, fitted, tree.whole, described=stubs and not candidate.name.startswith(("typing", "types-"))
        )
        for candidate in found.candidates
    ]
    parts = [item for item in dependencies if _is_unknown_part(item)]
    return Inference(
        language="python",
        dependencies=_in_order(item for item in dependencies if item not in parts),
        unknown=tuple(
            sorted(
                {
                    module
                    for item in dependencies
                    if not item.known and item not in parts
                    for module in item.imported
                }
                | {evidence.imported for item in parts for evidence in item.evidence}
            )
        ),
        local=found.layout.roots,
        requires_python=found.requires_python,
        files=found.files,
        cannot_know=_LIMITS,
    )


def _together(tree: SourceFiles, projects: Mapping[str, PythonLayout]) -> Inference:
    """Infer each project by itself; what one of them needs of another is the repository's own."""
    parts = []
    for folder in (*projects, ""):
        inside = below(tree, folder) if folder else outside(tree, projects)
        if any(source.suffix in READ["python"] for source in inside.sources):
            beside = modules_beside(projects, folder) | dict(tree.beside)
            inferred = infer_python(inside._replace(beside=beside))
            parts.append(_placed(inferred, folder) if folder else inferred)
    own = {layout.project.name for layout in projects.values()}
    by_name: dict[str, list[InferredDependency]] = defaultdict(list)
    for part in parts:
        for item in part.dependencies:
            if item.name not in own:
                by_name[item.name].append(item)
    oldest = {part.requires_python for part in parts if part.requires_python}
    return parts[0].but(
        dependencies=_in_order(map(_merged, by_name.values())),
        unknown=tuple(sorted({one for part in parts for one in part.unknown})),
        local=tuple(sorted({one for part in parts for one in part.local})),
        requires_python=max(oldest, key=lambda one: int(one.rpartition(".")[2]), default=None),
        files=sum(part.files for part in parts),
    )


def _merged(items: Sequence[InferredDependency]) -> InferredDependency:
    """Return one for a package of several projects: the kind that asks for most, its evidence first."""
    first, *others = sorted(items, key=_kind_order)
    sure = [item.confidence for item in items if item.confidence is not None]
    return first.but(
        marker=first.marker if all(item.marker == first.marker for item in others) else "",
        imported=tuple(sorted({name for item in items for name in item.imported})),
        confidence=max(sure, default=None),
        evidence=tuple(one for item in (first, *others) for one in item.evidence)[:EVIDENCE_KEPT],
        uses=sum(item.uses for item in items),
    )


def _kind_order(item: InferredDependency) -> int:
    return list(InferredKind).index(item.kind)


def _in_order(items: Iterable[InferredDependency]) -> tuple[InferredDependency, ...]:
    return tuple(sorted(items, key=lambda item: (_kind_order(item), item.name)))


def _placed(found: Inference, folder: str) -> Inference:
    """Return what was found in *folder*, with paths as the repository has them."""
    return found.but(
        dependencies=tuple(
            item.but(evidence=tuple(one.but(path=f"{folder}/{one.path}") for one in item.evidence))
            for item in found.dependencies
        )
    )


def _is_unknown_part(item: InferredDependency) -> bool:
    """Whether nobody is known to provide a part of a root that unrelated distributions share.

    Its first two words are then no name: `soda.common` is in soda-core.
    """
    spelled = {normalised(".".join(one.imported.split(".")[:2])) for one in item.evidence}
    return not item.known and NAMESPACES.issuperset(item.imported) and item.name in spelled


def _describes_another(layout: PythonLayout) -> bool:
    """Whether the package is stubs: most modules have one beside them. What they describe, their users install."""
    modules = [path for path in layout.names if path.endswith(".py")]
    return 2 * sum(f"{path}i" in layout.places for path in modules) > max(len(modules), 3)


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
    if targets and not (shared and (targets == [top] or _only_shared(item.module, targets, layout))):
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


def _only_shared(module: str, targets: list[str], layout: PythonLayout) -> bool:
    """Whether the repository has nothing of *module* but namespace packages above it."""
    return targets[-1] != module and module.startswith(f"{targets[-1]}.") and targets[-1] in layout.namespaces


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


def _judge(
    candidate: DistributionCandidate, fitted: Weights, whole: bool, *, described: bool
) -> InferredDependency:
    score = sum(fitted.values.get(name, 0.0) * value for name, value in candidate.features.items())
    confidence = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
    uses = sorted(candidate.uses, key=_strength)
    markers = {use.item.marker for use in uses if use.place is SourcePlace.PACKAGE}
    if whole:
        kind = InferredKind.RUNTIME if confidence >= fitted.threshold and not described else _lesser(uses)
    else:
        kind = InferredKind.RUNTIME if any(is_eager(use.item) for use in uses) else InferredKind.OPTIONAL
    return InferredDependency(
        name=candidate.name,
        kind=kind,
        marker=next(iter(markers)) if len(markers) == 1 else "",
        imported=tuple(sorted({use.item.module.partition(".")[0] for use in uses})),
        confidence=round(confidence, 3) if whole else None,
        known=candidate.known,
        evidence=tuple(_evidence(use) for use in uses[:EVIDENCE_KEPT]),
        uses=len(uses),
    )


def _lesser(uses: list[ImportUse]) -> InferredKind:
    places = {use.place for use in uses}
    if SourcePlace.PACKAGE in places:
        typing_only = all(Manner.TYPING in use.item.manners for use in uses if use.place is SourcePlace.PACKAGE)
        return InferredKind.DEV if typing_only else InferredKind.OPTIONAL
    if SourcePlace.SCRIPT in places:
        return InferredKind.OPTIONAL
    return InferredKind.BUILD if places == {SourcePlace.BUILD} else InferredKind.DEV


_PLACES = list(SourcePlace)


def _strength(use: ImportUse) -> tuple[int, int, int, int, str, int]:
    eager = 0 if is_eager(use.item) else 1
    return (_PLACES.index(use.place), eager, -use.reach, use.depth, use.path, use.item.line)


def _evidence(use: ImportUse) -> Evidence:
    return Evidence(
        path=use.path,
        line=use.item.line,
        imported=use.item.module,
        place=use.place,
        manners=tuple(sorted(use.item.manners)),
        reached=use.reach >= Reach.ENTRY if use.place is SourcePlace.PACKAGE else None,
    )
