"""What plain pytest says of a submission."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.plain_pytest import Plain, plain_run

from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import load
from tests.grading.library.laboratory import HostBuilder, write_tree
from tests.needs import real_sandboxes
from tests.suites.nl2repobench.trials import RECIPE

pytestmark = pytest.mark.end_to_end

TESTS = """
import os, time
import pytest, kit

def test_right(): assert kit.one() == 1

def test_wrong(): assert kit.one() == 2

@pytest.mark.xfail
def test_expected_to_fail(): assert kit.one() == 1

@pytest.fixture
def broken():
    yield
    raise ValueError

def test_broken_end(broken): assert kit.one() == 1

@pytest.mark.parametrize("case", [1, 1], ids=["a", "b"])
def test_cases(case): assert kit.one() == case

def test_child():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def test_last(): assert kit.one() == 1
"""
HIDDEN = HiddenTests(packages=("kit",), arguments=("tests",), protected=("tests",), timeout_s=30, memory_mb=512)
PASSING = {"test_right", "test_cases[a]", "test_cases[b]", "test_child", "test_last"}


@dataclass(frozen=True)
class Room:
    """Runs a library's tests."""

    provider: SandboxProvider
    folder: Path

    async def plain(self, library: str, tests: str) -> Plain:
        """Return what plain pytest says."""
        original = write_tree(self.folder / "original", {"kit.py": library, "tests/test_kit.py": tests})
        scratch = self.folder / "scratch"
        scratch.mkdir()
        context = GradingContext(provider=self.provider, builder=HostBuilder(self.folder), scratch=scratch)
        environment = await context.builder.python(RECIPE.environment.request())
        found = await plain_run(LibraryUnderTest(original, original, HIDDEN, environment), context)
        assert not list(scratch.iterdir()), "what was laid out is removed"
        return found


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    """Return a place to run tests; skips where this machine can open no sandbox."""
    async with real_sandboxes(load(), tmp_path / "probe") as provider:
        yield Room(provider, tmp_path)


def keys(*names: str) -> set[NumberedTest]:
    """Return tests of the one file."""
    return {NumberedTest(f"tests/test_kit.py::{name}") for name in names}


async def test_what_passes_in_all_its_phases_counts(room: Room) -> None:
    """What fails at its end, or passes though it is expected to fail, did not pass."""
    found = await room.plain("def one(): return 1\n", TESTS)
    assert found.passed == keys(*PASSING)
    assert (found.ended, found.trouble) == ((), "")


async def test_a_library_that_does_not_load_passes_nothing(room: Room) -> None:
    """Pytest ends by itself, so that this is a result."""
    found = await room.plain("import os\nos._exit(3)\n", TESTS)
    assert (found.passed, found.ended, found.trouble) == (frozenset(), (), "")


async def test_what_ends_the_process_or_hangs_is_left_out(room: Room) -> None:
    """All others run again without it."""
    tests = TESTS + "\ndef test_exit(): os._exit(0)\n\ndef test_hang(): time.sleep(60)\n\ndef test_late(): pass\n"
    found = await room.plain("def one(): return 1\n", tests)
    assert found.passed == keys(*PASSING, "test_late")
    assert [one.partition(" ")[0] for one in found.ended] == [
        "tests/test_kit.py::test_exit",
        "tests/test_kit.py::test_hang",
    ]


async def test_too_many_that_end_the_process_leave_no_result(room: Room) -> None:
    """What plain pytest cannot say is told apart."""
    tests = TESTS + "".join(f"\ndef test_exit_{number}(): os._exit(0)\n" for number in range(5))
    found = await room.plain("def one(): return 1\n", tests)
    assert "test_exit_4" in found.trouble
    assert not found.passed
