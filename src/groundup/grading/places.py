"""Where a submission defines what a lost test asked a service or a Java class for, out of its sources and logs.

For people alone: sources and logs are a stranger's, so a place is a claim and decides nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.names import number_of, printable, without_codes
from groundup.grading.guesses import AnsweredRequest, guesser, several
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
_NOT_KNOWN = "not known"
_JAVA_REQUEST = re.compile(
    r"(?<!\w)(?P<verb>GET|POST|PUT|PATCH|DELETE|get|post|put|patch|delete)(?:For\w+)?"
    r"\(\s*(?P<path>[\w.() ]*\+?\s*\"[^\n;]*)"
    r"|\"(?P<named>GET|POST|PUT|PATCH|DELETE)\"\s*,\s*(?P<beside>[\w.() ]*\+?\s*\"/[^\n;]*)"
    r"|(?:URI\.create|new URL|new URI)\(\s*(?P<address>[\w.() ]*\+?\s*\"[^\n;]*)"
)
_JAVA_VERB = re.compile(r"\.(GET|POST|PUT|PATCH|DELETE)\(|(?:method|setRequestMethod)\(\s*\"(\w+)\"")
_JAVA_STATUS = re.compile(r"but was: ?<?([1-5]\d\d)>?|but was <([1-5]\d\d)>")
_JAVA_TEST = re.compile(r"^\s*@\w*Test\b|^\s*(?:public |private |protected )?(?:static )?void \w+\(")
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
    results: Mapping[NumberedTest, Result], log: bytes, sources: Sources
) -> Mapping[NumberedTest, Result]:
    """Return *results*, the lost ones with where they lead in a submission's sources; *log*: what it printed."""
    return guesser().of_results({**results, **of_service(results, log, sources)}, sources)


def of_service(results: Mapping[NumberedTest, Result], log: bytes, sources: Sources) -> dict[NumberedTest, Result]:
    """Return the lost ones of *results* with where the service went wrong: its own error, else what answers."""
    errors = errors_in(log, sources)
    found = {}
    for test, result in results.items():
        asked = [*_EXCHANGE.finditer(result.demand)]
        if result.outcome == "passed" or not asked:
            continue
        method, address, status, body = asked[-1].groups()
        handler = sources.handler(method, address)
        is_broken = status == "no answer" or "500" <= status < "600"
        error = _of_request(errors, method, address, handler) if is_broken else None
        if error is not None:
            told = f"the service: {error.said}"
            detail = f"{as_frames(error, sources)}\n\n{CHAINED}\n\n{result.detail}"
            found[test] = result.but(detail=detail, demand=f"{result.demand}\n{told}")
            continue
        guess = guesser().of_answer(result, AnsweredRequest(method, address, status, body, handler), sources)
        calls = result.calls if handler is None else sources.answering(handler)
        found[test] = result.but(calls=calls, probably=several(guess, result.probably))
    return found


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


def as_frames(error: Error, sources: Sources) -> str:
    """Return an error as pytest shows one in short."""
    frames = [f"{path}:{line}: in service\n    {sources.line(path, line)}" for path, line in error.frames]
    return "\n".join([*frames, f"E   {error.said}"])


def exchange_in_java(lines: Sequence[str], number: int, message: str) -> str:
    """Return the last request of a Java test up to a line, as tests in Python tell it; "" where there is none."""
    first = next((at for at in range(number - 1, -1, -1) if _JAVA_TEST.match(lines[at])), 0)
    text = "\n".join(lines[first:number])
    found = [*_JAVA_REQUEST.finditer(text)]
    if not found:
        return ""
    last = found[-1]
    verb, said = last["verb"] or last["named"], last["path"] or last["beside"] or last["address"]
    if verb is None:
        given = _JAVA_VERB.search("\n".join([text[last.end() :], *lines[number : number + 10]]))
        verb = (given[1] or given[2]) if given else "GET"
    status = _JAVA_STATUS.search(message)
    answered = (status[1] or status[2]) if status else _NOT_KNOWN
    return f"last exchange: {verb.upper()} {_java_path(said)} -> {answered}"


def _java_path(said: str) -> str:
    """Return the path that a Java expression gives, with `{}` for its variables."""
    depth, end = 0, len(said)
    for at, character in enumerate(said):
        depth += (character == "(") - (character == ")")
        if depth < 0 or (character == "," and depth == 0):
            end = at
            break
    parts = [part.strip() for part in re.split(r"\s*\+\s*", said[:end])]
    named = [part.strip('"') if part.startswith('"') else "{}" for part in parts if part]
    if named and named[0] == "{}":  # the address of the service
        named = named[1:]
    path = re.sub(r"\{\w+\}", "{}", "".join(named))
    return re.sub(r"^\w+://[^/]*", "", path) or "/"


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
