"""Worthless submissions of a task, and what they get: nothing, or no more than a stub that can be imported.

The stub has every name of the original and no behaviour, so what it passes is the floor of a recipe: tests that
ask for no more than that something exists or fails. The cheats stand on the stub, and may not pass one test more.
"""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Status
from groundup.environments.requests import PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import run_hidden_tests
from groundup.suites.nl2repobench.maker.absence import source_files
from groundup.suites.nl2repobench.recipe import Recipe

FLOOR = "stub"

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


def stub_of(original: Path, recipe: Recipe) -> dict[str, str]:
    """Return the files of a stub: the original's modules with their names and without their behaviour."""
    return {
        str(path.relative_to(original)): stubbed(path.read_text(encoding="utf-8", errors="replace"))
        for path in source_files(original, recipe.tests)
    }


def stubbed(code: str) -> str:
    """Return *code* with its names only: imports stay, functions do nothing, values are None."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    names: dict[str, str] = {}
    imports = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            text = ast.unparse(node)
            imports.append(text if future else f"try:\n    {text}\nexcept Exception:\n    pass")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = f"def {node.name}(*args, **kwargs):\n    return None"
        elif isinstance(node, ast.ClassDef):
            names[node.name] = _class(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names.update({t.id: f"{t.id} = None" for t in ast.walk(target) if isinstance(t, ast.Name)})
    exported = names.pop("__all__", None)
    listed = [f"__all__ = {sorted(names)!r}"] if exported and not imports else []
    return "\n".join([*imports, *names.values(), *listed]) + "\n"


async def run_controls(
    recipe: Recipe, original: Path, environment: PythonEnvironment, bench: Bench, say: Callable[[str], None]
) -> dict[str, int]:
    """Return what each worthless submission passes. Raises `TaskError` when one is worth something."""
    stub = stub_of(original, recipe)
    heads = [name for name in stub if name.endswith("__init__.py")] or list(stub)
    submissions: dict[str, Mapping[str, str]] = {
        "nop": {},
        FLOOR: stub,
        "files": {**stub, **_FILES, **_own_tests(recipe)},
        "leaves": {**stub, **{name: _LEAVES + stub[name] for name in heads}},
        "patches": {**stub, **{name: _PATCHES + stub[name] for name in heads}},
    }
    passed = {}
    for name, files in submissions.items():
        passed[name] = await _passed(name, files, recipe, original, environment, bench)
        say(f"control {name}: {passed[name]} of {len(recipe.expected)}")
    require_worthless(passed, recipe)
    return passed


def require_worthless(passed: Mapping[str, int], recipe: Recipe) -> None:
    """Raise `TaskError` when a worthless submission is worth more than it may be."""
    floor = passed[FLOOR]
    for name, count in passed.items():
        allowed = 0 if name == "nop" else floor
        if count > allowed:
            raise TaskError(
                f"the worthless submission {name!r} passes {count} tests of {recipe.task}, {allowed} at most are "
                "free; see what gives them away, and mend the recipe"
            )
    if floor * 2 > len(recipe.expected):
        raise TaskError(
            f"a stub without behaviour passes {floor} of {len(recipe.expected)} tests of {recipe.task}: "
            "they measure next to nothing; check what the recipe protects"
        )


async def _passed(
    name: str,
    files: Mapping[str, str],
    recipe: Recipe,
    original: Path,
    environment: PythonEnvironment,
    bench: Bench,
) -> int:
    folder = bench.scratch / f"control-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    execution = await run_hidden_tests(folder, original, recipe.tests, environment, bench)
    decision = decide(recipe.expected, recipe.tests, execution.canaries, execution.report, execution.result)
    return 0 if decision.status is Status.TAMPERED else decision.passed


def _own_tests(recipe: Recipe) -> dict[str, str]:
    """Return files where the hidden tests lie, with tests of the same names that pass."""
    files: dict[str, str] = {}
    for test in sorted(recipe.expected):
        path, _, name = test.id.partition("::")
        bare = name.partition("[")[0]
        if path.endswith(".py") and bare.isidentifier():
            files[path] = f"{files.get(path, '')}def {bare}(*args): pass\n"
    return files


def _class(node: ast.ClassDef) -> str:
    methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    kind = "(Exception)" if node.name.endswith(("Error", "Exception", "Warning")) else ""
    body = [f"    def {name}(self, *args, **kwargs):\n        return None" for name in dict.fromkeys(methods)]
    return "\n".join([f"class {node.name}{kind}:", *(body or ["    pass"])])
