"""The functions of a service, who calls whom, and which lines write a field: by regular expressions alone.

Where a call may mean several functions, it means each of them.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.grading.submitted_sources import Sources, block_end, java_method

Place = tuple[str, int]
_DEEPEST = 4
_MOST_LINES, _MOST_FUNCTIONS = 40_000, 2000
"""Of a submission, that are looked at."""
_LONGEST = 200
"""Lines of a function that are looked at."""
_WIDEST = 2000
"""Characters between two brackets."""
_ANY_OF = 8
"""Functions of one name of which a call may mean each."""
_CLASS = re.compile(r"^\s*(?:[\w@]+\s+)*(?:class|record|interface|enum)\s+(?P<name>\w+)")
_RECORD = re.compile(r"\brecord\s+(?P<name>\w+)(?:<[^()]*>)?\s*\(")
_CALLED = re.compile(
    r"(?:(?P<of>\b\w+)(?:\(\))?(?P<dot>\.)|(?P<chain>\)\.))?(?P<name>\b[A-Za-z_]\w*)\s*\(|(?P<ref>\w+)::(?P<method>\w+)"
)
NEW = re.compile(r"\bnew\s+(?:\w+\.)*(?P<name>[A-Z]\w*)(?:<[^()]*>)?\s*\(")
ASSIGNED = re.compile(r"^\s*(?:[^\s=();]+\s+)*(?P<name>\w+)\s*=(?!=)")
_TYPED = re.compile(r"\b([A-Z]\w*)(?:<[^;=(){}]{0,60}>)?(?:\[\])?\s+([a-z]\w*)\s*(?=[=;,):])")
"""A name with its type."""
_LOOPS = re.compile(r"^\s*for\s*\(\s*(?:[\w<>\[\],. ?]+\s)?(?P<name>\w+)\s*[=:]")
"""The head of a loop, with its variable."""
_ENDS = re.compile(r"[;{}]\s*(?://.*)?$|^\s*(?:@|//|\*|/\*)|^\s*$")
"""A line behind which another statement begins."""
_MEMBER = re.compile(r"^\s*(?:[^\s=();]+\s+)+(?P<name>\w+);")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_NOTHING = frozenset({
    "if", "else", "return", "new", "throw", "null", "true", "false", "this", "for", "while", "final", "String",
    "int", "long", "boolean", "Map", "List", "Set", "Object", "void", "context", "request", "response", "self",
    "None", "not", "and", "or", "is", "in", "id", "body", "equals", "get", "put", "add", "stream", "of",
})  # fmt: skip
"""Names in code that say nothing of what it is about."""
_MUTATES = re.compile(
    r"\b(?P<state>\w+)(?:\(\))?(?:\.(?:values|keySet|entrySet)\(\))?\.(?:put|add|remove|set|clear|offer|push|compute|"
    r"merge|change|replace|delete|save|insert|append|pop|update|discard|increment)\w*\("
    r"|^\s*(?:this\.|self\.)?(?P<name>\w+)(?:\[[^\]]*\])?\s*[-+|]?=(?!=)|^\s*del\s+(?P<gone>\w+)\["
)


class ServiceFunction(NamedTuple):
    """A function."""

    path: str
    first: int
    last: int
    name: str = ""
    given: int = -1
    """How many parameters; -1: not known."""
    owner: str = ""

    def has(self, place: Place) -> bool:
        """Whether it has a line."""
        return place[0] == self.path and self.first <= place[1] <= self.last


class CodeMap:
    """The functions of a service, and who calls whom."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.spans: list[ServiceFunction] = []
        self.records: dict[str, list[str]] = {}
        self.owners: dict[str, set[str]] = {}
        """Names of members that are no functions, with the classes that have them."""
        self.constants: dict[str, Place] = {}
        self._types: dict[str, set[str]] = {}
        self._classes: set[str] = set()
        lines = 0
        for path in dict.fromkeys(path for path, _, _ in sources.every()):
            lines += len(sources.text(path))
            if lines <= _MOST_LINES:
                self._read(path)
        self._by_name: dict[str, list[ServiceFunction]] = {}
        for span in self.spans:
            self._by_name.setdefault(span.name, []).append(span)
        self._writing: dict[tuple[ServiceFunction, str], list[int]] = {}
        self._calls: dict[ServiceFunction, list[ServiceFunction]] = {}
        self._handed: dict[ServiceFunction, Mapping[str, set[str]]] = {}
        self._reached: dict[tuple[str, str], Mapping[ServiceFunction, int]] = {}

    def _read(self, path: str) -> None:
        lines = self.sources.text(path)
        inside: list[tuple[str, int]] = []  # classes, with their last lines
        until = 0
        for number, line in enumerate(lines, 1):
            inside = [one for one in inside if one[1] >= number]
            owner = inside[-1][0] if inside else ""
            if found := _CLASS.match(line):
                self._classes.add(found["name"])
                inside.append((found["name"], block_end(lines, number)))
            for kind, name in _TYPED.findall(line):
                self._types.setdefault(name, set()).add(kind)
            if found := _RECORD.search(line):
                self._read_record(found["name"], "\n".join(lines[number - 1 : number + 12]), found.end() - 1)
            elif (span := self._function(path, number, owner)) is not None:
                self.spans.append(span)
                until = max(until, span.last)
            elif number > until and (member := ASSIGNED.match(line) or _MEMBER.match(line)):
                self.owners.setdefault(member["name"], set()).add(owner)
                if member["name"].isupper():
                    self.constants[member["name"]] = path, number

    def _read_record(self, name: str, text: str, begins: int) -> None:
        self.records[name] = [one.split()[-1] for one in arguments(bracketed(text, begins))]
        for field in self.records[name]:
            self.owners.setdefault(field, set()).add(name)

    def _function(self, path: str, number: int, owner: str) -> ServiceFunction | None:
        """Return the function that begins at a line, with what is written above it."""
        lines = self.sources.text(path)
        found = java_method(lines[number - 1])
        if found is None or len(self.spans) > _MOST_FUNCTIONS:
            return None
        text = "\n".join(lines[number - 1 : number + 8])
        taken = bracketed(text, text.index("(", found.end("name")))
        given = -1 if "..." in taken or "*" in taken else len(arguments(taken))
        first = number
        while first > 1 and lines[first - 2].lstrip().startswith("@"):
            first -= 1
        return ServiceFunction(path, first, block_end(lines, number), found["name"], given, owner)

    def statements(self, span: ServiceFunction) -> Iterator[tuple[int, str]]:
        """Yield the lines of a function below its signature, with their numbers; the line of a route alone."""
        lines = [*enumerate(self.lines(span), span.first)]
        signed = [at for at, (_, line) in enumerate(lines) if java_method(line)]
        ends = [at for at in range(signed[0], len(lines)) if lines[at][1].rstrip().endswith("{")] if signed else []
        yield from lines[ends[0] + 1 :] if ends else lines

    def around(self, place: Place) -> ServiceFunction | None:
        """Return the innermost function that has a line."""
        found = [span for span in self.spans if span.has(place)]
        return max(found, key=lambda span: span.first) if found else None

    def writing(self, span: ServiceFunction, field: str) -> list[int]:
        """Return the lines in a function that write a field of a record, of a document, or of an object."""
        key = span, field
        if key not in self._writing:
            self._writing[key] = [*self._made(span, field), *self._set(span, field)]
        return self._writing[key]

    def _made(self, span: ServiceFunction, field: str) -> Iterator[int]:
        """Yield the lines that make a record, where they give one of its fields."""
        lines = self.lines(span)
        text = "\n".join(lines)
        for made in NEW.finditer(text):
            names = [_plain(name) for name in self.records.get(made["name"], ())]
            given = bracketed(text, made.end() - 1)
            values = arguments(given)
            if _plain(field) not in names or len(values) != len(names):
                continue
            at = names.index(_plain(field))
            value = values[at]
            number = text.count("\n", 0, made.end() + given.find(value, sum(map(len, values[:at]))))
            yield span.first + number
            for earlier in range(number, -1, -1) if value.isidentifier() else ():
                assigned = ASSIGNED.match(lines[earlier])
                if assigned and assigned["name"] == value:
                    yield span.first + earlier
                    break

    def _set(self, span: ServiceFunction, field: str) -> Iterator[int]:
        """Yield the lines that write a key, or call a setter."""
        name = re.escape(field)
        key = re.compile(
            rf"[\"']{name}[\"']\s*(?:,|\]\s*=(?!=)|:)|\bset{name}\(|(?:^\s*|[.(,]\s*){name}\s*=(?!=)",
            re.IGNORECASE,
        )
        read = re.compile(rf"\b\w+\(\s*\w+,\s*[\"']{name}[\"']\s*\)")
        for number, line in enumerate(self.lines(span), span.first):
            if key.search(read.sub("", line)):
                yield number

    def lines(self, span: ServiceFunction) -> Sequence[str]:
        """Return the lines of a function, as many as a person would look at."""
        return self.sources.text(span.path)[span.first - 1 : span.last][:_LONGEST]

    def statement(self, span: ServiceFunction, number: int) -> tuple[int, str]:
        """Return the first line of the statement that a line of a function belongs to, and its text."""
        lines = self.sources.text(span.path)
        first, last = number, number
        while first > span.first and not _ENDS.search(lines[first - 2]):
            first -= 1
        while last < span.last and not _ENDS.search(lines[last - 1]):
            last += 1
        return first, "\n".join(lines[first - 1 : last])

    def called_in(self, text: str, span: ServiceFunction) -> dict[ServiceFunction, int]:
        """Return what a part of a function may call, with how many functions its call may mean."""
        found: dict[ServiceFunction, int] = {}
        for one in _CALLED.finditer(text):
            some = [*self._named(one, text, span)]
            for other in some:
                found.setdefault(other, len(some))
        found.pop(span, None)
        return found

    def handed(self, span: ServiceFunction) -> Mapping[str, set[str]]:
        """Return the texts that a function hands to others, by their names: fields that they read, mostly."""
        if span not in self._handed:
            found: dict[str, set[str]] = {}
            text = "\n".join(self.lines(span))
            for one in _CALLED.finditer(text):
                if one["name"] in self._by_name:
                    keys = _TEXT.findall(bracketed(text, one.end() - 1))
                    found.setdefault(one["name"], set()).update(keys)
            self._handed[span] = found
        return self._handed[span]

    def calls(self, span: ServiceFunction) -> list[ServiceFunction]:
        """Return what a function calls, in that order."""
        if span not in self._calls:
            self._calls[span] = [*self.called_in("\n".join(self.lines(span)), span)]
        return self._calls[span]

    def _named(self, one: re.Match[str], text: str, span: ServiceFunction) -> Iterator[ServiceFunction]:
        """Yield the functions that a call may mean."""
        name = one["name"] or one["method"]
        some = self._by_name.get(name, [])
        if not some:
            return
        receiver = one["of"] if one["name"] else one["ref"]
        if one["name"]:
            given = len(arguments(bracketed(text, one.end() - 1)))
            some = [other for other in some if other.given in (-1, given)]
        if receiver == "this" or (one["name"] and not receiver and not one["chain"]):
            own = [other for other in some if other.path == span.path]
            yield from own or some[:2]
            return
        if receiver and receiver in self._classes:
            yield from (other for other in some if other.owner == receiver)
            return
        kinds = self._types.get(receiver or "", set())
        if kinds:
            some = [other for other in some if other.owner in kinds]
        yield from some if len(some) <= _ANY_OF else ()

    def reached(self, begins: Iterable[ServiceFunction]) -> dict[ServiceFunction, int]:
        """Return functions that some lead to, themselves included, with how many calls away."""
        found: dict[ServiceFunction, int] = {}
        level = [*begins]
        for depth in range(_DEEPEST):
            fresh = [span for span in level if span not in found]
            found.update(dict.fromkeys(fresh, depth))
            level = [other for span in dict.fromkeys(fresh) for other in self.calls(span)]
        return found

    def answering(self, method: str, address: str) -> tuple[ServiceFunction, ...]:
        """Return what answers a request: the line of its route, where that names a function, and that function."""
        handler = self.sources.handler(method, address)
        if handler is None:
            return ()
        path, first, last = handler
        own = self.around((path, first))
        begins = own if own is not None and own.last == last else ServiceFunction(path, first, last)
        route = self.sources.route(method, address)
        return (begins,) if route is None or begins.has(route) else (begins, ServiceFunction(*route, route[1]))

    def reached_by(self, method: str, address: str) -> Mapping[ServiceFunction, int]:
        """Return the functions that a request leads to, with how many calls away."""
        key = method, address
        if key not in self._reached:
            self._reached[key] = self.reached(self.answering(method, address))
        return self._reached[key]


@functools.lru_cache(maxsize=2)
def code_map_of(sources: Sources) -> CodeMap:
    """Return the functions of a service."""
    return CodeMap(sources)


def bracketed(text: str, begins: int) -> str:
    """Return what stands in the brackets that open at a place."""
    depth = 0
    for at in range(begins, min(len(text), begins + _WIDEST)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return text[begins + 1 : at]
    return text[begins + 1 : begins + _WIDEST]


def _plain(name: str) -> str:
    return re.sub(r"[_-]", "", name).lower()


def arguments(text: str) -> list[str]:
    """Return the parts of a text between its outer commas."""
    parts, depth, begins, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[at - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0 and text.count("<", begins, at) <= text.count(">", begins, at):
            parts.append(text[begins:at])
            begins = at + 1
    return [part.strip() for part in [*parts, text[begins:]] if part.strip()]


def words(line: str) -> set[str]:
    """Return the names in a line of code."""
    return set(_WORD.findall(_TEXT.sub("", line))) - _NOTHING


def variable_of(line: str) -> str:
    """Return the name of the variable that a line gives a value, the head of a loop included; or ""."""
    found = ASSIGNED.match(line) or _LOOPS.match(line)
    return found["name"] if found else ""


def mutated(line: str) -> str:
    """Return the name of what a line stores something in; "" where it stores nothing."""
    found = _MUTATES.search(_TEXT.sub('""', line))
    return (found["state"] or found["name"] or found["gone"]) if found else ""
