"""Random faults in groundup's own modules."""

import ast
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.nearest_tests import NearestTests
from benchmarks.own_mutants import (
    Drawn,
    FirstFailure,
    Mutant,
    forked,
    is_refused,
    module_paths,
    mutants_of,
    plant,
    run_anew,
    run_collected,
    some_mutants,
    table,
    written,
)

from benchmarks import own_mutants

SOURCE = '''
def larger(one, other):
    """Return the larger one."""
    if one > other and not other is None:
        return one
    for number in range(3):
        if number == 1:
            continue
        print(number + 1)
    return other
'''


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A module below the sources."""
    monkeypatch.setattr(own_mutants, "ROOT", tmp_path)
    path = tmp_path / "src" / "groundup" / "example.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    return path


def test_root_gets_no_mutants_of_what_keeps_the_machine_safe(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault there lets a test's attack through, and root's reach everything."""
    guard = module.parent / "sandbox" / "launcher.py"
    guard.parent.mkdir()
    for path in (guard, module):
        path.write_text(f'"""Compares."""\n{SOURCE}')
    for user, found in ((0, []), (1000, [guard])):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert module_paths("sandbox") == found
        assert module_paths("example") == [module]


def test_each_mutant_differs_in_one_place_and_compiles(module: Path) -> None:
    """The same seed gives the same mutants, each once."""
    found = list(mutants_of(module, 50, 1))
    assert [one.fault for one in found] == [one.fault for one in mutants_of(module, 50, 1)]
    assert len({one.fault for one in found}) == len(found) > 8
    original = ast.unparse(ast.parse(SOURCE))
    for one in found:
        compile(one.tree, "example", "exec")
        assert ast.unparse(one.tree) != original


def test_the_text_of_a_fault_keeps_all_around_it(module: Path) -> None:
    """Comments say much to a type checker; in an f-string of Python 3.11 places are not those of the file."""
    module.write_text(f"# ü above\n{SOURCE}    # below\n\n\ndef named(n):\n    return f'{{n + 1}}'  # one\n")
    found = list(mutants_of(module, 50, 1))
    assert sum(not one.source for one in found) <= 2
    for one in found:
        if one.source:
            assert ast.dump(ast.parse(one.source)) == ast.dump(one.tree)
            assert one.source.count("#") == 3


def test_what_a_type_checker_refuses_is_known(module: Path) -> None:
    """An operator of numbers is as good as another, as is a condition; nothing in place of a text is not."""
    (own_mutants.ROOT / "pyproject.toml").write_text(
        "[tool.mypy]\nstrict = true\nwarn_unreachable = true\nfiles = ['src']\n"
    )
    module.write_text("def named(n: int) -> str:\n    text = str(n + 1)\n    if n:\n        n\n    return text\n")
    refused = {one.fault: is_refused(one, module) for one in mutants_of(module, 50, 1)}
    assert refused.pop("line 5: return text -> return None")
    assert len(refused) == 3
    assert not any(refused.values())


def test_a_folder_gives_as_many_as_are_asked(module: Path) -> None:
    """The same seed gives the same, of any module."""
    module.with_name("other.py").write_text(SOURCE)
    paths = [module, module.with_name("other.py")]
    found = [mutant[:2] for _, mutant in some_mutants(paths, 6, 1)]
    assert found == [mutant[:2] for _, mutant in some_mutants(paths, 6, 1)]
    assert len(set(found)) == 6
    assert {name for name, _ in found} == {"groundup.example", "groundup.other"}


def test_a_fault_stands_in_its_file_for_a_while(module: Path) -> None:
    """Afterwards the file is as before, with its time."""
    before = module.stat().st_mtime_ns
    with written(next(mutants_of(module, 1, 1)), module):
        assert module.read_text() != SOURCE
    assert module.read_text() == SOURCE
    assert module.stat().st_mtime_ns == before


def test_a_fault_gets_into_functions_that_were_imported(module: Path) -> None:
    """Whoever has the function already runs the code with the fault; without a function there is none to run."""
    space: dict[str, Callable[[int, int | None], int]] = {}
    exec(compile(SOURCE, str(module), "exec"), space)
    larger = space["larger"]
    fault = next(one for one in mutants_of(module, 50, 1) if "one > other -> " in one.fault)
    assert larger(2, 2) == 2
    assert larger(3, 2) == 3
    assert plant(module, ast.parse(SOURCE.replace("return one", "return None")))
    assert larger(3, 2) is None
    assert not plant(module, ast.parse(SOURCE.replace("return one", "return None")))
    assert not plant(module.with_name("other.py"), fault.tree)


def test_the_table_counts_what_can_be_caught() -> None:
    """One that nobody could notice is no promise broken, and of a slow one nobody knows."""
    ends = ("caught", "caught", "slow", "lives", "lives", "types")
    lines = [
        {"folder": "x", "module": "groundup.x", "fault": f"line {number}: a -> {number}", "end": end}
        for number, end in enumerate(ends)
    ]
    rows = list(table(lines, frozenset({"groundup.x a -> 3"})))
    assert rows[2:] == ["| `x` | 1 | 6 | 1 | 1 | 3 | 1 | 75 % |", "lives: groundup.x a -> 4"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_living_mutant_and_the_test_that_catches_one(module: Path) -> None:
    """The test that failed first is named, so that it can be tried without the fault."""
    for name, end in (("good", ("lives", "")), ("bad", ("caught", "test_it"))):
        tests = module.with_name(f"test_{name}_of_a_mutant.py")
        tests.write_text(f"def test_it():\n    assert {name == 'good'}\n")
        found = run_anew([str(tests)], 60, FirstFailure())
        assert (found[0], found[1].rpartition("::")[2]) == end


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_tests_are_collected_once_for_all_mutants(module: Path) -> None:
    """Each mutant has its own process, and a test that fails without the fault, too, is none that caught it.

    No more tests run than are asked; further ones where none of these fails and more are asked.
    """
    tests = module.parents[2] / "tests" / "test_larger_of_two.py"
    tests.parent.mkdir()
    tests.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(module.parent)!r})\n"
        "from example import larger\n"
        "def test_larger(): assert larger(3, 2) == 3\n"
        "def test_none(): assert larger(3, None) == 3\n"
        "def test_equal(): assert larger(2, 2) == 2\n"
    )
    mutants = [
        Mutant("json", "line 1: a -> b", ast.parse(SOURCE.replace("one > other and", f"{text} and")))
        for text in ("one < other", "one >= other", "one > 0")
    ]
    nearest = NearestTests(module.parents[2], "json", frozenset())
    drawn = [Drawn("", module, one, nearest, 2) for one in mutants]
    other = Mutant("json", "line 1: a -> b", ast.parse(SOURCE.replace("return other", "return 0")))
    drawn += [Drawn("", module, other, nearest, 2), Drawn("", module, other, nearest, 2, 3)]
    lines = module.with_name("lines")

    def record(line: dict[str, str]) -> None:
        with lines.open("a") as file:
            file.write(f"{line['end']} {line['test'].rpartition('::')[2]}\n")

    def collect() -> str:
        run_collected(drawn, 60, record)
        return "ended"

    assert forked(collect, 60) == ("ended", "")
    assert lines.read_text().splitlines() == [
        "caught test_larger",
        "lives ",
        "lives ",
        "lives ",
        "caught test_equal",
    ]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_dies_has_caught_its_mutant() -> None:
    """And one that says nothing in time is slow."""
    assert forked(lambda: os._exit(3), 30)[0] == "caught"
    assert forked(lambda: f"{signal.sigwait([signal.SIGUSR1])}", 0.1)[0] == "slow"


def test_the_nearest_tests_share_rare_words_with_the_fault(module: Path, tmp_path: Path) -> None:
    """First the file named as the module, and records beside it; words count more where the module is imported."""
    texts = {
        "test_example.py": "",
        "far/test_example.py": "",
        "test_golden.py": "",
        "far/test_golden.py": "",
        "test_near.py": "import groundup.example\nlarger",
        "far/test_of_a_caller.py": "from groundup.caller import call\nlarger",
        "far/test_other.py": "larger",
    }
    module.with_name("caller.py").write_text("from groundup.example import larger")
    for name, text in texts.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    mutant = next(mutants_of(module, 1, 1))
    found = NearestTests(tmp_path, mutant.module, mutant.words).files(5)
    assert [str(Path(one).relative_to(tmp_path / "tests")) for one in found] == [
        "test_example.py",
        "test_golden.py",
        "test_near.py",
        "far/test_of_a_caller.py",
        "far/test_other.py",
    ]
