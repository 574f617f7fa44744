"""Which statements of a service led to what a lost test saw: back from its last exchange, through earlier ones.

`afar` asks. From the statement that refused, wrote what the test looked at, or should have checked it, the way
goes back to conditions, to what gave variables their values, to calls, and to what an earlier exchange of the test
stored. A statement counts by how far that is, and by how many lost and passing tests run it. It stands in one
process with untrusted code, needs the standard library only, and works on Python 3.9 to 3.13.
"""

from __future__ import annotations

import ast
import heapq
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

Place = tuple[str, int]
"""A file, and the line where a statement begins."""
_TOLD = 3
_FARTHEST = 6.0
"""Steps back that are gone."""
_STEP = 0.75
"""What a statement counts for each step away."""
_INNER = 0.7
"""What gave a variable its value, or returned it, in steps."""
_CALLED = 1.2
_FAR = 3.0
"""To what called a function, where none of its arguments was used."""
_BARE = 0.3
"""From a `return False` to its condition."""
_BEGIN = 0.5
"""How far from what the test saw a statement is that writes it, or declares a field."""
_NAMED = -1.0
"""How far a statement is that the failure names by more than where it led."""
_SUSPECT = 0.09
"""What one counts more that the lines of whole tests tell, too."""
_NOT_SEEN = 0.5
"""What share of the highest suspicion one has that no test runs, such as the declaration of a field."""
_LITTLE = 0.3
_SAFE = ("GET", "HEAD", "OPTIONS")
_OF_INPUT = ("400", "415", "422")
"""Statuses of what is refused for what was sent."""
_REFUSES = 400
_FEW = 3
_FIELDS = 4
_LONG, _SHORT, _SHAPED = 100, 3, 12
"""Lengths of texts."""
_LARGE = 1000
_ADDRESS = 150
_STATUS = re.compile(r"\b([1-5]\d\d) (?:[!=]=|(?:not )?in [\[({]) ?([1-5]\d\d)\b")
_FIELD = re.compile(
    r"(?:\[|\bget\(|KeyError: )\s*['\"]([A-Za-z_][\w-]*)['\"]|['\"]([A-Za-z_][\w-]*)['\"] (?:not )?in\b"
)
_ORDERED = re.compile(r"\bsorted\(|\[\w+ ?[-+] ?1\]")
"""How tests look at an order."""
_WRONG = re.compile(r"\bassert (-?\d{2,}(?:\.\d+)?|'[^']{2,}') (?:[=!]=|[<>]=?) ")
"""How tests tell a value that was wrong, such as one that is hardly written by chance."""
_SORTS = {"sort", "sorted", "order_by", "reverse", "reversed"}
_LAST = re.compile(r"^last exchange: ([A-Z]+) (\S+?),? ", re.MULTILINE)
_HOLDS = (ast.Try, ast.With, ast.AsyncWith)


class Exchange:
    """One exchange of a test, and which statements it ran."""

    def __init__(self, asked: Mapping[str, Any], lines: Mapping[Any, int], files: Callable[[str], Any]) -> None:
        self.method, self.status = asked["method"], asked["status"]
        self.path = re.sub(r"^\w+://[^/]*", "", asked["address"])
        self.sent = _sent(self.path, asked["sent"])
        """By name."""
        self.ran: dict[Place, int] = {}
        """When each ran last."""
        for (code, line), order in lines.items():
            file = files(code.co_filename)
            if file is not None and line in file.at:
                place = code.co_filename, file.at[line].lineno
                self.ran[place] = max(order, self.ran.get(place, 0))
        self.texts = {(name, value) for name, value in self.sent.items() if isinstance(value, str) and value}

    def is_like(self, other: Exchange) -> bool:
        """Say whether another one asks the same of something else."""
        one, two = (each.path.partition("?")[0].split("/") for each in (self, other))
        differing = sum(part != parallel for part, parallel in zip(one, two))  # noqa: B905 - Python 3.8
        return self.method == other.method and len(one) == len(two) and differing <= 1


class Blame:
    """The statements of a service, and what lost and passing tests asked it."""

    def __init__(
        self,
        code: Any,
        source: Callable[[str], str],
        asked: Mapping[Any, Sequence[Any]],
        lost: Sequence[Any],
        passing: Sequence[Any],
    ) -> None:
        self._code, self._source, self._lost = code, source, lost
        self._files: dict[str, Any] = {}
        self._asked = {
            one.key: [Exchange(told, lines, self._file) for told, lines in asked.get(one.key, ())]
            for one in [*lost, *passing]
        }
        self._passing = [self._asked[one.key] for one in passing]
        self._passed = _counted(self._passing)
        self._counts: dict[Any, tuple[int, Mapping[Place, int]]] = {}
        self._seen_later: dict[Exchange, Sequence[Place]] = {}
        places = {place for some in self._asked.values() for one in some for place in one.ran}
        self._paths = sorted({path for path, _ in places})
        ran = {self._function(place) for place in places}
        names = {name for path in self._paths for name in self._files[path].names}
        self._unused = [
            (path, one.lineno)
            for path in self._paths
            for one in self._files[path].unregistered()
            if one.name not in names and one not in ran
        ]
        """Functions that nothing calls, and no framework was told of."""

    def of(self, one: Any, suspects: Sequence[Place]) -> list[Place]:
        """Return file and line of a few statements that may have lost a test, the likelier first.

        *suspects*: those that the lines of whole tests tell; they alone for a test that had no answer. Where the
        first two are of one function, another one's comes third.
        """
        exchanges = self._until_last(one)
        if not exchanges:
            return [*suspects]
        found = _STATUS.search(one.message)
        got, wanted = found.groups() if found else ("", "")
        last = exchanges[-1]
        if got != str(last.status):
            got, wanted = (str(last.status), "") if last.status >= _REFUSES else ("", "")
        is_other = got.startswith("4") and wanted.startswith("4")
        telling = (ast.Raise,) if is_other else (ast.ExceptHandler,) if got.startswith(("4", "5")) else ()
        far = self._back(self._begins(one, exchanges, got, wanted), exchanges)
        suspicion = self._suspicion(one.cause, exchanges)
        points: dict[Place, float] = {}
        is_taken = got.startswith("2") and wanted.startswith("4")
        unseen = _NOT_SEEN * (1.0 if is_taken else max(suspicion.values(), default=1.0))
        for place, steps in far.items():
            file = self._files[place[0]]
            whole = place[0], file.whole(place[1])
            seen = unseen if file.around(place[1]) is None else suspicion.get(whole, unseen)
            points[place] = _STEP**steps * math.sqrt(seen) * self._worth(place, telling)
        for path, line in suspects if all(self._file(path) for path, _ in suspects) else ():
            place = path, self._files[path].at[line].lineno
            points[place] = points.get(place, 0.0) + _SUSPECT
        order = {place: (at, each.ran[place]) for at, each in enumerate(exchanges) for place in each.ran}
        best = sorted(
            points, key=lambda place: (-round(points[place], 2), [-one for one in order.get(place, (0, 0))], place)
        )
        functions = [self._function(place) for place in best]
        if functions[:1] == functions[1:2]:
            others = [place for place, function in zip(best, functions) if function != functions[0]]  # noqa: B905
            best = [*dict.fromkeys([*best[:2], *others[:1], *best[2:]])]
        return best[: _TOLD + got.startswith("5")]  # its traceback may show one of them

    def _file(self, path: str) -> Any:
        if path not in self._files:
            try:
                with open(self._source(path), encoding="utf-8") as file:  # noqa: PTH123 - imports little
                    self._files[path] = self._code.Statements(file.read())
            except (OSError, ValueError, SyntaxError):
                self._files[path] = None
        return self._files[path]

    def _node(self, place: Place) -> Any:
        return self._files[place[0]].node(place[1])

    def _function(self, place: Place) -> Any:
        return self._files[place[0]].around(place[1]) or place

    def _until_last(self, one: Any) -> list[Exchange]:
        """Return what a test asked, up to what it was lost by; what clears away afterwards asks as well."""
        exchanges = self._asked[one.key]
        told = _LAST.findall(one.said)
        for at in range(len(exchanges), 0, -1) if told else ():
            method, path = told[-1]
            if exchanges[at - 1].method == method and exchanges[at - 1].path.startswith(path[:_ADDRESS]):
                return exchanges[:at]
        return exchanges

    def _suspicion(self, cause: Any, exchanges: Sequence[Exchange]) -> dict[Place, float]:
        """Return how suspicious statements are by Ochiai's formula, half of it among lost tests of the cause."""
        found: dict[Place, float] = {}
        for some in (cause, None):
            if some not in self._counts:
                tests = [self._asked[one.key] for one in self._lost if some is None or one.cause == some]
                self._counts[some] = len(tests), _counted(tests)
            number, counts = self._counts[some]
            for place in {place for each in exchanges for place in each.ran}:
                runs = counts.get(place, 0)
                value = runs / math.sqrt(number * max(runs + self._passed.get(place, 0), 1))
                found[place] = found.get(place, 0.0) + value / 2
        return found

    def _worth(self, place: Place, telling: tuple[type, ...]) -> float:
        """Return what a statement counts by its kind: the more it computes, the more can be wrong.

        *telling*: kinds that count although they compute nothing.
        """
        file, node = self._files[place[0]], self._node(place)
        value = getattr(node, "value", None)
        is_told_by_part = file.around(place[1]) is None and any(
            line in file.parts for line in range(place[1] + 1, (node.end_lineno or 0) + 1)
        )
        is_held = isinstance(node, (*_HOLDS, ast.Pass, ast.ExceptHandler, *self._code.DEFINITIONS))
        makes_nothing = isinstance(node, (ast.Assign, ast.AnnAssign)) and value and self._code.is_empty(value)
        if place in self._unused or isinstance(node, telling):
            return 1.0
        if is_told_by_part or is_held or makes_nothing or isinstance(node, ast.Raise):
            return _LITTLE
        if isinstance(node, ast.Return) and (value is None or isinstance(value, (ast.Name, ast.Constant))):
            return 0.5
        return float(0.7 + 0.075 * min(self._code.computing(node), 4))

    # Where the way back begins

    def _begins(
        self, one: Any, exchanges: Sequence[Exchange], got: str, wanted: str
    ) -> dict[tuple[Place, int], float]:
        """Return statements and their exchanges with how far they are from what the test saw."""
        last, at = exchanges[-1], len(exchanges) - 1
        if got.startswith("2") and wanted.startswith("4"):
            own = self._accepting(last, wanted)
        elif got.startswith("4"):
            own = self._refusing(last, got)
        elif got.startswith("5"):
            own = self._raising(last)
        else:
            own = self._answering(last, one.message)
        found = {(place, at): steps for place, steps in own.items()}
        if last.status >= _REFUSES:
            found.update({(place, at): _NAMED for place in self._unused})
        for place, when, steps in self._changing(exchanges, got, wanted):
            found.setdefault((place, when), steps)
        if _ORDERED.search(one.said):
            sorting = [place for place in last.ran if self._code.named(self._node(place)) & _SORTS]
            found.update({(place, at): _NAMED for place in sorting})
        for value in _WRONG.findall(one.message) if not got else ():
            found.update(
                {(place, at): _NAMED for place in last.ran if value in self._code.constants(self._node(place))}
            )
        for field in _fields(one.said) if got[:1] in ("", wanted[:1]) else ():
            for when, each in enumerate(exchanges):
                for path, line in each.ran if when == at else self._storing(each):
                    if field in self._code.keys(self._node((path, line)))[1]:
                        place = path, self._files[path].giving(line, field)
                        found.setdefault((place, when), 0.0)
        return found

    def _changing(
        self, exchanges: Sequence[Exchange], got: str, wanted: str
    ) -> Iterator[tuple[Place, int, float]]:
        """Yield what earlier exchanges should have changed: the latest one, where a thing is still there that was
        to be refused; those that sent the same as one that was refused.
        """
        unsafe = [at for at, one in enumerate(exchanges[:-1]) if one.method not in _SAFE]
        is_still_there = got.startswith("2") and wanted.startswith("4") and wanted not in _OF_INPUT
        is_refused = got.startswith("4") and not wanted.startswith("4")
        for at in unsafe[-1:] if is_still_there else ():
            stored = self._storing(exchanges[at])
            changing = [place for place in stored if self._code.changes(self._node(place))]
            should = changing or [place for place in stored if self._shared(place)]
            nearest = 0.0 if changing else _NAMED
            yield from ((place, at, nearest if place in should else _INNER) for place in stored)
        for at in unsafe if is_refused else ():
            if exchanges[at].texts & exchanges[-1].texts:
                changing = [place for place in exchanges[at].ran if self._code.changes(self._node(place))]
                yield from ((place, at, _CALLED) for place in changing)

    def _shared(self, place: Place) -> Set[str]:
        """Return the variables of the module that a statement reads."""
        return {name for name in self._code.loaded(self._node(place)) if name in self._files[place[0]].shared}

    def _accepting(self, last: Exchange, wanted: str) -> dict[Place, float]:
        """Return what should have refused, most of all what declares, reads and checks fields with odd values."""
        found: dict[Place, float] = {}
        for field in self._odd(last):
            found.update(
                {(path, line): _BEGIN for path in self._paths for line in self._files[path].declaring(field)}
            )
            found.update({place: _INNER for place in last.ran if self._mentions(place, field)})
        for place in last.ran:
            node = self._node(place)
            ends = getattr(node, "body", ()) if isinstance(node, (ast.If, ast.ExceptHandler)) else ()
            if any(self._says(end, wanted) for end in ends):
                found[place] = 0.3 if wanted in _OF_INPUT else 1.0
        answering = self._answers(last)
        own = sorted(place for place in last.ran if self._function(place) in answering)
        checks = [at for at, place in enumerate(own) if isinstance(self._node(place), ast.If)]
        for at, place in enumerate(own):  # where a check may be missing
            is_there = at == 0 or (checks and at == checks[-1] + 1)
            found[place] = min(found.get(place, _CALLED), _BEGIN if is_there else _CALLED)
        return found

    def _refusing(self, last: Exchange, status: str) -> dict[Place, float]:
        """Return the statement that refused; where the framework did, what declares fields."""
        raising = [place for place in last.ran if isinstance(self._node(place), ast.Raise)]
        saying = [place for place in last.ran if self._says(self._node(place), status)]
        writing = [place for place in last.ran if status in self._code.constants(self._node(place))]
        refusing = sorted(saying or raising or writing, key=last.ran.__getitem__)[-1:]
        handling = {one for one in self._roots(last) if not self._code.is_route(one)}
        if {self._function(place) for place in refusing} & handling:  # it was raised elsewhere
            refusing = sorted(raising, key=last.ran.__getitem__)[-1:] or refusing
        if refusing:
            return {**dict.fromkeys(refusing, 0.0), **self._unfit(last, refusing[-1:])}
        return {
            (path, line): _BEGIN
            for field in self._odd(last)
            for path in self._paths
            for line in self._files[path].declaring(field)
        }

    def _raising(self, last: Exchange) -> dict[Place, float]:
        """Return what ended an exchange, the innermost `except` tried then, and what had let it through."""
        order = last.ran.__getitem__
        ran = sorted((place for place in last.ran if not isinstance(self._node(place), _HOLDS)), key=order)
        while ran and isinstance(self._node(ran[-1]), ast.ExceptHandler):
            ran.pop()
        found = {**dict.fromkeys(ran[-1:], 0.0), **self._unfit(last, ran[-1:])}
        for place in ran[-1:]:
            used, function = self._code.loaded(self._node(place)), self._function(place)
            above = [one for one in ran[:-1] if self._function(one) is function]
            guards = [one for one in above if self._code.is_guard(self._node(one))]
            found.update({one: 1.0 for one in guards if used & self._code.loaded(self._node(one))})
        return found

    def _unfit(self, last: Exchange, raised: Sequence[Place]) -> dict[Place, float]:
        """Return the innermost `except` that was tried after something was raised, and does not name it."""
        tried = sorted((last.ran[place], place) for place in last.ran if self._is_unfit(place, last))
        after = [place for order, place in tried if raised and order > last.ran[raised[0]]]
        return dict.fromkeys(after[:1], 0.0)

    def _is_unfit(self, place: Place, last: Exchange) -> bool:
        node = self._node(place)
        return isinstance(node, ast.ExceptHandler) and (place[0], node.body[0].lineno) not in last.ran

    def _answering(self, last: Exchange, said: str) -> dict[Place, float]:
        """Return what answered, read the fields that were sent otherwise, or changed what is stored."""
        found = dict.fromkeys(self._latest_return(last), _BEGIN)
        odd = self._odd(last)
        quoted = {name for name, value in last.texts if len(value) >= _SHORT and value in said}
        for place in last.ran:
            node = self._node(place)
            if quoted & self._code.keys(node)[0]:
                found[place] = _NAMED
                continue
            reads = len(odd) <= _FEW and self._code.keys(node)[0] & {*odd}
            if reads or (last.method not in _SAFE and self._code.changes(node)):
                found[place] = _BEGIN
        return found

    def _roots(self, last: Exchange) -> set[Any]:
        """Return the functions that a framework called, and no other one."""
        called = {name for place in last.ran for name in self._code.named(self._node(place))}
        ran = {self._files[path].around(line) for path, line in last.ran}
        return {one for one in ran if one is not None and one.name not in called}

    def _answers(self, last: Exchange) -> set[Any]:
        """Return the functions of routes; where there are none, all that a framework called."""
        roots = self._roots(last)
        return {one for one in roots if self._code.is_route(one)} or roots

    def _latest_return(self, last: Exchange) -> list[Place]:
        answering = self._answers(last)
        returns = [
            place
            for place in last.ran
            if self._function(place) in answering and isinstance(self._node(place), ast.Return)
        ]
        return sorted(returns, key=last.ran.__getitem__)[-1:]

    def _says(self, node: Any, status: str) -> bool:
        is_end = isinstance(node, (ast.Raise, ast.Return))
        return is_end and re.search(rf"\b{status}\b", self._code.text_of(node)) is not None

    def _mentions(self, place: Place, field: str) -> bool:
        read, written = self._code.keys(self._node(place))
        return field in read or field in written or field in self._code.loaded(self._node(place))

    def _odd(self, last: Exchange) -> list[str]:
        """Return the fields that were sent otherwise than where passing tests succeeded with the same request.

        Else those that were left out, or all.
        """
        seen: dict[str, set[Any]] = {}
        for each in (each for exchanges in self._passing for each in exchanges):
            if each.status < 400 and each.is_like(last):
                for name, value in each.sent.items():
                    seen.setdefault(name, set()).add(_shape(value))
        odd = [name for name, value in last.sent.items() if _shape(value) not in seen.get(name, ())]
        return odd or [name for name in seen if name not in last.sent] or [*last.sent]

    # The way back

    def _back(
        self, begins: Mapping[tuple[Place, int], float], exchanges: Sequence[Exchange]
    ) -> dict[Place, float]:
        """Return how far statements are from what the test saw."""
        found: dict[tuple[Place, int], float] = {}
        queue = [(steps, place, at) for (place, at), steps in begins.items()]
        heapq.heapify(queue)
        while queue:
            steps, place, at = heapq.heappop(queue)
            if (place, at) not in found and steps <= _FARTHEST:
                found[place, at] = steps
                for other, more, when in self._before(place, exchanges, at):
                    if (other, when) not in found:
                        heapq.heappush(queue, (steps + more, other, when))
        best: dict[Place, float] = {}
        for (place, _), steps in found.items():
            best[place] = min(steps, best.get(place, steps))
        return best

    def _before(self, place: Place, exchanges: Sequence[Exchange], at: int) -> Iterator[tuple[Place, float, int]]:
        """Yield what led to a statement, with how many steps that is, and in which exchange."""
        file, node, ran = self._files[place[0]], self._node(place), exchanges[at].ran
        yield from ((other, more, at) for other, more in self._within(place, ran))
        for path in self._paths:
            other_file = self._files[path]
            for name in () if isinstance(node, ast.Raise) else self._code.named(node):
                for defined in other_file.functions.get(name, ()):
                    inside = [one for one in ran if one[0] == path and self._function(one) is defined]
                    ends = [one for one in inside if isinstance(self._node(one), (ast.Return, ast.Raise))]
                    yield from ((one, _INNER, at) for one in sorted(ends or inside, key=ran.__getitem__)[-1:])
                yield from (((path, one.lineno), _INNER, at) for one in other_file.shared.get(name, ()))
        read, shared = self._code.keys(node)[0], self._shared(place)
        filled: set[str] = set()
        for when in range(at, -1, -1):
            for one in exchanges[when].ran if when == at else self._storing(exchanges[when]):
                changed = shared & self._code.stored(self._node(one)) if one[0] == place[0] else ()
                filled.update(changed)
                if one != place and (changed or read & self._code.keys(self._node(one))[1]):
                    yield one, 1.0, when
        empty = {name for name in shared - filled if file.begins_empty(name)}
        if empty:
            yield from self._not_storing(exchanges, at, empty)

    def _storing(self, earlier: Exchange) -> Sequence[Place]:
        """Return what an exchange ran that another one may see: its answer was for the test alone."""
        if earlier not in self._seen_later:
            answering = self._answers(earlier)
            self._seen_later[earlier] = [
                place
                for place in earlier.ran
                if not isinstance(self._node(place), ast.Return)
                or self._code.changes(self._node(place))
                or self._function(place) not in answering
            ]
        return self._seen_later[earlier]

    def _not_storing(
        self, exchanges: Sequence[Exchange], at: int, empty: Set[str]
    ) -> Iterator[tuple[Place, float, int]]:
        """Yield what the latest exchange before another computed alone: it may have had to store something.

        Where some of it names one of those that are *empty*, that alone.
        """
        unsafe = [before for before, one in enumerate(exchanges[:at]) if one.method not in _SAFE]
        shared = {self._function(place) for place in exchanges[at].ran}
        for before in unsafe[-1:]:
            alone = [
                place
                for place in exchanges[before].ran
                if isinstance(self._node(place), (ast.Assign, ast.Expr)) and self._function(place) not in shared
            ]
            naming = [place for place in alone if empty & self._code.loaded(self._node(place))]
            yield from ((place, 0.0 if naming else _INNER, before) for place in naming or alone)

    def _within(self, place: Place, ran: Mapping[Place, int]) -> Iterator[tuple[Place, float]]:
        """Yield what led to a statement in its function, and to the function, in one exchange."""
        path, file, node = place[0], self._files[place[0]], self._node(place)
        above, function = file.above[file.first[file.whole(place[1])]], file.around(place[1])
        if isinstance(node, ast.ExceptHandler):  # what was tried last
            tried = [one for one in ran if one[0] == path and above.lineno < one[1] < node.lineno]
            yield from ((one, _BARE) for one in sorted(tried, key=ran.__getitem__)[-1:])
        elif above is not None:
            is_bare = isinstance(node, ast.Return) and not self._code.computing(node)
            yield (path, above.lineno), _BARE if is_bare else 1.0
        if function is None:
            return
        names = self._code.loaded(node)
        for one in ran:
            if one != place and self._function(one) is function and names & self._code.stored(self._node(one)):
                yield one, _INNER
        given = names & {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
        more = _CALLED if given else _FAR
        yield from ((one, more) for one in ran if function.name in self._code.named(self._node(one)))


def _counted(tests: Sequence[Sequence[Exchange]]) -> Mapping[Place, int]:
    """Return how many tests run each statement."""
    return Counter(place for exchanges in tests for place in {place for one in exchanges for place in one.ran})


def _sent(path: str, body: str) -> Mapping[str, Any]:
    """Return what a request sends by name: in its query, as JSON, or as a form."""
    found: dict[str, Any] = dict(re.findall(r"[?&]([^=&]+)=([^&]*)", path))
    try:
        told = json.loads(body) if body else {}
    except ValueError:
        told = dict(re.findall(r"(?:^|&)([\w.-]+)=([^&\n]*)", body))
    return {**found, **(told if isinstance(told, dict) else {})}


def _fields(said: str) -> list[str]:
    """Return the fields of an answer that a failing statement reads, or misses."""
    return [*dict.fromkeys(first or second for first, second in _FIELD.findall(said))][:_FIELDS]


def _shape(value: Any) -> Any:
    """Return what kind of value something is."""
    if isinstance(value, str):
        text = re.sub(r"[A-Za-z]+", "a", re.sub(r"\d+", "9", value))
        shown = text if len(text) < _SHAPED else ""
        return "text", shown, not value.strip(), len(value) > _LONG, len(value) < _SHORT
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number", value > 0, value > _LARGE
    return type(value).__name__, bool(value)
