"""Running the original with its own tests, and repairing a draft until the run lacks nothing more.

Each repair changes the draft and notes it in one sentence; the next run shows whether it helped.

Django's settings for a project's tests, which its own commands name and pytest is not told.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from configparser import Error as ConfigError
from configparser import RawConfigParser
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groundup.domain.errors import TaskError
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, source_files
from groundup.settings import load
from groundup.sources.names import is_standard, python_provider, words
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup_factory.recipes.candidates import fetched, open_index, releases
from groundup_factory.recipes.freezing import locked
from groundup_factory.recipes.needs_of_tests import files_of_tests, imported_by_tests, needs_of_tests
from groundup_factory.recipes.pinning import instant, lock_without
from groundup_factory.recipes.project import text_at

_LACKING = re.compile(r"settings are not configured|DJANGO_SETTINGS_MODULE|Apps aren't loaded yet")
_KEY = "DJANGO_SETTINGS_MODULE"
_NAMED = re.compile(rf"(?:{_KEY}['\"]?\s*[,=:]\s*['\"]?|--(?:settings|ds)[= ])([A-Za-z_][\w.]*)")
_NAMING = (
    *("tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py", "Makefile", "runtests.py", "manage.py"),
    *("*/manage.py", "*/runtests.py", "conftest.py", "*/conftest.py", ".github/workflows/*.y*ml"),
)
_USUAL = ("test_settings.py", "settings_test.py", "settings.py", "settings/test.py")
_LARGEST = 256 * 1024


def with_django_settings(recipe: Recipe, printed: str, original: Path) -> Iterator[tuple[Recipe, str]]:
    """Yield the draft with the settings of Django that its tests lack, where the original has such."""
    if not _LACKING.search(printed) or any(line.startswith(_KEY) for line in recipe.tests.ini):
        return
    found = next(_settings(original, recipe), None)
    if found is None:
        return
    module, root = found
    top = module.partition(".")[0]
    place = str(PurePosixPath(root) / (top if (original / root / top).is_dir() else f"{top}.py"))
    tests = recipe.tests
    own = {str(PurePosixPath(base, *name.split("."))) for base in tests.import_roots for name in tests.packages}
    covered = any(PurePosixPath(place).is_relative_to(kept) for kept in tests.protected)
    changed = tests.but(
        ini=(*tests.ini, f"{_KEY} = {module}", "django_find_project = false"),
        import_roots=tests.import_roots if root in tests.import_roots else (*tests.import_roots, root),
        protected=tests.protected if covered or place in own else (*tests.protected, place),
        environment={**tests.environment, _KEY: module},
    )
    wants = recipe.environment.wants
    if not any(line.startswith("pytest-django") for line in wants):
        wants = (*wants, "pytest-django")
    environment = recipe.environment.but(wants=wants, lock={})
    yield recipe.but(tests=changed, environment=environment), f"Django's settings are {module} in {root}"


def _settings(original: Path, recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield modules of settings with the folder from which each is imported, those that something names first."""
    roots = [".", *recipe.tests.import_roots, *(str(PurePosixPath(one)) for one in recipe.tests.arguments)]
    roots += [str(path.parent.relative_to(original)) for path in sorted(original.glob("*/manage.py"))]
    for pattern in _NAMING:
        for path in sorted(original.glob(pattern)):
            for module in dict.fromkeys(_NAMED.findall(text_at(path, _LARGEST) or "")):
                for root in roots:
                    if _is_there(original / root, module):
                        yield module, root
    for name in _USUAL:
        for path in sorted(original.rglob(name), key=lambda path: (len(path.parts), path)):
            if "INSTALLED_APPS" in (text_at(path, _LARGEST) or ""):
                inner = PurePosixPath(path.relative_to(original).as_posix()).with_suffix("")
                yield ".".join(inner.parts), "."


def _is_there(folder: Path, module: str) -> bool:
    place = folder.joinpath(*module.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


_MISSING = re.compile(r"No module named '([\w.]+)'")
_NO_PROGRAM = re.compile(r"FileNotFoundError: .*No such file or directory: '([\w-]+)'")
_FIXTURE = re.compile(r"fixture '(\w+)' not found")
_ASYNC = re.compile(r"async def functions are not natively supported|Unknown pytest\.mark\.asyncio")
_UNKNOWN_MARK = re.compile(r"Unknown pytest\.mark\.(\w+)")
_NOT_INSTALLED = re.compile(r"ImportError|ModuleNotFoundError|not installed|(?i:pip install)|(?i:\binstall \w+)")
_LEFT_OUT = "cannot be installed, and is left out"
_READ_ONLY = re.compile(r"Read-only file system: '?(?:/workspace/)?([^/'\s][^'\s]*)")
_READ_ONLY_SOMEWHERE = re.compile(r"Read-only file system$", re.MULTILINE)
"""Without a name, as `os.utime` says it."""
_FIXTURES = {
    "mocker": "pytest-mock", "benchmark": "pytest-benchmark", "requests_mock": "requests-mock",
    "httpserver": "pytest-httpserver", "freezer": "pytest-freezer", "httpx_mock": "pytest-httpx",
    "subtests": "pytest-subtests", "snapshot": "syrupy", "cov": "pytest-cov", "aiohttp_client": "pytest-aiohttp",
}  # fmt: skip
_REPORTING_ONLY = words(
    """
    pytest_cov xdist pytest_randomly random_order pytest_metadata pytest_html pytest_sugar pytest_rerunfailures
    pytest_pycodestyle pytest_mypy pytest_flake8 pytest_black pytest_ruff pytest_check_manifest
    """
)
"""Plugins that change what is reported or the order of tests, not what a test does."""
_VERSION_FILE = re.compile(r"""(?:version[-_]file|write_to)\s*=\s*["']([^"']+\.py)["']""")

_ONE_TEST_S = 20.0
"""For a test of an original in which one hangs."""
Repaired = tuple[Recipe, str]


def repaired(recipe: Recipe, execution: Execution, original: Path) -> list[Repaired]:
    """Return the draft after each repair in turn; empty when nothing more can be done."""
    done: list[Repaired] = []
    printed = _output(execution)
    printed += _absent_modules(recipe, execution, original)
    steps: tuple[Callable[[Recipe, str, Path], Iterator[Repaired]], ...]
    steps = (_modules, _programs, _optional, _fixtures, with_django_settings, _marks, _writable)
    current = recipe
    if execution.result.ending.is_out_of_time and recipe.tests.one_test_s is None:
        current = recipe.but(tests=recipe.tests.but(one_test_s=_ONE_TEST_S))
        done.append((current, f"a test hangs: each fails after {_ONE_TEST_S:.0f} s"))
    for step in steps:
        for changed, note in step(current, printed, original):
            current = changed
            done.append((changed, note))
    return done


def environment_plugins(environment: PythonEnvironment) -> tuple[str, ...]:
    """Return the modules of the pytest plugins that are installed, but for those that only report."""
    found: set[str] = set()
    for mount in environment.mounts:
        if mount.target != ENVIRONMENT_TARGET:
            continue
        for points in mount.source.glob("lib/python3*/site-packages/*.dist-info/entry_points.txt"):
            parser = RawConfigParser(delimiters=("=",))
            try:
                parser.read_string(points.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, ConfigError):
                continue
            if parser.has_section("pytest11"):
                found.update(target.partition(":")[0].strip() for _, target in parser.items("pytest11"))
    return tuple(sorted(name for name in found if name.partition(".")[0] not in _REPORTING_ONLY))


def _output(execution: Execution) -> str:
    report = execution.report
    parts = [result.message for result in report.results.values() if result.outcome in ("failed", "error")]
    parts += [*report.collection_errors.values(), report.broken_off or ""]
    parts += [check.error or "" for check in report.imports.values()]
    if report.exit_code not in (0, 1):
        parts.append((execution.result.stdout + execution.result.stderr).decode(errors="replace"))
    return "\n".join(parts)


def _absent_modules(recipe: Recipe, execution: Execution, original: Path) -> str:
    """Return as pytest would print it which modules tests lack that were skipped for it, or never collected."""
    report = execution.report
    skipped = [result.message for result in report.results.values() if result.outcome == "skipped"]
    printed = [line for line in skipped if _MISSING.search(line)]
    reported = {key.id.partition("::")[0] for key in report.results}
    silent = [
        str(path.relative_to(original))
        for argument in recipe.tests.arguments
        for path in files_of_tests(original / argument)
        if str(path.relative_to(original)) not in reported
    ]
    here = {canonicalize_name(pin.partition("==")[0]) for pin in recipe.environment.lock}
    own = {name.partition(".")[0] for name in recipe.tests.packages}
    printed += [
        f"No module named '{module}'"
        for module in sorted(imported_by_tests(original, silent))
        if python_provider(module).name not in here and module.partition(".")[0] not in own
    ]
    return "\n" + "\n".join(printed)


def _plugins(recipe: Recipe, environment: PythonEnvironment) -> Repaired | None:
    found = environment_plugins(environment)
    own = {name.partition(".")[0] for name in recipe.tests.packages}
    new = tuple(name for name in found if name not in recipe.tests.plugins and name.partition(".")[0] not in own)
    if not new or recipe.tests.environment.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") == "":
        return None
    tests = recipe.tests.but(plugins=(*recipe.tests.plugins, *new))
    return recipe.but(tests=tests), f"pytest plugins of the environment: {', '.join(new)}"


def _modules(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    tops = {name.partition(".")[0] for name in recipe.tests.packages}
    for module in dict.fromkeys(_MISSING.findall(printed)):
        top = module.partition(".")[0]
        if any(_inside(module.replace(".", "/"), name.replace(".", "/")) for name in recipe.tests.packages):
            made = _generated(recipe, module, original)
        elif top not in tops and ((original / top).is_dir() or (original / f"{top}.py").is_file()):
            made = _root(recipe, ".", f"tests import {top} from the root")
        elif top not in tops and (folder := _beside_tests(recipe.tests, top, original)):
            made = _root(recipe, folder, f"tests import {top} from {folder}")
        else:
            # A name that no data knows may be anybody's, or nobody's.
            provider = python_provider(module)
            known = provider.known and not is_standard(top)
            made = _wish(recipe, provider.name, f"imported as {module}") if known else None
        if made is not None:
            recipe = made[0]
            yield made


def _programs(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    """Add distributions whose program of the same name tests start; the library's own is there in any case."""
    own = (recipe.tests.distribution.entry_points if recipe.tests.distribution else {}).get("console_scripts", {})
    for program in dict.fromkeys(_NO_PROGRAM.findall(printed)):
        provider = python_provider(program.replace("-", "_"))
        made = _wish(recipe, provider.name, f"tests start {program}") if provider.known else None
        if made is not None and program not in own and not is_standard(program):
            recipe = made[0]
            yield made


def _fixtures(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    wanted = {_FIXTURES[name]: f"fixture {name}" for name in _FIXTURE.findall(printed) if name in _FIXTURES}
    if _ASYNC.search(printed):
        wanted["pytest-asyncio"] = "tests are coroutines"
    for name, why in wanted.items():
        made = _wish(recipe, name, why)
        if made is not None:
            recipe = made[0]
            yield made


def _optional(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    """Add what the library itself imports at will, where it says that something is not installed."""
    if not _NOT_INSTALLED.search(printed):
        return
    places = [str(path.relative_to(original)) for path in source_files(original, recipe.tests)]
    imported = {python_provider(name).name for name in imported_by_tests(original, places)}
    for line in needs_of_tests(original, places):
        meant = canonicalize_name(Requirement(line).name) in imported
        made = _wish(recipe, line, "the library imports it where it is there") if meant else None
        if made is not None:
            recipe = made[0]
            yield made


def _marks(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    """Declare marks of plugins that only report: with warnings as errors an unknown one fails its test."""
    names = sorted(set(_UNKNOWN_MARK.findall(printed)) - {"asyncio"})
    if names:
        ini = list(recipe.tests.ini)
        at = next((number for number, line in enumerate(ini) if re.match(r"markers\s*=", line)), None)
        if at is None:
            ini += ["markers =", *(f"    {name}" for name in names)]
        else:
            first = ini[at].partition("=")[2].strip()
            ini[at : at + 1] = [
                "markers =",
                *([f"    {first}"] if first else []),
                *(f"    {name}" for name in names),
            ]
        yield recipe.but(tests=recipe.tests.but(ini=tuple(ini))), f"declared the marks {', '.join(names)}"


def _writable(recipe: Recipe, printed: str, original: Path) -> Iterator[Repaired]:
    for path in _READ_ONLY.findall(printed):
        holder = next((place for place in recipe.tests.protected if _inside(path, place)), None)
        if holder is not None and holder not in recipe.tests.writable:
            tests = recipe.tests.but(writable=(*recipe.tests.writable, holder))
            recipe = recipe.but(tests=tests)
            yield recipe, f"tests write into {holder}"
    if _READ_ONLY_SOMEWHERE.search(printed):
        for place in recipe.tests.protected:
            if (original / place).is_dir() and place not in recipe.tests.writable:
                tests = recipe.tests.but(writable=(*recipe.tests.writable, place))
                recipe = recipe.but(tests=tests)
                yield recipe, f"a test changes something in a read-only folder: made {place} writable"


def _generated(recipe: Recipe, module: str, original: Path) -> Repaired | None:
    """Return the draft with the version module that the original's build would have written."""
    version = recipe.source.version
    parts = tuple(piece if piece.isdigit() else f'"{piece}"' for piece in re.split(r"[.+]", version))
    for name in ("pyproject.toml", "setup.cfg", "setup.py"):
        path = original / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for place in _VERSION_FILE.findall(text):
            if PurePosixPath(place).with_suffix("").as_posix().endswith(module.replace(".", "/")):
                code = (
                    f'__version__ = version = "{version}"\n'
                    f"__version_tuple__ = version_tuple = ({', '.join(parts)},)\n"
                )
                generated = {**recipe.tests.generated, place: code}
                tests = recipe.tests.but(generated=generated)
                return recipe.but(tests=tests), f"generated {place} with version {version}"
    return None


def _root(recipe: Recipe, folder: str, why: str) -> Repaired | None:
    if folder in recipe.tests.import_roots:
        return None
    tests = recipe.tests.but(import_roots=(*recipe.tests.import_roots, folder))
    return recipe.but(tests=tests), f"import root {folder}: {why}"


def _beside_tests(tests: HiddenTests, module: str, original: Path) -> str | None:
    for argument in tests.arguments:
        place = original / argument
        folders = [place, *(path for path in place.rglob("*") if path.is_dir())] if place.is_dir() else []
        for folder in folders:
            if (folder / f"{module}.py").is_file() or (folder / module).is_dir():
                return str(folder.relative_to(original))
    return None


def _wish(recipe: Recipe, line: str, why: str) -> Repaired | None:
    wanted = recipe.environment
    name = Requirement(line).name
    if any(canonicalize_name(Requirement(one).name) == canonicalize_name(name) for one in wanted.wants):
        return None
    if canonicalize_name(name) in {canonicalize_name(pin.partition("==")[0]) for pin in wanted.lock}:
        return None  # it came with something else
    if f"{line} {_LEFT_OUT}" in recipe.notes:
        return None
    environment = wanted.but(wants=(*wanted.wants, line), lock={})
    return recipe.but(environment=environment), f"added {line}: {why}"


def _inside(path: str, place: str) -> bool:
    return PurePosixPath(path).is_relative_to(place)


MOST_ROUNDS = 6
"""Of running the original and repairing what it lacks."""


async def run_and_repair(
    recipe: Recipe, context: GradingContext, say: Callable[[str], None], *, may_repair: bool
) -> tuple[Recipe, PythonEnvironment, Execution]:
    """Lock, build and run the original, repairing what it lacks until nothing more can be done."""
    lockable = recipe.environment.wants
    working: Recipe | None = None
    for _ in range(MOST_ROUNDS):
        if not recipe.environment.lock:
            recipe = await _locked_with_more(recipe, lockable, say)
            lockable = recipe.environment.wants
        say(f"building the environment, {len(recipe.environment.lock)} distributions, and running the tests")
        try:
            environment = await context.builder.python(recipe.environment.request())
        except TaskError as error:
            if working is None or working.environment == recipe.environment:
                raise
            recipe = without_additions(recipe, working, error, say)
            lockable = recipe.environment.wants
            continue
        if may_repair and (plugged := _plugins(recipe, environment)) is not None:
            recipe = plugged[0].but(notes=noted(recipe.notes, [plugged[1]]))
            say(plugged[1])
        working = recipe
        original = await original_tree(recipe, context)
        execution = await run_hidden_tests(
            LibraryUnderTest(original, original, recipe.tests, environment), context
        )
        outcomes = outcomes_of(execution)
        say(f"the original passes {outcomes.count('passed')} of {len(outcomes)}")
        steps = repaired(recipe, execution, original) if may_repair else []
        if not steps:
            break
        for changed, note in steps:
            say(note)
            recipe = changed.but(notes=noted(recipe.notes, [note]))
    assert working is not None
    return working, environment, execution


def without_additions(recipe: Recipe, working: Recipe, error: TaskError, say: Callable[[str], None]) -> Recipe:
    """Return the draft with the environment of the *working* one: what was added since could not be built."""
    more = [line for line in recipe.environment.wants if line not in working.environment.wants]
    said = " ".join(str(error).split())[:200]
    say(f"taken back {', '.join(more)}, with which the environment cannot be built: {said}")
    notes = noted(recipe.notes, [f"{line} {_LEFT_OUT}" for line in more])
    return recipe.but(environment=working.environment, notes=notes)


async def _locked_with_more(recipe: Recipe, before: Sequence[str], say: Callable[[str], None]) -> Recipe:
    """Return the draft locked; what a repair added to the lines *before* is left out if it cannot be installed."""
    try:
        return await _locked(recipe, say)
    except TaskError:
        more = [line for line in recipe.environment.wants if line not in before]
        if not more or not before:
            raise
    environment = recipe.environment
    kept = tuple(line for line in environment.wants if line not in more)
    for line in more:
        for form in dict.fromkeys((line, Requirement(line).name)):
            tried = recipe.but(environment=environment.but(wants=(*kept, form), lock={}))
            try:
                await _locked(tried, lambda _: None)
            except TaskError as error:
                said = " ".join(str(error).split())[:200]
            else:
                kept = (*kept, form)
                break
        else:
            note = f"{line} {_LEFT_OUT}"
            say(f"{note}: {said}")
            recipe = recipe.but(notes=noted(recipe.notes, [note]))
    return await _locked(recipe.but(environment=environment.but(wants=kept, lock={})), say)


def outcomes_of(execution: Execution) -> list[str]:
    """Return the outcomes of the hidden tests."""
    return [result.outcome for result in execution.report.results.values()]


def noted(notes: str, more: Sequence[str]) -> str:
    """Return *notes* with what is new in *more*."""
    kept = [note for note in more if note not in notes]
    return "; ".join([*([notes] if notes else []), *kept])


_NO_WHEEL = re.compile(
    r"all versions of ([\w.-]+) have no usable wheels|([\w.-]+)[=<>~!]=?\S+ has no usable wheels"
)
_MOST_FROM_SOURCE = 6


def without_wheel(said: str) -> str | None:
    """Return the distribution of which uv *said* that it has only sources in the versions that are wanted."""
    found = _NO_WHEEL.search(said)
    return found and (found[1] or found[2])


async def _locked(recipe: Recipe, say: Callable[[str], None]) -> Recipe:
    """Lock; the library itself is left out when something else asks for it, and then found first."""
    for _ in range(_MOST_FROM_SOURCE):
        try:
            return await _locked_once(recipe, say)
        except TaskError as error:
            name = without_wheel(str(error))
            if name is None:
                raise
            recipe = await _from_source(recipe, name, error)
            say(recipe.notes.rpartition("; ")[2])
    return await _locked_once(recipe, say)


async def locked_with(recipe: Recipe, needs: Sequence[str], say: Callable[[str], None]) -> Recipe:
    """Return the draft *recipe* locked; of what its tests need, *needs*, what cannot be installed gives way.

    Raises `TaskError` where nothing can be installed without them either.
    """
    optional = {canonicalize_name(Requirement(line).name) for line in needs} - {"pytest"}
    wants = recipe.environment.wants
    free = [line for line in wants if canonicalize_name(Requirement(line).name) not in optional]
    bare = [Requirement(line).name if line not in free else line for line in wants]
    try:
        return await _locked(recipe, say)
    except TaskError:
        if len(free) == len(wants):
            raise
    note = "what the tests need cannot be installed in the versions that the project names: taken in others"
    say(note)
    changed = recipe.but(environment=recipe.environment.but(wants=tuple(bare)))
    try:
        return await _locked(changed.but(notes=noted(recipe.notes, [note])), say)
    except TaskError:
        return await _locked_with_more(recipe, free, say)  # one by one


async def _from_source(recipe: Recipe, name: str, error: TaskError) -> Recipe:
    """Return the draft with the newest version of *name* from its source distribution. Raises *error* again."""
    wanted = recipe.environment
    async with open_index(load()) as registry:
        known = (await releases(registry, name)).values()
        timely = [
            one for one in known if one.source and one.uploaded and one.uploaded <= instant(wanted.exclude_newer)
        ]
        if not timely or any(pin.startswith(f"{name}==") for pin in wanted.from_source):
            raise error
        chosen = timely[-1]
        assert chosen.source is not None
        digest = (await fetched(registry, chosen.source))[1]
    changed = {
        "from_source": {**wanted.from_source, f"{name}=={chosen.version}": f"sha256:{digest}"},
        "wants": tuple(line for line in wanted.wants if canonicalize_name(Requirement(line).name) != name),
    }
    notes = noted(recipe.notes, [f"{name} has no wheel and is built from source"])
    return recipe.but(environment=wanted.but(**changed), notes=notes)


async def _locked_once(recipe: Recipe, say: Callable[[str], None]) -> Recipe:
    try:
        recipe = await locked(recipe)
    except TaskError as error:
        if without_wheel(str(error)):
            raise
        pinned = sum("==" in line for line in recipe.environment.wants)
        if recipe.environment.complete or pinned * 2 < len(recipe.environment.wants):
            raise
        note = "the pins contradict each other: locked as they stand, without what they require"
        say(note)
        environment = recipe.environment.but(complete=True)
        recipe = await locked(recipe.but(environment=environment, notes=noted(recipe.notes, [note])))
    lock, note = lock_without(recipe.environment.lock, [recipe.source.name])
    if note:
        say(note)
        environment = recipe.environment.but(lock=lock)
        recipe = recipe.but(environment=environment, notes=noted(recipe.notes, [note]))
    return recipe
