"""What the hidden tests' runner is asked, and when it is asked again, with scripted sandboxes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from groundup.domain.limits import Repeats
from groundup.grading.context import GradingContext
from groundup.grading.guesses import guesser
from groundup.grading.library.execution import Overlay, compiled, run_hidden_tests, run_to_the_end
from groundup.grading.library.hidden import Extensions, HiddenTests, LibraryUnderTest, NumberedTest
from groundup.grading.library.staging import TRUSTED
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, SandboxSpec
from tests.grading.library.laboratory import NO_ENVIRONMENT, write_tree
from tests.sandbox.fake import FakeProvider, answer

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",), one_test_s=7.0)
BEGUN = [{"event": "begin", "id": f"tests/test_{number}.py::test_{number}", "ordinal": 1} for number in range(9)]
OF_B = NumberedTest("tests/test_b.py::test_x")
REPORTED = [
    {**event, "event": "test", "outcome": "passed", "message": "", "duration": 0.1, "detail": ""}
    for event in BEGUN
]


class Rounds:
    """A library whose runs of tests end as they are told, each with an exit code of its process."""

    def __init__(
        self, folder: Path, rounds: Sequence[Sequence[dict[str, object]]], counted_s: float = 0.0
    ) -> None:
        original = write_tree(folder / "original", {"tests/test_a.py": "", "tests/test_b.py": ""})
        submission = write_tree(folder / "submission", {"calc.py": ""})
        self.library = LibraryUnderTest(submission, original, HIDDEN, NO_ENVIRONMENT)
        self.provider = FakeProvider(self._ended)
        self.context = GradingContext(
            cast(Any, self.provider),
            cast(Any, None),
            folder / "scratch",
            repeats=Repeats(rounds=7, check_rounds=2),
        )
        self.asked: list[dict[str, Any]] = []
        self._rounds, self._counted_s = iter(rounds), counted_s

    def _ended(self, spec: SandboxSpec, command: Command) -> CommandResult:
        self.asked.append(json.loads(command.stdin))
        events = ({"event": "start", "python": "3", "pytest": "8"}, *next(self._rounds))
        said = "".join(f"{self.asked[-1]['token']} {json.dumps(event)}\n" for event in events)
        return answer(3, report=said.encode()).but(duration_s=self._counted_s)


async def test_of_chosen_tests_only_their_functions_and_classes_are_asked_for_items(tmp_path: Path) -> None:
    """Cases of hundreds that nobody wants take their time; where a name cannot say whose it is, all are made."""
    wanted: list[list[str] | None] = []
    case = NumberedTest("t.py::TestA::test_b[c::d]")
    every = Overlay(chosen=(case,), collects_all=True)
    cut = Overlay(chosen=(NumberedTest.of("t.py::Test" + "A" * 200 + "::test_b[c]"),))
    for overlay in (Overlay(), Overlay(chosen=(case, NumberedTest("t.py::test_e"))), every, cut):
        rounds = Rounds(tmp_path / str(len(wanted)), [[{"event": "end", "exit_code": 0}]])
        await run_hidden_tests(rounds.library, rounds.context, overlay)
        wanted.append(rounds.asked[0]["wanted"])

    assert wanted == [None, ["t.py::TestA::test_b", "t.py::TestA", "t.py::test_e"], None, None]


async def test_tests_that_end_the_process_are_left_out_one_by_one(tmp_path: Path) -> None:
    """The run that is whole counts, after as many others as were needed; the fifth takes its whole file along."""
    broken_off = [REPORTED[5], {"event": "end", "exit_code": 2}]
    whole = [{"event": "end", "exit_code": 0}]
    rounds = Rounds(tmp_path, [*([event] for event in BEGUN[:4]), broken_off, whole])
    last = await run_to_the_end(rounds.library, rounds.context)

    assert [(end.test.id[-1], end.whole_file) for end in last.ended] == [
        *((n, False) for n in "0123"),
        ("5", True),
    ]
    assert [str(end.stop) for end in last.ended][3:] == [
        "ended the test process with exit code 3",
        "broke the tests off by KeyboardInterrupt",
    ]
    assert [len(asked["left_out_tests"]) for asked in rounds.asked] == [0, 1, 2, 3, 4, 4]
    assert [asked["left_out_files"] for asked in rounds.asked] == [[]] * 5 + [["tests/test_5.py"]]
    assert last.report.exit_code == 0


@pytest.mark.parametrize(
    ("counted_s", "chosen", "runs"),
    [
        (0.0, None, 7),
        (0.0, (NumberedTest("tests/test_0.py::test_0"),), 2),
        (HIDDEN.timeout_s, None, 5),
        (2 * HIDDEN.timeout_s, None, 3),
    ],
    ids=["rounds", "of a check", "four times the time", "more time"],
)
async def test_runs_end_when_rounds_or_time_are_spent(
    tmp_path: Path, counted_s: float, chosen: tuple[NumberedTest, ...] | None, runs: int
) -> None:
    """Seven rounds, two of a check, or more than four times what one may take; the last has found one more."""
    rounds = Rounds(tmp_path, [[event] for event in BEGUN], counted_s)
    last = await run_to_the_end(rounds.library, rounds.context, Overlay(chosen=chosen))

    assert (len(rounds.asked), len(last.ended)) == (runs, runs - 1)


async def test_a_test_that_runs_though_it_was_left_out_ends_the_rounds(tmp_path: Path) -> None:
    """It would end each."""
    rounds = Rounds(tmp_path, [[BEGUN[0]], [BEGUN[0]]])
    assert len((await run_to_the_end(rounds.library, rounds.context)).ended) == 1


@pytest.mark.parametrize(
    ("overlay", "argument", "files", "one_test_s"),
    [
        (Overlay(), "tests", None, 7.0),
        (Overlay(chosen=(OF_B,), one_test_s=2.0), "tests", ["tests/test_b.py"], 2.0),
        (Overlay(chosen=(OF_B,), collects_all=True), "tests", None, 7.0),
        (Overlay(chosen=(OF_B,)), "tests/test_a.py::test_x", None, 7.0),
    ],
    ids=["all", "chosen", "chosen among all", "of a recipe that names tests"],
)
async def test_of_chosen_tests_only_their_files_are_collected(
    tmp_path: Path, overlay: Overlay, argument: str, files: list[str] | None, one_test_s: float
) -> None:
    """Unless others are to be imported, too; what is for people is written for the run that counts alone.

    pytest refuses a test of a file in which it finds none.
    """
    rounds = Rounds(tmp_path, [[{"event": "end", "exit_code": 0}]])
    library = rounds.library._replace(hidden=HIDDEN.but(arguments=(argument,)))
    await run_hidden_tests(library, rounds.context, overlay)
    (asked,), (command,) = rounds.asked, rounds.provider.commands

    shown = ["--assert=rewrite", "--tb=short"] if overlay.counts else ["--assert=plain", "--tb=no"]
    assert asked["arguments"][-3:] == [*shown, f"{WORKSPACE}/{argument}"]
    assert (asked["chosen_files"], asked["one_test_s"]) == (files, one_test_s)
    assert asked["demands"] is None or overlay.counts
    listener = guesser().listener() if overlay.counts else None
    assert asked.get("listener") == (listener and listener.asked(TRUSTED, HIDDEN.timeout_s / 2)["listener"])
    assert (command.cwd, command.silence_s) == (WORKSPACE, HIDDEN.timeout_s / 3)


async def test_variables_for_python_are_given_to_tests_once_the_runner_has_started(tmp_path: Path) -> None:
    """By one of them it would import what it should not; the order of sets is the same in each run."""
    rounds = Rounds(tmp_path, [[{"event": "end", "exit_code": 0}]] * 2)
    for seed in ({}, {"PYTHONHASHSEED": "5"}):
        hidden = HIDDEN.but(environment={"PYTHONWARNINGS": "error", "PLAIN": "1", **seed})
        await run_hidden_tests(rounds.library._replace(hidden=hidden), rounds.context)
    started = [spec.environment for spec in rounds.provider.specs]

    assert [asked["environment"]["PYTHONWARNINGS"] for asked in rounds.asked] == ["error"] * 2
    assert [one["PYTHONHASHSEED"] for one in started] == ["0", "5"]
    assert all(one["PLAIN"] == "1" and "PYTHONWARNINGS" not in one and "PYTHONPATH" not in one for one in started)


async def test_of_a_build_at_most_64_files_are_taken(tmp_path: Path) -> None:
    """However many it left."""

    def built(spec: SandboxSpec, command: Command) -> CommandResult:
        write_tree(spec.workspace, {f"calc/{number}.so": "" for number in range(70)})
        return answer()

    context = GradingContext(cast(Any, FakeProvider(built)), cast(Any, None), tmp_path)
    submission, extensions = write_tree(tmp_path / "sub", {"calc/x.py": ""}), Extensions(outputs=("calc/*.so",))
    copy, _ = await compiled(submission, extensions, NO_ENVIRONMENT, context, tmp_path)
    assert len(list(copy.glob("calc/*.so"))) == 64


async def test_of_a_build_only_the_named_files_are_taken(tmp_path: Path) -> None:
    """At the depth that their pattern names, where the submission has their folder and nothing of that name."""

    def built(spec: SandboxSpec, command: Command) -> CommandResult:
        made = ["calc/a.so", "calc/own.so", "calc/deep/b.so", "calc/a.txt", "made/c.so", "d.so"]
        write_tree(spec.workspace, dict.fromkeys(made, "built"))
        (spec.workspace / "calc/folder.so").mkdir()
        (spec.workspace / "calc/linked.so").symlink_to("a.so")
        return answer(1, ending=Ending.EXITED)

    submission = write_tree(tmp_path / "sub", {"calc/__init__.py": "", "calc/own.so": "mine", "calc/deep/x": ""})
    provider = FakeProvider(built)
    context = GradingContext(cast(Any, provider), cast(Any, None), tmp_path)
    extensions = Extensions(outputs=("calc/*.so", "made/*.so"), timeout_s=50)
    copy, result = await compiled(submission, extensions, NO_ENVIRONMENT, context, tmp_path)

    files = {str(path.relative_to(copy)): path.read_text() for path in copy.rglob("*") if path.is_file()}
    assert files == {"calc/__init__.py": "", "calc/own.so": "mine", "calc/deep/x": "", "calc/a.so": "built"}
    assert result.exit_code == 1
    (command,), (spec,) = provider.commands, provider.specs
    assert command.argv == (NO_ENVIRONMENT.executable, "setup.py", "build_ext", "--inplace")
    assert spec.environment["CPATH"].endswith("/include/python3.11")
    assert (spec.limits.command_s, spec.limits.wall_clock_s) == (50, 80)
