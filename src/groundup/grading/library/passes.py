"""The passes over one submission: its hidden tests, their falsified twin, and their traced form.

Each has a fresh sandbox. They run beside each other where the bench has room, begin in a random order, and differ
in nothing but the text of tests. Where the recipe says that the original bears it, half of the tests, chosen by
chance, are true in the one sandbox and false in the other, the rest the other way round: no submission can know
which run is the true one, for none is. A test counts when its true form passes and its false form fails; `trace`
judges the traced form.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from groundup.domain.errors import MachineError, SandboxError
from groundup.domain.records import Record
from groundup.domain.verdicts import Reason, Stage, Status, TestResult
from groundup.grading.bench import Bench, Turns
from groundup.grading.library.canary import draw_canaries
from groundup.grading.library.decision import MAX_REASONS, Decision, canary_that_lied, reason, why_unfinished
from groundup.grading.library.execution import LeftOut, Overlay, Rounds, logs_of, run_to_the_end
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest, TwinRecord
from groundup.grading.library.leaning import SELDOM, chance_of_leaning
from groundup.grading.library.report import INTERRUPTED
from groundup.grading.library.trace import Trace, run_traced
from groundup.grading.library.twin import HiddenSuite, function_of, python_sources
from groundup.sandbox.protocol import Ending

FORGED = "it passes with false expectations, too: something else than the test decided"
LUCKY = "fail as they are and pass with false expectations"
UNSEEN = "it was not seen to fail with false expectations"
DOUBTED = "other cases of the test pass with false expectations, too"
LEANING = "in grading after grading, what is true in one run passes and in the other fails: forged in one run only"
_FAILING = frozenset({"failed", "error"})
_PASSING = frozenset({"passed", "xpassed"})
_HALF = b"[groundup: half of the tests are false in this run; tests.jsonl says what each did when it was true]\n"
_MORE_SESSIONS = 3
_LEAST_EVIDENCE = 2
"""So many tests that pass both ways are tampering; a single one does not count, and is shown."""
_MANY_CASES = 8
"""So many cases of one test that pass both ways are more than one false form that happens to be true."""
_FALSE_ONLY = 2
"""So many tests that pass in their false form only may be forged by runs that speak to each other."""
_LEANINGS = 6
"""A submission that passes so unevenly in so many gradings forges in one run only."""


class Passes(Record):
    """What the passes did. *twin*, *trace*: None where there is nothing to compare them with.

    *true* and *twin* hold what the true and the false form of each test did, wherever it ran.
    """

    true: Rounds
    twin: Rounds | None = None
    trace: Rounds | None = None
    seed: str = ""
    mixed: bool = Field(default=False, description="whether each run had tests of both forms")
    leaning: float = Field(
        default=1.0, description="how likely an honest submission passes so unevenly in both runs; 1: not mixed"
    )
    telling: frozenset[str] = Field(
        default=frozenset(), description="functions whose false form a faulty library does not pass by mistake"
    )
    unsure: frozenset[str] = Field(
        default=frozenset(), description="functions that may pass without coming to an expectation"
    )


def suite_of(original: Path, protected: tuple[str, ...], expected: frozenset[NumberedTest]) -> HiddenSuite:
    """Return the Python sources of *original*'s hidden tests, which lie below *protected*."""
    modules = {str(path.relative_to(original)): path for path in original.rglob("*.py") if path.is_file()}
    texts = {path: place.read_bytes() for path, place in modules.items()}
    sources = {path: texts.pop(path) for path in python_sources(modules, protected)}
    return HiddenSuite(sources, expected, texts.values())


_kept_suite = lru_cache(maxsize=4)(suite_of)


def suite_of_layer(layer: Path, protected: tuple[str, ...], expected: frozenset[NumberedTest]) -> HiddenSuite:
    """Return `suite_of` what nothing changes; the latest are kept, for one task is often graded many times."""
    suite = _kept_suite(layer, protected, expected)
    if suite.unread():  # which may be a matter of the moment
        _kept_suite.cache_clear()
    return suite


async def run_passes(
    library: LibraryUnderTest,
    bench: Bench,
    *,
    suite: HiddenSuite | None,
    record: TwinRecord | None,
    trace: Trace | None = None,
) -> Passes:
    """Run the hidden tests and, where what the original does is on record, their twin and their traced form.

    What passes unevenly in the two runs, which chance does seldom, runs again with other halves; what passes
    several tests in their false form only, runs again one after the other. Raises `MachineError` where tests that
    have a false form on record could not be given one.
    """
    if suite is not None and record is not None and (unread := suite.unread() - record.free):
        raise MachineError(f"the source of {min(unread)} could not be read this time; repeat the attempt")
    apart = False
    for _ in range(_LEANINGS):
        passes = await _run_once(library, bench, suite=suite, record=record, trace=trace, apart=apart)
        # Runs side by side may speak to each other, by locks, memory or load, and share tests so that none passes
        # both ways; half of what they forge then passes in its false form.
        shared = not apart and passes.mixed and may_be_shared(passes, record)
        apart = apart or shared
        if passes.leaning > SELDOM and not shared:
            break
    return passes


def may_be_shared(passes: Passes, record: TwinRecord | None) -> bool:
    """Whether a grading has no evidence of forging, but tests that pass in their false form only."""
    assert passes.twin is not None
    if any(map(_lie_of, (passes.true, passes.twin))):
        return False
    free = frozenset[NumberedTest]() if record is None else record.free
    true, false = passes.true.last.report.results, passes.twin.last.report.results
    passing = [key for key in false.keys() - free if false[key].outcome in _PASSING and key in true]
    both = {function_of(key) for key in passing if true[key].outcome in _PASSING} - passes.unsure
    only_false = {function_of(key) for key in passing if true[key].outcome in _FAILING}
    return len(both) < _LEAST_EVIDENCE and len(only_false) >= _FALSE_ONLY


def _lie_of(rounds: Rounds) -> Reason | None:
    last = rounds.last
    is_complete = why_unfinished(last.report, last.result) is None
    return canary_that_lied(last.canaries, last.report, rounds.ended, complete=is_complete)


async def _run_once(
    library: LibraryUnderTest,
    bench: Bench,
    *,
    suite: HiddenSuite | None,
    record: TwinRecord | None,
    trace: Trace | None,
    apart: bool,
) -> Passes:
    # Drawn for each submission and unknown in the sandbox: nothing there can tell which of the passes it is in.
    seed = secrets.token_hex(8)
    overlays, swapped = await asyncio.to_thread(overlays_of, library.hidden, suite, record, seed)
    telling = unsure = frozenset[str]()
    if suite is not None and record is not None:
        telling, unsure = await asyncio.to_thread(suite.telling, seed), suite.unsure() - set(record.tailed)
    traced = {} if trace is None else await asyncio.to_thread(trace.suite.sources, seed)
    waiting = {
        name: partial(run_twin if swapped or name == "twin" else run_to_the_end, library, bench, overlay)
        for name, overlay in overlays.items()
    }
    if trace is not None:
        waiting["trace"] = partial(run_traced, library, bench, traced)
    done = await _beside(waiting, bench, Turns(1 if apart else len(waiting)))
    leaning = 1.0
    if swapped and suite is not None:
        one, other = (done[name].last.report.results for name in ("true", "twin"))
        leaning = chance_of_leaning(one, other, suite.bundles())
        done["true"], done["twin"] = exchanged(done["true"], done["twin"], swapped)
    return Passes(
        **done,
        seed=seed if len(waiting) > 1 else "",
        mixed=bool(swapped),
        leaning=leaning,
        telling=telling,
        unsure=unsure,
    )


def overlays_of(
    hidden: HiddenTests, suite: HiddenSuite | None, record: TwinRecord | None, seed: str
) -> tuple[dict[str, Overlay], frozenset[str]]:
    """Return what differs in each pass by its name, and which functions are false in the true one."""
    avoided = set() if record is None else {*record.tailed, *map(function_of, record.free)}
    if suite is None or record is None:
        return {"true": Overlay(canaries=draw_canaries(hidden, suite, avoided))}, frozenset()
    first, swapped = suite.halves(seed)
    if not record.mixed:
        first, swapped = first | swapped, frozenset()
    return {
        name: Overlay(
            changed=suite.falsified(seed, record.tailed, spared),
            renamed=suite.renamed(seed, spared),
            # Beside a neighbour that is true, a copy would show it: of two that differ, the copy is false.
            canaries=draw_canaries(hidden, suite, avoided | spared if swapped else avoided),
        )
        for name, spared in (("true", first), ("twin", swapped))
    }, swapped


def exchanged(one: Rounds, other: Rounds, functions: Collection[str]) -> tuple[Rounds, Rounds]:
    """Return two runs that have each other's results of the tests of *functions*."""

    def with_results_of(own: Rounds, foreign: Rounds) -> Rounds:
        report, taken = own.last.report, foreign.last.report.results
        results = {key: found for key, found in report.results.items() if function_of(key) not in functions}
        results |= {key: found for key, found in taken.items() if function_of(key) in functions}
        ended = [end for end in own.ended if function_of(end.test) not in functions]
        ended += [end for end in foreign.ended if function_of(end.test) in functions]
        # What is missing is looked for in the run as it was.
        collected = report.collected and report.collected - len(report.results) + len(results)
        seen, seen_there = report.observed, foreign.last.report.observed
        observed = seen.shared_with(seen_there) if seen is not None and seen_there is not None else seen
        report = report.model_copy(update={"results": results, "collected": collected, "observed": observed})
        return Rounds(last=own.last.model_copy(update={"report": report}), ended=tuple(ended))

    return with_results_of(one, other), with_results_of(other, one)


async def run_twin(library: LibraryUnderTest, bench: Bench, overlay: Overlay) -> Rounds:
    """Run falsified tests, and those again that a broken session kept from running.

    Tests that fail may end the session, by the state in which they leave the process or with the KeyboardInterrupt
    that they no longer expect; those that come later then have their turn in a fresh one. Returns all under
    the names that they have when they are true.
    """
    rounds = await run_to_the_end(library, bench, overlay)
    for _ in range(_MORE_SESSIONS):
        report = rounds.last.report
        if not (report.broken_off or report.exit_code == INTERRUPTED) or not report.results:
            break
        done = tuple((key.id, key.ordinal) for key in report.results)
        again = await run_to_the_end(library, bench, overlay, left_out=LeftOut(tests=done))
        if not again.last.report.results.keys() - report.results.keys():
            break
        results = {**again.last.report.results, **report.results}
        last = again.last.model_copy(
            update={
                "report": again.last.report.model_copy(update={"results": results}),
                "canaries": rounds.last.canaries,
            }
        )
        rounds = Rounds(last=last, ended=rounds.ended + again.ended)
    return with_true_names(rounds, overlay.renamed)


def with_true_names(rounds: Rounds, names: Mapping[NumberedTest, NumberedTest]) -> Rounds:
    """Return *rounds* under the names that its tests have when they are true; *names*: from those they have here.

    A true name that no test has here is a guess: believed, it would take the place of what the case did.
    """
    report = rounds.last.report
    guessed = frozenset(names.values()) - names.keys()
    results = {names.get(key, key): found for key, found in report.results.items() if key not in guessed}
    ended = tuple(
        end.model_copy(update={"test": names.get(end.test, end.test)})
        for end in rounds.ended
        if end.test not in guessed
    )
    last = rounds.last.model_copy(update={"report": report.model_copy(update={"results": results})})
    return Rounds(last=last, ended=ended)


async def _beside(
    passes: Mapping[str, Callable[[], Awaitable[Rounds]]], bench: Bench, own_turns: Turns
) -> dict[str, Rounds]:
    """Return what all *passes* give, begun in a random order; when one fails, the others end and tidy up first."""

    async def in_turn(one: Callable[[], Awaitable[Rounds]]) -> Rounds:
        async with own_turns.taken(), bench.turns.taken():
            return await one()

    # A fixed order would tell a submission that leaves traces on the machine which pass it is in.
    names = secrets.SystemRandom().sample(list(passes), len(passes))
    tasks = {name: asyncio.ensure_future(in_turn(passes[name])) for name in names}
    try:
        await asyncio.wait(tasks.values())
        return {name: task.result() for name, task in tasks.items()}
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


class TwinOutcome(Record):
    """What the twin says of a decision."""

    decision: Decision
    applied: bool = False
    forged: tuple[NumberedTest, ...] = ()
    lucky: tuple[NumberedTest, ...] = ()
    unseen: tuple[NumberedTest, ...] = ()

    @property
    def signs(self) -> tuple[str, ...]:
        """A phrase for a person, where a test passed both ways, or the false one only."""
        found = {"tests that pass with false expectations, too": self.forged, f"tests that {LUCKY}": self.lucky}
        return tuple(f"{what}: {len(tests)}" for what, tests in found.items() if tests)


def confirmed(decision: Decision, passes: Passes, record: TwinRecord | None) -> TwinOutcome:
    """Return *decision* without the tests that the twin did not confirm, and which they were.

    Raises `SandboxError` when the twin's sandbox failed.
    """
    twin = passes.twin
    if twin is None or record is None:
        return TwinOutcome(decision=decision)
    last = twin.last
    if last.result.ending is Ending.SANDBOX_DIED:
        raise SandboxError("the sandbox of the twin died; repeat the attempt, and see `groundup doctor`")
    seen = _compared(decision, passes, twin, record)
    reasons = list(_accusations(seen, decision, passes, twin))
    is_tampered = bool(reasons) or decision.status is Status.TAMPERED
    unseen_reasons = [_unseen_reason(seen.unseen, twin)] if seen.unseen else []
    if seen.forged and not is_tampered:
        reasons.append(_forged_reason(seen.forged, decision))
    changed = {
        **dict.fromkeys(map(str, seen.forged), FORGED),
        **dict.fromkeys(map(str, seen.unseen), UNSEEN),
        **dict.fromkeys(map(str, seen.doubted), DOUBTED),
    }
    lost = len(seen.forged | seen.unseen | seen.doubted)
    return TwinOutcome(
        decision=decision.model_copy(
            update={
                "status": Status.TAMPERED if is_tampered else decision.status,
                "passed": max(0, decision.passed - lost),
                "reasons": tuple([*reasons, *decision.reasons, *unseen_reasons][:MAX_REASONS]),
                "results": tuple(with_message(test, changed) for test in decision.results),
                "timed_out": decision.timed_out or bool(seen.unseen and last.result.ending.is_out_of_time),
            }
        ),
        applied=True,
        forged=tuple(sorted(seen.forged)),
        lucky=tuple(sorted(seen.lucky)),
        unseen=tuple(sorted(seen.unseen)),
    )


class _Compared(NamedTuple):
    """Which tests did what in both forms."""

    forged: frozenset[NumberedTest]
    """Passed both ways."""
    unseen: frozenset[NumberedTest]
    """Neither failed nor passed with false expectations: not reported at all. They do not count, but prove no
    forgery."""
    lucky: frozenset[NumberedTest]
    """Passed with false expectations only."""
    doubted: frozenset[NumberedTest]
    """Cases of a test of which several others passed both ways."""
    cases: Counter[str]
    """How many cases of each function are evidence of forging."""


def _compared(decision: Decision, passes: Passes, twin: Rounds, record: TwinRecord) -> _Compared:
    # `free`: tests that the original itself passes both ways.
    counted = passing_tests(decision) - record.free
    results = twin.last.report.results
    failed = failing_tests(twin, counted)
    passing = (key for key in counted - failed if key in results and results[key].outcome in _PASSING)
    forged = frozenset(passing)
    unseen = counted - failed - forged
    # A library that raises nothing passes a test whose expectations stand in an exception's handler, both ways.
    sure = {key for key in forged if function_of(key) not in passes.unsure}
    cases = Counter(map(function_of, sure))
    doubted = {key for key in counted - forged - unseen if cases[function_of(key)] >= _LEAST_EVIDENCE}
    lucky = _passed_when_false_only(decision, passes) - record.free
    return _Compared(forged, unseen, lucky, frozenset(doubted), cases)


def _accusations(seen: _Compared, decision: Decision, passes: Passes, twin: Rounds) -> Iterator[Reason]:
    """Yield why results are forged, as far as the twin shows it."""
    lying = _lie_of(twin)
    if lying is not None:
        yield lying
    # All cases of one test may have a false form that happens to be true, so tests are counted, not cases.
    tests = seen.cases | Counter(map(function_of, seen.lucky))
    if len(tests) >= _LEAST_EVIDENCE or max(seen.cases.values(), default=0) >= _MANY_CASES:
        yield _forged_reason(seen.forged, decision) if seen.cases else _lucky_reason(seen.lucky, decision)
    if passes.leaning <= SELDOM:
        yield reason(Stage.TEST, LEANING)


def _passed_when_false_only(decision: Decision, passes: Passes) -> frozenset[NumberedTest]:
    """Return expected tests that were seen to fail, and passed with an expectation that no mistake meets."""
    assert passes.twin is not None
    failed = (test.id for test in decision.results if test.expected and test.outcome == "failed")
    results = passes.twin.last.report.results
    return frozenset(
        key
        for key in map(NumberedTest.parse, failed)
        if function_of(key) in passes.telling and key in results and results[key].outcome in _PASSING
    )


def passing_tests(decision: Decision) -> frozenset[NumberedTest]:
    """Return the expected tests that a decision calls passed."""
    passed = (test.id for test in decision.results if test.expected and test.outcome == "passed")
    return frozenset(map(NumberedTest.parse, passed))


def failing_tests(twin: Rounds, tests: Collection[NumberedTest]) -> frozenset[NumberedTest]:
    """Return those of *tests* that failed in the twin, or ended its process there."""
    results = twin.last.report.results
    ended = {end.test for end in twin.ended}
    files = {end.test.id.partition("::")[0] for end in twin.ended if end.whole_file}
    return frozenset(
        key
        for key in tests
        if key in ended
        or (key in results and results[key].outcome in _FAILING)
        or (key not in results and key.id.partition("::")[0] in files)
    )


def _forged_reason(forged: frozenset[NumberedTest], decision: Decision) -> Reason:
    return reason(
        Stage.TEST,
        f"{len(forged)} of {decision.expected} tests pass with false expectations, too, first {min(forged)}: "
        "something else than the tests decided",
    )


def _lucky_reason(lucky: frozenset[NumberedTest], decision: Decision) -> Reason:
    return reason(
        Stage.TEST, f"{len(lucky)} of {decision.expected} tests {LUCKY}, first {min(lucky)}: forged by chance"
    )


def _unseen_reason(unseen: frozenset[NumberedTest], twin: Rounds) -> Reason:
    why = why_unfinished(twin.last.report, twin.last.result)
    told = f" ({why.message})" if why is not None else ""
    stage = why.stage if why is not None else Stage.TEST
    return reason(
        stage, f"{len(unseen)} tests were not seen to fail with false expectations{told}, first {min(unseen)}"
    )


def with_message(test: TestResult, messages: Mapping[str, str]) -> TestResult:
    """Return *test* as one that does not count, where *messages* say why."""
    if test.id not in messages:
        return test
    return test.model_copy(update={"outcome": "error", "message": messages[test.id]})


def logs_of_passes(passes: Passes, outcome: TwinOutcome) -> dict[str, bytes]:
    """Return what a person needs to look at the runs again: output, the twin's seed, and what was noticed."""
    logs = logs_of(passes.true.last)
    if passes.twin is None:
        return logs
    lines = [f"seed: {passes.seed}"]
    lines += [f"passes with false expectations, too: {key}" for key in outcome.forged]
    lines += [f"{LUCKY}: {key}" for key in outcome.lucky]
    lines += [f"not seen to fail with false expectations: {key}" for key in outcome.unseen]
    if passes.mixed and "stdout.txt" in logs:
        logs["stdout.txt"] = _HALF + logs["stdout.txt"]
    return {**logs, "twin.txt": "\n".join([*lines, ""]).encode("utf-8", "backslashreplace")}
