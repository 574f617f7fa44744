"""Which line of a service gave an answer that a test did not want, by its last request and the sources alone."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

from groundup.grading.guesses import AnsweredRequest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources, block_end
from groundup_origins.code_map import code_map_of
from groundup_origins.probable import depth, pieces, probable_place
from groundup_origins.stories import Story, Symptom

_NOT_FOUND = ("404", "405")
_OF_REQUESTS = ("400", "401", "415", "422")
"""Refusals that come first in a function: who asks, and how."""
_ABSENT = re.compile(
    r"\bNotImplementedError\b|\bUnsupportedOperationException\b|\b(?:todo|unimplemented)!\(|[Nn]ot implemented"
)
_STATUSES = (
    re.compile(
        r"(?:^|assert |[:;] )(?P<wrong>[1-5]\d\d) (?:[!=]=|(?:not found )?in [\[({]) ?(?P<right>[1-5]\d\d)\b"
    ),
    re.compile(r"^left +(?P<wrong>[1-5]\d\d)\nright +(?P<right>[1-5]\d\d)$", re.MULTILINE),
    re.compile(r"expected: ?<?(?P<right>[1-5]\d\d)>?\s+(?:\\n)?\s*but was: ?<?(?P<wrong>[1-5]\d\d)>?"),
    re.compile(r"[Ee]xpected status code <(?P<right>\d{3})> but was <(?P<wrong>\d{3})>"),
)
"""How tests tell the status that they got and one that they wanted."""
_NO_SUCH_KEY = "The browser (or proxy) sent a request that this server could not understand."
"""What Flask answers with 400 where the service reads a part of a request that is not there."""
_READ_PART = re.compile(r"\brequest\.(?:args|form|values|files|cookies)\[")
_FEW = 3
"""Lines that may be told in place of one."""
_STATEMENT_LINES = 6
_CONDITION = re.compile(r"^\s*(?:\} else )?(?:if|elif|else if|unless|while|except|catch)\b")
_ABSENT_FIELD = re.compile(
    r"KeyError: ['\"](\w+)['\"]|(?:assert|AssertionError:) ['\"](\w+)['\"] in |['\"](\w+)['\"] not found in"
    r"|['\"](\w+)['\"] != \{|^left +['\"](\w+)['\"]\nright +\{"
    r"|No value (?:for |at JSON path \"\$\.)(\w+)|JSONObject\[\"(\w+)\"\] not found",
    re.MULTILINE,
)
"""How tests tell that an answer lacks a field."""
_FAILING = re.compile(r"^    (.+)\nE ", re.MULTILINE)
"""In a traceback, the statement that failed."""
_READ_FIELD = re.compile(
    r"(?:\[\s*|\b(?:get\w*|path|has|body|at|jsonPath|opt\w*)\(\s*)[\"'](?:\$\.|/)?(?P<key>[A-Za-z_][\w-]*)[\"']"
    r"|\b(?:split|contains\w*|indexOf)\(\s*\"\W*(?P<inner>\w+)\\\"\s*:"
)
_KEY = re.compile(
    r"[\"'](?P<quoted>\w+)[\"']\s*[:,)\]]|(?<![\w.])(?P<named>\w+)=(?!=)"
    r"|\.set(?P<set>[A-Z]\w*)\(|\bnew (?P<record>\w+)(?:<[^()]*>)?\("
)
"""In the code of a service, what may be the name of a field, or make a record of several."""
_RECORD = re.compile(r"\brecord (\w+)(?:<[^()]*>)?\(")
_READ_KEY = re.compile(
    r"\w\((?:[^()\"']|\([^()\"']*\))*[\"'](?P<last>\w+)[\"']\s*\)|\bget\w*\(\s*[\"'](?P<first>\w+)[\"']\s*,"
    r"|\w\[\s*[\"'](?P<part>\w+)[\"']\s*\](?!\s*=[^=])"
)
"""Of these, one that is read."""
_NO_STATEMENT = re.compile(
    r"^\s*(?:$|[#/*@})\]]|\"\"\"|(?:\} *)?(?:else|try|finally)\b *[:{]?$|raise\b|throw\b|abort\()"
)
_DECIDES = re.compile(
    r"\s(?:[<>]=?|[=!]=|&&|\|\||\?|and|or|not|if|in) |\.equals\(|^\s*(?:if|elif|while)\b"
    r"|\b(?:filter|sort\w*|reversed|\w+Match|min|max)\("
)
"""In the code of a service, what chooses among values."""
_REFUSES = re.compile(r"^\s*(?:raise|throw)\b|\babort\(|\breturn\b.*\b4\d\d\b")
_SIGNATURE_ENDS = re.compile(r"(?:[:{(]|->|=>)\s*$")


def of_answer(result: Result, answer: AnsweredRequest, sources: Sources) -> str:
    """Return the line of a service that lost a test, by its last answer; "" where that is not clear.

    It is one line, unless nothing else is known of the test: up to three then, where some are alike.
    """
    got, wanted = _statuses(result.message, result.demand, answer.status)
    if answer.raised:
        is_told = answer.last is not None and not result.probably
        return _by_story(result, answer, got, wanted, sources) if is_told else ""
    if answer.handler is None:
        like = sources.route_like(answer.method, answer.address) if answer.status in _NOT_FOUND else None
        if like is None and answer.asked and answer.status in _NOT_FOUND:
            return _few(sources, _FEW, sources.routes_unasked(answer.method, answer.address, answer.asked))
        return sources.shown(*like) if like is not None else ""
    if answer.status == "405":  # where no method is named, the framework has a default
        path, first, _ = answer.handler
        return sources.shown(path, first)
    if result.probably:  # lines that its second run told
        return ""
    spans = [answer.handler, *_helpers([answer.handler], sources)]
    further = _helpers(spans, sources)
    if answer.last is not None:
        return _by_story(result, answer, got, wanted, sources)
    for most in (1, _FEW):
        place = (
            _few(sources, most, _checks(got, wanted, sources, spans))
            or _few(sources, most, _checks(got, wanted, sources, further))
            or _few(sources, most, _giving_status(got, answer.body, sources, [*spans, *further]))
            or probable_place(result.message, result.demand, sources)
            or _field_place(result, sources, spans, most)
        )
        if place:
            return place
    return "\n".join(sources.shown(*one) for one in _likely(result, got, wanted, sources, spans))


_LACKING = re.compile(
    r"because \"(?:this\.|[\w.$]*\.)?(\w+)\" is null|because the return value of \"[\w.$]*?(\w+)\("
)
"""How Java tells what is null: a variable, or what a method returned."""
_TEST_NAME = re.compile(r"^\S+\.java:\d+: in (\w+)", re.MULTILINE)
_HAS = re.compile(r"\b(?:has|containsKey|hasNonNull|contains)\(\s*\"(\w+)\"\s*\)")
_JSON_PATH = re.compile(r"JSON path (?:[\w\[\]]+\.)*(\w+)(?:\[\d+\])? doesn't match")
"""How REST Assured tells the field of an answer that is another one."""
_OF_NOTHING = re.compile(r"NullPointerException|'NoneType' object|is not subscriptable|of (?:null|undefined)\b")
"""Exceptions by which something is missing that should have been stored."""


def _by_story(result: Result, answer: AnsweredRequest, got: str, wanted: str, sources: Sources) -> str:
    """Return the lines that may be at fault by all that a test asked, of which more is known than its end."""
    code = code_map_of(sources)
    spans = [(one.path, one.first, one.last) for one in code.reached_by(answer.method, answer.address)]
    giving = _giving_status(got, answer.body, sources, spans)
    refusing = giving if got.startswith("4") else []
    checks = _checks(got, wanted, sources, spans)
    fields, absent = _fields(result)
    known = _field_place(result, sources, spans, 1) if absent else ""
    known = _few(sources, 1, giving) if got.startswith("5") else known  # what is not written yet
    lacking = _LACKING.search(answer.raised)
    symptom = Symptom(
        got="500" if answer.raised else got or ("500" if answer.status.startswith("5") else ""),
        wanted=wanted,
        fields=fields,
        anchors=answer.frames or [*checks, *(_condition(*place, sources, spans) for place in refusing)],
        lacking=next(filter(None, lacking.groups()), "") if lacking else "",
        words=frozenset(_words((_TEST_NAME.findall(result.detail) or [""])[-1])) - {"test"},
        is_of_values=bool(answer.raised) and not _OF_NOTHING.search(answer.raised),
    )
    story = [sources.shown(*place) for place in Story(code, answer, symptom).told()]
    return "\n".join([*filter(None, [known]), *story])


def _likely(
    result: Result, got: str, wanted: str, sources: Sources, spans: Sequence[tuple[str, int, int]]
) -> list[tuple[str, int]]:
    """Return a few statements of what answered, and of what it calls, where nothing else is known.

    Of what should have been refused the first ones of what answered, since they check; before them what follows
    the last check there, where the refusal is none of the request itself. Else those that write or choose what the
    test looked at, or all where there are few.
    """
    own = [*_statements(*spans[0], sources)]
    if _is_accepted(got, wanted):
        later = [] if wanted in _OF_REQUESTS else _after_checks(*spans[0], own, sources)
        return [*dict.fromkeys([*later[:1], *own])][:_FEW]
    fields = [_words(name) for name in _fields(result)[0]]
    points: dict[tuple[str, int], int] = {}
    for span in spans:
        for path, at in _statements(*span, sources):
            line = sources.line(path, at)
            names = [_words(name) for name in re.findall(r"\w+", line)]
            is_of_field = any(field and field <= name for field in fields for name in names)
            points[path, at] = 2 * is_of_field + bool(_DECIDES.search(line)) + (span == spans[0])
    best = sorted(points, key=lambda one: -points[one])
    told = [one for one in best if points[one] > 1][:_FEW]
    return told or (own if len(own) <= _FEW else [])


def _after_checks(
    path: str, first: int, last: int, statements: Sequence[tuple[str, int]], sources: Sources
) -> list[tuple[str, int]]:
    """Return those of a function's *statements* that stand behind all of its refusals."""
    lines = sources.text(path)
    refusals = [at for at in range(first, last + 1) if _REFUSES.search(lines[at - 1])]
    inner = depth(lines[refusals[-1] - 1]) if refusals else 0
    return [one for one in statements if refusals and one[1] > refusals[-1] and depth(lines[one[1] - 1]) < inner]


def _statements(path: str, first: int, last: int, sources: Sources) -> Iterator[tuple[str, int]]:
    """Yield the lines of a function that may make a wrong answer: none that refuses, or is a signature."""
    lines = sources.text(path)
    begins = next((at for at in range(first, last) if _SIGNATURE_ENDS.search(lines[at - 1])), first - 1)
    for at in range(begins + 1, last + 1):
        line, after = lines[at - 1], lines[at] if at < last else ""
        is_check = _CONDITION.match(line) and _REFUSES.search(after)
        if not is_check and not _NO_STATEMENT.match(line) and not _REFUSES.search(line):
            yield path, at


def _few(sources: Sources, most: int, places: Sequence[tuple[str, int]]) -> str:
    """Return places, one a line; "" where they are too many to say anything."""
    return "\n".join(sources.shown(*place) for place in places) if len(places) <= most else ""


def _helpers(spans: Sequence[tuple[str, int, int]], sources: Sources) -> list[tuple[str, int, int]]:
    """Return file, first and last line of what some functions call, without themselves."""
    found = [
        (path, line, block_end(sources.text(path), line))
        for one in spans
        for _, path, line in sources.helpers(*one)
    ]
    return [one for one in dict.fromkeys(found) if one not in spans]


def _statuses(message: str, demand: str, answered: str) -> tuple[str, str]:
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


def _giving_status(
    status: str, answer: str, sources: Sources, spans: Sequence[tuple[str, int, int]]
) -> list[tuple[str, int]]:
    """Return the lines in *spans* that give a status that no test wanted; the text of the *answer* decides."""
    if not status:
        return []
    if status >= "500":
        return _inside(sources.lines_with(_ABSENT), spans)
    if status == "400" and _NO_SUCH_KEY in answer:
        return _inside(sources.lines_with(_READ_PART), spans)
    return _saying(answer, _inside(sources.lines_with(_giving(status)), spans), sources)


def _saying(answer: str, places: list[tuple[str, int]], sources: Sources) -> list[tuple[str, int]]:
    """Return those of *places* whose texts are all in an answer, the longest; else those of which some may be."""
    if not answer:
        return places
    whole: dict[int, list[tuple[str, int]]] = {}
    open_ones = []
    for place in places:
        texts = [*pieces(_statement(*place, sources))]
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


def _checks(
    got: str, wanted: str, sources: Sources, spans: Sequence[tuple[str, int, int]]
) -> list[tuple[str, int]]:
    """Return the conditions before the lines in *spans* that refuse as a test wanted.

    The service took what it should have refused.
    """
    if not _is_accepted(got, wanted):
        return []
    return [_condition(*place, sources, spans) for place in _inside(sources.lines_with(_giving(wanted)), spans)]


def _is_accepted(got: str, wanted: str) -> bool:
    """Whether a service took what it should have refused."""
    return got.startswith("2") and wanted.startswith("4")


def _condition(path: str, number: int, sources: Sources, spans: Sequence[tuple[str, int, int]]) -> tuple[str, int]:
    """Return the condition on which a line runs, in its function; the line itself where there is none."""
    first = next(begins for file, begins, ends in spans if file == path and begins <= number <= ends)
    inner = depth(sources.text(path)[number - 1])
    for at in range(number, first, -1):
        line = sources.text(path)[at - 1]
        if _CONDITION.match(line) and (at == number or depth(line) < inner):
            return path, at
    return path, number


def _giving(status: str) -> re.Pattern[str]:
    """Return what a line has that gives a status."""
    words = [status]
    if status in (str(one.value) for one in HTTPStatus):
        name = HTTPStatus(int(status)).name
        words += [name, name.title().replace("_", "")]
    return re.compile(rf"(?<![A-Za-z0-9])(?:HTTP_|Http|SC_)?(?:{'|'.join(words)})(?![0-9])")


def _field_place(result: Result, sources: Sources, spans: Sequence[tuple[str, int, int]], most: int) -> str:
    """Return the lines in *spans* that write the field of an answer that a test looked at, not more than *most*.

    Of a field that is not there it is the line of the one whose name is most like it.
    """
    names, absent = _fields(result)
    if absent and (same := _spelt_otherwise(absent, sources, spans)):
        return _few(sources, most, same)
    records = _records(sources) if names else {}
    for name in names:
        for some in (spans[:1], spans):
            written: dict[str, list[tuple[str, int]]] = {}
            for path, number in _inside(sources.lines_with(_KEY), some):
                for key in _written(sources.line(path, number), records):
                    written.setdefault(key, []).append((path, number))
            like = name if name in written else _most_like(name, written) if absent else ""
            if place := _few(sources, most, [*dict.fromkeys(written.get(like, ()))]):
                return place
    return ""


def _spelt_otherwise(name: str, sources: Sources, spans: Sequence[tuple[str, int, int]]) -> list[tuple[str, int]]:
    """Return the lines in *spans* that write a key of the same words as a field that an answer lacks."""
    found: dict[tuple[str, int], None] = {}
    for place in _inside(sources.lines_with(_KEY), spans):
        keys = [*_written(sources.line(*place), {})]
        if any(key != name and _words(key) == _words(name) for key in keys) and name not in keys:
            found[place] = None
    return [*found]


def _records(sources: Sources) -> dict[str, list[str]]:
    """Return the fields of Java's records."""
    texts = [_statement(*place, sources) for place in sources.lines_with(_RECORD)]
    found = [(one[1], text[one.end() :]) for text in texts if (one := _RECORD.search(text))]
    return {name: re.findall(r"(\w+)\s*[,)]", fields) for name, fields in found}


def _written(line: str, records: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the names of fields in a line of code that it does not only read."""
    read = {one.span(one.lastgroup or 0) for one in _READ_KEY.finditer(line)}
    for key in _KEY.finditer(line):
        if key["set"]:
            yield key["set"][0].lower() + key["set"][1:]
        elif key["record"]:
            yield from records.get(key["record"], ())
        elif key.span(key.lastgroup or 0) not in read:
            yield key["quoted"] or key["named"]


def _fields(result: Result) -> tuple[list[str], str]:
    """Return the fields of an answer that a test looked at, the last one first, and one that it lacks."""
    asserted = _asserted(result.message, result.demand)
    absent = next((next(filter(None, one.groups())) for one in _ABSENT_FIELD.finditer(asserted)), "")
    shown = [line for line in result.demand.splitlines() if line.startswith("> ")]
    statement = "\n".join(shown or _FAILING.findall(result.detail)[-1:])
    told = _JSON_PATH.findall(asserted)
    if "expected: <true>" in asserted and (looked := _HAS.search(statement)):
        absent = looked[1]
    names = (
        [absent]
        if absent
        else told or [one["key"] or one["inner"] for one in _READ_FIELD.finditer(statement)][::-1]
    )
    return [*dict.fromkeys(names)], absent


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
