"""Which lines of a service may have made what a test saw, by all that the test asked, and the sources alone.

What an earlier request stored, or did not, is seen by a later one: so lines of both are told, the likelier first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.grading.guesses import AnsweredRequest, SentRequest
from groundup.grading.submitted_sources import java_method
from groundup_origins.code_map import (
    ASSIGNED,
    NEW,
    CodeMap,
    Place,
    ServiceFunction,
    mutated,
    variable_of,
    words,
)

_NEAR = 1.2
"""Taken off at most for a function whose reading of a member says something."""
_SHORT = 12
"""Lines of a function whose every return may be told."""
_MOST_EARLIER = 10
_WRITES_WITHIN = 3
"""Calls away at which a function may still give a field its value."""
_READ_WELL, _MOST_WEIGHT = 2.0, 2.5
"""Weights of members: at least for one whose writing says something, and the most that counts."""
_STEPS, _STEP = 2, 0.4
"""How far values are followed back, and what is taken off for each step."""
_INTO = 0.3
"""Taken off besides for what a helper returns."""
_CHANGED = 0.1
"""Taken off besides for what changes a value that was made before."""
_LIKELY = 2
"""Functions that a call may mean, for each to be followed."""
_PATH_PART = re.compile(r"[{:](\w+)(?=[}/\"'])")
"""In the path of a route, the name of a part."""
_READS_PART = re.compile(r"\b(?:[pP]athParam\w*|PathVariable|params)\(\s*(?:(?:name|value)\s*=\s*)?\":?(\w+)\"")
_CLASS_LINE = re.compile(r"^\s*(?:(?:public|final|abstract|static)\s+)*class\s")
_OWN = 1.2
"""What a check in what answers is worth more than one that it calls."""
_FIELDS = 4
"""Of an answer, that are looked for."""
_HANDED = 1.5
"""Weight of a member at least, for one that is handed to a function to say something."""
_RETURNS_NAME = re.compile(r"^\s*return \w+;?$")
_RETURNS = re.compile(r"^\s*return\b|->\s")
_REFUSES = re.compile(r"(?m)^\s*(?:raise|throw)\b|\babort\(|\borElseThrow\(|->\s*(?:\{\s*)?throw\b")
_SAYS_STATUS = re.compile(r"^\s*@(?:Response)?Status\b")
_STATUS_LINE = re.compile(
    r"\bstatus\w*\(\s*(?:HttpStatus\.\w+|\d{3})|@(?:Response)?Status\b|\breturn\b.*\b[1-5]\d\d\b|setStatus"
)
_CHOOSES = re.compile(r"\.(?:filter|sorted|sort|skip|limit|subList|reversed|distinct|min|max|\w+Match|removeIf)\(")
_ANSWERS = re.compile(r"\breturn\b|\.json\(|\bMap\.of\(|\bsend\(|->\s*\S")
_CONDITION = re.compile(r"\b(?:if|elif|while|unless|filter|\w+Match|orElseThrow)\b")
_MANY = 3
"""Constants of checks, each of which says little where there are so many."""
_OF_INPUT = ("400", "409", "422")
"""Statuses of what is refused for what was sent."""
_ANSWERS_KEY = re.compile(r"(?:\breturn\b|\.json\(|\bMap\.of\(|\bsend\().*\"\w+\"\s*[,:]")
_SAFE = ("GET", "HEAD", "OPTIONS")


class Symptom(NamedTuple):
    """What a test saw."""

    got: str = ""
    wanted: str = ""
    """Statuses; both "" where it compared none."""
    fields: Sequence[str] = ()
    """Of an answer, that it looked at."""
    anchors: Sequence[Place] = ()
    """Lines that gave the status that it saw, or that would have refused as it wanted, with their conditions."""
    lacking: str = ""
    """What the service said to be missing, with its name."""
    words: frozenset[str] = frozenset()
    """Of the name of the test."""
    is_of_values: bool = False
    """Whether the service's error tells of a wrong value, not of something missing."""


class Story:
    """All that one lost test asked, in the code of the service."""

    def __init__(self, code: CodeMap, answer: AnsweredRequest, symptom: Symptom) -> None:
        self._code, self._symptom = code, symptom
        self._near = code.reached_by(answer.method, answer.address)
        self._alike = [code.reached_by(one.method, one.address) for one in answer.alike]
        self._fine = [code.reached_by(one.method, one.address) for one in answer.fine]
        is_accepted = symptom.got.startswith("2") and symptom.wanted.startswith("4")
        self._earlier = [code.reached_by(one.method, one.address) for one in related(answer, by_time=is_accepted)]
        self._asks = answer.method, answer.address
        self._asked = answer.earlier
        self._is_unsafe = answer.method not in _SAFE
        self._points: dict[Place, float] = {}
        self._constants: set[str] = set()
        """That checks look at."""

    def told(self) -> list[Place]:
        """Return lines that may be at fault, the likelier first."""
        if not self._near and not self._symptom.anchors:
            return []
        got, wanted = self._symptom.got, self._symptom.wanted
        if got.startswith("4"):
            self._refused()
        elif got.startswith("2") and wanted.startswith("4"):
            self._accepted()
        elif got.startswith("2") and wanted.startswith("2"):
            self._of_status()
        elif got.startswith("5"):
            self._broken()
        else:
            self._of_value()
        self._unread()
        self._unbound()
        return sorted(self._points, key=lambda place: -self._points[place])

    def _add(self, place: Place, points: float) -> None:
        self._points[place] = max(self._points.get(place, 0.0), points)

    def _lines(self, spans: Mapping[ServiceFunction, int]) -> Iterator[tuple[Place, str, float]]:
        """Yield the statements of functions, with what is taken off for how far away and how common they are."""
        for span, depth in spans.items():
            off = 0.3 * depth + self._common(span)
            for number, line in self._code.statements(span):
                if line.strip() and not line.lstrip().startswith(("//", "*", "/*", "#", "@Override", "}")):
                    yield (span.path, number), line, off

    def _common(self, span: ServiceFunction) -> float:
        """Return what is taken off for a function that tests that passed lead to as well."""
        passing = sum(span in one for one in self._fine)
        if passing and self._is_handed_new(span.name):
            return 0.0
        return 0.0 if passing == 0 else 0.5 if passing < 4 else 1.0

    def _is_handed_new(self, name: str) -> bool:
        """Whether a function is told to read something here that no passing test had it read."""
        own = {key for span in self._near for key in self._code.handed(span).get(name, ())}
        return bool(
            own - {key for one in self._fine for span in one for key in self._code.handed(span).get(name, ())}
        )

    def _traced(self, span: ServiceFunction, number: int, points: float) -> None:
        """Tell what gives a statement its values, the nearer first: assignments, loops, what helpers return."""
        seen = {(span, self._code.statement(span, number)[0])}
        level = [(span, number, points)]
        for _ in range(_STEPS):
            further = []
            for one, at, worth in level:
                for other, line, less in self._before(one, at):
                    if (other, line) not in seen:
                        seen.add((other, line))
                        self._add((other.path, line), worth - less)
                        further.append((other, line, worth - less))
            level = further

    def _before(self, span: ServiceFunction, number: int) -> Iterator[tuple[ServiceFunction, int, float]]:
        """Yield the lines of which a statement has its values, with what is taken off for each."""
        first, text = self._code.statement(span, number)
        names = words(text)
        for at in range(first - 1, span.first, -1):
            line = self._code.sources.line(span.path, at)
            if variable_of(line) in names:
                yield span, at, _STEP
            elif mutated(line) in names:
                yield span, at, _STEP + _CHANGED
        for other, likely in self._code.called_in(text, span).items():
            if likely <= _LIKELY and other.last - other.first < _SHORT:
                off = self._common(other)
                for (_, at), line, _ in self._lines({other: 0}):
                    if _RETURNS.search(line) and not _REFUSES.search(line):
                        yield other, at, _STEP + _INTO + off

    def _unbound(self) -> None:
        """Tell the line of a route that lacks a part of the path which what answers reads by its name."""
        route = self._code.sources.route(*self._asks)
        if route is not None:
            parts = {*_PATH_PART.findall(self._code.sources.line(*route))}
            texts = ("\n".join(self._code.lines(span)) for span in self._near)
            if parts and any(name not in parts for text in texts for name in _READS_PART.findall(text)):
                self._add(route, 6.8)

    def _unserved(self) -> None:
        """Tell the class of what should have answered, and its route: nothing there says that it is not found."""
        for span in [*self._near][:1]:
            for at in range(span.first, 0, -1):
                if _CLASS_LINE.match(self._code.sources.text(span.path)[at - 1]):
                    self._add((span.path, at), 6.6)
                    break
            self._add((span.path, span.first), 6.5)

    def _unread(self) -> None:
        """Tell what answered a request with other fields than one that the test reads of it."""
        asked = [(self._near, self._symptom.fields)]
        asked += [
            (self._code.reached_by(one.method, one.address), one.reads)
            for one in self._asked
            if one.method not in _SAFE
        ]
        for spans, fields in asked:
            text = "\n".join(line for span in spans for line in self._code.lines(span))
            answers = [
                at for at, line, _ in self._lines(dict.fromkeys([*spans][:1], 0)) if _ANSWERS_KEY.search(line)
            ]
            for at in answers if any(f'"{field}"' not in text for field in fields[:_FIELDS]) else ():
                self._add(at, 6.5)

    def _refused(self) -> None:
        """A check refused what was right: what it looks at, and what should have been stored before."""
        states: dict[str, float] = {}
        if self._symptom.got == "404" and not self._symptom.anchors:
            self._unserved()
        for place in self._symptom.anchors:
            span = self._code.around(place)
            if span is None:
                continue
            is_own = self._near.get(span) == 0
            line = self._code.sources.line(*place)
            common = 0.0 if is_own else self._common(span)
            self._add(place, 4.4 + _OWN * is_own - 2 * common)
            if not _CONDITION.search(line) or line.startswith("."):
                self._passed(span, place[1], 4.4 + _OWN * is_own - 2 * common)
            self._looked_at(span, place[1], states, 1.0 - 0.6 * common)
        for name in sorted(self._constants):
            self._add(self._code.constants[name], 4.7 if len(self._constants) < _MANY else 4.3)
        self._note_near(states)
        # What is refused for what was sent has little to do with what is stored.
        self._stored(states, less=2.0 * (self._symptom.got in ("400", "422")))

    def _passed(self, span: ServiceFunction, number: int, points: float) -> None:
        """Tell the conditions before a refusal that has none of its own, or is the end of a chain."""
        for at, line, _ in self._lines({span: 0}):
            after = self._code.sources.line(at[0], at[1] + 1)
            if at[1] < number and _CONDITION.search(line) and not _REFUSES.search(after):
                self._add(at, points + 0.1)

    def _looked_at(self, span: ServiceFunction, number: int, states: dict[str, float], weight: float) -> None:
        """Tell what gives a line of a function its values; *states* gets the members that are read for it."""
        text = self._code.sources.text(span.path)
        names = words(text[number - 1])
        while text[number - 1].lstrip().startswith(".") and number > span.first:  # a statement of several lines
            number -= 1
            names |= words(text[number - 1])
        names = self._lacking(text[number - 1]) & names or names
        self._note(states, names, 3.0 * weight)
        for at in range(number - 1, span.first, -1):
            given = ASSIGNED.match(text[at - 1])
            if given and given["name"] in names:
                self._add((span.path, at), 4.2 - 2 * self._common(span) - (self._symptom.got == "404"))
                self._note(states, words(text[at - 1]), 2.5 * weight)
                names |= words(text[at - 1])
        for other in self._code.calls(span):
            if other.name in names:
                for line in self._returning(other, 4.6):
                    self._note(states, words(line), weight)
        for caller in self._near:
            for _, line, _ in self._lines({caller: 0}) if span in self._code.calls(caller) else ():
                if re.search(rf"\b{span.name}\(", line):
                    self._note(states, words(line), 2.5 * weight)
                    names |= {name for name in words(line) if name.isupper()}
        self._constants |= {name for name in names if name in self._code.constants}

    def _lacking(self, line: str) -> set[str]:
        """Return the names in a line of what the service said to be missing."""
        said = self._symptom.lacking
        if said.endswith("get"):
            return set(re.findall(r"(\w+)\.get\(", line))
        return {said} if said else set()

    def _returning(self, span: ServiceFunction, points: float) -> Iterator[str]:
        """Tell the lines of a short function that make what it returns, and yield them."""
        if span.last - span.first < _SHORT:
            for at, line, off in self._lines({span: 0}):
                if _RETURNS.search(line) and not _REFUSES.search(line) and not _RETURNS_NAME.match(line):
                    self._add(at, points - off)
                    yield line

    def _note(self, states: dict[str, float], names: Iterable[str], weight: float) -> None:
        for name in sorted(names):  # so that equally likely lines keep their order
            if name in self._code.owners:
                states[name] = max(states.get(name, 0.0), weight)

    def _note_near(self, states: dict[str, float]) -> None:
        for _, line, _ in self._lines(self._near):
            self._note(states, words(line), 0.5)

    def _stored(self, states: Mapping[str, float], less: float = 0.0) -> None:
        """Tell what earlier requests store of what was read, or the making of a thing that should hold it."""
        for rank, spans in enumerate(self._earlier):
            for span, depth in spans.items():
                self._kept(span, states, 0.3 * depth + 0.4 * rank + less)
                if depth < _WRITES_WITHIN:
                    self._given(span, states, 0.2 * depth + 0.15 * rank + less)

    def _kept(self, span: ServiceFunction, states: Mapping[str, float], off: float) -> None:
        """Tell lines that change a member that was read, or make a thing that has such members."""
        kinds: dict[str, float] = {}
        for name, weight in states.items():
            for owner in self._code.owners[name] - self._code.records.keys():
                kinds[owner] = max(kinds.get(owner, 0.0), weight)
        for at, line, _ in self._lines({span: 0}):
            if _REFUSES.search(line):
                continue
            changed = mutated(line)
            is_member = changed in self._code.owners
            points = [2.4 + 0.6 * is_member + min(states.get(changed, 0.0), _MOST_WEIGHT)] if changed else []
            points += [2.6 + min(kinds[kind], _MOST_WEIGHT) for kind in NEW.findall(line) if kind in kinds]
            if points:
                self._add(at, max(points) - off)
            handed = max((states.get(name, 0.0) for name in words(line)), default=0.0)
            for other in self._code.calls(span) if handed >= _HANDED else ():
                if re.search(rf"\b{other.name}\(", line):
                    for inner, stored, _ in self._lines({other: 0}):
                        if mutated(stored) and mutated(stored) not in self._code.owners:  # its own parameter
                            self._add(inner, 2.8 + min(handed, _MOST_WEIGHT) - off)

    def _given(self, span: ServiceFunction, states: Mapping[str, float], off: float) -> None:
        """Tell lines that give a field that was read its value."""
        for name, weight in states.items():
            for number in self._code.writing(span, name) if weight >= _READ_WELL else ():
                self._add((span.path, number), 3.4 + min(weight, _MOST_WEIGHT) - off)

    def _accepted(self) -> None:
        """What should be refused was not: what should have been stored or removed before, or the check."""
        is_of_input = self._symptom.wanted in _OF_INPUT
        if not self._symptom.anchors:
            self._unchecked(4.6 if is_of_input else 6.0)
        for place in self._symptom.anchors:
            self._checked(place)
        states: dict[str, float] = {}
        self._note_near(states)
        for rank, spans in enumerate(self._earlier[:3]):
            if not self._changes(spans):
                for at, _, off in self._lines(dict.fromkeys([*spans][:1], 0)):
                    self._add(at, 5.2 - off / 2 - rank - 2 * is_of_input)
            for at, line, off in self._lines(spans):
                if changed := mutated(line):
                    self._add(at, 4.5 + (changed in states) - off / 2 - rank - 2 * is_of_input)
        if is_of_input:
            self._unused()

    def _unchecked(self, points: float) -> None:
        """Tell the lines that answer, where nothing before them refuses as a test wanted."""
        for at, line, off in self._lines(self._near):
            if _ANSWERS.search(line):
                self._add(at, points - off / 2)

    def _unused(self) -> None:
        """Tell the lines of what answers, first those that read in vain what was sent, and what follows them."""
        own = [*self._lines(dict.fromkeys([*self._near][:1], 0))]
        for number, (at, line, _) in enumerate(own, 1):
            given = ASSIGNED.match(line)
            is_unused = given and sum(given["name"] in words(other) for _, other, _ in own) == 1
            self._add(at, 4.8 if is_unused else 3.5)
            if is_unused and number < len(own):  # below it, it should have been looked at
                self._add(own[number][0], 4.7)

    def _checked(self, place: Place) -> None:
        """Tell a check that refuses as a test wanted, and the constants that it looks at."""
        line = self._code.sources.line(*place)
        is_named = {one.lower() for one in words(line)} & self._symptom.words
        span = self._code.around(place)
        # That requests which should pass do so says nothing of a check of what is sent.
        common = self._common(span) if span and self._symptom.wanted not in _OF_INPUT else 0.0
        self._add(place, 4.0 + bool(is_named) - 2 * common)
        for name in sorted(words(line) & self._code.constants.keys()):
            self._add(self._code.constants[name], 3.9 + bool(is_named))

    def _changes(self, spans: Mapping[ServiceFunction, int]) -> bool:
        """Whether a request stores anything, in what answers it or what that calls."""
        near = {span: depth for span, depth in spans.items() if depth < _WRITES_WITHIN}
        return any(mutated(line) in self._code.owners for _, line, _ in self._lines(near))

    def _of_status(self) -> None:
        """Another success was answered."""
        handler = next(iter(self._near))
        own = [*enumerate(self._code.lines(handler), handler.first)]
        if not any(_SAYS_STATUS.match(line) for _, line in own) and self._code.sources.lines_with(_SAYS_STATUS):
            for number in [number for number, line in own if java_method(line)][:1]:
                self._add((handler.path, number), 4.9)  # others say it above their signature
        common = [span for span in self._near if self._alike and all(span in one for one in self._alike)]
        for at, line, off in self._lines(self._near):
            if _STATUS_LINE.search(line):
                self._add(at, 4.0 - off)
            elif re.search(r"\breturn\b|\.json\(|->", line):
                self._add(at, 2.0 - off)
        for at, line, off in self._lines(dict.fromkeys(common, 0)):
            if not _REFUSES.search(line) and not java_method(line):
                self._add(at, 4.5 - 2 * off)

    def _broken(self) -> None:
        """It failed: what it reads may not be as it should."""
        states: dict[str, float] = {}
        for path, number in self._symptom.anchors:
            if (span := self._code.around((path, number))) is not None:
                self._traced(span, number, 4.7 if self._symptom.is_of_values else 3.9)
                if self._symptom.is_of_values:
                    self._add((path, number), 4.8)
                    return
                self._looked_at(span, number, states, 1.0)
        for _, line, off in self._lines(self._near) if not self._symptom.anchors else ():
            if off < _NEAR:
                self._note(states, re.findall(r"\.(\w+)\(\)", line), 2.0)
        self._note_near(states)
        for at, line, off in self._lines(self._near) if not self._symptom.anchors else ():
            if re.search(r"\.\w+\(", line) and not java_method(line) and not line.lstrip().startswith("@"):
                self._add(at, 3.4 - off)
        self._stored(states)

    def _of_value(self) -> None:
        """A value is another one, or is not there."""
        self._written(6.0)
        for spans, less in [(self._near, 0.0), *self._earlier_ones(0.6)]:
            for at, line, off in self._lines(spans):
                after = self._code.sources.line(at[0], at[1] + 1)
                if java_method(line) or line.lstrip().startswith("@") or _REFUSES.search(f"{line}\n{after}"):
                    continue
                if _CHOOSES.search(line):
                    self._add(at, (5.7 if not self._symptom.fields and not less else 3.6) - off - less)
        for at, line, off in [*self._lines(self._near)]:
            if _ANSWERS.search(line) and off < _NEAR and not _REFUSES.search(line):
                points = (5.8 if self._symptom.fields or self._is_unsafe else 4.4) - off
                self._traced(self._code.around(at) or next(iter(self._near)), at[1], points)
        states: dict[str, float] = {}
        for _, line, off in self._lines(self._near):
            chosen = _CHOOSES.search(line) is not None
            self._note(states, words(line), max(1.4 + 0.8 * chosen - off, 0.5))
        self._stored(states)

    def _earlier_ones(self, less: float) -> Iterator[tuple[Mapping[ServiceFunction, int], float]]:
        """Yield what earlier requests lead to, with what is taken off."""
        for rank, spans in enumerate(self._earlier):
            yield spans, less + 0.4 * rank

    def _written(self, points: float) -> bool:
        """Tell the lines that write the fields that a test looked at; return whether what answered has one."""
        found = False
        for field in self._symptom.fields[:2]:
            for spans, less in [(self._near, 0.0), *self._earlier_ones(1.0)]:
                writers = [span for span in spans if self._code.writing(span, field)]
                for span in writers:
                    crowd = sum(other.name == span.name for other in writers) > _LIKELY
                    worth = points - 0.1 * spans[span] - 1.5 * crowd
                    for at in self._code.writing(span, field):
                        self._add((span.path, at), worth - less)
                        found = found or not less
                        if not less:
                            self._traced(span, at, worth)
        return found


def related(answer: AnsweredRequest, *, by_time: bool) -> list[SentRequest]:
    """Return the earlier requests that may have changed what the last one saw, the likelier first.

    Those that made what it uses come first, or where *by_time* the latest: what is refused had changed.
    """
    uses = answer.last.uses if answer.last else frozenset[str]()
    wanted = parts(answer.address)

    def likeness(one: tuple[int, SentRequest]) -> tuple[float, int]:
        at, request = one
        shared = len({*wanted} & {*parts(request.address)})
        same = request.address == answer.address
        if by_time:
            return at - 3.0 * bool(shared), at
        return -(4.0 * bool(uses & request.makes) + shared + same + 1.0 / (1 + at)), at

    unsafe: dict[tuple[str, str], tuple[int, SentRequest]] = {}
    for at, request in enumerate(answer.earlier):
        if request.method not in _SAFE and request[:2] != (answer.method, answer.address):
            unsafe.setdefault(request[:2], (at, request))
    return [request for _, request in sorted(unsafe.values(), key=likeness)[:_MOST_EARLIER]]


def parts(address: str) -> list[str]:
    """Return the words of a path."""
    return [part for part in address.partition("?")[0].strip("/").split("/") if part and "{" not in part]
