"""How an original is laid out: what is imported, from where, its test files, and which other files they read.

Guesses from names and configuration, each of which the oracle's run has to bear out.

The original's packages alone are run as a submission; what passes with the whole original and not with them shows
what has to be protected: documents, examples, configuration.
"""

import configparser
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from groundup.domain.errors import TaskError
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import Distribution, HiddenTests, LibraryUnderTest, NumberedTest
from groundup.sources.names import words
from groundup.sources.project_files import table_at, toml_of
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree
from groundup_factory.recipes.needs_of_tests import files_of_tests
from groundup_factory.recipes.project import OriginalProject, source_folders, text_at

_NO_PACKAGES = words(
    """
    tests test testing docs doc examples example benchmarks benchmark scripts bin tools utils build dist tasks
    performance licenses requirements
    """
)
_NO_MODULES = words("setup conftest noxfile tasks fabfile versioneer manage dodo")
_KEPT_KEYS = words(
    """
    python_files python_classes python_functions asyncio_mode asyncio_default_fixture_loop_scope filterwarnings
    markers xfail_strict doctest_optionflags doctest_encoding usefixtures timeout norecursedirs log_level
    consider_namespace_packages empty_parameter_set_mark DJANGO_SETTINGS_MODULE
    """
)
_KEPT_OPTIONS = ("--doctest", "--import-mode", "--ignore", "--deselect")
_UNCAPTURED = re.compile(r"--capture=no|-[lqvx]*s[lqvx]*")
"""Tests may read standard input, which pytest's capture forbids."""
_OPTIONS_WITH_VALUE = words("--ignore --ignore-glob --deselect --doctest-glob --doctest-report --import-mode")


class Config:
    """pytest's configuration in an original, as lines of an ini file."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def lines(self, packages: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the lines that matter, and warning filters that name classes of *packages*."""
        own = tuple(f"{name}." for name in packages)
        lines, late = [], []
        for key, value in self._values.items():
            if key not in _KEPT_KEYS:
                continue
            if isinstance(value, bool):
                lines.append(f"{key} = {str(value).lower()}")
                continue
            items = value if isinstance(value, list) else str(value).strip().splitlines()
            if key == "filterwarnings":
                late += [item.strip() for item in items if any(name in item for name in own)]
                items = [item for item in items if not any(name in item for name in own)]
            lines += _entry(key, [str(item).strip() for item in items if str(item).strip()])
        options = self._options()
        return (*lines, *([f"addopts = {shlex.join(options)}"] if options else [])), tuple(late)

    def roots(self) -> tuple[str, ...]:
        """Return what the configuration puts on sys.path."""
        value = self._values.get("pythonpath", [])
        return tuple(value.split() if isinstance(value, str) else map(str, value))

    def _options(self) -> list[str]:
        given = self._values.get("addopts", "")
        try:
            words = shlex.split(given) if isinstance(given, str) else [str(word) for word in given]
        except ValueError:
            return []
        kept: list[str] = []
        takes_value = False
        for word in words:
            if takes_value or word.startswith(_KEPT_OPTIONS):
                kept.append(word)
            elif _UNCAPTURED.fullmatch(word):
                kept.append("-s")
            takes_value = not takes_value and word in _OPTIONS_WITH_VALUE
        return kept


def read_config(root: Path) -> Config:
    """Return the configuration that pytest would read in *root*; its own order of files."""
    for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
        found = _section(root / name, section)
        if found is not None:
            return Config(found)
    pytest = table_at(toml_of(text_at(root / "pyproject.toml")), "tool", "pytest")
    if isinstance(options := pytest.get("ini_options"), dict):
        return Config(options)
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        found = _section(root / name, section)
        if found is not None:
            return Config(found)
    return Config({})


def read_layout(
    root: Path, project: OriginalProject, commands: Sequence[str], test_files: Sequence[str]
) -> tuple[HiddenTests, list[str]]:
    """Return how the tests of the original at *root* are run, and what had to be done. Raises `TaskError`."""
    roots, packages = find_packages(root, project)
    config = read_config(root)
    arguments, notes = _arguments(root, roots, packages, commands, test_files)
    ini, late = config.lines(packages)
    helpers = [name for name in packages if "test" in name.lower() and not name.startswith("pytest")]
    if len(helpers) == len(packages):
        helpers = []
    packages = tuple(name for name in packages if name not in helpers)
    extra = [path for path in config.roots() if path not in roots and (root / path).is_dir()]
    tests = HiddenTests(
        packages=packages,
        import_roots=(*roots, *extra),
        arguments=arguments,
        protected=_protected(root, arguments, test_files, packages, roots, helpers),
        own_plugins=tuple(
            target.partition(":")[0].strip() for target in project.entry_points.get("pytest11", {}).values()
        ),
        ini=ini,
        late_filters=late,
        distribution=_distribution(project),
    )
    return tests, notes


def find_packages(root: Path, project: OriginalProject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the import roots and the top-level import names of the original at *root*. Raises `TaskError`."""
    for place in dict.fromkeys([*(one for one in source_folders(root) if one != "."), "src", "lib", "."]):
        folder = root / place
        if place != "." and not folder.is_dir():
            continue
        packages = [path.parent.name for path in sorted(folder.glob("*/__init__.py"))]
        packages = [name for name in packages if name.lower() not in _NO_PACKAGES and name.isidentifier()]
        named = [name for name in project.modules if name not in packages and (folder / f"{name}.py").is_file()]
        if place != ".":
            modules = [path.stem for path in sorted(folder.glob("*.py")) if path.stem not in _NO_MODULES]
            named += [name for name in modules if name not in named and not name.startswith("test")]
        stem = re.sub(r"[-.]", "_", (project.name or "").lower())
        if not packages and not named:
            named = sorted(_in_namespaces(folder, project))
        if not packages and not named:
            modules = [path.stem for path in sorted(folder.glob("*.py")) if path.stem not in _NO_MODULES]
            modules = [name for name in modules if not name.startswith("test") and not name.endswith("_test")]
            named = [stem] if stem in modules else modules
        found = (*packages, *named)
        if found:
            return (place,), found
    raise TaskError("no package or module was found in the source; name another source")


def _in_namespaces(folder: Path, project: OriginalProject) -> Iterator[str]:
    """Yield the packages and modules below folders without `__init__.py` that several projects share.

    A folder counts that lies in `src`, that the project's metadata names, or whose name the project's begins with.
    """
    first = re.split(r"[-._]", (project.name or "").lower())[0]
    for top in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = top.name
        meant = folder.name in ("src", "lib") or name in project.modules or name.lower() == first
        if meant and name.isidentifier() and name.lower() not in _NO_PACKAGES and top.is_dir():
            yield from _topmost(top, name, _DEEPEST)


_DEEPEST = 4
"""Levels of namespaces, as `google.cloud.x`."""


def _topmost(folder: Path, name: str, levels: int) -> Iterator[str]:
    """Yield the dotted names of the highest folders below *folder* that hold Python."""
    if folder.is_symlink() or not levels:
        return
    if any(folder.glob("*.py")):
        yield name
        return
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and inner.name.isidentifier() and inner.name.lower() not in _NO_PACKAGES:
            yield from _topmost(inner, f"{name}.{inner.name}", levels - 1)


def _arguments(
    root: Path, roots: Sequence[str], packages: Sequence[str], commands: Sequence[str], test_files: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return what pytest is given: what the published commands name, else where the tests were moved from."""
    own = {*roots, *_places(roots, packages)}
    named = [word for command in commands for word in _paths(command)]
    for names in (named, test_files):
        present = tuple(
            dict.fromkeys(name.rstrip("/") for name in names if name.strip("./") and (root / name).exists())
        )
        # A folder that holds the library itself cannot be handed to pytest as a folder of tests.
        present = tuple(name for name in present if name not in own)
        runnable = tuple(name for name in present if (root / name).is_dir() or name.endswith(".py"))
        if runnable:
            return runnable, []
    for pattern in ("tests", "test"):
        moved = [f"{place}/{pattern}" for place in _places(roots, packages)]
        inside = tuple(path for path in moved if (root / path).is_dir())
        if inside:
            return inside, [f"the published tests folder is {', '.join(inside)} in the original"]
    inside = tuple(
        f"{place}/tests.py" for place in _places(roots, packages) if (root / place / "tests.py").is_file()
    )
    if inside:
        return inside, [f"the tests are a module of the package, {', '.join(inside)}"]
    single = tuple(sorted(path.name for path in root.glob("test*.py")))
    if single:
        return single, [f"the published test files are absent; the original has {', '.join(single)}"]
    spread = tuple(_spread(root, _places(roots, packages)))
    if spread:
        return spread, [f"the tests stand among the modules, {len(spread)} files and folders of them"]
    raise TaskError("the source holds no tests that pytest could be given; name a source that does")


def _spread(root: Path, places: Iterable[str]) -> Iterator[str]:
    """Yield the folders and files of tests anywhere in the packages at *places*."""
    for place in places:
        folders = [path for path in sorted((root / place).rglob("*")) if path.name in ("tests", "test")]
        outer = [path for path in folders if path.is_dir() and not set(path.parents) & set(folders)]
        outer = [path for path in outer if any(files_of_tests(path))]
        files = files_of_tests(root / place) if (root / place).is_dir() else ()
        for path in (*outer, *(path for path in files if not set(path.parents) & set(outer))):
            yield path.relative_to(root).as_posix()


def _places(roots: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return where packages with dotted *names* may lie, relative to the root."""
    return [f"{base}/{name.replace('.', '/')}".removeprefix("./") for base in roots for name in names]


def _paths(command: str) -> list[str]:
    """Return the words of a pytest command that are no options."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if not any("pytest" in word for word in words):
        return []
    after = words[next(number for number, word in enumerate(words) if "pytest" in word) + 1 :]
    return [word.partition("::")[0] for word in after if not word.startswith("-")]


def _protected(
    root: Path,
    arguments: Sequence[str],
    test_files: Sequence[str],
    packages: Sequence[str],
    roots: Sequence[str],
    helpers: Sequence[str],
) -> tuple[str, ...]:
    """Return the tests, what is published as test data, and conftests outside of the library's own packages."""
    own = {"", *roots, *_places(roots, packages)}
    published = [name.rstrip("/") for name in test_files if (root / name).exists() and name.strip("./") not in own]
    conftests = [str(path.relative_to(root)) for path in root.glob("conftest.py")]
    for argument in arguments:
        above = Path(argument).parent
        conftests += [str(above / "conftest.py")] if (root / above / "conftest.py").is_file() else []
    helping = [place if (root / place).is_dir() else f"{place}.py" for place in _places(roots, helpers)]
    found = dict.fromkeys([*arguments, *published, *conftests, *helping])
    return tuple(path for path in found if not set(map(str, Path(path).parents)) & found.keys())


def _distribution(project: OriginalProject) -> Distribution | None:
    if project.name is None or project.version is None:
        return None
    return Distribution(
        name=project.name, version=project.version, entry_points=project.entry_points, headers=project.headers
    )


def _section(path: Path, section: str) -> dict[str, str] | None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return None
    return dict(parser[section]) if parser.has_section(section) else None


def _entry(key: str, items: list[str]) -> list[str]:
    if len(items) == 1:
        return [f"{key} = {items[0]}"]
    return [f"{key} =", *(f"    {item}" for item in items)] if items else []


async def protect_what_tests_read(
    recipe: Recipe,
    original: Path,
    whole: Execution,
    environment: PythonEnvironment,
    context: GradingContext,
    say: Callable[[str], None],
) -> Recipe:
    """Return the draft with the files protected without which tests of the bare library fail."""
    bare = context.scratch / "bare"
    write_bare(original, recipe.tests, bare)
    lost = await _lost(bare, original, recipe, whole, environment, context)
    if not lost:
        return recipe
    files = {test.id.partition("::")[0] for test in lost}
    names = sorted(named_outside(original, recipe.tests, files))
    widened = recipe.tests.but(protected=(*recipe.tests.protected, *names))
    candidate = recipe.but(tests=widened)
    left = await _lost(bare, original, candidate, whole, environment, context) if names else lost
    if left < lost:
        note = f"protected what tests read: {', '.join(names)}"
        say(note)
        recipe = candidate.but(notes="; ".join(filter(None, [recipe.notes, note])))
    if left:
        first = min(left)
        say(f"{len(left)} tests need more of the original than its packages, first {first}: review `protected`")
    return recipe


def write_bare(original: Path, tests: HiddenTests, destination: Path) -> None:
    """Write the packages of the original alone."""
    if destination.exists():
        remove_tree(destination)
    destination.mkdir(parents=True)
    for root in tests.import_roots:
        for package in tests.packages:
            inner = PurePosixPath(root, *package.split("."))
            for place in (inner, inner.with_name(f"{inner.name}.py")):
                source, target = original / place, destination / place
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.is_dir() and not target.exists():
                    copy_tree(source, target)
                elif source.is_file():
                    target.write_bytes(source.read_bytes())


def named_outside(original: Path, tests: HiddenTests, files: set[str]) -> Iterator[str]:
    """Yield files and folders at the root that test *files* name and grading does not restore; never Python."""
    text = "\n".join(text_at(original / name) or "" for name in files)
    text += "\n".join(
        text_at(path) or "" for name in tests.protected for path in (original / name).rglob("conftest.py")
    )
    own = {PurePosixPath(place).parts[0] for place in _places(tests.import_roots, tests.packages)}
    for entry in sorted(original.iterdir()):
        if entry.name in own or entry.name in tests.protected or entry.suffix == ".py" or entry.is_symlink():
            continue
        if re.search(rf"(?<![\w.-]){re.escape(entry.name)}(?![\w-])", text) and not entry.name.startswith(".git"):
            yield entry.name


async def _lost(
    bare: Path,
    original: Path,
    recipe: Recipe,
    whole: Execution,
    environment: PythonEnvironment,
    context: GradingContext,
) -> set[NumberedTest]:
    execution = await run_hidden_tests(LibraryUnderTest(bare, original, recipe.tests, environment), context)
    return _passing(whole) - _passing(execution)


def _passing(execution: Execution) -> set[NumberedTest]:
    return {key for key, result in execution.report.results.items() if result.outcome == "passed"}
