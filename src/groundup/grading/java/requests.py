"""What hidden Java tests ask a service, in order, as their sources have it. Decides nothing.

Nothing is run for it: a request is a line like `.post("/boats/" + id)`, and what a variable of the class holds was
told by the test that gives it its value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.names import number_of
from groundup.grading.guesses import RequestsOfTest, SentRequest
from groundup.grading.submitted_sources import block_end, java_method

_REQUEST = re.compile(
    r"(?<!\w)(?P<verb>GET|POST|PUT|PATCH|DELETE|get|post|put|patch|delete)(?:For\w+)?"
    r"\(\s*(?P<path>[\w.() ]*\+?\s*\"[^\n;]*)"
    r"|\"(?P<named>GET|POST|PUT|PATCH|DELETE)\"\s*,\s*(?P<beside>[\w.() ]*\+?\s*\"/[^\n;]*)"
    r"|(?:URI\.create|new URL|new URI)\(\s*(?P<address>[\w.() ]*\+?\s*\"[^\n;]*)"
)
_NOT_KNOWN = "not known"
_ADDRESS = re.compile(r"(?<!\\)\"(?:/|\w+://)")
_PATH = re.compile(r"/[^\s\"\\]*$")
_VERB = re.compile(r"\.(GET|POST|PUT|PATCH|DELETE)\(|(?:method|setRequestMethod)\(\s*\"(\w+)\"")
_STATUS = re.compile(r"but was: ?<?([1-5]\d\d)>?|but was <([1-5]\d\d)>")
_READ = re.compile(r"\b(?:get\w*|path|at|has)\(\s*\"(\w+)\"\s*\)")
_WANTED = re.compile(r"(?:\bstatusCode|\bassertEquals|\bisEqualTo|\bstatus\(\)\.is)\(\s*([1-5]\d\d)\b")
_ANNOTATION = re.compile(r"^\s*@(\w+)(?:\(\s*(\d+)\s*\))?")
_TESTS = frozenset({"Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"})
_CONSTANT = re.compile(r"\bString\s+(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\")\s*;")
_FIELD = re.compile(
    r"^\s*(?:(?:private|protected|public)\s+)?static\s+(?!final\b)[\w.<>\[\]]+\s+(\w+)\s*(?:=\s*null\s*)?;"
)
"""A variable of a class that tests give its value."""
_GIVEN = re.compile(r"(?<![\w.])(?:[\w<>\[\]]+\s+)?(\w+)\s*=(?!=)")
_NAME = re.compile(r"(?<![\w.\"])([a-z]\w*)\b(?!\s*[(\w])")
_LITERAL = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"")
_EXTENDS = re.compile(r"\bclass\s+\w+\s+extends\s+(\w+)")


class BrokenOff(NamedTuple):
    """Where a lost test broke off."""

    path: str
    line: int
    is_refused: bool = False
    """Whether its last request was answered by an error, and so changed nothing."""


class _Method(NamedTuple):
    """One of a class of tests."""

    name: str
    first: int
    last: int
    kinds: Mapping[str, str]
    """Its annotations without `@`, with their number or ""."""


class _Stood(NamedTuple):
    """A request with the line where it stands."""

    line: int
    request: SentRequest


class _TestClass:
    """A file of hidden tests."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        constants = dict(_CONSTANT.findall("\n".join(lines)))
        self._constant = re.compile(rf"\b(?:{'|'.join(map(re.escape, constants)) or '(?!)'})\b(?!\s*=)")
        self._values = constants
        self.fields = {one[1] for line in lines if (one := _FIELD.match(line))}
        self.methods = {one.name: one for one in self._methods()}
        self.parent = next((one[1] for line in lines if (one := _EXTENDS.search(line))), "")

    def _methods(self) -> Iterator[_Method]:
        kinds: dict[str, str] = {}
        for number, line in enumerate(self.lines, 1):
            if found := _ANNOTATION.match(line):
                kinds[found[1]] = found[2] or ""
            elif found := java_method(line):
                yield _Method(found["name"], number, block_end(self.lines, number), kinds)
                kinds = {}
            elif line.strip().endswith((";", "{", "}")):
                kinds = {}

    def asked(self, first: int, last: int) -> list[_Stood]:
        """Return what some lines ask, with what it is made of and what is made of its answer."""
        text = "\n".join(_without_comment(line) for line in self.lines[first - 1 : last])
        text = self._constant.sub(lambda name: self._values[name[0]], text)
        found = [
            one
            for one in _REQUEST.finditer(text)
            if _ADDRESS.search(_said(one)) and _PATH.match(java_path(_said(one)))
        ]
        stood = []
        for at, one in enumerate(found):
            begins = found[at - 1].end() if at else 0
            ends = found[at + 1].start() if at + 1 < len(found) else len(text)
            verb = one["verb"] or one["named"]
            if verb is None:
                given = _VERB.search(text[one.end() : ends])
                verb = (given[1] or given[2]) if given else "GET"
            before = text[text.rfind(";", begins, one.start()) + 1 : one.start()]
            further = text[one.end() : ends].partition(";")[0]
            uses = {*_NAME.findall(_LITERAL.sub("", f"{before} {_said(one)} {further}"))}
            makes = {*_GIVEN.findall(_LITERAL.sub("", f"{before} {text[one.end() : ends]}"))}
            statuses = _WANTED.findall(text[one.end() : ends])
            request = SentRequest(
                verb.upper(),
                java_path(_said(one)),
                frozenset(uses),
                frozenset(makes),
                tuple(dict.fromkeys(_READ.findall(text[one.end() : ends]))),
                statuses[0] if len(statuses) == 1 else "",
            )
            stood.append(_Stood(first + text.count("\n", 0, one.start()), request))
        return stood


class JavaTests:
    """The sources of hidden tests, by the paths that stacks call them."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        self._classes = {path: _TestClass(lines) for path, lines in texts.items()}

    def lines(self, path: str) -> Sequence[str]:
        """Return the lines of a file of tests; none where it is no such file."""
        return self._classes[path].lines if path in self._classes else ()

    def last_exchange(self, path: str, number: int, message: str) -> str:
        """Return the last request of a test up to a line, as tests in Python tell it; "" where there is none."""
        own = self._classes[path]
        method = _around(own, number)
        begins = method.first if method else 1
        # The verb of a request may stand below its address, and below the line that failed.
        stood = own.asked(begins, min(number + 10, len(own.lines)))
        asked = [one.request for one in stood if one.line <= number] or [*self._of(own, "BeforeEach")]
        if not asked:
            return ""
        status = _STATUS.search(message)
        answered = (status[1] or status[2]) if status else _NOT_KNOWN
        return f"last exchange: {asked[-1].method} {asked[-1].address} -> {answered}"

    def asked_by(self, tests: Iterable[str], failed: Mapping[str, "BrokenOff"]) -> dict[str, RequestsOfTest]:
        """Return what *tests* ask; *failed*: where the lost ones of them broke off."""
        return {test: asked for test in tests if (asked := self._asked_by(test, failed)) is not None}

    def _asked_by(self, test: str, failed: Mapping[str, "BrokenOff"]) -> RequestsOfTest | None:
        path = _path_of(test)
        own = self._classes.get(path)
        method = own.methods.get(_method_of(test)) if own else None
        if own is None or method is None:
            return None
        last = _last_line(path, method, failed.get(test))
        mine = [*self._of(own, "BeforeEach"), *self._expanded(own, method.first, last)]
        before = [*self._of(own, "BeforeAll")]
        if "Order" in method.kinds:
            for other in sorted(own.methods.values(), key=_order):
                if _order(other) < _order(method) and "Order" in other.kinds:
                    lost = failed.get(f"{test.partition('#')[0]}#{other.name}")
                    asked = self._expanded(own, other.first, _last_line(path, other, lost))
                    before += asked[:-1] if lost and lost.is_refused else asked
        return RequestsOfTest(tuple(mine), tuple(before), *self._waits_for(test, own, method.first, last, failed))

    def _of(self, own: _TestClass, kind: str) -> Iterator[SentRequest]:
        """Yield what methods of a kind ask, those of the class above it first."""
        above = next((one for path, one in self._classes.items() if path.endswith(f"{own.parent}.java")), None)
        for some in (above, own) if own.parent and above is not own else (own,):
            for method in some.methods.values() if some else ():
                if kind in method.kinds and some:
                    yield from self._expanded(some, method.first, method.last)

    def _expanded(self, own: _TestClass, first: int, last: int) -> list[SentRequest]:
        """Return what some lines ask, with what methods of the class that they call ask."""
        stood = own.asked(first, last)
        for number in range(first + 1, last + 1):
            for name in re.findall(r"(?<![\w.])(\w+)\(", own.lines[number - 1]):
                other = own.methods.get(name)
                if other is not None and not first <= other.first <= last and not {*other.kinds} & _TESTS:
                    stood += [_Stood(number, one.request) for one in own.asked(other.first, other.last)]
        return [one.request for one in sorted(stood, key=lambda one: one.line)]

    def _waits_for(
        self, test: str, own: _TestClass, first: int, last: int, failed: Mapping[str, "BrokenOff"]
    ) -> tuple[str, str]:
        """Return the lost test that alone gives a variable its value that *test* uses, and the variable, or ""."""
        used = {name for line in own.lines[first:last] for name in _NAME.findall(_LITERAL.sub("", line))}
        for name in sorted(used & own.fields):
            givers = {f"{test.partition('#')[0]}#{giver.name}": at for giver, at in self._givers(own, name)}
            if (
                givers
                and test not in givers
                and all(one in failed and failed[one].line <= givers[one] for one in givers)
            ):
                return next(iter(givers)), name
        return "", ""

    @staticmethod
    def _givers(own: _TestClass, name: str) -> Iterator[tuple[_Method, int]]:
        pattern = re.compile(rf"^\s*{name}\s*=(?!=)")
        for number, line in enumerate(own.lines, 1):
            if pattern.match(line) and (method := _around(own, number)) is not None:
                yield method, number


def _around(own: _TestClass, number: int) -> _Method | None:
    return next((one for one in own.methods.values() if one.first <= number <= one.last), None)


def _last_line(path: str, method: _Method, lost: BrokenOff | None) -> int:
    """Return the last line of a test in *path* that ran; a lost one may have broken off in another file."""
    if lost is not None and lost.path == path and method.first <= lost.line <= method.last:
        return lost.line
    return method.last


def _order(method: _Method) -> int:
    return number_of(method.kinds.get("Order") or "0")


def _path_of(test: str) -> str:
    return f"{test.partition('#')[0].partition('$')[0].replace('.', '/')}.java"


def _method_of(test: str) -> str:
    return re.split(r"[(\[]", test.partition("#")[2])[0]


def _without_comment(line: str) -> str:
    return "" if line.lstrip().startswith("//") else line


def _said(found: re.Match[str]) -> str:
    return found["path"] or found["beside"] or found["address"]


def java_path(said: str) -> str:
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
