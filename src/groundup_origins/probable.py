"""Where in a submission the cause of a lost test probably lies, by what the test said and the sources alone.

For people: each answer is a guess, is told as one, and decides nothing. Where two lines could be meant, there is
none.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from groundup.domain.names import number_of
from groundup.domain.verdicts import TRIED, Reason, Stage, TestResult, Verdict
from groundup.grading.guesses import AnsweredRequest
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources, block_end
from groundup.sandbox.protocol import WORKSPACE
from groundup_origins.inside.origins import RUN_BY_LOST

_LACKS = re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_NOT_IMPORTED = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
_CLASS_LACKS = re.compile(r"(?:type object )?'(?P<kind>\w+)'(?: object)? has no attribute '(?P<name>\w+)'")
_MISFIT = re.compile(r"TypeError: (?:[\w.<>]*\.)?(?P<name>\w+)\(\) (?:missing|got|takes)\b")
_ABSENT = re.compile(
    r"\bNotImplementedError\b|\bUnsupportedOperationException\b|\b(?:todo|unimplemented)!\(|[Nn]ot implemented"
)
_OTHER_PORT = re.compile(r"it listens on \S+?:(\d+)\b(?!.*(?: and | or )\S+:\d)")
_REFUSED_PACKAGE = re.compile(
    r"[Bb]ecause ([\w.-]+)(?:\[[^\]]*\])? was not found|there (?:is|are) no versions? of ([\w.-]+)"
    r"|No matching distribution found for ([\w.-]+?)(?:[=<>!~ ]|$)"
    r"|(?:[Cc]ould not find artifact|version' for) [\w.-]+:([\w.-]+)|No matching version found for (@?[\w./-]+?)@"
)
"""How installers tell which package they cannot have."""
_REFUSED_VERSION = re.compile(r"ould not find artifact [\w.-]+:[\w.-]+:(?:\w+:)*?(\d[\w.-]*)")
"""How Maven tells the version of it, which stands in a line of its own."""
_VERSION_BELOW = 3
MANIFESTS = frozenset({
    "requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "pom.xml", "build.gradle",
    "build.gradle.kts", "package.json", "go.mod", "Cargo.toml",
})  # fmt: skip
_STARTERS = frozenset({
    ".sh", "Procfile", "Dockerfile", "application.properties", "application.yml", "application.yaml", ".env",
})  # fmt: skip
"""Files, or their endings, that say where a service answers."""
_LONGEST_REASON = 400
_ENDED = re.compile(r"ended the (?:test )?process")
_ENDS = re.compile(r"\b(?:os\._exit|sys\.exit|os\.abort|os\.kill|signal\.raise_signal|exit|quit)\(")
_DEFINED = re.compile(
    r"^(?P<indent>\s*)(?:async\s+)?(?:def|class)\s+(?P<name>\w+)|^(?P<variable>\w+)\s*(?::[^=]+)?="
)
_FUNCTION_BEGINS = re.compile(r"^\s*(?:async\s+)?def\s")
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): ")
_QUOTED = re.compile(r"(?P<quote>[\"'`])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)")
_FILLED = re.compile(r"\{[^{}]*\}|%[-\d.]*[sdrf]|\$\{[^}]*\}")
"""What is filled into a text by a program."""
_NOT_FOUND = ("404", "405")
_LEAST = 3
"""Characters of a literal that is looked for."""
_PAIRS = (
    re.compile(r"(?P<wrong>b?'(?:[^'\\\n]|\\.)*'|b?\"(?:[^\"\\\n]|\\.)*\") (?:!=|==) (?P<right>b?['\"].*)"),
    re.compile(r"^(?:.*: )?left +(?P<wrong>b?['\"].*)\n(?:.*: )?right +(?P<right>b?['\"].*)", re.MULTILINE),
    re.compile(r"expected: ?<(?P<right>[^<>]*)> +but was: ?<(?P<wrong>[^<>]*)>"),
    re.compile(
        r"[Ee]xpected: *(?P<right>.+?)\s*(?:\\n|\n)\s*(?:[Aa]ctual|but was): *(?P<wrong>.+?)\s*(?:\\n|\n|$)"
    ),
)
"""How tests tell two texts, one of which is wrong."""
_STATUSES = (
    re.compile(
        r"(?:^|assert |[:;] )(?P<wrong>[1-5]\d\d) (?:[!=]=|(?:not found )?in [\[({]) ?(?P<right>[1-5]\d\d)\b"
    ),
    re.compile(r"^left +(?P<wrong>[1-5]\d\d)\nright +(?P<right>[1-5]\d\d)$", re.MULTILINE),
    re.compile(r"expected: ?<?(?P<right>[1-5]\d\d)>?\s+(?:\\n)?\s*but was: ?<?(?P<wrong>[1-5]\d\d)>?"),
    re.compile(r"[Ee]xpected status code <(?P<right>\d{3})> but was <(?P<wrong>\d{3})>"),
)
"""How tests tell the status that they got and one that they wanted."""
_MEMBER = re.compile(
    r"assert (?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\") (?:not )?in |(?:not|unexpectedly) found in "
)
"""How tests tell that one text was looked for in another, which says nothing of the rest of that one."""
_NO_SUCH_KEY = "The browser (or proxy) sent a request that this server could not understand."
"""What Flask answers with 400 where the service reads a part of a request that is not there."""
_READ_PART = re.compile(r"\brequest\.(?:args|form|values|files|cookies)\[")
_STATEMENT_LINES = 6
_CONDITION = re.compile(r"^\s*(?:\} else )?(?:if|elif|else if|unless|while|except|catch)\b")
_ABSENT_FIELD = re.compile(
    r"KeyError: ['\"](\w+)['\"]|(?:assert|AssertionError:) ['\"](\w+)['\"] in |['\"](\w+)['\"] not found in"
    r"|['\"](\w+)['\"] != \{|^left +['\"](\w+)['\"]\nright +\{"
    r"|No value (?:for |at JSON path \"\$\.)(\w+)",
    re.MULTILINE,
)
"""How tests tell that an answer lacks a field."""
_READ_FIELD = re.compile(
    r"(?:\[\s*|\b(?:get\w*|path|has|body|at|jsonPath|opt\w*)\(\s*)[\"'](?:\$\.|/)?(?P<key>[A-Za-z_][\w-]*)[\"']"
)
_KEY = re.compile(r"[\"'](?P<quoted>\w+)[\"']\s*[:,)\]]|(?<![\w.])(?P<named>\w+)=(?!=)")
"""In the code of a service, what may be the name of a field."""
_Lost = TypeVar("_Lost", Result, TestResult)


def guessed(results: Mapping[NumberedTest, Result], sources: Sources) -> dict[NumberedTest, Result]:
    """Return *results*, the lost ones with where their cause probably lies, where that can be told."""
    return {
        test: _guessed(result, sources) if result.outcome in ("failed", "error") else result
        for test, result in results.items()
    }


def with_guesses(tests: tuple[TestResult, ...], submission: Path) -> tuple[TestResult, ...]:
    """Return *tests*, the lost ones with where in *submission* their cause probably lies, where known."""
    if not any(one.lost for one in tests):
        return tests
    sources = Sources.of(submission)
    return tuple(_guessed(one, sources) if one.lost else one for one in tests)


def _guessed(lost: _Lost, sources: Sources) -> _Lost:
    if TRIED.search(lost.probably):
        return lost
    place = probable_place(lost.message, lost.demand, sources)
    is_vague = place and lost.probably.endswith(RUN_BY_LOST)
    if lost.probably and not is_vague and not _is_within(place, lost.probably, sources):
        place = lost.probably
    return lost.but(probably=place) if place else lost


def _is_within(place: str, origin: str, sources: Sources) -> bool:
    """Whether a line stands in the function that returned at another, which a second run of the test saw."""
    found, returned = _PLACE.match(place), _PLACE.match(origin.removeprefix(f"{WORKSPACE}/"))
    if not found or not returned or found["file"] != returned["file"]:
        return False
    number, last = number_of(found["line"]), number_of(returned["line"])
    between = [line for at, line in sources.numbered(found["file"]) if number < at <= last]
    return number < last and not any(map(_FUNCTION_BEGINS.match, between))


def probable_place(message: str, demand: str, sources: Sources) -> str:
    """Return as `file:line: text` where the cause of a failure probably lies; "" where that cannot be told."""
    if found := _LACKS.search(message) or _NOT_IMPORTED.search(message):
        return _in_module(found["module"], found["name"], sources)
    if found := _CLASS_LACKS.search(message):
        return _in_class(found["kind"], found["name"], sources)
    if found := _MISFIT.search(message):
        defined = sources.function(found["name"])
        return sources.shown(*defined) if defined is not None else ""
    if _ENDED.search(message):
        return _only(sources, [place for place in sources.lines_with(_ENDS) if place[0].endswith(".py")])
    for wrong, right in [] if _MEMBER.search(message) else _texts(f"{message}\n{demand}"):
        if place := _literal(wrong, right, sources):
            return place
    return ""


def with_places(verdict: Verdict, submission: Path) -> Verdict:
    """Return *verdict* with the line to mend where *submission* was not installed, imported or found."""
    if not any(one.stage in (Stage.INSTALL, Stage.START, Stage.IMPORT) for one in verdict.reasons):
        return verdict
    sources = Sources.of(submission, MANIFESTS | _STARTERS)
    return verdict.but(reasons=tuple(with_place(one, sources) for one in verdict.reasons))


def with_place(reason: Reason, sources: Sources) -> Reason:
    """Return why a submission was not installed or imported, or answers elsewhere, with the line to mend."""
    port = _OTHER_PORT.search(reason.message)
    refused = _REFUSED_PACKAGE.search(reason.message)
    name = next(filter(None, refused.groups()), "") if refused else ""
    if port is not None:
        places = sources.lines_with(re.compile(rf"(?<![\w.]){port[1]}(?![\w.])"))
    elif name:
        pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", re.IGNORECASE)
        places = [one for one in sources.lines_with(pattern) if one[0].rpartition("/")[2] in MANIFESTS]
        places = _version_below(_REFUSED_VERSION.search(reason.message), places, sources) or places
    else:
        places = []
    is_lacking = reason.stage is Stage.IMPORT and not places
    said = probable_place(reason.message, "", sources) if is_lacking else _only(sources, places)
    if not said:
        return reason
    more = f"; probably {said}"
    return reason.but(message=reason.message[: _LONGEST_REASON - len(more)] + more)


def _version_below(
    found: re.Match[str] | None, places: Iterable[tuple[str, int]], sources: Sources
) -> list[tuple[str, int]]:
    """Return the lines just below *places* that have the version that was found."""
    return [
        (path, number)
        for path, first in places
        for number in range(first + 1, first + 1 + _VERSION_BELOW)
        if found is not None and found[1] in sources.line(path, number)
    ]


def of_answer(result: Result, answer: AnsweredRequest, sources: Sources) -> str:
    """Return the line of a service that lost a test, by its last answer; "" where that is not clear."""
    if answer.handler is None:
        like = sources.route_like(answer.method, answer.address) if answer.status in _NOT_FOUND else None
        return sources.shown(*like) if like is not None else ""
    if TRIED.search(result.probably):
        return ""
    spans = [answer.handler, *_helpers([answer.handler], sources)]
    further = _helpers(spans, sources)
    got, wanted = statuses(result.message, result.demand, answer.status)
    return (
        check_place(got, wanted, sources, spans)
        or check_place(got, wanted, sources, further)
        or status_place(got, answer.body, sources, [*spans, *further])
        or probable_place(result.message, result.demand, sources)
        or field_place(result.message, result.demand, sources, spans)
    )


def _helpers(spans: Sequence[tuple[str, int, int]], sources: Sources) -> list[tuple[str, int, int]]:
    """Return file, first and last line of what some functions call, without themselves."""
    found = [
        (path, line, block_end(sources.text(path), line))
        for one in spans
        for _, path, line in sources.helpers(*one)
    ]
    return [one for one in dict.fromkeys(found) if one not in spans]


def statuses(message: str, demand: str, answered: str) -> tuple[str, str]:
    """Return the status that a test got and one that it wanted; "" twice where it compared none.

    *answered*: the status of its last request, which is the one that it got.
    """
    said = _asserted(message, demand)
    for pattern in _STATUSES:
        for found in pattern.finditer(said):
            wrong, right = found["wrong"], found["right"]
            if not answered.isdecimal() or answered == wrong:
                return wrong, right
            if answered == right:
                return right, wrong
    return "", ""


def _asserted(message: str, demand: str) -> str:
    """Return what a test compared, without words of its own in place of the comparison."""
    lines = demand.splitlines()
    compared = [line for line in lines if line.startswith("assert ")]
    return "\n".join([*(compared or [message]), *(line for line in lines if line.startswith(("left ", "right ")))])


def status_place(status: str, answer: str, sources: Sources, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the one line in *spans* that gives a status that a test did not want; "" where it is not clear.

    Among several, the text of the *answer* decides.
    """
    if not status:
        return ""
    if status >= "500":
        return _only(sources, _inside(sources.lines_with(_ABSENT), spans))
    if status == "400" and _NO_SUCH_KEY in answer:
        return _only(sources, _inside(sources.lines_with(_READ_PART), spans))
    return _only(sources, _saying(answer, _inside(sources.lines_with(_giving(status)), spans), sources))


def _saying(answer: str, places: list[tuple[str, int]], sources: Sources) -> list[tuple[str, int]]:
    """Return those of *places* whose texts are all in an answer, the longest; else those of which some may be."""
    if not answer:
        return places
    whole: dict[int, list[tuple[str, int]]] = {}
    open_ones = []
    for place in places:
        texts = [*_pieces(_statement(*place, sources))]
        told = [text for text in texts if text in answer]
        if told and len(told) == len(texts):
            whole.setdefault(sum(map(len, told)), []).append(place)
        if told or not texts:
            open_ones.append(place)
    return whole[max(whole)] if whole else open_ones


def _statement(path: str, number: int, sources: Sources) -> str:
    """Return a line, with those after it in which its brackets end."""
    text = ""
    for line in sources.text(path)[number - 1 : number - 1 + _STATEMENT_LINES]:
        text += line
        if sum(map(text.count, "([{")) <= sum(map(text.count, ")]}")):
            break
    return text


def _pieces(text: str) -> Iterator[str]:
    """Yield the parts of literals that a program does not fill in."""
    for quoted in _QUOTED.finditer(text):
        yield from (piece for piece in _FILLED.split(quoted["text"]) if len(piece) >= _LEAST)


def check_place(got: str, wanted: str, sources: Sources, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the condition before the one line in *spans* that refuses as a test wanted; "" where it is not clear.

    The service took what it should have refused.
    """
    if not (got.startswith("2") and wanted.startswith("4")):
        return ""
    places = _inside(sources.lines_with(_giving(wanted)), spans)
    if len(places) != 1:
        return ""
    path, number = places[0]
    first = next(begins for file, begins, ends in spans if file == path and begins <= number <= ends)
    depth = _depth(sources.text(path)[number - 1])
    for at in range(number, first, -1):
        line = sources.text(path)[at - 1]
        if _CONDITION.match(line) and (at == number or _depth(line) < depth):
            return sources.shown(path, at)
    return sources.shown(path, number)


def _giving(status: str) -> re.Pattern[str]:
    """Return what a line has that gives a status."""
    words = [status]
    if status in (str(one.value) for one in HTTPStatus):
        name = HTTPStatus(int(status)).name
        words += [name, name.title().replace("_", "")]
    return re.compile(rf"(?<![A-Za-z0-9])(?:HTTP_|Http|SC_)?(?:{'|'.join(words)})(?![0-9])")


def field_place(message: str, demand: str, sources: Sources, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the one line in *spans* that writes the field of an answer that a test looked at; "" where unclear.

    Of a field that is not there it is the line of the one whose name is most like it.
    """
    absent = next(
        (next(filter(None, one.groups())) for one in _ABSENT_FIELD.finditer(_asserted(message, demand))), ""
    )
    statement = "\n".join(line for line in demand.splitlines() if line.startswith("> "))
    names = [absent] if absent else [one["key"] for one in _READ_FIELD.finditer(statement)][::-1]
    for name in dict.fromkeys(names):
        for some in (spans[:1], spans):
            written: dict[str, list[tuple[str, int]]] = {}
            for path, number in _inside(sources.lines_with(_KEY), some):
                for key in _KEY.finditer(sources.line(path, number)):
                    written.setdefault(key["quoted"] or key["named"], []).append((path, number))
            like = name if name in written else _most_like(name, written) if absent else ""
            if place := _only(sources, [*dict.fromkeys(written.get(like, ()))]):
                return place
    return ""


def _most_like(name: str, others: Iterable[str]) -> str:
    """Return the one of *others* that has the same words, else the one that is spelt most like *name*; or ""."""
    same = [one for one in others if _words(one) == _words(name)]
    return next(iter(same or difflib.get_close_matches(name, [*others], n=1, cutoff=0.6)), "")


def _words(name: str) -> set[str]:
    return {word.lower().rstrip("s") for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def _inside(places: Iterable[tuple[str, int]], spans: Sequence[tuple[str, int, int]]) -> list[tuple[str, int]]:
    return [
        (path, number)
        for path, number in places
        if any(path == file and first <= number <= last for file, first, last in spans)
    ]


def _only(sources: Sources, places: Sequence[tuple[str, int]]) -> str:
    return sources.shown(*places[0]) if len(places) == 1 else ""


def _in_module(module: str, name: str, sources: Sources) -> str:
    """Return where *module* imports *name* under another one, else where another module defines it.

    Else what in *module* is called most like it, else its first line.
    """
    path = module.replace(".", "/")
    file = sources.named(f"{path}/__init__.py") or sources.named(f"{path}.py")
    if not file:
        return ""
    renamed = [one for one in sources.lines_with(re.compile(rf"\b{name}\s+as\s")) if one[0] == file]
    defined = sources.lines_with(
        re.compile(rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*(?::[^=]+)?=(?!=)")
    )
    return (
        _only(sources, renamed) or _only(sources, defined) or _like(file, name, sources.numbered(file), sources, 1)
    )


def _in_class(kind: str, name: str, sources: Sources) -> str:
    """Return what in a class is called most like *name*, else where the class begins."""
    begins = sources.lines_with(re.compile(rf"^\s*class {re.escape(kind)}\b"))
    if len(begins) != 1:
        return ""
    file, first = begins[0]
    lines = [*sources.numbered(file)][first - 1 :]
    depth = _depth(lines[0][1])
    end = next(
        (at for at, (_, line) in enumerate(lines[1:], 1) if line.strip() and _depth(line) <= depth), len(lines)
    )
    return _like(file, name, lines[1:end], sources, first)


def _like(file: str, name: str, lines: Iterable[tuple[int, str]], sources: Sources, first: int) -> str:
    defined: dict[str, int] = {}
    for number, line in lines:
        if found := _DEFINED.match(line):
            defined.setdefault(found["name"] or found["variable"], number)
    parts = [one for one in defined if len(name) > _LEAST and (name in one or (one in name and len(one) > _LEAST))]
    like = difflib.get_close_matches(name, defined, n=1, cutoff=0.8) or parts
    like = like or difflib.get_close_matches(name, defined, n=1, cutoff=0.5)
    return sources.shown(file, defined[like[0]] if like else first)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _texts(said: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that a failure compares, the wrong one first."""
    for pattern in _PAIRS:
        for found in pattern.finditer(said):
            yield _plain(found["wrong"]), _plain(found["right"])


def _plain(shown: str) -> str:
    try:
        value = ast.literal_eval(shown.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return shown.strip("'\" ")
    return value if isinstance(value, str) else shown


def _literal(wrong: str, right: str, sources: Sources) -> str:
    """Return the one line whose literal stands in the wrong text and not in the right one."""
    found: dict[str, list[tuple[str, int]]] = {}
    for path, number, line in sources.every():
        for piece in _pieces(line):
            if piece not in right and piece in wrong:
                found.setdefault(piece, []).append((path, number))
    if not found:
        return ""
    longest = found[max(found, key=len)]
    return _only(sources, [*dict.fromkeys(longest)])
