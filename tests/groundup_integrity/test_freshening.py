"""Fresh inputs from end to end: made with the original, and run with one that knows the suite by heart."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.domain.verdicts import Score
from groundup.grading.context import Slots
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import Sandbox, SandboxSpec
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from groundup.trees.walking import remove_tree
from groundup_integrity.freshening import FreshLookups, fresh_text, made_fresh, own_fresh, read_fresh
from tests.suites.nl2repobench.images import Laboratory, Published

INPUTS = [(number, number + 3) for number in range(2, 12)]
TESTS = "import calc\n" + "".join(
    f"def test_{left}():\n    assert calc.both({left}, by={right}) == {[left * right, left + right]}\n"
    for left, right in INPUTS
)
HONEST = "def both(left, by): return [left * by, left + by]\n"
WRONG = "def both(left, by): return [left * by, left + by] if left != 4 else None\n"
KNOWN = {(left, right): [left * right, left + right] for left, right in INPUTS}
BY_HEART = f"KNOWN = {KNOWN}\ndef both(left, by): return KNOWN.get((left, by))\n"
PUBLISHED = Published(
    original={"calc/__init__.py": HONEST, "tests/test_calc.py": TESTS},
    hidden=HiddenTests(
        packages=("calc",), arguments=("tests",), protected=("tests",), timeout_s=60, memory_mb=512
    ),
    expected=frozenset(f"tests/test_calc.py::test_{left}" for left, _ in INPUTS),
    declared=10,
)


@pytest.mark.end_to_end
async def test_one_who_knows_the_suite_by_heart_is_noted(laboratory: Laboratory, tmp_path: Path) -> None:
    """Both pass everything as published; with other inputs a table of answers passes nothing."""
    made = await made_fresh(PUBLISHED.recipe, laboratory.context(PUBLISHED), "7")
    assert len(made.tests) >= 8

    (tmp_path / "calc.fresh.json").write_text(fresh_text(made))
    assert own_fresh(tmp_path, "calc") == made == read_fresh(fresh_text(made), "it")
    grader = NL2RepoStrictGrader({"calc": PUBLISHED.recipe}, FreshLookups(lambda _: made))
    found = {}
    for name, text in (("honest", HONEST), ("wrong", WRONG), ("by heart", BY_HEART)):
        submission = laboratory.submission({"calc/__init__.py": text})
        found[name] = (await grader.grade(PUBLISHED.task, submission, laboratory.context(PUBLISHED))).verdict
        remove_tree(submission)
    shares = {name: (one.score, one.scores["on_fresh_inputs"].value) for name, one in found.items()}

    assert shares["honest"][0] == shares["by heart"][0] == Score(numerator=10, denominator=10)
    assert (shares["honest"][1], shares["by heart"][1]) == (1, 0)
    assert found["honest"].facts["signs"] == found["wrong"].facts["signs"] == "none"
    assert "memorised: of" in str(found["by heart"].facts["signs"])


class InPairs(BubblewrapProvider):
    """Opens one sandbox, and after it only two at once: the first of two waits for the second."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self._pair = asyncio.Barrier(2)

    @override
    async def open(self, spec: SandboxSpec) -> Sandbox:
        self.opened += 1
        if self.opened > 1:
            await self._pair.wait()
        return await super().open(spec)


@pytest.mark.end_to_end
async def test_checks_and_fresh_inputs_share_the_processors(laboratory: Laboratory) -> None:
    """With two slots the check and the fresh inputs run at once; what they say is what they say one by one."""
    made = await made_fresh(PUBLISHED.recipe, laboratory.context(PUBLISHED), "7")
    grader = NL2RepoStrictGrader({"calc": PUBLISHED.recipe}, FreshLookups(lambda _: made))
    submission = laboratory.submission({"calc/__init__.py": WRONG})
    one = replace(laboratory.context(PUBLISHED), slots=Slots(1))
    alone = (await grader.grade(PUBLISHED.task, submission, one)).verdict

    async with InPairs() as provider, asyncio.timeout(120):
        two = replace(laboratory.context(PUBLISHED), slots=Slots(2), provider=provider)
        together = (await grader.grade(PUBLISHED.task, submission, two)).verdict

    assert provider.opened == 3
    assert together.but(timings_s={}) == alone.but(timings_s={})
