"""Strict grading of honest, broken and dying submissions, in real sandboxes."""

from dataclasses import replace
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, SandboxError, TaskError
from groundup.domain.verdicts import Reason, Stage, Status
from groundup.extensions import ExtensionPackage
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import NumberedTest
from groundup.sandbox.protocol import Pod, Sandbox, SandboxSpec
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from tests.grading.library.laboratory import EXPECTED_TESTS, LIBRARY, ORIGINAL, HostBuilder, write_tree
from tests.suites.nl2repobench.trials import BROKEN, BROKEN_PASSES, RECIPE, TASK, Trial, passed

pytestmark = pytest.mark.end_to_end


async def test_the_oracle_passes_everything(trial: Trial) -> None:
    """The original's own tree gets a full score, with programs, metadata, data and conftest in their places."""
    graded = await trial.grade(ORIGINAL)

    assert graded.verdict.status is Status.GRADED
    assert passed(graded) == EXPECTED_TESTS
    assert graded.verdict.reasons == ()
    assert graded.verdict.scores["of_declared"].value == pytest.approx(8 / 9)
    assert len(graded.verdict.model_dump_json()) < 2048


@pytest.mark.parametrize("files", [ORIGINAL, {"calc/__init__.py": BROKEN}], ids=["original", "broken"])
async def test_without_what_checks_it_counts_the_same_and_is_unchecked(
    trial: Trial, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No point depends on the package that checks a count; the verdict says that nobody looked."""
    whole = await trial.grade(files)
    monkeypatch.setattr(ExtensionPackage, "present", lambda self: False)
    alone = await trial.grade(files)

    assert (alone.verdict.status, alone.verdict.score) == (Status.GRADED, whole.verdict.score)
    assert [(one.id, one.outcome) for one in alone.tests] == [(one.id, one.outcome) for one in whole.tests]
    assert (alone.verdict.facts["integrity"], alone.verdict.facts["checked"]) == ("unchecked", 0)


@pytest.mark.parametrize(
    "files",
    [
        {"calc/__init__.py": LIBRARY},
        {
            "src/calc/__init__.py": LIBRARY,
            "src/calc.egg-info/top_level.txt": "calc\n",
            "build/lib/calc/__init__.py": "raise RuntimeError('stale')\n",
        },
        {
            "code/py/calc/__init__.py": LIBRARY,
            "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['code/py']\n",
        },
    ],
    ids=["flat", "src", "named like a module"],
)
async def test_a_library_without_tests_or_metadata_of_its_own_passes_everything(
    trial: Trial, files: dict[str, str]
) -> None:
    """Only the package is asked of a submission, where an installation would find it."""
    graded = await trial.grade(files)
    assert (graded.verdict.status, passed(graded)) == (Status.GRADED, EXPECTED_TESTS)


async def test_nothing_gets_nothing(trial: Trial) -> None:
    """An empty submission scores 0 because the package cannot be imported, and the verdict says so."""
    graded = await trial.grade({})

    assert passed(graded) == 0
    assert graded.verdict.status is Status.GRADED
    assert Stage.IMPORT in {reason.stage for reason in graded.verdict.reasons}
    assert {test.outcome for test in graded.tests if test.expected} == {"missing"}


STUB = "__version__ = None\n" + "".join(
    f"def {name}(*args, **kwargs): return None\n" for name in ("add", "subtract", "multiply", "main")
)


async def test_what_a_stub_passes_stands_beside_the_score(trial: Trial) -> None:
    """A score is a count: what is worth nothing is told, from the recipe, and takes no point."""
    floor = frozenset({NumberedTest("tests/test_calc.py::test_data")})
    trial = replace(trial, recipe=RECIPE.but(floor=floor))
    stub = await trial.grade({"calc/__init__.py": STUB})
    whole = await trial.grade(ORIGINAL)

    assert (passed(stub), passed(whole)) == (1, EXPECTED_TESTS)
    assert [graded.verdict.facts["stub_passes"] for graded in (stub, whole)] == [1, 1]


async def test_a_reason_names_the_folder_that_was_left_out_for_its_name(trial: Trial) -> None:
    """Where no project file says that the packages lie in `code`, the verdict says why they were not found."""
    graded = await trial.grade({"code/calc/__init__.py": LIBRARY})

    why = next(reason for reason in graded.verdict.reasons if reason.stage is Stage.IMPORT)
    assert why.message.endswith("code was left out: it would stand in for the module code")


async def test_a_broken_library_loses_what_is_broken(trial: Trial) -> None:
    """Each expected test is judged by itself."""
    graded = await trial.grade({"calc/__init__.py": BROKEN})

    assert passed(graded) == BROKEN_PASSES
    assert {test.id for test in graded.tests if test.outcome == "failed"} == {
        "tests/test_calc.py::test_multiply",
        "tests/test_more.py::test_large",
    }
    assert [reason.stage for reason in graded.verdict.reasons] == [Stage.TEST]


MEMORY_BOMB = """
import time
hoard = []
while True:
    hoard.append(b"x" * (16 * 2**20))
    time.sleep(0.02)
"""

DYING = {
    "a module that is missing": ("import nothing_of_this_name\n", Stage.IMPORT),
    "a signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", Stage.CRASH),
    "a quiet exit": ("import os\nos._exit(0)\n", Stage.CRASH),
    "an endless loop": ("while True: pass\n", Stage.TIMEOUT),
    "a memory bomb": (MEMORY_BOMB, Stage.LIMIT),
}


@pytest.mark.parametrize("name", DYING)
async def test_the_ways_to_die_are_distinguished(trial: Trial, name: str) -> None:
    """Import failure, crash, timeout and a limit each have their own reason, and none of them is tampering."""
    code, stage = DYING[name]
    graded = await trial.grade({"calc/__init__.py": code}, timeout_s=3 if stage is Stage.TIMEOUT else None)

    assert (graded.verdict.status, passed(graded)) == (Status.GRADED, 0)
    assert graded.verdict.reasons[0].stage is stage
    assert graded.verdict.cacheable is (stage is not Stage.TIMEOUT)
    assert graded.verdict.by_time is (stage is Stage.TIMEOUT)


async def test_a_file_that_cannot_be_collected_costs_its_own_tests(trial: Trial) -> None:
    """A missing name loses the file that imports it, and the reason is collection."""
    graded = await trial.grade({"calc/__init__.py": LIBRARY.replace("def multiply", "def times")})
    stages = [reason.stage for reason in graded.verdict.reasons]

    assert passed(graded) == EXPECTED_TESTS - 2
    assert stages == [Stage.COLLECTION, Stage.TEST]
    assert "tests/test_more.py" in graded.verdict.reasons[0].message


_HERE = " in calc/__init__.py, line 11, in multiply"
ENDING_A_TEST = {
    "aborts": ("import os; os.abort()", Stage.CRASH, f"ended the test process by SIGABRT{_HERE}"),
    "exits": ("import os; os._exit(0)", Stage.CRASH, "ended the test process with exit code 0"),
    "needs too much memory": (
        "[(b'x' * (16 << 20), __import__('time').sleep(0.02)) for _ in iter(int, 1)]",
        Stage.LIMIT,
        "used too much memory",
    ),
    "hangs in the interpreter": ("while True: pass", Stage.TIMEOUT, f"hung for 2 s{_HERE}"),
    "hangs outside of it": ("sum(range(10**15))", Stage.TIMEOUT, f"hung for 2 s{_HERE}"),
    "waits for itself": ("__import__('threading').Event().wait()", Stage.TIMEOUT, f"hung for 2 s{_HERE}"),
}


@pytest.mark.parametrize("name", ENDING_A_TEST)
async def test_a_test_that_ends_the_process_costs_itself_only(trial: Trial, name: str) -> None:
    """The others are run again without it; it counts as failed, and says what it did and, if it can, where."""
    code, stage, words = ENDING_A_TEST[name]
    library = LIBRARY.replace("multiply(a, b): return a * b", f"multiply(a, b):\n    {code}")
    graded = await trial.grade(
        {"calc/__init__.py": library},
        timeout_s=6 if stage is Stage.TIMEOUT else None,
    )
    lost = {test.id for test in graded.tests if test.expected and test.outcome != "passed"}

    said = next(test for test in graded.tests if test.id == "tests/test_calc.py::test_multiply")

    assert said.message == words
    assert ("calc/__init__.py:11: in multiply" in said.detail) is words.endswith(_HERE)
    assert not said.detail or said.detail.endswith(f"\nE   {words.removesuffix(_HERE)}")
    assert words.removesuffix(_HERE) in graded.verdict.reasons[0].message
    assert passed(graded) == EXPECTED_TESTS - len(lost) > 0
    assert graded.verdict.reasons[0].stage is stage
    assert graded.verdict.cacheable is (stage is not Stage.TIMEOUT)
    assert graded.verdict.by_time is (stage is Stage.TIMEOUT)


class BrokenProvider:
    """A machine on which no sandbox opens."""

    name = "broken"

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Fail."""
        raise SandboxError("no sandbox today; see `groundup doctor`")

    async def pod(self) -> Pod:
        """Fail."""
        raise SandboxError("no pod today; see `groundup doctor`")


async def test_an_infrastructure_failure_is_raised(tmp_path: Path) -> None:
    """When the machine is at fault there is no verdict, and so no zero; what was laid out is removed."""
    submission = write_tree(tmp_path / "submission", ORIGINAL)
    scratch = tmp_path / "scratch"
    context = GradingContext(provider=BrokenProvider(), builder=HostBuilder(tmp_path), scratch=scratch)  # type: ignore[arg-type]  # no more of the protocol is reached

    with pytest.raises(InfrastructureError):
        await NL2RepoStrictGrader({"calc": RECIPE}).grade(TASK, submission, context)
    assert not list(scratch.iterdir())


def test_what_could_not_be_taken_in_is_a_zero_over_the_expected_tests() -> None:
    """A refused submission stays in the denominator, test by test."""
    reason = Reason(stage=Stage.INTAKE, message="a zip bomb")
    graded = NL2RepoStrictGrader({"calc": RECIPE}).zero(TASK, reason)

    assert graded.verdict.score is not None
    assert (graded.verdict.score.numerator, graded.verdict.score.denominator) == (0, EXPECTED_TESTS)
    assert graded.verdict.reasons == (reason,)
    assert len(graded.tests) == EXPECTED_TESTS


def test_a_task_without_a_frozen_recipe_is_the_tasks_fault() -> None:
    """No one's submission is blamed for a recipe that is not there."""
    with pytest.raises(TaskError, match="no frozen recipe"):
        NL2RepoStrictGrader({}).zero(TASK, Reason(stage=Stage.INTAKE, message="too large"))


def test_what_decides_a_verdict_is_its_identity() -> None:
    """A changed recipe or data version makes a verdict of its own, so a cache cannot mix them up."""
    grader = NL2RepoStrictGrader({"calc": RECIPE})
    changed = RECIPE.but(tests=RECIPE.tests.but(timeout_s=61.0))

    assert grader.identity(TASK) != NL2RepoStrictGrader({"calc": changed}).identity(TASK)
    assert grader.identity(TASK) != grader.identity(TASK.but(data_version="ae9fb81"))
