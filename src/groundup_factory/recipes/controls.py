"""Proving a recipe: freeze what works, show that worthless submissions score nothing, and check it again later.

Stubs have every name of the original and no behaviour, so what they pass is the floor of a recipe: tests that ask
for no more than that something exists or fails. The cheats stand on a stub, and may not win one test more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.belief import checker
from groundup.grading.library.decision import decide, passing_tests
from groundup.grading.library.execution import run_to_the_end
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest
from groundup.suites.nl2repobench.published import graded_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup_factory.recipes.differences import explained, unexplained
from groundup_factory.recipes.freezing import freeze, locked
from groundup_factory.recipes.pinning import lock_without
from groundup_factory.recipes.repairs import noted
from groundup_factory.recipes.stubs import Stub, stub_of
from groundup_factory.recipes.within_reach import LeakedFile, find_answers

_HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
_INI = "[{}]\naddopts = -p cheat\npython_files = test_*.py\n"
_FILES = {
    "conftest.py": _HOOK,
    "cheat.py": _HOOK,
    "pytest.ini": _INI.format("pytest"),
    ".pytest.ini": _INI.format("pytest"),
    "tox.ini": _INI.format("pytest"),
    "setup.cfg": _INI.format("tool:pytest"),
    "sitecustomize.py": "import os\nos._exit(0)\n",
    "cheat.pth": "import cheat\n",
    "pytest.py": "import os\nos._exit(0)\n",
    "cheat-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: cheat\nVersion: 1.0\n",
    "cheat-1.0.dist-info/entry_points.txt": "[pytest11]\ncheat = cheat\n",
}
"""Every file by which a submission could speak to pytest or to the interpreter."""
_LEAVES = "print('9999 passed in 0.01s', flush=True)\nimport os\nos._exit(0)\n"
_PATCHES = """
import _pytest.reports, _pytest.runner
def _call(item, when, log=True, **kwargs):
    report = _pytest.reports.TestReport(item.nodeid, item.location, {}, "passed", None, when, (), 0.0)
    item.ihook.pytest_runtest_logreport(report=report)
    return report
_pytest.runner.call_and_report = _call
"""


async def run_controls(
    recipe: Recipe,
    original: Path,
    environment: PythonEnvironment,
    context: GradingContext,
    say: Callable[[str], None],
) -> Recipe:
    """Return *recipe* with its floor and what each worthless submission passes.

    Raises `TaskError` when one is worth something.
    """
    stubs = {kind.value: stub_of(original, recipe, kind) for kind in Stub}
    stub = stubs[Stub.NOTHING.value]
    heads = [name for name in stub if name.endswith("__init__.py")] or list(stub)
    submissions: dict[str, Mapping[str, str]] = {
        **stubs,
        "files": {**stub, **_FILES, **_own_tests(recipe)},
        "leaves": {**stub, **{name: _LEAVES + stub[name] for name in heads}},
        "patches": {**stub, **{name: _PATCHES + stub[name] for name in heads}},
    }
    passed = {"nop": frozenset[NumberedTest]()}  # freezing ran it, and left out what it passes
    for name, files in submissions.items():
        passed[name] = await _passed(name, files, recipe, original, environment, context)
        say(f"control {name}: {len(passed[name])} of {len(recipe.expected)}")
    return with_controls(recipe, passed)


def with_controls(recipe: Recipe, passed: Mapping[str, frozenset[NumberedTest]]) -> Recipe:
    """Return *recipe* with what worthless submissions have *passed*, and the stubs' as its floor.

    Raises `TaskError` when one is worth something all the same.
    """
    assert recipe.frozen is not None
    floor = frozenset[NumberedTest]().union(*(passed[kind.value] for kind in Stub))
    for name, tests in passed.items():
        if tests - floor:
            raise TaskError(
                f"the worthless submission {name!r} passes {len(tests - floor)} tests of {recipe.task} that no "
                f"stub passes, first {min(tests - floor)}; see what gives them away, and mend the recipe"
            )
    free = len(passed[Stub.NOTHING.value])
    if free * 2 > len(recipe.expected):
        raise TaskError(
            f"a stub without behaviour passes {free} of {len(recipe.expected)} tests of {recipe.task}: "
            "they measure next to nothing; check what the recipe protects"
        )
    counts = {name: len(tests) for name, tests in passed.items()}
    frozen = recipe.frozen.but(controls=counts)
    return recipe.but(frozen=frozen, floor=floor)


async def _passed(
    name: str,
    files: Mapping[str, str],
    recipe: Recipe,
    original: Path,
    environment: PythonEnvironment,
    context: GradingContext,
) -> frozenset[NumberedTest]:
    folder = context.scratch / f"control-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    library = LibraryUnderTest(folder, original, recipe.tests, environment)
    last = await run_to_the_end(library, context)
    decision = decide(recipe.expected, recipe.tests, last.report, last.result, last.ended)
    if not decision.passed:
        return frozenset()
    record = recipe.twin or FalseRecord()
    integrity = await checker()(library, last, recipe.expected, record, context, deep=True)
    return frozenset() if integrity.answer == "tampered" else passing_tests(decision)


def _own_tests(recipe: Recipe) -> dict[str, str]:
    """Return files where the hidden tests lie, with tests of the same names that pass."""
    files: dict[str, str] = {}
    for test in sorted(recipe.expected):
        path, _, name = test.id.partition("::")
        bare = name.partition("[")[0]
        if path.endswith(".py") and bare.isidentifier():
            files[path] = f"{files.get(path, '')}def {bare}(*args): pass\n"
    return files


_SHOWN = 10


async def prove(recipe: Recipe, context: GradingContext, say: Callable[[str], None]) -> Recipe:
    """Return *recipe* frozen, with its controls and what explains its counts. Raises `TaskError`."""
    say("freezing: three runs of the original, one of an empty submission")
    frozen = await freeze(recipe, context)
    declared = f", declared {frozen.declared}" if frozen.declared else ""
    say(f"frozen: {len(frozen.expected)} expected, {len(frozen.excluded)} excluded{declared}")
    environment = await context.builder.python(frozen.environment.request())
    original = await graded_tree(frozen, context)
    frozen = await run_controls(frozen, original, environment, context, say)
    answers = find_answers(original, frozen.tests, environment)
    for answer in answers:
        say(f"answer within reach: {answer.place} is like {answer.source} ({answer.likeness:.0%})")
    frozen = frozen.but(notes=noted(frozen.notes, [_sentence(answers)] if answers else []))
    frozen = frozen.but(differences=explained(frozen))
    for version, tests in unexplained(frozen).items():
        say(f"no reason is known for {tests:+d} tests of {version}; give one under [[differences]]")
    return frozen


async def check(recipe: Recipe, context: GradingContext, say: Callable[[str], None]) -> tuple[Recipe, list[str]]:
    """Return *recipe* made anew from its own decisions, and what changed in sentences. Raises `TaskError`."""
    fresh = await locked(recipe)
    lock, _ = lock_without(fresh.environment.lock, [recipe.source.name])
    environment = fresh.environment.but(lock=lock)
    again = await prove(recipe.but(environment=environment), context, say)
    return again, list(changes(recipe, again))


def renewed(before: Recipe, after: Recipe) -> Recipe:
    """Return *after*, with the times and the memory of *before* where the same tests pass: machines differ."""
    if before.frozen is None or after.frozen is None or before.expected != after.expected:
        return after
    frozen = before.frozen.but(controls=after.frozen.controls)
    return after.but(frozen=frozen, tests=before.tests)


def changes(before: Recipe, after: Recipe) -> Iterator[str]:
    """Yield what differs between two recipes of one task, and what neither explains."""
    yield from _sets("pin", set(before.environment.lock), set(after.environment.lock))
    for pin in sorted(before.environment.lock.keys() & after.environment.lock.keys()):
        gone = set(before.environment.lock[pin]) - set(after.environment.lock[pin])
        if gone:
            yield f"hashes of {pin} changed"
    if before.environment.python_micro != after.environment.python_micro:
        yield f"Python {before.environment.python_micro} became {after.environment.python_micro}"
    yield from _sets("expected test", set(map(str, before.expected)), set(map(str, after.expected)))
    was, now = ({one.id: one.why.value for one in recipe.excluded} for recipe in (before, after))
    yield from _sets("excluded test", set(was), set(now))
    yield from _sets("test of the stub baseline", set(map(str, before.floor)), set(map(str, after.floor)))
    yield from _twin_changes(before, after)
    for name in sorted(was.keys() & now.keys()):
        if was[name] != now[name]:
            yield f"{name} is excluded for {now[name]}, was for {was[name]}"
    if before.frozen is not None and after.frozen is not None:
        old, new = before.frozen.controls, after.frozen.controls
        if old and old != new:
            yield f"controls were {old} and are {new}"
        if before.frozen.original_lines != after.frozen.original_lines:
            yield f"the original had {before.frozen.original_lines} lines and has {after.frozen.original_lines}"
    for version, tests in unexplained(after).items():
        yield f"no reason is known for {tests:+d} tests of the count of {version}"


def _twin_changes(before: Recipe, after: Recipe) -> Iterator[str]:
    old, new = before.twin, after.twin
    if old is None and new is not None:
        yield f"its false forms were not tried; {len(new.free)} tests pass in them"
    elif old is not None and new is not None:
        yield from _sets("free test", set(map(str, old.free)), set(map(str, new.free)))
        yield from _sets("leaning test", set(map(str, old.leaning)), set(map(str, new.leaning)))


def _sets(what: str, before: set[str], after: set[str]) -> Iterator[str]:
    for sign, names in (("gone", before - after), ("new", after - before)):
        listed = sorted(names)
        yield from (f"{sign} {what}: {name}" for name in listed[:_SHOWN])
        if len(listed) > _SHOWN:
            yield f"and {len(listed) - _SHOWN} more {what}s {sign}"


def _sentence(answers: Sequence[LeakedFile]) -> str:
    listed = ", ".join(f"{answer.place} ({answer.likeness:.0%} of {answer.source})" for answer in answers[:5])
    return f"the environment holds files like the original's: {listed}"
