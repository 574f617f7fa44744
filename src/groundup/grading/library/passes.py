"""The passes over one submission: its hidden tests, their falsified twin, and their traced form.

Each has a fresh sandbox. They run beside each other where the bench has room, begin in a random order, and differ
in nothing but the text of tests. Where the recipe says that the original bears it, half of the tests, chosen by
chance, are true in the one sandbox and false in the other, the rest the other way round: no submission can know
which run is the true one, for none is. A test counts when its true form passes and its false form fails; `trace`
judges the traced form.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import MachineError
from groundup.domain.records import Record
from groundup.domain.verdicts import Reason
from groundup.grading.bench import Bench, Turns
from groundup.grading.library.canary import draw_canaries
from groundup.grading.library.decision import canary_that_lied, why_unfinished
from groundup.grading.library.execution import LeftOut, Overlay, Rounds, run_to_the_end
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest, TwinRecord
from groundup.grading.library.leaning import SELDOM, chance_of_leaning
from groundup.grading.library.mixture import Mixture
from groundup.grading.library.report import INTERRUPTED
from groundup.grading.library.trace import Trace, run_traced
from groundup.grading.library.twin import HiddenSuite, function_of, python_sources

FAILING = frozenset({"failed", "error"})
PASSING = frozenset({"passed", "xpassed"})
_MORE_SESSIONS = 3
LEAST_EVIDENCE = 2
"""So many tests that pass both ways are tampering; a single one does not count, and is shown."""
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
    far: frozenset[str] = Field(
        default=frozenset(), description="functions whose false form a library that is nearly right does not pass"
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

    A grading with evidence of forging is not repeated: a submission that remembers would be caught in the first
    at no cost, and know in the second which form of a test is true, the one that it meets again.
    """
    if suite is not None and record is not None and (unread := suite.unread() - record.free):
        raise MachineError(f"the source of {min(unread)} could not be read this time; repeat the attempt")
    apart = False
    for _ in range(_LEANINGS):
        passes = await _run_once(library, bench, suite=suite, record=record, trace=trace, apart=apart)
        if passes.mixed and has_evidence(passes, record):
            return passes.model_copy(update={"leaning": 1.0})
        # Runs side by side may speak to each other, by locks, memory or load, and share tests so that none passes
        # both ways; half of what they forge then passes in its false form.
        shared = not apart and passes.mixed and may_be_shared(passes, record)
        apart = apart or shared
        if passes.leaning > SELDOM and not shared:
            break
    return passes


def has_evidence(passes: Passes, record: TwinRecord | None) -> bool:
    """Whether a lie was told of our own tests, or several pass both ways."""
    assert passes.twin is not None
    if any(map(lie_of, (passes.true, passes.twin))):
        return True
    both = _functions_passing_when_false(passes, record, PASSING)
    return len(both - passes.unsure) >= LEAST_EVIDENCE


def may_be_shared(passes: Passes, record: TwinRecord | None) -> bool:
    """Whether tests pass in their false form only, as where two runs divide among them what they forge."""
    return len(_functions_passing_when_false(passes, record, FAILING)) >= _FALSE_ONLY


def passing_when_false(passes: Passes, tests: Iterable[NumberedTest]) -> frozenset[NumberedTest]:
    """Return those of *tests* that pass in their false form."""
    assert passes.twin is not None
    results = passes.twin.last.report.results
    return frozenset(key for key in tests if key in results and results[key].outcome in PASSING)


def _functions_passing_when_false(
    passes: Passes, record: TwinRecord | None, outcomes: Collection[str]
) -> frozenset[str]:
    """Return the functions of such tests whose true form had one of *outcomes*."""
    free = frozenset[NumberedTest]() if record is None else record.free
    true = passes.true.last.report.results
    chosen = (key for key, found in true.items() if key not in free and found.outcome in outcomes)
    return frozenset(map(function_of, passing_when_false(passes, chosen)))


def lie_of(rounds: Rounds) -> Reason | None:
    """Say which lie a pass tells of our own tests; None when it tells none."""
    last = rounds.last
    is_complete = why_unfinished(last.report, last.result) is None
    return canary_that_lied(last.canaries, last.report, rounds.ended, complete=is_complete)


def without_lies_of_copies(passes: Passes) -> Passes:
    """Return *passes* where a copy of a test that passes proves nothing."""
    assert passes.twin is not None

    def excused(rounds: Rounds) -> Rounds:
        canaries = tuple(
            canary.model_copy(update={"is_telling": False}) if canary.is_copy else canary
            for canary in rounds.last.canaries
        )
        return rounds.model_copy(update={"last": rounds.last.model_copy(update={"canaries": canaries})})

    return passes.model_copy(update={"true": excused(passes.true), "twin": excused(passes.twin)})


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
    overlays, mixture = await asyncio.to_thread(overlays_of, library.hidden, suite, record, seed)
    telling = unsure = far = frozenset[str]()
    if suite is not None and record is not None:
        telling, unsure = await asyncio.to_thread(suite.telling, seed), suite.unsure() - set(record.tailed)
        far = await asyncio.to_thread(suite.far, seed)
    traced = {} if trace is None else await asyncio.to_thread(trace.suite.sources, seed)
    waiting = {
        name: partial(run_twin if mixture or name == "twin" else run_to_the_end, library, bench, overlay)
        for name, overlay in overlays.items()
    }
    if trace is not None:
        waiting["trace"] = partial(run_traced, library, bench, traced)
    done = await _beside(waiting, bench, Turns(1 if apart else len(waiting)))
    leaning = 1.0
    if mixture is not None and suite is not None:
        one, other = (done[name].last.report.results for name in ("true", "twin"))
        leaning = chance_of_leaning(one, other, lambda key: mixture.toss_of(key, suite.lot_of(key)))
        done["true"], done["twin"] = exchanged(
            done["true"], done["twin"], lambda key: mixture.is_swapped(key, suite.lot_of(key))
        )
    return Passes(
        **done,
        seed=seed if len(waiting) > 1 else "",
        mixed=mixture is not None,
        leaning=leaning,
        telling=telling,
        far=far,
        unsure=unsure,
    )


def overlays_of(
    hidden: HiddenTests, suite: HiddenSuite | None, record: TwinRecord | None, seed: str
) -> tuple[dict[str, Overlay], Mixture | None]:
    """Return what differs in each pass by its name, and how tests are mixed, where they are."""
    avoided = set() if record is None else {*record.tailed, *map(function_of, record.free)}
    if suite is None or record is None:
        return {"true": Overlay(canaries=draw_canaries(hidden, suite, avoided))}, None
    mixture = suite.mixture(seed, record.tailed) if record.mixed else None
    if mixture is None or not mixture.second:
        twin = Overlay(
            changed=suite.falsified(seed, record.tailed),
            renamed=suite.renamed(seed),
            canaries=draw_canaries(hidden, suite, avoided),
        )
        return {"true": Overlay(canaries=draw_canaries(hidden, suite, avoided)), "twin": twin}, None
    return {
        name: Overlay(
            changed=suite.falsified(seed, record.tailed, spared, mixture.crossed),
            renamed=suite.renamed(seed, spared, mixture.crossed),
            # Beside a neighbour that is true, a copy would show it: of two that differ, the copy is false.
            canaries=draw_canaries(hidden, suite, avoided | spared),
        )
        for name, spared in (("true", mixture.first), ("twin", mixture.second))
    }, mixture


def exchanged(one: Rounds, other: Rounds, is_swapped: Callable[[NumberedTest], bool]) -> tuple[Rounds, Rounds]:
    """Return two runs that have each other's results of the tests that are swapped."""

    def with_results_of(own: Rounds, foreign: Rounds) -> Rounds:
        report, taken = own.last.report, foreign.last.report.results
        results = {key: found for key, found in report.results.items() if not is_swapped(key)}
        results |= {key: found for key, found in taken.items() if is_swapped(key)}
        ended = [end for end in own.ended if not is_swapped(end.test)]
        ended += [end for end in foreign.ended if is_swapped(end.test)]
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
