"""Faults that are planted to see whether `why` finds them: the truth, and how a print is read."""

from pathlib import Path

import pytest
from benchmarks.planted import Fault, drawn, planted, read

PRINTED = """notes/0: 90.0 % (9/10)
  mending would bring back: wrong text 6.0 points, exception 4.0 points

3 tests: AssertionError: assert 'a' == 'b'
  calls notes/store.py:3: def add(text):
  tests/test_notes.py::test_add

2 tests: KeyError: 'x'
  notes/store.py:9: return kept[x]
"""
FAULT = Fault("nl2repobench", "notes", 0, "notes/store.py", ("wrong text",), range(9, 10), ())


def test_each_fault_has_a_class_and_a_replacement() -> None:
    """The rounds are truth by themselves: no name twice, nothing that changes nothing alone."""
    faults = [*drawn(1), *drawn(2)]
    assert len(drawn(1)) == 60
    assert all(one.classes and one.edits for one in faults)


def test_a_fault_is_planted_where_its_text_stands(tmp_path: Path) -> None:
    """With the line it has then; a text that is there twice is refused."""
    (tmp_path / "a.py").write_text("x = 1\ny = 1\nz = 2\n")
    edit = {"file": "a.py", "old": "= 1", "new": "= 3", "nth": 2}
    fault = FAULT._replace(file="a.py", edits=(edit,))
    assert [*planted(fault, tmp_path).lines] == [2]
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 3\nz = 2\n"
    (tmp_path / "a.py").write_text("x = 1\ny = 1\n")
    with pytest.raises(SystemExit, match="several"):
        planted(fault._replace(edits=({"file": "a.py", "old": "= 1", "new": "= 3"},)), tmp_path)


def test_a_print_is_read_as_a_person_reads_it(tmp_path: Path) -> None:
    """The class that costs most, the lines that stand with the first cause and with any, and the probable ones."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "store.py").write_text(
        "kept = {}\n\ndef add(text):\n    return 1\n\n\ndef get(x):\n    y = x\n    return kept[y]\n"
    )
    seen = read(PRINTED, FAULT, tmp_path)
    assert (seen.kind, seen.first, seen.any, seen.near) == ("wrong text", False, True, True)
    assert (seen.one, seen.three, seen.function) == (False, False, False)
    assert read("notes/0: 100.0 % (10/10)\n", FAULT, tmp_path).kind == ""
    told = PRINTED.replace(
        "  tests/", "  probably notes/store.py:8: y = x\n  else notes/store.py:9: return kept[y]\n  tests/", 1
    )
    seen = read(told, FAULT, tmp_path)
    assert (seen.first, seen.one, seen.three, seen.function) == (True, False, True, True)
