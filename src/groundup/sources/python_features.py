"""What the decision between required and optional is made from: one row of numbers per distribution."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.names import normalised, words
from groundup.sources.python_imports import Import
from groundup.sources.python_layout import PythonLayout
from groundup.sources.reachability import Reach, Reached, is_eager
from groundup.sources.records import Manner, SourcePlace


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
    layout: PythonLayout, reached: Reached, words: frozenset[str], brought: Mapping[str, frozenset[str]]
) -> Setting:
    """Summarise a repository."""
    modules = [name for name, path in layout.modules.items() if layout.places.get(path) is SourcePlace.PACKAGE]
    eager = sum(1 for name in modules if reached.reach.get(name, Reach.NEVER) >= Reach.ENTRY)
    return Setting(layout, len(modules), eager / len(modules) if modules else 0.0, words, brought)


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

NAMES = (
    "bias",
    "root_eager",
    "root_eager_top",
    "entry_eager",
    "later_eager",
    "never_eager",
    "root_lazy",
    "any_lazy",
    "only_lazy",
    "guarded",
    "only_guarded",
    "guarded_root",
    "demanded",
    "only_demanded",
    "fallback",
    "only_typing",
    "also_typing",
    "version",
    "only_version",
    "platform",
    "conditional",
    "dynamic",
    "only_outside",
    "outside_too",
    "script",
    "log_files",
    "log_eager_uses",
    "share_files",
    "share_unguarded",
    "plugin_folder",
    "namesake_file",
    "vendored",
    "tool",
    "rarely_required",
    "known",
    "kin",
    "depth",
    "open_package",
    "never_eager_open",
    "later_eager_open",
    "single_file_never",
    "no_package",
    "build_only",
    "tested_for",
    "brought",
    "brought_hard",
    "log_lazy_files",
    "open_log_files",
    "no_soft_no_outside",
    "prior",
    "prior_weak",
)
"""One per column of `row`."""


def row(
    name: str, known: bool, uses: Sequence[ImportUse], setting: Setting, priors: Mapping[str, float]
) -> list[float]:
    """Return the features of distribution *name*, in the order of `NAMES`."""
    package = [use for use in uses if use.place is SourcePlace.PACKAGE]
    real = [use for use in package if Manner.TYPING not in use.item.manners]
    eager = [use for use in real if is_eager(use.item)]
    reach = Counter(use.reach for use in eager)
    manners = Counter(manner for use in package for manner in use.item.manners)
    soft = [use for use in real if use.item.manners & {Manner.GUARDED, Manner.FALLBACK}]
    lazy = [use for use in real if Manner.LAZY in use.item.manners and use not in soft]
    files = {use.path for use in package}
    eager_files = {use.path for use in eager}
    hard = bool(reach[Reach.ROOT] or reach[Reach.ENTRY])
    opening = 1.0 - setting.reached_share
    prior = priors.get(name, 0.0)
    spellings = {name, *(normalised(use.item.module.partition(".")[0]) for use in uses)}
    values = {
        "bias": 1.0,
        "root_eager": reach[Reach.ROOT] > 0,
        "root_eager_top": any(use.depth <= 1 and use.reach is Reach.ROOT for use in eager),
        "entry_eager": reach[Reach.ENTRY] > 0 and not reach[Reach.ROOT],
        "later_eager": reach[Reach.LATER] > 0 and not hard,
        "never_eager": reach[Reach.NEVER] > 0 and not hard and not reach[Reach.LATER],
        "root_lazy": any(use.reach >= Reach.ENTRY for use in lazy) and not hard,
        "any_lazy": bool(lazy),
        "only_lazy": bool(lazy) and not eager and not soft,
        "guarded": bool(soft),
        "only_guarded": bool(soft) and not eager and not lazy,
        "guarded_root": any(use.reach >= Reach.ENTRY for use in soft),
        "demanded": manners[Manner.DEMANDED] > 0,
        "only_demanded": bool(real) and all(Manner.DEMANDED in use.item.manners for use in real),
        "fallback": manners[Manner.FALLBACK] > 0,
        "only_typing": bool(package) and not real,
        "also_typing": bool(real) and manners[Manner.TYPING] > 0,
        "version": manners[Manner.VERSION] > 0,
        "only_version": bool(real) and all(Manner.VERSION in use.item.manners for use in real),
        "platform": bool(real) and all(Manner.PLATFORM in use.item.manners for use in real),
        "conditional": bool(real) and all(Manner.CONDITIONAL in use.item.manners for use in real),
        "dynamic": manners[Manner.DYNAMIC] > 0 and not eager,
        "only_outside": not package,
        "outside_too": bool(package) and len(package) < len(uses),
        "script": any(use.place is SourcePlace.SCRIPT for use in uses) and not package,
        "log_files": math.log1p(len(files)),
        "log_eager_uses": math.log1p(len(eager)),
        "share_files": len(eager_files) / max(setting.package_files, 1),
        "share_unguarded": len(eager) / len(package) if package else 0.0,
        "plugin_folder": bool(files) and all(_PLUGIN_FOLDER.search(path) for path in files),
        "namesake_file": _namesake(name, files, uses),
        "vendored": bool(files) and all(_VENDORED.search(path) for path in files),
        "tool": name in _TOOLS,
        "rarely_required": name in _RARELY_REQUIRED,
        "known": known,
        "kin": _kin(name, setting.layout.project.name),
        "depth": math.log1p(min((use.depth for use in eager if use.reach >= Reach.ENTRY), default=0)),
        "open_package": opening,
        "never_eager_open": opening * (reach[Reach.NEVER] > 0 and not hard),
        "later_eager_open": opening * (reach[Reach.LATER] > 0 and not hard),
        "single_file_never": len(eager_files) == 1 and not hard,
        "no_package": setting.package_files == 0,
        "build_only": bool(uses) and all(use.place is SourcePlace.BUILD for use in uses),
        "tested_for": bool(setting.optional_words & spellings),
        "brought": bool(setting.brought.get(name)),
        "brought_hard": bool(setting.brought.get(name)) and hard,
        "log_lazy_files": math.log1p(len({use.path for use in lazy})),
        "open_log_files": opening * math.log1p(len(eager_files)),
        "no_soft_no_outside": bool(eager) and not soft and not lazy and len(package) == len(uses),
        "prior": prior,
        "prior_weak": prior * (not hard),
    }
    return [float(values[key]) for key in NAMES]


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
