"""The text of a failed test, for whoever has the hidden tests on the disk: its body, fixtures and helpers. Pure.

The owner of a run sees it, and it is stored nowhere: no page for others, export or served episode has it.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from groundup.domain.verdicts import TestResult
from groundup.reports.causes import lines_of

_MOST = 60
"""Lines of one function; of a longer one those around the line that failed."""
_FIXTURES = 6
_SETUP = ("setUp", "setup_method", "asyncSetUp", "setUpClass", "setup_class")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Place(NamedTuple):
    file: str
    function: _Function


def body_of(test: TestResult, files: Mapping[str, str]) -> list[str]:
    """Return the lines of *test* in *files*, the failing one marked, below what it uses; [] where unknown."""
    named, _, name = test.id.partition("::")
    file = next((one for one in files if one == named or one.endswith(f"/{named}")), None)
    if file is None:
        return []
    parts = name.partition("[")[0].partition(" #")[0].split("::")
    found, around = _named(_parsed(files[file]), parts)
    if found is None:
        return []
    lines: list[str] = []
    for place in _fixtures(_Place(file, found), around, files):
        lines += [f"{place.file}:{place.function.lineno}", *_text(files[place.file], place.function, 0), ""]
    return [*lines, f"{file}:{found.lineno}", *_text(files[file], found, _failing(test, found))]


def _failing(test: TestResult, function: _Function) -> int:
    """Return the line of *function* at which *test* failed; 0 where its traceback does not say.

    Where a helper of the same file failed, that is the line that called it.
    """
    lines = [line for line in lines_of(test) if function.lineno <= line <= (function.end_lineno or 0)]
    return lines[-1] if lines else 0


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _named(tree: ast.AST, parts: Sequence[str]) -> tuple[_Function | None, list[ast.AST]]:
    """Return the function of a test by the names of its classes and its own, and what it stands in."""
    around: list[ast.AST] = [tree]
    for part in parts:
        inner = [one for one in getattr(around[-1], "body", ()) if getattr(one, "name", None) == part]
        if not inner:
            return None, around
        around.append(inner[-1])
    found = around.pop()
    return (found if isinstance(found, _Function) else None), around


def _fixtures(test: _Place, around: Sequence[ast.AST], files: Mapping[str, str]) -> list[_Place]:
    """Return the fixtures and helpers that *test* uses, and what sets up its class; those used first first."""
    known: dict[str, _Place] = {}
    for file in _that_reach(test.file, files):
        tree = _parsed(files[file])
        for scope in [tree, *(around[1:] if file == test.file else ())]:
            known |= {
                _fixture_name(one) or one.name: _Place(file, one)
                for one in getattr(scope, "body", ())
                if isinstance(one, _Function) and one is not test.function
            }
    wanted = [*(name for name in _SETUP if name in known), *_wanted(test.function)]
    found: dict[str, _Place] = {}
    while wanted and len(found) < _FIXTURES:
        name = wanted.pop(0)
        if name in known and name not in found:
            found[name] = known[name]
            wanted += _wanted(known[name].function)
    return [*reversed(found.values())]


def _that_reach(file: str, files: Mapping[str, str]) -> Iterator[str]:
    """Yield the files whose fixtures a test of *file* can use, the nearest last."""
    above = [str(folder / "conftest.py") for folder in PurePosixPath(file).parents]
    yield from (one for one in reversed(above) if one in files)
    yield file


def _wanted(function: _Function) -> list[str]:
    names = [one.arg for one in [*function.args.args, *function.args.kwonlyargs]]
    marks = [node for one in function.decorator_list for node in ast.walk(one) if "usefixtures" in ast.dump(one)]
    names += [str(node.value) for node in marks if isinstance(node, ast.Constant)]
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names += [one.id for one in calls if isinstance(one, ast.Name)]
    of_self = [one for one in calls if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    return names + [one.attr for one in of_self if getattr(one.value, "id", "") in ("self", "cls")]


def _fixture_name(function: _Function) -> str | None:
    """Return what a fixture is called; None for another function."""
    for one in function.decorator_list:
        called: Any = one.func if isinstance(one, ast.Call) else one
        if getattr(called, "attr", getattr(called, "id", "")) in ("fixture", "async_fixture"):
            named = [word.value for word in getattr(one, "keywords", ()) if word.arg == "name"]
            return next((str(value.value) for value in named if isinstance(value, ast.Constant)), function.name)
    return None


def _text(text: str, function: _Function, failing: int) -> Iterator[str]:
    """Yield the lines of *function*, decorators too, with a mark before the failing one."""
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    last = function.end_lineno or first
    lines = text.splitlines()
    begin = first if last - first < _MOST or not failing else max(first, failing - _MOST + 10)
    if begin > first:
        yield f"    {lines[first - 1]}"
        yield f"      ... {begin - first - 1} lines ..."
    end = min(last, begin + _MOST)
    for number in range(begin, end + 1):
        yield f"{'>>' if number == failing else '  '}  {lines[number - 1]}".rstrip()
    if end < last:
        yield f"      ... {last - end} lines ..."
