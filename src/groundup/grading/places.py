"""Where a submission defines what a lost test asked a service or a Java class for, out of its sources and logs.

For people alone: sources and logs are a stranger's, so a place is a claim and decides nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.names import number_of, printable, without_codes
from groundup.domain.verdicts import TRIED
from groundup.grading.guesses import AnsweredRequest, RequestsOfTest, SentRequest, guesser, several
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources
from groundup.sandbox.protocol import WORKSPACE

CHAINED = "The above exception was the direct cause of the following exception:"
"""As Python writes between an exception and the one that it led to."""
_ERRORS = 50
_FRAMES = 20
_EXCHANGE = re.compile(
    r"^last exchange: ([A-Z]+) (\S+)(?:, sent .*)? -> (no answer|\d{3}|not known) ?(.*)", re.MULTILINE
)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)')
_JAVA_FRAME = re.compile(r"^\s+at (?:[\w.$]+/)?([\w.$]+)\.[\w$<>]+\((\w+\.\w+):(\d+)\)")
_JAVA_CALL = re.compile(r"\b(\w+)\s*\(")
_JAVA_MORE = re.compile(r"^\s+(?:at |\.\.\. \d+ more)|^\s*$")
_ERROR = re.compile(r"^(?:Caused by: )?(?:Exception in thread \S+ )?([\w.$]*(?:Error|Exception|Exit)\w*(?::.*)?)$")

_LOGGED = re.compile(r"[:\s]((?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Error|Exception)\b(?::.*)?)$")
"""An exception behind a message of Java's loggers, such as Quarkus writes it; frames stand below it."""


class Error(NamedTuple):
    """An error in a service's log."""

    said: str
    frames: tuple[tuple[str, int], ...]
    """Places in the submission, the innermost last."""
    around: str
    """The lines just before and after it, which may name the request."""


def errors_in(log: bytes, sources: Sources) -> list[Error]:
    """Return the tracebacks of Python and Java in a service's log that name a line of the submission."""
    lines = without_codes(log.decode("utf-8", "replace")).splitlines()
    found: list[Error] = []
    for at, line in enumerate(lines):
        said = _ERROR.match(line.strip())
        if said is None and at + 1 < len(lines) and _JAVA_MORE.match(lines[at + 1]):
            said = _LOGGED.search(line)
        if said is None or len(found) >= _ERRORS:
            continue
        frames = tuple(_python_frames(lines, at, sources)) or tuple(_java_frames(lines, at, sources))
        if frames:
            around = [line[: said.start(1)], *_around(lines, at)]
            found.append(Error(printable(said[1])[:300], frames[-_FRAMES:], "\n".join(around)))
    return found


def _around(lines: Sequence[str], at: int) -> Iterator[str]:
    first = at
    while first > 0 and (lines[first - 1].startswith((" ", "\t", "Traceback")) or not lines[first - 1].strip()):
        first -= 1
    yield from lines[max(first - 2, 0) : first]
    yield from lines[at + 1 : at + 3]


def _python_frames(lines: Sequence[str], at: int, sources: Sources) -> Iterator[tuple[str, int]]:
    first = at
    while first > 0 and lines[first - 1].startswith((" ", "\t")):
        first -= 1
    for line in lines[first:at]:
        if (frame := _FRAME.match(line)) is not None:
            path, line_number = frame[1].removeprefix(f"{WORKSPACE}/").removeprefix("./"), number_of(frame[2])
            if sources.line(path, line_number):
                yield path, line_number


def _java_frames(lines: Sequence[str], at: int, sources: Sources) -> Iterator[tuple[str, int]]:
    frames = []
    for line in lines[at + 1 : at + 200]:
        if not _JAVA_MORE.match(line):
            break
        if frame := _JAVA_FRAME.match(line):
            folder = frame[1].rpartition(".")[0].replace(".", "/")
            path = sources.named(f"{folder}/{frame[2]}" if folder else frame[2])
            number = number_of(frame[3])
            if path and sources.line(path, number):
                frames.append((path, number))
    yield from reversed(frames)


def followed(
    results: Mapping[NumberedTest, Result],
    log: bytes,
    sources: Sources,
    requests: Mapping[str, RequestsOfTest] | None = None,
) -> Mapping[NumberedTest, Result]:
    """Return *results*, the lost ones with where they lead in a submission's sources.

    *log*: what it printed; *requests*: what is known of all that tests asked, by their names.
    """
    found = of_service(results, log, sources, requests)
    return guesser().of_results({**results, **found}, sources)


def of_service(
    results: Mapping[NumberedTest, Result],
    log: bytes,
    sources: Sources,
    requests: Mapping[str, RequestsOfTest] | None = None,
) -> dict[NumberedTest, Result]:
    """Return the lost ones of *results* with where the service went wrong: its own error, else what answers."""
    errors, requests = errors_in(log, sources), requests or {}
    fine = tuple(
        dict.fromkeys(
            request
            for test, result in results.items()
            if result.outcome == "passed" and test.id in requests
            for request in requests[test.id].own
            if not request.wanted.startswith(("4", "5"))
        )
    )
    every = tuple(dict.fromkeys(request[:2] for one in requests.values() for request in one.own))
    found = {}
    for test, result in results.items():
        asked = [*_EXCHANGE.finditer(result.demand)]
        if result.outcome == "passed" or not asked:
            continue
        method, address, status, body = asked[-1].groups()
        handler = sources.handler(method, address)
        is_broken = status == "no answer" or "500" <= status < "600"
        error = _of_request(errors, method, address, handler) if is_broken else None
        answer = AnsweredRequest(method, address, status, body, handler, fine=fine, asked=every)
        if test.id in requests:
            answer = _with_earlier(answer, requests[test.id], _alike(test, results, requests))
        told, probably = result, result.probably
        if error is not None:
            answer = answer._replace(raised=error.said, frames=error.frames[::-1])
            detail = f"{as_frames(error, sources)}\n\n{CHAINED}\n\n{result.detail}"
            told = result.but(detail=detail, demand=f"{result.demand}\nthe service: {error.said}")
            probably = _but_shown(probably, error)
        calls = result.calls if handler is None or error is not None else sources.answering(handler)
        guess = guesser().of_answer(result, answer, sources)
        found[test] = told.but(calls=calls, probably=several(guess, probably))
    waiting = {
        test: result
        for test, result in results.items()
        if result.outcome != "passed" and test.id in requests and requests[test.id].waits_for
    }
    return _of_those_awaited({**waiting, **found}, requests)


def _with_earlier(answer: AnsweredRequest, asked: RequestsOfTest, alike: Iterable[SentRequest]) -> AnsweredRequest:
    """Return *answer* with what was asked before it, and the last requests of tests that were lost alike."""
    own = [*asked.own]
    at = next((at for at in range(len(own) - 1, -1, -1) if own[at][:2] == (answer.method, answer.address)), None)
    last, own = (None, own) if at is None else (own[at], own[:at])
    return answer._replace(last=last, earlier=tuple(reversed([*asked.before, *own])), alike=tuple(alike))


def _alike(
    test: NumberedTest, results: Mapping[NumberedTest, Result], requests: Mapping[str, RequestsOfTest]
) -> Iterator[SentRequest]:
    """Yield the last requests of other tests that were lost with the same words, and wait for none."""
    for other, result in results.items():
        asked = requests.get(other.id)
        is_alike = other != test and result.message == results[test].message
        if is_alike and asked and asked.own and not asked.waits_for:
            yield asked.own[-1]


def _of_those_awaited(
    found: Mapping[NumberedTest, Result], requests: Mapping[str, RequestsOfTest]
) -> dict[NumberedTest, Result]:
    """Return *found*, tests that wait for a value of another lost one with the lines of that one."""
    by_name = {test.id: result for test, result in found.items()}
    told = {}
    for test, result in found.items():
        asked = requests.get(test.id)
        told[test] = result
        if asked is not None and asked.waits_for:
            said = f"it uses {asked.unset}, which {asked.waits_for} was lost before it set"
            first, seen = asked.waits_for, {test.id}
            while first in requests and requests[first].waits_for and first not in seen:  # for another
                seen.add(first)
                first = requests[first].waits_for
            probably = by_name[first].probably if first in by_name else ""
            told[test] = result.but(
                demand=f"{result.demand}\n{said}".lstrip(), probably=probably or result.probably
            )
    return told


def _of_request(
    errors: Sequence[Error], method: str, address: str, handler: tuple[str, int, int] | None
) -> Error | None:
    """Return the error that a request led to; None where more than one may be it."""
    path = address.partition("?")[0]
    if handler is not None:
        file, first, last = handler
        inside = [one for one in errors if any(at == file and first <= line <= last for at, line in one.frames)]
        if inside and len({one.frames[-1] for one in inside}) == 1:
            return inside[0]
    named = [one for one in errors if re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", one.around)]
    named = [one for one in named if method in one.around] or named
    for some in (named, errors):
        if some and len({one.frames[-1] for one in some}) == 1:
            return some[0]
    return None


def _but_shown(probably: str, error: Error) -> str:
    """Return places without the one that an error's traceback ends with, which is shown anyway."""
    shown = "{}:{}: ".format(*error.frames[-1])
    places = [
        place
        for place in probably.splitlines()
        if TRIED.search(place) or not place.removeprefix(f"{WORKSPACE}/").startswith(shown)
    ]
    return "\n".join(places)


def as_frames(error: Error, sources: Sources) -> str:
    """Return an error as pytest shows one in short."""
    frames = [f"{path}:{line}: in service\n    {sources.line(path, line)}" for path, line in error.frames]
    return "\n".join([*frames, f"E   {error.said}"])


def called_in_java(statement: str, above: Iterable[str], sources: Sources) -> str:
    """Return where a submission defines what a statement of a Java test calls, as `file:line: text`.

    *above*: the lines before it, the nearest first, which may give its variables their values.
    """
    texts = [statement]
    names = set(re.findall(r"\b[a-z]\w*\b(?!\s*\()", statement))
    texts += [line for line in above if (given := re.search(r"\b(\w+)\s*=[^=]", line)) and given[1] in names]
    for text in texts:
        for name in _JAVA_CALL.findall(text):
            if (place := sources.method(name)) is not None:
                return sources.shown(*place)
    return ""
