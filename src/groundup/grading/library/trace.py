"""The golden trace: what an original's traced tests send, recorded once, and what a submission's send beside it.

The parent compares; the process that ran the tests has neither the trace nor what was removed from the tests. Only
what an original sends again in each run is recorded, and only values of plain types: others say nothing.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import SandboxError, TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Reason, Stage
from groundup.grading.bench import Bench
from groundup.grading.library.decision import Decision, reason, why_unfinished
from groundup.grading.library.execution import Overlay, Rounds, run_to_the_end
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest
from groundup.grading.library.observing import OPAQUE, Encoder
from groundup.grading.library.report import RunnerReport, Sent
from groundup.grading.library.tracing import SentKind, Site, TracedSuite, expectation_in
from groundup.grading.library.twin import HiddenSuite
from groundup.sandbox.protocol import Ending

RUNS = 3
"""Of the traced original; Python hashes texts otherwise in each."""
HOLDS = "+"
_DIGEST_CHARS = 12
DIFFERS = "what it compares is not what the original's test compares with"
UNFINISHED = "it did not pass without its expectations"


class TracedTest(Record):
    """What one test of the original sends."""

    name: str = Field(default="", description="of its traced form, where that has another id")
    places: dict[int, str] = Field(description="number of the place -> `+` (it holds), or a digest of the values")


class TraceRecord(Record):
    """What an original's traced tests send, run after run."""

    runs: int = Field(ge=1)
    form: str = Field(description="digest of the traced tests")
    opened: tuple[int, ...] = Field(default=(), description="places that keep their expectation")
    unstable: int = Field(default=0, description="pairs of test and place that were left out, for they changed")
    tests: dict[str, TracedTest]

    def text(self) -> str:
        """Return the file of the record, one test on a line."""
        head = self.model_dump(mode="json", exclude={"tests"})
        lines = [f"  {json.dumps(name)}: {json.dumps(test)}" for name, test in self._lines()]
        return json.dumps(head)[:-1] + ',\n "tests": {\n' + ",\n".join(lines) + "\n}}\n"

    def _lines(self) -> Iterator[tuple[str, object]]:
        for name in sorted(self.tests):
            yield name, self.tests[name].model_dump(mode="json", exclude_defaults=True)


@dataclass(frozen=True)
class Trace:
    """A record with the traced form of the tests that it belongs to."""

    record: TraceRecord
    suite: TracedSuite

    def hides(self, test: TracedTest) -> bool:
        """Whether the traced test lacks an expectation that the original's has."""
        return any(self.suite.sites[place].hides for place in test.places)


def trace_of(suite: HiddenSuite, record: TraceRecord) -> Trace:
    """Return the trace of *suite*. Raises `TaskError` when it was recorded for other tests."""
    traced = TracedSuite(suite, record.opened)
    if traced.form() != record.form:
        raise TaskError(
            "the trace was recorded for other tests; record it again with `groundup recipe trace TASK`"
        )
    return Trace(record, traced)


async def run_traced(library: LibraryUnderTest, bench: Bench, changed: dict[str, bytes]) -> Rounds:
    """Run traced tests."""
    overlay = Overlay(changed=changed, observes=True)
    return await run_to_the_end(library, bench, overlay)


async def record_trace(
    original: LibraryUnderTest,
    bench: Bench,
    suite: HiddenSuite,
    expected: frozenset[NumberedTest],
) -> TraceRecord:
    """Return what *original* sends in each of several runs."""

    async def reports(traced: TracedSuite, runs: int) -> list[RunnerReport]:
        changed = traced.sources("")
        found = [await run_traced(original, bench, changed) for _ in range(runs)]
        return [rounds.last.report for rounds in found]

    everything = TracedSuite(suite)
    (first,) = await reports(everything.opened(), 1)
    kept = _insufficient(everything, first)
    traced = TracedSuite(suite, kept)
    found = await reports(traced, RUNS)
    names = names_of_traced(expected, first, found[0])
    tests, unstable = {}, 0
    for key in sorted(expected & names.keys()):
        seen = [_places(report.values.get(names[key], {}), traced, "") for report in found]
        passed = all(_passed(report, names[key]) for report in found)
        # What differs between runs (hashes, times, addresses) says nothing about a submission.
        stable = {
            place: told
            for place, told in seen[0].items()
            if told and all(other.get(place) == told for other in seen)
        }
        unstable += len({place for one in seen for place in one}) - len(stable)
        if passed and stable:
            name = "" if names[key] == key else str(names[key])
            tests[str(key)] = TracedTest(name=name, places=dict(sorted(stable.items())))
    return TraceRecord(runs=RUNS, form=traced.form(), opened=tuple(sorted(kept)), unstable=unstable, tests=tests)


def _insufficient(suite: TracedSuite, report: RunnerReport) -> frozenset[int]:
    """Return the places whose values do not show by themselves that they are as expected.

    There the original compares with methods of its own, or objects that no encoding shows.
    """
    found = set()
    for places in report.values.values():
        for number, seen in places.items():
            site = suite.sites.get(number)
            if site is not None and site.kind is SentKind.VALUE:
                found |= {number for one in seen if len(one) != 3 or one[0] != one[1] or _is_opaque(one[0])}
            elif site is not None and site.kind is SentKind.INSIDE:
                found |= {number for one in seen if not _holds(site, one, asked="true")}
    return frozenset(found)


def names_of_traced(
    expected: Collection[NumberedTest], plain: RunnerReport, traced: RunnerReport
) -> dict[NumberedTest, NumberedTest]:
    """Return what each expected test is called in its traced form.

    Cases of a function keep their names; where those differ, for they show a value, they keep their order.
    """
    groups = [_by_function(report) for report in (plain, traced)]
    names: dict[NumberedTest, NumberedTest] = {}
    for function, keys in groups[0].items():
        others = groups[1].get(function, [])
        if set(keys) == set(others):
            names.update(zip(keys, keys, strict=True))  # out of a set they come in any order
        elif len(keys) == len(others):
            names.update(zip(keys, others, strict=True))
    return {key: name for key, name in names.items() if key in expected}


def _by_function(report: RunnerReport) -> dict[str, list[NumberedTest]]:
    groups: dict[str, list[NumberedTest]] = defaultdict(list)
    for key in report.results:
        groups[key.id.partition("[")[0]].append(key)
    return groups


def _passed(report: RunnerReport, name: NumberedTest) -> bool:
    return name in report.results and report.results[name].outcome == "passed"


def _places(seen: Mapping[int, Sequence[Sent]], suite: TracedSuite, seed: str) -> dict[int, str]:
    """Return what each place told in one test, over all the times that it was come to; "": it does not hold.

    Values that repeat count once, for how often a loop goes round may be the library's own business.
    """
    told = {}
    for number, sent in seen.items():
        site = suite.sites.get(number)
        if site is None:
            continue
        if site.kind is SentKind.VALUE:
            values = [one[0] for one in sent if one]
            kept = [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]
            told[number] = digest_bytes("\n".join(kept).encode()).removeprefix("sha256:")[:_DIGEST_CHARS]
        else:
            asked = "false" if suite.asks_opposite(site, seed) else "true"
            told[number] = HOLDS if all(_holds(site, one, asked) for one in sent) else ""
    return told


def _holds(site: Site, sent: Sent, asked: str) -> bool:
    """Say whether what was sent is as the place asks."""
    if site.kind is SentKind.TRUTH:
        return sent == (asked,)
    if site.kind is SentKind.PAIR:
        if len(sent) != 3 or sent[2] != "true":
            return False
        return sent[0] == sent[1] or _is_opaque(sent[0]) or _is_opaque(sent[1])
    if len(sent) != 1:
        return False
    try:
        if site.kind is SentKind.RAISED:
            return site.name in json.loads(sent[0])
        return _is_inside(Encoder().of(expectation_in(site)), json.loads(sent[0]))
    except (ValueError, TypeError, RecursionError):
        return False


def _is_inside(sought: object, found: object) -> bool:
    """Whether one encoded value is in another, by the rules of `in`."""
    match found:
        case str():
            return isinstance(sought, str) and sought in found
        case ["b", str() as text]:
            match sought:
                case ["b", str() as part]:
                    return bytes.fromhex(part) in bytes.fromhex(text)
        case ["l" | "t" | "s", *parts]:
            return sought in parts
        case ["d", *pairs]:
            return any(isinstance(pair, list) and pair[:1] == [sought] for pair in pairs)
    return False


def _is_opaque(encoding: str) -> bool:
    """Say whether a value holds something that its encoding does not show; in a text, quotes are escaped."""
    return f'["{OPAQUE}", ' in encoding


class TraceOutcome(Record):
    """What the trace says of a decision."""

    decision: Decision
    applied: bool = False
    traced: int = Field(default=0, description="expected tests with a recorded trace")
    hidden: int = Field(default=0, description="of those, tests without an expectation that the original's have")
    lost: dict[NumberedTest, str] = Field(default={}, description="tests that the trace does not confirm, and why")

    @property
    def signs(self) -> tuple[str, ...]:
        """A phrase for a person, where a test compares otherwise than it should."""
        count = sum(why == DIFFERS for why in self.lost.values())
        return (f"tests that pass and compare other values than the original's: {count}",) if count else ()


def traced(decision: Decision, rounds: Rounds | None, trace: Trace | None, seed: str) -> TraceOutcome:
    """Return *decision* without the tests that the trace does not confirm.

    Raises `SandboxError` when the sandbox of the traced tests failed.
    """
    if rounds is None or trace is None:
        return TraceOutcome(decision=decision)
    last, record = rounds.last, trace.record
    if last.result.ending is Ending.SANDBOX_DIED:
        raise SandboxError("the sandbox of the traced tests died; repeat the attempt, and see `groundup doctor`")
    counted = {test.id for test in decision.results if test.expected and test.outcome == "passed"}
    lost = {}
    for text in sorted(counted & record.tests.keys()):
        why = _why_not(text, record.tests[text], last.report, trace, seed)
        if why:
            lost[NumberedTest.parse(text)] = why
    reasons = [_lost_reason(lost, rounds)] if lost else []
    expected = {test.id for test in decision.results if test.expected} & record.tests.keys()
    return TraceOutcome(
        decision=decision.without(lost, last=reasons).model_copy(
            update={"timed_out": decision.timed_out or bool(lost and last.result.ending.is_out_of_time)}
        ),
        applied=True,
        traced=len(expected),
        hidden=sum(trace.hides(record.tests[text]) for text in expected),
        lost=lost,
    )


def _why_not(text: str, test: TracedTest, report: RunnerReport, trace: Trace, seed: str) -> str:
    """Return why a test is not confirmed; "" when it is."""
    name = NumberedTest.parse(test.name or text)
    told = _places(report.values.get(name, {}), trace.suite, seed)
    if any(told.get(place, value) != value for place, value in test.places.items()):
        return DIFFERS
    return "" if _passed(report, name) and test.places.keys() <= told.keys() else UNFINISHED


def _lost_reason(lost: Mapping[NumberedTest, str], rounds: Rounds) -> Reason:
    why = why_unfinished(rounds.last.report, rounds.last.result)
    told = f" ({why.message})" if why is not None else ""
    first = min(lost)
    stage = why.stage if why is not None else Stage.TEST
    return reason(stage, f"{len(lost)} tests are not confirmed by the trace{told}, first {first}: {lost[first]}")
