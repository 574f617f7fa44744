"""Specifications that a model writes: what is checked of them, and what goes back to it."""

import json
import subprocess
import sys
from pathlib import Path

from groundup.models.opening import open_model
from groundup_factory.recipes.written import (
    SECTIONS,
    examples_of,
    gaps_of,
    what_went_wrong,
    write_specification,
)
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.recipes.test_extracted import BODY, FILES
from tests.suites.nl2repobench.trials import RECIPE

TESTS = RECIPE.tests.but(packages=("calc",), import_roots=(".",), arguments=("tests",), protected=("tests",))
OURS = RECIPE.but(tests=TESTS)
LIBRARY = {
    **FILES,
    "calc/messages.py": (
        "'''A docstring that the tests hold, too.'''\n"
        "RIPE = 'A basket is ripe, or \\\\d+ days old'\nUNUSED = 'Nobody looks for this one'\n"
    ),
    "tests/test_messages.py": (
        "def test_it(caught):\n    'A docstring that the tests hold, too.'\n"
        "    assert caught == 'Well: A basket is ripe, or \\\\d+ days old'\n"
    ),
    "calc/sums.py": (
        "def total(numbers):\n    '''Add up.'''\n    result = start_of(numbers)\n    for one in numbers:\n"
        "        result = result + weighed(one)\n    return rounded_to(result, 2)\n"
    ),
}
WHOLE = """## Purpose

Holds fruit.

## Installation

From a folder.

## API

`calc`: `Basket`, `_sorted`, `made_late`. One has `one._names`.
`calc.extra`: `calc.extra._reached`, `_hidden_by_patch`.

## Behaviour

What is taken is gone. It says "A basket
is ripe, or `\\d+` days old".

## Examples

```python
assert 1 + 1 == 2
```
"""


async def _fine(example: str) -> str:
    return "" if "assert 1 + 1 == 2" in example else "NameError: name 'x' is not defined"


async def _gaps(tmp_path: Path, text: str) -> list[str]:
    write_tree(tmp_path, LIBRARY)
    return await gaps_of(text, OURS, tmp_path, _fine)


async def test_a_whole_one_has_no_gap(tmp_path: Path) -> None:
    """All sections, every name, no body, and examples that run."""
    assert await _gaps(tmp_path, WHOLE) == []


async def test_each_fault_is_a_gap(tmp_path: Path) -> None:
    """A section, a name, a test's body, a function's body, an example: each has its sentence."""
    body = "\n".join(LIBRARY["calc/sums.py"].splitlines()[2:])
    for fault, sentence in (
        (WHOLE.replace("## Behaviour", "## Rules"), "no section `## Behaviour`"),
        (WHOLE.replace("`_hidden_by_patch`", "another"), "`calc.extra`: `_hidden_by_patch` must be stated"),
        (WHOLE.replace("is ripe", "is"), "`A basket is ripe, or \\d+ days old` must be stated as it is"),
        (WHOLE.replace("`one._names`", "more"), "`calc.core`: `_names` must be stated"),
        (f"{WHOLE}\n{BODY}", "stand in a hidden test"),
        (f"{WHOLE}\n{body}", "stand in a body of the library"),
        (WHOLE.replace("1 + 1 == 2", "x"), "example 1 does not run with the original: NameError"),
    ):
        (gap,) = await _gaps(tmp_path, fault)
        assert sentence in gap


def test_examples_are_of_their_section() -> None:
    """Signatures in other sections are no programs."""
    assert examples_of("## API\n```python\nf(x)\n```\n" + WHOLE) == ["assert 1 + 1 == 2\n"]
    assert examples_of("nothing") == []


def test_a_gap_names_the_line_of_an_example() -> None:
    """A bare `assert` says nothing itself; what ends outside of all lines has none."""
    for example, told in (
        ("x = 1\nassert x\nassert x == 2\n", "AssertionError at `assert x == 2`"),
        ("def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError: division by zero at `return 1 / 0`"),
        ("import sys\nsys.exit('over')\n", "over"),
        ("", ""),
    ):
        ended = subprocess.run([sys.executable, "-"], input=example, capture_output=True, text=True, check=False)
        assert what_went_wrong(example, ended.stderr) == told
    assert what_went_wrong("x", '  File "<stdin>", line 9\nSyntaxError: no') == "SyntaxError: no"


async def test_gaps_go_back_for_some_rounds(tmp_path: Path) -> None:
    """The model mends what it is told; it sees no test; what has gaps at the end is told with them."""
    write_tree(tmp_path / "calc", LIBRARY)
    script = tmp_path / "script.json"
    first = {"content": WHOLE.replace("`Basket`", "a class")}
    mended = {"when": "Basket` must be stated", "content": WHOLE}
    script.write_text(json.dumps({"turn": [first], "then": "repeat", "rule": [mended]}))
    said: list[str] = []
    async with open_model(f"scripted/{script}") as model:
        one = await write_specification(OURS, tmp_path / "calc", "c0ffee", model, 1, _fine, said.append)
        two = await write_specification(OURS, tmp_path / "calc", "c0ffee", model, 3, _fine, lambda _: None)

    assert one.rounds == 1
    assert [gap.partition(":")[0] for gap in one.gaps] == ["`calc`", "`calc.core`"]
    assert said == [f"round 1: {gap}" for gap in one.gaps]
    assert (two.rounds, two.gaps) == (2, ())
    assert "This specification was written by scripted/" in two.text
    assert "canary c0ffee" in two.text
    assert all(f"## {section}" in two.text for section in SECTIONS)


async def test_a_long_changelog_does_not_crowd_out_the_library(tmp_path: Path) -> None:
    """The library comes first and whole; what has no room is named, and tests are not."""
    write_tree(
        tmp_path / "calc", {**LIBRARY, "CHANGES.md": "new " * 37_500, "calc.egg-info/SOURCES.txt": "tests/x.py"}
    )
    other = "(?s:(?!tests/).)*"
    told = rf"=== calc/core.py{other}=== README.md{other}=== Left out for want of room: CHANGES.md\Z"
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"conversation": [{"when": told, "turn": [{"content": WHOLE}]}]}))
    async with open_model(f"scripted/{script}") as model:
        found = await write_specification(OURS, tmp_path / "calc", "c0ffee", model, 1, _fine, lambda _: None)

    assert found.gaps == ()


async def test_a_model_that_cannot_answer_has_a_gap(tmp_path: Path) -> None:
    """A request that is too long, or refused, leaves the extracted specification, with a sentence that says so."""
    write_tree(tmp_path / "calc", LIBRARY)
    for number, (given, sentence) in enumerate((({"context_tokens": 10}, "10"), ({}, "content management"))):
        script = tmp_path / f"script{number}.json"
        turns = [{"content": WHOLE, "fail": ["refusal"]}]
        script.write_text(json.dumps({**given, "turn": turns}))
        async with open_model(f"scripted/{script}") as model:
            found = await write_specification(OURS, tmp_path / "calc", "c0ffee", model, 3, _fine, lambda _: None)
        (gap,) = found.gaps
        assert "does not answer" in gap
        assert sentence in gap
