"""What the falsified twin takes from a decision, and what it accuses of."""

import asyncio
import gc
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from groundup.domain.errors import MachineError, SandboxError
from groundup.domain.verdicts import Stage, Status
from groundup.environments.layers import layer_store
from groundup.environments.sources import present_source
from groundup.grading.bench import Bench, Turns
from groundup.grading.library import passes
from groundup.grading.library.canary import draw_canaries
from groundup.grading.library.confirmation import (
    FORGED,
    LEANING,
    LUCKY,
    UNSEEN,
    TwinOutcome,
    confirmed,
    logs_of_passes,
)
from groundup.grading.library.decision import FatalTest, decide
from groundup.grading.library.equality import WITHHELD, excused
from groundup.grading.library.execution import Execution, Rounds
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest, TwinRecord
from groundup.grading.library.leaning import SELDOM
from groundup.grading.library.passes import (
    Passes,
    exchanged,
    lie_of,
    may_be_shared,
    overlays_of,
    run_passes,
    suite_of,
    suite_of_layer,
    with_true_names,
    without_lies_of_copies,
)
from groundup.grading.library.report import ImportCheck, Result, RunnerReport
from groundup.grading.library.staging import Staged
from groundup.grading.library.twin import HiddenSuite
from groundup.sandbox.protocol import CommandResult, Ending
from groundup.settings import load
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.recipe_file import shipped_recipes

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
CANARIES = draw_canaries(HIDDEN)
NAMES = ("a", "b", "c", "d")
EXPECTED = frozenset(NumberedTest(f"t.py::{name}") for name in NAMES)
RECORD = TwinRecord(runs=3)
TWINNED = {name: recipe for name, recipe in shipped_recipes().items() if recipe.twin is not None}


def _rounds(
    outcomes: dict[str, str],
    ending: Ending = Ending.EXITED,
    ended: tuple[FatalTest, ...] = (),
    canary: str = "failed",
) -> Rounds:
    results = {NumberedTest(f"t.py::{name}"): outcome for name, outcome in outcomes.items()}
    results |= dict.fromkeys((canary.key for canary in CANARIES), canary)
    report = RunnerReport(
        results={key: Result.model_validate({"outcome": outcome}) for key, outcome in results.items()},
        imports={"calc": ImportCheck(file="/workspace/calc/__init__.py", error=None)},
        exit_code=1 if ending is Ending.EXITED else None,
    )
    return Rounds(
        last=Execution(
            canaries=CANARIES,
            staged=Staged(workspace=Path("/nowhere"), mounts=(), dropped=()),
            report=report,
            result=CommandResult(ending=ending, exit_code=0, stdout=b"", stderr=b"", duration_s=1.0),
            peak_memory_mb=None,
        ),
        ended=ended,
    )


def _outcome(twin: Rounds | None, record: TwinRecord | None = RECORD, **true: str) -> TwinOutcome:
    passes = Passes(true=_rounds({**dict.fromkeys(NAMES, "passed"), **true}), twin=twin, seed="feed")
    return _judged(passes, record=record)


def _judged(
    passes: Passes, expected: frozenset[NumberedTest] = EXPECTED, record: TwinRecord | None = RECORD
) -> TwinOutcome:
    last = passes.true.last
    return confirmed(decide(expected, HIDDEN, CANARIES, last.report, last.result), passes, record)


def _told(outcome: TwinOutcome) -> tuple[Status, int]:
    return outcome.decision.status, outcome.decision.passed


def test_what_fails_with_false_expectations_counts() -> None:
    """An honest submission loses nothing, and the outcome says that the twin was applied."""
    outcome = _outcome(_rounds({"a": "failed", "b": "error", "c": "failed", "d": "failed"}))

    assert _told(outcome) == (Status.GRADED, 4)
    assert outcome.applied
    assert outcome.decision.reasons == ()


def test_what_passes_both_ways_is_tampering() -> None:
    """Two tests that something else than the tests decided take the score, and are named."""
    outcome = _outcome(_rounds({"a": "passed", "b": "xpassed", "c": "failed", "d": "failed"}))

    assert _told(outcome) == (Status.TAMPERED, 2)
    assert [key.id for key in outcome.forged] == ["t.py::a", "t.py::b"]
    assert outcome.decision.reasons[0].message.startswith("2 of 4 tests pass with false expectations")
    assert {test.id: test.message for test in outcome.decision.results if test.message} == {
        "t.py::a": FORGED,
        "t.py::b": FORGED,
    }


def test_one_such_test_scores_nothing_and_accuses_of_nothing() -> None:
    """A fault of the library may make one test pass both ways."""
    outcome = _outcome(_rounds({"a": "passed", "b": "failed", "c": "failed", "d": "failed"}))

    assert _told(outcome) == (Status.GRADED, 3)
    assert "pass with false expectations" in outcome.decision.reasons[0].message


def test_what_fails_truly_accuses_of_nothing() -> None:
    """A test that passes only with false expectations gave the submission no point."""
    outcome = _outcome(_rounds(dict.fromkeys(NAMES, "passed")), a="failed", b="failed", c="failed")

    assert _told(outcome) == (Status.GRADED, 0)


def test_what_the_original_passes_both_ways_is_free() -> None:
    """Tests on the recipe's record count by the true pass, and accuse of nothing."""
    record = TwinRecord(runs=3, free=frozenset({NumberedTest("t.py::a"), NumberedTest("t.py::b")}))
    outcome = _outcome(_rounds({"a": "passed", "c": "failed", "d": "failed"}), record)

    assert _told(outcome) == (Status.GRADED, 4)


def test_what_was_not_seen_to_fail_scores_nothing() -> None:
    """A submission that keeps its twin from running gains nothing by it, and the reason says why."""
    outcome = _outcome(_rounds({"a": "failed", "b": "skipped"}, ending=Ending.TIMEOUT))

    assert _told(outcome) == (Status.GRADED, 1)
    assert len(outcome.unseen) == 3
    assert outcome.decision.reasons[0].stage is Stage.TIMEOUT
    assert outcome.decision.timed_out
    assert {test.message for test in outcome.decision.results} == {"", UNSEEN}


def test_a_test_that_ends_the_twins_process_has_failed() -> None:
    """A false expectation may crash or hang an honest library; whole files that were left out have failed, too."""
    ended = (
        FatalTest(test=NumberedTest("t.py::a"), ending=Ending.TIMEOUT),
        FatalTest(test=NumberedTest("t.py::b"), whole_file=True),
    )

    assert _told(_outcome(_rounds({}, ended=ended))) == (Status.GRADED, 4)


def test_canaries_of_the_twin_tell_on_a_forger() -> None:
    """What passes everything there is tampering, whatever the tests show; a reason is given once."""
    twin = _rounds(dict.fromkeys(NAMES, "failed"), canary="passed")

    assert _outcome(twin).decision.status is Status.TAMPERED

    both = _judged(Passes(true=_rounds(dict.fromkeys(NAMES, "passed"), canary="passed"), twin=twin))
    reasons = [reason.message for reason in both.decision.reasons]
    assert len(reasons) == len({*reasons})


def test_without_a_record_nothing_changes() -> None:
    """A recipe whose original was not tried with false expectations is graded by the true pass alone."""
    outcome = _outcome(None, None)

    assert _told(outcome) == (Status.GRADED, 4)
    assert not outcome.applied


def test_a_sandbox_that_died_is_not_the_submissions_fault() -> None:
    """The machine failed; the attempt is owed again."""
    with pytest.raises(SandboxError, match="twin"):
        _outcome(_rounds({}, ending=Ending.SANDBOX_DIED))


def test_the_log_has_the_seed_and_what_was_noticed() -> None:
    """A person can make the same twin again."""
    twin = _rounds({"a": "passed", "b": "passed", "c": "failed"})
    passes = Passes(true=_rounds(dict.fromkeys(NAMES, "passed")), twin=twin, seed="feed")
    log = logs_of_passes(passes, _outcome(twin))["twin.txt"].decode()

    assert log.startswith("seed: feed\n")
    assert "too: t.py::a\n" in log
    assert "not seen to fail with false expectations: t.py::d\n" in log


def test_two_runs_give_each_other_the_tests_that_were_false_there() -> None:
    """Each test has the result of its true form in the one and of its false form in the other, ends included."""
    one = _rounds({"a": "passed", "b": "failed"}, ended=(FatalTest(test=NumberedTest("t.py::d")),))
    other = _rounds({"a": "failed", "b": "passed", "c": "passed"})

    true, twin = exchanged(one, other, lambda key: key.id[-1] in "bcd")

    told = [{key.id: found.outcome for key, found in each.last.report.results.items()} for each in (true, twin)]
    assert [[each.get(f"t.py::{name}") for name in "abc"] for each in told] == [
        ["passed", "passed", "passed"],
        ["failed", "failed", None],
    ]
    assert (true.ended, twin.ended) == ((), one.ended)


@pytest.mark.parametrize(("far", "passed"), [("abc", 1), ("ab", 4), ("", 4)])
def test_who_passes_false_forms_only_loses_as_many_points(far: str, passed: int) -> None:
    """A forger who is blind wins as many true forms as false ones; a fault hardly meets far values."""
    names, wins = ("a", "b", "c"), ("d", "e", "f", "g")
    expected = frozenset(NumberedTest(f"t.py::{name}") for name in (*names, *wins))
    true = _rounds({**dict.fromkeys(names, "failed"), **dict.fromkeys(wins, "passed")})
    twin = _rounds({**dict.fromkeys(names, "passed"), **dict.fromkeys(wins, "failed")})

    found = _judged(Passes(true=true, twin=twin, far=frozenset(far)), expected)

    assert _told(found) == (Status.GRADED, passed)
    assert any("as many others" in reason.message for reason in found.decision.reasons) == (passed == 1)


@pytest.mark.parametrize(("telling", "status"), [({"a", "b"}, Status.TAMPERED), ({"a"}, Status.GRADED)])
def test_passing_only_what_is_false_is_no_mistake(telling: set[str], status: Status) -> None:
    """Two tests that fail as they are and pass with values that no mistake gives were forged by chance."""
    true = _rounds({"a": "failed", "b": "failed", "c": "passed", "d": "passed"})
    twin = _rounds({"a": "passed", "b": "passed", "c": "failed", "d": "failed"})
    passes = Passes(true=true, twin=twin, seed="feed", telling=frozenset(telling))

    outcome = _judged(passes)

    assert outcome.decision.status is status
    assert {key.id for key in outcome.lucky} == {f"t.py::{name}" for name in telling}
    assert any(LUCKY in one for one in outcome.signs)


@pytest.mark.parametrize(("unsure", "status"), [(set(), Status.TAMPERED), ({"b"}, Status.GRADED)])
def test_what_may_pass_without_an_expectation_accuses_nobody(unsure: set[str], status: Status) -> None:
    """Such tests score nothing when they pass both ways; a library that raises no error does that honestly."""
    true = _rounds({"a": "passed", "b": "passed", "c": "passed", "d": "passed"})
    twin = _rounds({"a": "passed", "b": "passed", "c": "failed", "d": "failed"})
    passes = Passes(true=true, twin=twin, seed="feed", unsure=frozenset(unsure))

    outcome = _judged(passes)

    assert outcome.decision.status is status
    assert outcome.decision.passed == 2
    assert {key.id for key in outcome.forged} == {"t.py::a", "t.py::b"}


def test_cases_of_one_test_are_one_piece_of_evidence() -> None:
    """Its false form may happen to be true, and then all its cases pass both ways."""
    names = ("a[1]", "a[2]", "c", "d")
    expected = frozenset(NumberedTest(f"t.py::{name}") for name in names)
    true = _rounds(dict.fromkeys(names, "passed"))
    twin = _rounds({"a[1]": "passed", "a[2]": "passed", "c": "failed", "d": "failed"})

    passes = Passes(true=true, twin=twin, seed="feed")
    outcome = _judged(passes, expected)

    assert (outcome.decision.status, outcome.decision.passed) == (Status.GRADED, 2)


@pytest.mark.parametrize(
    ("both", "status", "passed"), [(1, Status.GRADED, 9), (3, Status.GRADED, 0), (8, Status.TAMPERED, 0)]
)
def test_a_table_whose_cases_pass_both_ways_counts_for_nothing(both: int, status: Status, passed: int) -> None:
    """Who forges cases of one test by chance gains none of them, and is accused where there are many."""
    names = [f"a[{number}]" for number in range(10)]
    expected = frozenset(NumberedTest(f"t.py::{name}") for name in names)
    true = _rounds(dict.fromkeys(names, "passed"))
    twin = _rounds({name: "passed" if number < both else "failed" for number, name in enumerate(names)})
    passes = Passes(true=true, twin=twin, seed="feed")

    outcome = _judged(passes, expected)

    assert (outcome.decision.status, outcome.decision.passed) == (status, passed)


@pytest.mark.parametrize(
    ("change", "may_be"),
    [
        ({}, True),
        ({"leaning": SELDOM / 2}, False),
        ({"telling": frozenset("cd")}, False),
        ({"canary": "passed"}, False),
    ],
    ids=["two pass both ways", "one run leans", "two pass when false only", "what is not a copy passes"],
)
def test_what_an_equality_that_always_holds_may_show_is_known(change: dict[str, object], *, may_be: bool) -> None:
    """It makes tests pass both ways, and copies of tests; other evidence has no such excuse."""
    canary = str(change.pop("canary", "failed"))
    true = _rounds({"a": "passed", "b": "passed", "c": "failed", "d": "failed"}, canary=canary)
    twin = _rounds(dict.fromkeys(NAMES, "passed"))

    outcome = _judged(Passes.model_validate({"true": true, "twin": twin, "seed": "feed", **change}))

    assert outcome.decision.status is Status.TAMPERED
    assert outcome.may_be_a_fault is may_be


@pytest.mark.parametrize(("copied", "may_be"), [("a", True), ("b", False)])
def test_a_copy_that_passes_may_be_a_fault_where_its_test_passes_both_ways(copied: str, *, may_be: bool) -> None:
    """A copy compares as its test does, which does not count then."""
    copies = tuple(canary.model_copy(update={"is_copy": True, "copied": copied}) for canary in CANARIES)
    true, twin = (
        Rounds(last=rounds.last.model_copy(update={"canaries": copies}))
        for rounds in (_rounds({"a": "passed"}, canary="passed"), _rounds({"a": "passed"}, canary="failed"))
    )
    passes = Passes(true=true, twin=twin, seed="feed")
    last = true.last

    outcome = confirmed(decide(EXPECTED, HIDDEN, copies, last.report, last.result), passes, RECORD)

    assert outcome.decision.status is Status.TAMPERED
    assert outcome.may_be_a_fault is may_be
    lies = map(lie_of, (without_lies_of_copies(passes).true, passes.true))
    assert [lie is None for lie in lies] == [True, False]


@pytest.mark.parametrize(("hidden_share", "passed"), [(1.0, 18), (0.5, 12), (0.4, 8), (0.1, 0), (0.0, 0)])
def test_what_a_fault_is_excused_for_does_not_pay(hidden_share: float, passed: int) -> None:
    """Where half of the false forms show, a forger of all gains as many as pass both ways: twice that is lost."""
    names = [f"{letter}" for letter in "abcdefghijklmnopqrstuv"]
    expected = frozenset(NumberedTest(f"t.py::{name}") for name in names)
    true = _rounds({**dict.fromkeys(names, "passed"), "v": "failed"})
    twin = _rounds({**dict.fromkeys(names, "failed"), "a": "passed", "b": "passed", "c": "passed"})
    passes = Passes(true=true, twin=twin, seed="feed")

    outcome = excused(_judged(passes, expected), passes, RECORD, hidden_share)

    assert (outcome.decision.status, outcome.decision.passed) == (Status.GRADED, passed)
    assert outcome.decision.reasons[0].message.startswith(WITHHELD)


def test_passing_when_false_only_costs_what_chance_would_bring() -> None:
    """Who forges by a coin passes as often where only the false form does as where only the true one does."""
    names = [f"{letter}" for letter in "abcdefghij"]
    expected = frozenset(NumberedTest(f"t.py::{name}") for name in names)
    true = _rounds({**dict.fromkeys(names, "passed"), "i": "failed", "j": "failed"})
    twin = _rounds({**dict.fromkeys(names, "failed"), "a": "passed", "b": "passed", "i": "passed"})
    passes = Passes(true=true, twin=twin, seed="feed")

    outcome = excused(_judged(passes, expected), passes, RECORD, 1.0)

    assert outcome.decision.passed == 8 - 2 - 2


def test_the_reason_names_the_evidence() -> None:
    """One test that passes both ways beside two that pass by luck: the accusation is of forging by chance."""
    true = _rounds({"a": "failed", "b": "failed", "c": "passed", "d": "passed"})
    twin = _rounds({"a": "passed", "b": "passed", "c": "passed", "d": "failed"})
    passes = Passes(true=true, twin=twin, seed="feed", telling=frozenset("ab"), unsure=frozenset("c"))

    outcome = _judged(passes)

    assert outcome.decision.status is Status.TAMPERED
    assert LUCKY in outcome.decision.reasons[0].message


def test_leaning_in_all_gradings_is_forging_in_one_run() -> None:
    """A submission that passes only what is true in one of the runs is tampered with."""
    true, twin = _rounds({"a": "passed", "b": "failed"}), _rounds({"a": "failed", "b": "failed"})
    passes = Passes(true=true, twin=twin, seed="feed", mixed=True, leaning=SELDOM / 2)

    outcome = _judged(passes)

    assert outcome.decision.status is Status.TAMPERED
    assert outcome.decision.reasons[0].message == LEANING


async def test_a_source_that_cannot_be_read_is_no_evidence() -> None:
    """Where a hidden test has no false form this time, an honest library would pass both: the attempt is owed."""
    suite = HiddenSuite({"t.py": b"def test_a(:\n"}, EXPECTED)
    library, bench = cast(LibraryUnderTest, None), cast(Bench, None)

    with pytest.raises(MachineError, match="repeat the attempt"):
        await run_passes(library, bench, suite=suite, record=RECORD)


async def test_a_run_that_is_stopped_while_it_waits_leaves_no_warning(tmp_path: Path) -> None:
    """^C before a turn was free ends what never began, and Python warns of nothing."""
    (tmp_path / "test_it.py").write_text("def test_a():\n    assert len('ab') == 2\n")
    suite = suite_of_layer(tmp_path, ("test_it.py",), frozenset({NumberedTest("test_it.py::test_a")}))
    turns = Turns(1)
    library = cast(LibraryUnderTest, SimpleNamespace(hidden=HIDDEN))
    bench = cast(Bench, SimpleNamespace(turns=turns))

    async with turns.alone():
        grading = asyncio.create_task(run_passes(library, bench, suite=suite, record=RECORD))
        await asyncio.sleep(0.2)
        grading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grading
    gc.collect()


@pytest.mark.parametrize(
    ("true", "false", "shared"),
    [
        ("ffpp", "ppff", True),
        ("fppp", "pfff", False),
        ("ffff", "ffff", False),
    ],
    ids=["two pass when false only", "one does", "none does"],
)
def test_runs_that_may_have_shared_their_tests_are_known(true: str, false: str, *, shared: bool) -> None:
    """Forging half here and half there leaves nothing that passes both ways, but passes that are false."""
    words = {"p": "passed", "f": "failed"}
    one, other = (
        _rounds({letter: words[outcome] for letter, outcome in zip("abcdef", row, strict=False)})
        for row in (true, false)
    )

    assert may_be_shared(Passes(true=one, twin=other, mixed=True), RECORD) is shared


async def test_a_grading_with_evidence_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forger that remembers gains no second one in which it knows the true forms, whatever else it shows."""
    true = _rounds({"a": "failed", "b": "failed", "c": "passed", "d": "passed"})
    forged = _rounds(dict.fromkeys(NAMES, "passed"))
    uneven = Passes(true=true, twin=forged, mixed=True, leaning=SELDOM / 2)
    plain = Passes(true=true, twin=_rounds(dict.fromkeys(NAMES, "failed")), mixed=True)
    waiting = [uneven, plain]

    async def run_once(*given: object, **named: object) -> Passes:
        return waiting.pop(0)

    monkeypatch.setattr(passes, "_run_once", run_once)
    library, bench = cast(LibraryUnderTest, None), cast(Bench, None)

    kept = await run_passes(library, bench, suite=None, record=RECORD)

    assert waiting == [plain]
    assert (kept.twin, kept.leaning) == (forged, 1.0)
    assert _judged(kept).decision.status is Status.TAMPERED


def test_a_suite_of_a_layer_is_read_once(tmp_path: Path) -> None:
    """What gradings of one task share gives each seed its own false form; what could not be read is read again."""
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 == 1\n")
    expected = frozenset({NumberedTest.of("test_it.py::test_one")})
    suite = suite_of_layer(tmp_path, ("test_it.py",), expected)
    assert suite_of_layer(tmp_path, ("test_it.py",), expected) is suite
    assert suite_of_layer(tmp_path, (), expected) is not suite
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "test_it.py").write_text("def test_one(:\n")
    unread = suite_of_layer(torn, ("test_it.py",), expected)
    assert unread.unread() == expected
    assert suite_of_layer(torn, ("test_it.py",), expected) is not unread


def test_a_canary_stands_beside_no_true_test_of_which_it_is_a_copy() -> None:
    """Of two tests that differ in one place, the canary is false: so the other one would be known to be true."""
    names = [
        f"test_{first}_{second}" for first in ("split", "join", "upper") for second in ("word", "line", "text")
    ]
    bodies = "".join(f"def {name}():\n    assert len('{name}') == {len(name)}\n" for name in names)
    suite = HiddenSuite(
        {"tests/test_all.py": bodies.encode()}, [NumberedTest.of(f"tests/test_all.py::{names[0]}")]
    )
    for number in range(20):
        overlays, mixture = overlays_of(HIDDEN, suite, TwinRecord(runs=3, mixed=True), str(number))
        assert mixture is not None
        for run, false in (("true", mixture.second), ("twin", mixture.first)):
            copied = {
                one for one in names for canary in overlays[run].canaries if f"'{one}'".encode() in canary.content
            }
            assert len(copied) == 2
            assert copied <= false


def test_a_guessed_name_of_a_case_takes_no_place() -> None:
    """What a run reports under a name that a case has only in the other run changes nothing."""
    own, true = NumberedTest("t.py::a[1-x]"), NumberedTest("t.py::a[1-y]")
    swapped = {
        NumberedTest("t.py::b[1]"): NumberedTest("t.py::b[2]"),
        NumberedTest("t.py::b[2]"): NumberedTest("t.py::b[1]"),
    }
    rounds = _rounds(
        {"a[1-x]": "passed", "a[1-y]": "failed", "b[1]": "passed", "b[2]": "failed"},
        ended=(FatalTest(test=true), FatalTest(test=NumberedTest("t.py::b[1]"))),
    )

    found = with_true_names(rounds, {own: true, **swapped})

    told = {key.id: one.outcome for key, one in found.last.report.results.items() if key.id.startswith("t.py::")}
    assert told == {"t.py::a[1-y]": "passed", "t.py::b[2]": "passed", "t.py::b[1]": "failed"}
    assert [end.test.id for end in found.ended] == ["t.py::b[2]"]


def _suite(recipe: Recipe) -> HiddenSuite:
    layer = present_source(recipe.source_request(), layer_store(load()))
    if layer is None:
        pytest.skip(f"the original of {recipe.task} is not in the cache; `groundup warm nl2repobench` brings it")
    return suite_of(layer.path, recipe.tests.protected, recipe.expected)


@pytest.mark.parametrize("name", TWINNED)
def test_every_false_form_of_a_shipped_recipe_can_be_compiled(name: str) -> None:
    """False tests and canaries are Python, and no test that a twin needs was left unread."""
    recipe = TWINNED[name]
    assert recipe.twin is not None
    avoided = {*recipe.twin.tailed, *(key.without_parameters.rpartition("::")[2] for key in recipe.twin.free)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the originals' own escapes
        suite = _suite(recipe)
        assert not suite.unread() - recipe.twin.free
        for seed in ("one", "two"):
            changed = suite.falsified(seed, recipe.twin.tailed)
            assert changed
            made = [*changed.items()]
            made += [(one.path, one.content) for one in draw_canaries(recipe.tests, suite, avoided)]
            for path, text in made:
                compile(text, path, "exec", dont_inherit=True)
