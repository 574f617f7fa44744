"""What the decision between required and optional is made from: a few numbers about each distribution."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.names import (
    normalised,
    words,
)
from groundup_infer.python_imports import (
    Import,
    Reach,
    Reached,
    is_eager,
    shares,
)
from groundup_infer.python_layout import (
    PythonLayout,
    SourcePlace,
)
from groundup_infer.records import (
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
