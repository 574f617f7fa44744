"""Random faults in groundup's own modules."""

import ast
import os
import signal
from pathlib import Path

import pytest
from benchmarks.own_mutants import CONTROL, mutants_of, run, table

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


def test_each_mutant_differs_in_one_place_and_compiles(module: Path) -> None:
    """The same seed gives the same mutants, each once."""
    found = list(mutants_of(module, 50, 1))
    assert [one.fault for one in found] == [one.fault for one in mutants_of(module, 50, 1)]
    assert len({one.fault for one in found}) == len(found) > 8
    original = ast.unparse(ast.parse(SOURCE))
    for one in found:
        assert one.tree is not None
        compile(one.tree, "example", "exec")
        assert ast.unparse(one.tree) != original


def test_the_table_counts_what_can_be_caught() -> None:
    """One that nobody could notice is no promise broken; the control is no mutant."""
    ends = ("lives", "caught", "slow", "lives", "lives")
    faults = (CONTROL, "line 1: a -> b", "line 2: c -> d", "line 3: e -> f", "line 4: g -> h")
    lines = [
        {"folder": "x", "module": "groundup.x", "fault": fault, "end": end}
        for fault, end in zip(faults, ends, strict=True)
    ]
    rows = list(table(lines, frozenset({"groundup.x e -> f"})))
    assert rows[2:] == ["| `x` | 1 | 4 | 1 | 1 | 1 | 50 % |", "lives: groundup.x g -> h"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_dies_has_caught_its_mutant(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that says nothing in time is slow."""
    mutant = next(mutants_of(module, 1, 1))
    monkeypatch.setattr(own_mutants, "_in_child", lambda *_: os._exit(3))
    assert run(mutant, module, [], 30) == "caught"
    monkeypatch.setattr(own_mutants, "_in_child", lambda *_: signal.pause())
    assert run(mutant, module, [], 0.1) == "slow"
