"""What a source lost of its tests: failing ones, those that were not collected, and those that nobody misses.

A published count would show it. Without one it is looked for: test files from which pytest took nothing, sets of
parameters that are empty, files that tests name and the source lacks. All of these count as left out.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import HiddenTests
from groundup.grading.library.report import RunnerReport
from groundup.grammars import python_tree
from groundup.sources.names import python_provider
from groundup_factory.recipes.needs_of_tests import files_of_tests, imported_by_tests

LEAST_TESTS = 5
_EMPTY_SET = "got empty parameter set"
_ABSENT_FILE = re.compile(r"No such file or directory: '([^']+)'")


def require_share(kept: int, every: int, causes: str, left_out: float) -> None:
    """Raise `TaskError`, which ends with the *causes*, where fewer than a share of *every* test is *kept*."""
    if kept < LEAST_TESTS:
        raise TaskError(f"{kept} of {every} tests pass, and a task needs {LEAST_TESTS}{causes}")
    if every - kept > left_out * every:
        raise TaskError(
            f"{kept} of {every} tests pass; {every - kept} would be left out, more than --left-out "
            f"{left_out:g} of them{causes}"
        )


def causes_of(report: RunnerReport, uncollected: list[str]) -> str:
    """Return how many tests do not pass by *report*, in parentheses, and what most of them say first."""
    results = report.results.values()
    causes = Counter[str](result.outcome for result in results if result.outcome != "passed")
    causes["not collected"] = len(uncollected)
    failed = [result.message for result in results if result.outcome in ("failed", "error")]
    broken = [f"{path}: {said}" for path, said in report.collection_errors.items()]
    skipped = [result.message for result in results if result.outcome == "skipped"]
    said = [*broken, *failed] if len(uncollected) > len(failed) else [*failed, *broken]
    return listed_causes(causes, next(filter(None, [*said, *skipped]), ""))


def listed_causes(causes: Counter[str], first: str = "") -> str:
    """Return the *causes* with their counts, in parentheses, and what the *first* test says; empty for none."""
    counted = ", ".join(f"{number} {cause}" for cause, number in causes.most_common() if number)
    said = " ".join(first.split())[:160]
    return (f" ({counted}{'; first: ' + said if said else ''})") if counted else ""


def lacking_data(report: RunnerReport, tests: HiddenTests, original: Path) -> dict[str, str]:
    """Return the tests whose data the source lacks, though its authors have them, each with a sentence."""
    found: dict[str, str] = {}
    for key, result in sorted(report.results.items()):
        if _EMPTY_SET in result.message:
            found[str(key)] = (
                f"{key} has an empty set of parameters: what its cases are made from is not in this source"
            )
        if result.outcome not in ("failed", "error"):
            continue
        for path in _ABSENT_FILE.findall(f"{result.message}\n{result.detail}"):
            inner = PurePosixPath(path.removeprefix("/workspace/"))
            beside = any(inner.is_relative_to(kept) or kept in path for kept in tests.protected)
            if beside and not (original / inner).exists():
                found[str(key)] = f"{key} reads {inner}, which is not in this source"
    return found


def absent_modules(uncollected: list[str], tests: HiddenTests, original: Path) -> list[str]:
    """Return the absent modules that test files import from which nothing was collected.

    They are neither in the source nor in a distribution that is known: helpers that stayed in the repository.
    """
    places = sorted({name.partition("::")[0] for name in uncollected})
    own = {name.partition(".")[0] for name in tests.packages}
    found = set()
    for name in imported_by_tests(original, places):
        top, _, inner = name.partition(".")
        there = any(original.rglob(f"{top}.py")) or any(path.is_dir() for path in original.rglob(top))
        if top in own or (not there and python_provider(name).known):
            continue
        if not there:
            found.add(top)
        elif inner and (original / top).is_dir() and not _module(original.joinpath(*name.split("."))):
            found.add(name)
    return sorted(found)


def _module(place: Path) -> bool:
    return place.is_dir() or place.with_suffix(".py").is_file()


def uncollected_functions(report: RunnerReport, tests: HiddenTests, original: Path) -> list[str]:
    """Return the test functions of files from which pytest took no test at all: broken or skipped as a whole."""
    if any(line.startswith("python_files") for line in tests.ini):
        return []
    reported = {key.id.partition("::")[0] for key in report.results}
    passed_by = _passed_by(tests.ini)
    found = []
    for argument in tests.arguments:
        for path in files_of_tests(original / argument):
            inner = str(path.relative_to(original))
            if inner not in reported and not any(map(passed_by, PurePosixPath(inner).parents)):
                found += [f"{inner}::{name}" for name in functions_of(path)]
    return sorted(set(found))


def _passed_by(ini: Sequence[str]) -> Callable[[PurePosixPath], bool]:
    """Return whether pytest passes a folder by, as `norecursedirs` in *ini* tells it."""
    text = re.search(r"^norecursedirs\s*=(.*(?:\n\s+.*)*)", "\n".join(ini), re.MULTILINE)
    patterns = text[1].split() if text else []

    def is_passed_by(folder: PurePosixPath) -> bool:
        names = (
            (f"/{folder}", f"*/{pattern}") if "/" in pattern else (folder.name, pattern) for pattern in patterns
        )
        return any(fnmatchcase(name, pattern) for name, pattern in names)

    return is_passed_by


def functions_of(path: Path) -> Iterator[str]:
    """Yield the names of the test functions in a file and its classes."""
    try:
        tree = python_tree(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name


_COMPILED = ("*.pyx", "Cargo.toml", "meson.build", "CMakeLists.txt")
_EXTENSION = re.compile(r"\bext_modules\b|\bExtension\(|cffi_modules|ext-modules")


def compiled_parts(root: Path) -> str:
    """Return the file by which the project at *root* is compiled; empty: it is plain Python."""
    for pattern in _COMPILED:
        found = next(iter(sorted(root.rglob(pattern))), None)
        if found is not None:
            return str(found.relative_to(root))
    for name in ("setup.py", "pyproject.toml"):
        path = root / name
        if path.is_file() and _EXTENSION.search(path.read_text(encoding="utf-8", errors="replace")):
            return name
    return ""
