"""Runs of hidden tests that begin before it is known what they run, with scripted sandboxes."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from groundup.domain.errors import SandboxError
from groundup.grading.context import GradingContext, Slots
from groundup.grading.library.execution import Overlay, run_hidden_tests, runs_begun
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, SandboxSpec
from tests.grading.library.laboratory import NO_ENVIRONMENT, asked_in, write_tree
from tests.sandbox.fake import FakeProvider, answer

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
OVERLAY = Overlay(changed={"tests/test_a.py": b"false"}, chosen=(NumberedTest("tests/test_a.py::test_a"),))


class Laboratory:
    """A library, and sandboxes that note what their tests say when they run."""

    def __init__(self, folder: Path) -> None:
        original = write_tree(folder / "original", {"tests/test_a.py": "true", "tests/test_b.py": "other"})
        submission = write_tree(folder / "submission", {"calc.py": ""})
        self.library = LibraryUnderTest(submission, original, HIDDEN, NO_ENVIRONMENT)
        self.provider = FakeProvider(self._seen)
        self.scratch = folder / "scratch"
        self.texts: list[str] = []

    def context(self, slots: int = 2) -> GradingContext:
        return GradingContext(cast(Any, self.provider), cast(Any, None), self.scratch, slots=Slots(slots))

    async def begun(self, context: GradingContext, number: int) -> None:
        """Run the tests that count, and wait until so many other sandboxes are open."""
        assert not self.provider.sandboxes, "none begins before that"
        await run_hidden_tests(self.library, context)
        assert self.texts.pop() == "None true other"
        while len(self.provider.sandboxes) < number + 1:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.01)

    def _seen(self, spec: SandboxSpec, command: Command) -> CommandResult:
        (tests,) = (mount.source for mount in spec.mounts if mount.target == f"{WORKSPACE}/tests")
        asked = asked_in(command)
        self.texts.append(
            f"{asked['chosen']} {(tests / 'test_a.py').read_text()} {(tests / 'test_b.py').read_text()}"
        )
        end = json.dumps({"event": "end", "exit_code": 0})
        return answer(report=f"{asked['token']} {end}\n".encode())


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    """Return one."""
    return Laboratory(tmp_path)


async def test_a_run_that_has_begun_is_told_what_it_runs(laboratory: Laboratory) -> None:
    """It has a sandbox of its own, where the tests are laid when it is known which; another run opens another."""
    context = laboratory.context()
    async with runs_begun(laboratory.library, context, 1, list):
        await laboratory.begun(context, 1)
        for _ in range(2):
            await run_hidden_tests(laboratory.library, context, OVERLAY)

    assert laboratory.texts == ["[['tests/test_a.py::test_a', 1]] false other"] * 2
    assert len(laboratory.provider.sandboxes) == 3


async def test_runs_that_nobody_needed_leave_nothing(laboratory: Laboratory) -> None:
    """Nothing passed, so nothing is checked."""
    context = laboratory.context()
    async with runs_begun(laboratory.library, context, 2, list):
        await laboratory.begun(context, 2)

    assert all(sandbox.closed for sandbox in laboratory.provider.sandboxes)
    assert not laboratory.texts
    assert not list(laboratory.scratch.iterdir())


async def test_no_run_begins_where_processors_are_wanted(laboratory: Laboratory) -> None:
    """What began beside others' tests would only slow these down."""
    context = laboratory.context(slots=1)
    async with context.slots.taken(), runs_begun(laboratory.library, context, 2, list):
        await run_hidden_tests(laboratory.library, context)
        await asyncio.sleep(0.2)
        await run_hidden_tests(laboratory.library, context, OVERLAY)

    assert len(laboratory.provider.sandboxes) == 2


async def test_what_is_to_be_done_meanwhile_is_done_once(laboratory: Laboratory) -> None:
    """While an interpreter starts, and where nobody wants a processor."""
    context, read = laboratory.context(), list[str]()
    async with runs_begun(laboratory.library, context, 2, partial(read.append, "ahead")):
        assert not read
        await laboratory.begun(context, 2)
    assert read == ["ahead"]

    busy = laboratory.context(slots=1)
    async with busy.slots.taken(), runs_begun(laboratory.library, busy, 2, partial(read.append, "busy")):
        await run_hidden_tests(laboratory.library, busy)
        await asyncio.sleep(0.2)
    assert read == ["ahead"]


async def test_tests_made_to_fail_have_a_run_of_their_own(laboratory: Laboratory) -> None:
    """What makes them fail is asked for as an interpreter starts."""
    context = laboratory.context()
    failing = OVERLAY._replace(failing=OVERLAY.chosen or ())
    async with runs_begun(laboratory.library, context, 1, list):
        await laboratory.begun(context, 1)
        await run_hidden_tests(laboratory.library, context, failing)

    assert len(laboratory.provider.sandboxes) == 3


async def test_a_run_that_failed_to_begin_is_begun_again(laboratory: Laboratory) -> None:
    """Nobody had asked for it yet."""
    opened = laboratory.provider.open
    context = laboratory.context()

    async def refusing(spec: SandboxSpec) -> Any:
        laboratory.provider.open = opened  # type: ignore[method-assign]
        raise SandboxError("no room")

    async with runs_begun(laboratory.library, context, 1, list):
        await run_hidden_tests(laboratory.library, context)
        laboratory.provider.open = refusing  # type: ignore[method-assign]
        await asyncio.sleep(0.2)
        await run_hidden_tests(laboratory.library, context, OVERLAY)

    assert len(laboratory.texts) == 2
