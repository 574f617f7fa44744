"""The file of results that a comparison of mutants goes on from."""

from pathlib import Path

from benchmarks.mutants import Compared, Order, append, read_done, summary


def compared(number: int, **fields: object) -> Compared:
    """Return what was said of one mutant."""
    order = Order(task="jsonlines", number=number, seed=1, kinds=("none",))
    usual = {
        "kind": "none",
        "share": 0.5,
        "faults": (),
        "expected": 27,
        "result": "equal",
        "plain": 3,
        "strict": 3,
    }
    rest = {"order": order, "strict": 3, "began": 27, "status": "graded", "integrity": "clean"}
    return Compared.model_validate({**usual, **rest, "plain_s": 1, "strict_s": 2, **fields})


def test_what_is_there_is_not_done_again(tmp_path: Path) -> None:
    """Whole lines are found again, by task, number, seed and kinds; a torn one costs itself only."""
    file = tmp_path / "results.jsonl"
    assert read_done(file) == {}
    append(file, compared(0))
    with file.open("a") as stream:
        stream.write(compared(1).model_dump_json()[:40])
    append(file, compared(2))
    assert read_done(file) == {one.order: one for one in (compared(0), compared(2))}
    assert len(file.read_text().splitlines()) == 3


def test_a_summary_names_the_tests_that_differ() -> None:
    """What is not equal is shown again, with the tests that only one side counts."""
    different = compared(1, result="different", strict=2, plain_only=("tests/t.py::test_a",), integrity="suspect")
    text = summary([compared(0), different, compared(2, strict=None, status="tampered", integrity="tampered")])
    assert "equal 2 of 3; different 1, unstable 0, no end 0" in text
    assert "integrity: clean 1, suspect 1, tampered 1; status: graded 2, tampered 1" in text
    assert "by plain only: tests/t.py::test_a" in text
    assert "strict - of 27" in text
