"""What the page of an attempt shows of its tests, of what was lost, of better attempts, and of its logs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.requests import Request

from groundup.domain.errors import UsageError
from groundup.domain.subjects import Submission
from groundup.domain.verdicts import TestResult
from groundup.reports.bodies import body_of
from groundup.reports.causes import CauseGroup, grouped
from groundup.reports.document import AttemptRow
from groundup.reports.publishing import cause_for_others, without_parameters
from groundup.reports.why import lacking_lines
from groundup.runs import evidence
from groundup.store.attempts import AttemptFolder
from groundup.viewer.addresses import whole_number
from groundup.viewer.index import Elsewhere

TESTS_SHOWN = 200
LOST_SHOWN = 10


def lost_of(attempt: AttemptFolder, request: Request, *, for_others: bool) -> dict[str, Any]:
    """Return what was lost by cause, those of most tests first, each with one test as an example.

    *for_others*: without anything that a test said.
    """
    tests = _read_tests(attempt)
    causes = grouped(tests)
    said = evidence.excerpts(attempt) if causes and not for_others else {}
    if for_others:
        causes = tuple(
            CauseGroup(cause_for_others(group.cause), tuple(map(_named_alone, group.tests))) for group in causes
        )
    quoted = request.scope.get("quoted", LOST_SHOWN)
    lost = sum(group.cause.tests for group in causes)
    return {
        "causes": [(group, said.get(_pytest_name(group.tests[0].id))) for group in causes[:quoted]],
        "causes_total": len(causes),
        "lacks": [] if for_others else lacking_lines([test for group in causes for test in group.tests]),
        "lost_total": lost,
        "passed": len(tests) - lost,
        "dependencies": any(test.kind == "dependency" for test in tests),
        "record": _read_record(attempt),
    }


def _read_tests(attempt: AttemptFolder) -> Sequence[TestResult]:
    """Return the results that can be read: the attempt's own reason says why they cannot."""
    with suppress(UsageError):
        return attempt.tests()
    return ()


def _read_record(attempt: AttemptFolder) -> Submission | None:
    with suppress(UsageError):
        return attempt.record()
    return None


def _named_alone(test: TestResult) -> TestResult:
    """Return a hidden test without what it said; what is wrong with a dependency is no text of a test."""
    if test.kind == "dependency":
        return test
    return test.but(id=without_parameters(test.id), message="", detail="", demand="", probably="")


def _pytest_name(test: str) -> str:
    """Return what a log of pytest calls the test of this id."""
    return test.partition("::")[2].replace("::", ".")


def tests_of(
    attempt: AttemptFolder, request: Request, files: Mapping[str, str], *, for_others: bool
) -> dict[str, Any]:
    """Return the tests that the address asks for, lost ones first; *for_others*: without what they said.

    *files*: hidden tests of which the text is shown, by path.
    """
    wanted, outcome = (request.query_params.get(name, "") for name in ("q", "outcome"))
    tests = _read_tests(attempt)
    if for_others:
        tests = tuple(map(_named_alone, tests))
    outcomes = sorted({test.outcome for test in tests})
    found = [
        test for test in tests if wanted.lower() in test.id.lower() and (not outcome or test.outcome == outcome)
    ]
    first = whole_number(request.query_params.get("first"))
    found.sort(key=lambda test: (test.outcome == "passed", not test.expected))
    shown = found[first : first + TESTS_SHOWN]
    quotes = not for_others and any(test.outcome != "passed" for test in shown)
    said = evidence.excerpts(attempt) if quotes else {}
    return {
        "tests": [(test, said.get(_pytest_name(test.id)), body_of(test, files)) for test in shown],
        "total": len(found),
        "outcomes": outcomes,
        "wanted": wanted,
        "outcome": outcome,
        "first": first,
        "pages": evidence.pages(len(found), first, TESTS_SHOWN),
    }


def logs_of(attempt: AttemptFolder, request: Request) -> dict[str, Any]:
    """Return the names of logs, and the piece of one that the address asks for."""
    names = evidence.logs(attempt)
    path = request.query_params.get("path", names[0].path if names else "")
    start = whole_number(request.query_params.get("start"), least=-evidence.LOG_BYTES)
    piece = evidence.log_piece(attempt, path, start) if path else None
    return {"tries": evidence.by_try(names), "path": path, "piece": piece, "size": evidence.LOG_BYTES}


def better_than(
    run: str, row: AttemptRow, attempts: Sequence[AttemptRow], others: Sequence[Elsewhere]
) -> tuple[str, int, float] | None:
    """Return run, number and score of the best attempt at a task, where it did better than *row*."""
    known = [(run, one.index, one.counted) for one in attempts if one.counted is not None]
    known += [(one.run, one.best_index, one.best) for one in others if not one.same]
    best = max(known, key=lambda one: one[2], default=None)
    return best if best and best[2] > (row.counted or 0.0) else None
