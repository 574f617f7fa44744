"""What runs a check makes, and what it answers, with scripted sandboxes; with real ones: suites/nl2repobench."""

import re
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.grading.library.decision import FatalTest
from groundup.grading.library.execution import Execution, Overlay
from groundup.grading.library.hidden import FalseRecord, NumberedTest
from groundup.grading.library.report import Result, RunnerReport
from groundup_integrity.check import LOOKS, with_true_names
from groundup_integrity.integrity import LEAST_SAMPLE, SAMPLE
from tests.groundup_integrity.scripted import HIDDEN, Asked, ScriptedLibrary, named
from tests.sandbox.fake import answer


def honest(asked: Asked) -> str:
    """Pass what is true."""
    return "passed" if asked.form == "true" else "failed"


async def test_an_honest_library_needs_one_short_run_more(tmp_path: Path) -> None:
    """About 32 of its tests, some false and some true; the log says which, and by what seed."""
    library = ScriptedLibrary(tmp_path, honest, tests=60)
    said = await library.integrity()

    assert (said.answer, said.why, said.depth, said.checked) == ("clean", "", "spot", SAMPLE)
    assert [None if run["chosen"] is None else len(run["chosen"]) for run in library.runs] == [None, SAMPLE]
    assert re.match(r"spot check, seed [0-9a-f]{16}:\n", said.log)
    forms = re.findall(
        r"^  (true|false) +(passed|failed) +tests/test_file_0.py::test_\d+$", said.log, re.MULTILINE
    )
    assert len(forms) == SAMPLE
    assert {*forms} == {("true", "passed"), ("false", "failed")}


async def test_a_check_keeps_the_order_and_the_names_of_the_run_that_counts(tmp_path: Path) -> None:
    """A submission sees the same tests in the same order, fewer of them."""
    library = ScriptedLibrary(tmp_path, honest, tests=60)
    await library.integrity()
    chosen = [test for test, _ in library.runs[1]["chosen"]]

    assert chosen == [named(number).id for number in range(60) if named(number).id in chosen]


async def test_a_check_keeps_what_lost_tests_leave_and_takes_back_what_false_forms_do(tmp_path: Path) -> None:
    """A test that failed after another one does so again; the run that counts takes nothing back."""
    hidden = HIDDEN.but(writable=("tests",))
    library = ScriptedLibrary(
        tmp_path, lambda asked: "failed" if asked.name == "test_3" else honest(asked), hidden=hidden
    )
    said = await library.integrity()

    assert said.answer == "clean"
    assert [run["undone"] for run in library.runs] == [[], ["/workspace/tests"]]
    assert library.runs[1]["failed_before"] == [named(3).id]


async def test_on_request_each_test_is_checked_and_a_sample_of_them_in_both_forms(tmp_path: Path) -> None:
    """A full check follows the spot check: what was true there is false here, and the other way round."""
    library = ScriptedLibrary(tmp_path, honest)
    said = await library.integrity(deep=True)
    forms: dict[str, set[str]] = {}
    for form, name in re.findall(r"^  (true|false) +\w+ +(\S+)$", said.log, re.MULTILINE):
        forms.setdefault(name, set()).add(form)

    assert (said.answer, said.depth, said.checked, len(library.runs)) == ("clean", "full", 40, 3)
    assert len(forms) == 40
    assert sum(len(both) == 2 for both in forms.values()) == SAMPLE


async def test_nothing_runs_where_nothing_passed(tmp_path: Path) -> None:
    """There is nothing to believe."""
    library = ScriptedLibrary(tmp_path, lambda asked: "failed")
    said = await library.integrity(deep=True)

    assert (said.answer, said.depth, said.log, len(library.runs)) == ("clean", "none", "", 1)


async def test_what_a_recipe_calls_free_or_leaning_is_never_drawn(tmp_path: Path) -> None:
    """The original would contradict itself there."""
    record = FalseRecord(runs=3, free=frozenset({named(0)}), leaning=frozenset({named(1)}))
    library = ScriptedLibrary(
        tmp_path, lambda asked: "passed" if asked.name in ("test_0", "test_1") else honest(asked), tests=6
    )
    said = await library.integrity(record, deep=True)

    assert (said.answer, said.checked) == ("clean", 4)
    assert all(
        "test_0" not in str(run["chosen"]) and "test_1" not in str(run["chosen"]) for run in library.runs[1:2]
    ), "beside a full check all run, as they are"


async def test_who_passes_everything_is_caught_by_the_false_half(tmp_path: Path) -> None:
    """A spot check contradicts, a full one accuses, and what passes made to fail was not decided by the tests."""
    said = await ScriptedLibrary(tmp_path, lambda asked: "passed").integrity()

    assert (said.answer, said.depth) == ("tampered", "full")
    assert "forged" in said.why
    assert [*re.findall(r"^(\w+ \w+)", said.log, re.MULTILINE)] == ["spot check", "full check", "once more"]


@pytest.mark.parametrize(("changed", "answer"), [((), "suspect"), (("os.write",), "tampered")])
async def test_who_fails_what_is_made_to_fail_is_doubted(
    tmp_path: Path, changed: tuple[str, ...], answer: str
) -> None:
    """As an honest library whose `__eq__` is always true does; who changes pytest or Python has no such excuse."""

    def lenient(asked: Asked) -> str:
        return "failed" if asked.form == "made to fail" else "passed"

    said = await ScriptedLibrary(tmp_path, lenient, changed=changed).integrity()

    assert (said.answer, said.depth) == (answer, "full")
    assert "false expectations" in said.why
    assert ("os.write" in said.why) is bool(changed)


async def test_who_is_honest_in_checks_is_caught_by_the_true_half(tmp_path: Path) -> None:
    """It claimed what it fails when fewer tests run."""
    said = await ScriptedLibrary(tmp_path, lambda asked: "passed" if asked.whole else "failed").integrity()

    assert (said.answer, said.depth) == ("tampered", "full")
    assert "fail when they run again" in said.why


@pytest.mark.parametrize(("run", "answer"), [(1, "clean"), (2, "suspect")], ids=["spot check", "full check"])
async def test_tests_that_fail_once_accuse_nobody(tmp_path: Path, run: int, answer: str) -> None:
    """A spot check has fewer files than the run that counts; what fails where all are is doubtful at most."""

    def shaken(asked: Asked) -> str:
        return "failed" if asked.run == run else honest(asked)

    said = await ScriptedLibrary(tmp_path, shaken).integrity(deep=True)

    assert (said.answer, said.depth, said.unsteady) == (answer, "full", True)
    assert ("fail in a check" in said.why) is (answer == "suspect")


async def test_few_functions_that_can_be_false_are_all_looked_at(tmp_path: Path) -> None:
    """One draw of three would miss half of what a single one shows; from four on a draw is enough."""
    for number, depth in ((3, "full"), (4, "spot")):
        said = await ScriptedLibrary(tmp_path / depth, honest, tests=number).integrity()

        assert (said.answer, said.depth, said.checked) == ("clean", depth, number)


async def test_the_only_function_that_is_forged_accuses(tmp_path: Path) -> None:
    """There is no second one that could agree; a fault that happens to meet its false form is doubtful at most."""
    said = await ScriptedLibrary(tmp_path / "forged", lambda asked: "passed", tests=1).integrity()
    lucky = lambda asked: "failed" if asked.form == "made to fail" else "passed"  # noqa: E731
    met = await ScriptedLibrary(tmp_path / "met", lucky, tests=1).integrity()

    assert (said.answer, met.answer) == ("tampered", "suspect")


async def test_a_full_check_imports_what_the_run_that_counts_imports(tmp_path: Path) -> None:
    """A test may lean on what other files import; a spot check asks for the files of its tests, to be short."""
    library = ScriptedLibrary(tmp_path, honest, files=40)
    await library.integrity(deep=True)
    true, spot, full = (run["chosen_files"] for run in library.runs)

    assert true is full is None
    assert len(spot) == SAMPLE


async def test_one_test_that_fails_when_it_runs_again_is_unsteady(tmp_path: Path) -> None:
    """A look at all tests shows no pattern: clean, and a verdict that no cache may keep."""
    drawn_true: list[str] = []

    def shaken(asked: Asked) -> str:
        if asked.run == 1 and asked.form == "true" and drawn_true in ([], [asked.name]):
            drawn_true[:] = [asked.name]
            return "failed"
        return honest(asked)

    said = await ScriptedLibrary(tmp_path, shaken).integrity()

    assert (said.answer, said.depth, said.unsteady) == ("clean", "full", True)


async def test_one_false_form_that_passes_is_no_more_than_a_reason_to_look_closer(tmp_path: Path) -> None:
    """A fault may meet one false expectation by chance."""
    library = ScriptedLibrary(tmp_path, lambda asked: "passed" if asked.name == "test_3" else honest(asked))

    assert (await library.integrity(deep=True)).answer == "clean"


async def test_who_ends_every_check_is_doubted(tmp_path: Path) -> None:
    """Nothing can be seen of it, so it is not believed, nor accused."""
    library = ScriptedLibrary(
        tmp_path, lambda asked: honest(asked) if asked.whole or asked.form == "true" else "ends"
    )
    said = await library.integrity()

    assert (said.answer, said.depth) == ("suspect", "full")
    assert "has no end" in said.why


async def test_who_begins_no_test_wherever_some_are_false_looks_at_their_files(tmp_path: Path) -> None:
    """And begins all where they are true: an honest library does not know which form its tests have."""
    library = ScriptedLibrary(tmp_path, lambda asked: "begins none" if asked.form == "false" else "passed")
    said = await library.integrity()

    assert said.answer == "tampered"
    assert said.why.startswith(LOOKS)


async def test_a_lost_test_that_passes_when_it_runs_again_is_flaky(tmp_path: Path) -> None:
    """It is named, whatever the answer; one that fails again is not."""

    def story(asked: Asked) -> str:
        if asked.name == "test_2" or (asked.name == "test_1" and asked.run == 0):
            return "failed"
        return honest(asked)

    library = ScriptedLibrary(tmp_path, story, tests=10)
    said = await library.integrity()

    assert (said.answer, said.flaky, said.open, said.checked) == ("clean", frozenset({named(1)}), True, 8)
    assert [line.split()[0:3] for line in said.log.splitlines() if "lost before" in line] == [
        ["lost", "before", "passed"],
        ["lost", "before", "failed"],
    ]


@pytest.mark.parametrize(("failing_s", "ran"), [(0.01, 50), (1.0, LEAST_SAMPLE)], ids=["all", "some"])
async def test_only_where_every_lost_test_fails_again_nothing_is_open(
    tmp_path: Path, failing_s: float, ran: int
) -> None:
    """Before, of more than 32 some never ran again, and a flaky loss among them was cached."""

    def story(asked: Asked) -> str:
        return "failed" if int(asked.name.removeprefix("test_")) >= 10 else honest(asked)

    said = await ScriptedLibrary(tmp_path, story, tests=60, failing_s=failing_s).integrity()

    assert said.log.count("lost before") == ran
    assert said.open == (ran < 50)


async def test_a_log_calls_lost_only_what_was_lost(tmp_path: Path) -> None:
    """What passed and only runs beside a full check is no lost test for a person who reads."""
    record = FalseRecord(runs=3, free=frozenset({named(0)}))
    library = ScriptedLibrary(
        tmp_path, lambda asked: "failed" if asked.name == "test_1" else honest(asked), tests=10
    )
    said = await library.integrity(record, deep=True)

    assert {*re.findall(r"^  lost before +\w+ +(\S+)$", said.log, re.MULTILINE)} == {named(1).id}


async def test_a_test_that_ended_the_process_is_not_checked(tmp_path: Path) -> None:
    """It counts as failed, and would end the check."""
    library = ScriptedLibrary(tmp_path, lambda asked: "ends" if asked.name == "test_0" else honest(asked), tests=6)
    said = await library.integrity(deep=True)

    assert (said.answer, said.checked) == ("clean", 5)


async def test_a_check_whose_sandbox_dies_is_no_ones_fault(tmp_path: Path) -> None:
    """The machine failed; the attempt is owed again."""
    library = ScriptedLibrary(tmp_path, lambda asked: honest(asked) if asked.whole else "died")

    with pytest.raises(SandboxError, match="a check died"):
        await library.integrity()


async def test_only_the_run_that_counts_is_told_in_full(tmp_path: Path) -> None:
    """Tracebacks and values are for people; a check costs no time for them."""
    library = ScriptedLibrary(tmp_path, honest)
    await library.integrity(deep=True)
    true, *checks = [run["arguments"] for run in library.runs]

    assert {"--assert=rewrite", "--tb=short"} <= {*true}
    assert all({"--assert=plain", "--tb=no"} <= {*arguments} for arguments in checks)


def test_a_guessed_name_of_a_case_takes_no_place() -> None:
    """What a check reports under a name that a case has only in the true run changes nothing."""
    own, true = NumberedTest("t.py::a[1-x]"), NumberedTest("t.py::a[1-y]")
    one, two = NumberedTest("t.py::b[1]"), NumberedTest("t.py::b[2]")
    outcomes = {own: "passed", true: "failed", one: "passed", two: "failed"}
    results = {test: Result.model_validate({"outcome": outcome}) for test, outcome in outcomes.items()}
    last = Execution(
        report=RunnerReport(results=results, exit_code=1),
        result=answer(),
        ended=(FatalTest(test=one),),
    )
    renamed = {own: true, one: two, two: one}
    found = with_true_names(last, Overlay(renamed=renamed))

    assert {test: said.outcome for test, said in found.report.results.items()} == {
        true: "passed",
        two: "passed",
        one: "failed",
    }
    assert [end.test for end in found.ended] == [two]
