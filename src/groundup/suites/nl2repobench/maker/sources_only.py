"""Which files of the original its tests read, other than the library: a submission would not have them.

The original's packages alone are run as a submission; what passes with the whole original and not with them shows
what has to be protected: documents, examples, configuration.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from groundup.environments.requests import PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.copy import copy_tree
from groundup.trees.removal import remove_tree

_LARGEST = 2 * 1024 * 1024


async def protect_what_tests_read(
    recipe: Recipe,
    original: Path,
    whole: Execution,
    environment: PythonEnvironment,
    bench: Bench,
    say: Callable[[str], None],
) -> Recipe:
    """Return the draft with the files protected without which tests of the bare library fail."""
    bare = bench.scratch / "bare"
    write_bare(original, recipe.tests, bare)
    lost = await _lost(bare, original, recipe, whole, environment, bench)
    if not lost:
        return recipe
    files = {test.id.partition("::")[0] for test in lost}
    names = sorted(named_outside(original, recipe.tests, files))
    widened = recipe.tests.model_copy(update={"protected": (*recipe.tests.protected, *names)})
    candidate = recipe.model_copy(update={"tests": widened})
    left = await _lost(bare, original, candidate, whole, environment, bench) if names else lost
    if left < lost:
        note = f"protected what tests read: {', '.join(names)}"
        say(note)
        recipe = candidate.model_copy(update={"notes": "; ".join(filter(None, [recipe.notes, note]))})
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
    text = "\n".join(_text(original / name) for name in files)
    text += "\n".join(_text(path) for name in tests.protected for path in (original / name).rglob("conftest.py"))
    own = {PurePosixPath(root, package).parts[0] for root in tests.import_roots for package in tests.packages}
    for entry in sorted(original.iterdir()):
        if entry.name in own or entry.name in tests.protected or entry.suffix == ".py" or entry.is_symlink():
            continue
        if re.search(rf"(?<![\w.-]){re.escape(entry.name)}(?![\w-])", text) and not entry.name.startswith(".git"):
            yield entry.name


async def _lost(
    bare: Path, original: Path, recipe: Recipe, whole: Execution, environment: PythonEnvironment, bench: Bench
) -> set[NumberedTest]:
    execution = await run_hidden_tests(bare, original, recipe.tests, environment, bench)
    return _passing(whole) - _passing(execution)


def _passing(execution: Execution) -> set[NumberedTest]:
    return {key for key, result in execution.report.results.items() if result.outcome == "passed"}


def _text(path: Path) -> str:
    if not path.is_file() or path.is_symlink() or path.stat().st_size > _LARGEST:
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
