"""Lost tests by their cause: the same exception at the same line of the submission, or the same message. Pure.

Tracebacks come from the process of the submission, so a place is a claim: it groups tests, and decides nothing.
"""

import ast
import builtins
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import Field

from groundup.domain.names import number_of
from groundup.domain.records import Record
from groundup.domain.verdicts import PASSES_WITH, TRIED, Reason, Stage, TestResult, Verdict
from groundup.reports.edits import split_by_edits
from groundup.reports.kinds import (
    MISNAMED,
    NOBODY_PASSES,
    PRINTED,
    KindLoss,
    compared,
    is_of_interface,
    kind_of_test,
    kinds_lost,
    service_error,
)

CAUSES_KEPT = 5
"""Causes of one attempt that a report names; `groundup why` has all of them."""
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?=:|$)")
_FRAME = re.compile(
    r'^(?:  File "(?P<native>[^"\n]+)", line (?P<native_line>\d+).*'
    r"|(?P<short>[^\s:][^:\n]*):(?P<short_line>\d+): in .*)$(?:\n    (?P<code>.*))?",
    re.MULTILINE,
)
_EARLIER = re.compile(
    r"^(?:The above exception was the direct cause of|During handling of the above exception,) .*:$", re.MULTILINE
)
"""What stands between the tracebacks of an exception and of the one that it led to."""
_IN_BRACKETS = re.compile(
    r"\((?P<file>[^()\n]+), line (?P<line>\d+)\)|(?P<compiled>[^\s:]+\.(?:java|kt)):\[(?P<at>\d+),\d+\]"
)
_CALLED = re.compile(r"(?P<file>[^:\n]+):\d+: ")
_DEFINED = re.compile(r": (?:async )?def (?P<name>\w+)")
_DECLARED = re.compile(
    r"(?:declared elsewhere, in (?P<other>\S+[./]\S+)|[^`]*?): (?:[^`]*?)`(?P<text>[^`\n]*)`"
    r"[^`;]*?, line (?P<line>\d+)"
)
"""How the grader of dependencies tells what a submission declares: first in the detail, with its line."""
_UNREAD = re.compile(r"missing: (?P<place>(?P<file>[^\s:]+)(?::\d+)?): ")
"""What the grader of dependencies says of names whose file it could not read."""
_DIFFERING = re.compile(
    r"^(?:\S.*?)?(?:\[(?P<key>'[^'\n]*'|\"[^\"\n]*\")\](?:\[\d+\])*"
    r"|(?P<name>\.\w+)|whole|line \d+|(?:\[\d+\])+)"
    r": (?:(?P<side>only (?:left|right)):|.* != |left  |right )",
    re.MULTILINE,
)
"""A line of what a test demanded: the path of a part that differs, and which side lacks it."""
_CODE = re.compile(r"\b(?:status|statusCode|status_code|rc|ret|returncode|return_code|exit_code|code)\b")
"""Names of numbers that are no amounts: each has a meaning of its own."""
_ERROR_PRINTED = re.compile(rf"^{PRINTED}.*\b[Ee]rror\b.*$", re.MULTILINE)
_NUMBERS = re.compile(r"AssertionError: (?:assert )?-?\d+ [!=]= -?\d+")
_OF_NUMBERS = re.compile(r"\d [!=]= -?\d|expected: <\d+> but was: <\d+>")
_EXCHANGE = re.compile(r"^last exchange: (?P<method>[A-Z]+) (?P<path>[^ ,\n]+)", re.MULTILINE)
_OF_PYTHON = frozenset(
    {*dir(builtins), "strip", "splitlines", "split", "read", "getvalue", "decode", "encode", "raises", "warns"}
)
"""Names that say nothing of what is called."""
_SHORTENED = re.compile(r"^(?:AssertionError: )?(?:assert .*\.\.\.|.*\[\d+ chars\])")
"""A message in which pytest or unittest left out parts of the values that it compared."""
_TELLS_VALUES = re.compile(r"\bassert\b| (?:[!=]=|not in|in|is|is not) |[<>]")
_SIDES = re.compile(r"^(?P<where>.*: )?(?P<side>left |right) (?P<value>.*)$")
_SAID = 160
_PLACES = 3
"""Lines that a lost test may lead to; who says more is a stranger."""
_JAVA_TEST = re.compile(r"((?:\w+\.)*\w+)(?:\$[\w$]+)?#\w+")
_INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages|lib/python3(?:\.\d+)?)/|^<")
_WORKSPACE = "/workspace/"
_TEST_SUPPORT = "conftest.py"


class Cause(Record):
    """Why some tests of an attempt were lost."""

    said: str = Field(description="by the first of the tests: the exception with its values, or why it never ran")
    place: str = Field(default="", description="file:line of the submission; empty: no traceback names one")
    code: str = Field(default="", description="the text of that line")
    kind: str = Field(
        default="", description="such as `missing name` or `wrong value`; earlier versions wrote none"
    )
    calls: str = Field(
        default="", description="`file:line: text` of what the failing statement calls, where no place is known"
    )
    probably: str = Field(
        default="",
        description="`file:line: text` of where it probably lies, one a line, the likelier first",
    )
    tests: int
    first: str = Field(description="name of the first of the tests")


class Losses(Record):
    """What an attempt lost, in short."""

    tests: int = Field(description="that were lost")
    causes: tuple[Cause, ...] = Field(description="those with most tests first; at most `CAUSES_KEPT`")
    further: int = Field(default=0, description="causes that are not among these")
    reasons: tuple[Reason, ...] = Field(default=(), description="of the verdict: those that no lost test tells")


class CauseGroup(NamedTuple):
    """A cause with its tests, in the order of their names."""

    cause: Cause
    tests: tuple[TestResult, ...]


class HiddenFiles(NamedTuple):
    """Files of hidden tests, and the folders in which they lie."""

    files: frozenset[str]
    folders: tuple[str, ...]
    """With a slash at the end."""

    @classmethod
    def of(cls, tests: Iterable[TestResult]) -> "HiddenFiles":
        """Return those that the names of *tests* begin with."""
        files = frozenset(file_of(one) for one in tests)
        return cls(
            files, tuple({f"{parent}/" for file in files if (parent := str(PurePosixPath(file).parent)) != "."})
        )

    def leave(self, file: str) -> bool:
        """Whether a traceback's file is the submission's: not installed, and not beside a hidden test."""
        inside = file.removeprefix(_WORKSPACE)
        if _INSTALLED.search(file) or inside.startswith(("/", "..")):
            return False
        path = str(PurePosixPath(inside)) if "./" in inside or "//" in inside else inside
        is_support = path.rpartition("/")[2] == _TEST_SUPPORT
        return not is_support and inside not in self.files and not path.startswith(self.folders)


class _Place(NamedTuple):
    where: str = ""
    code: str = ""


def grouped(tests: Iterable[TestResult]) -> tuple[CauseGroup, ...]:
    """Group the lost ones of *tests* by cause, those of most tests first, of equal ones what a change mends.

    Then comes what has a line, and last come tests that nobody passes.
    """
    return _groups([one for one in tests if one.lost])


def declared_otherwise(tests: Iterable[TestResult]) -> tuple[CauseGroup, ...]:
    """Group the dependencies of *tests* that cost no points, but are not declared as in the original."""
    return _groups([one for one in tests if one.kind == "dependency" and not one.lost and one.detail])


def _groups(tests: list[TestResult]) -> tuple[CauseGroup, ...]:
    hidden = HiddenFiles.of(tests)
    dependencies = {one.id.lower(): one for one in tests if one.kind == "dependency"}
    found: dict[tuple[str, str], list[tuple[TestResult, _Place]]] = {}
    for one in sorted(tests, key=lambda one: one.id):
        place = _declared(one, dependencies) if one.kind == "dependency" else _place(one, hidden)
        found.setdefault(_key(one, place, hidden), []).append((one, place))
    groups = []
    for group in itertools.chain.from_iterable(map(_split, found.values())):
        first, place = group[0]
        cause = Cause(
            said=heading_of(first),
            kind=kind_of_test(first, in_submission=bool(place.where)),
            place=place.where,
            code=place.code,
            calls="" if place.where else _called(first, hidden),
            probably=_probably(one for one, _ in group),
            tests=len(group),
            first=first.id,
        )
        groups.append(CauseGroup(cause, tuple(one for one, _ in group)))
    return tuple(sorted(groups, key=_rank))


def _rank(group: CauseGroup) -> tuple[bool, int, bool, bool]:
    cause = group.cause
    is_placed = bool(cause.place or cause.probably)
    return cause.kind == NOBODY_PASSES, -cause.tests, PASSES_WITH not in cause.probably, not is_placed


def _split(group: Sequence[tuple[TestResult, _Place]]) -> Iterable[list[tuple[TestResult, _Place]]]:
    """Take a group apart whose tests got texts from one function that differ in several ways."""
    if group[0][1].where or group[0][0].kind == "dependency":
        return [[*group]]
    parts: dict[str, list[tuple[TestResult, _Place]]] = {}
    for one, edit in zip(group, split_by_edits([test for test, _ in group]), strict=True):
        parts.setdefault(edit, []).append(one)
    return parts.values()


def _probably(tests: Iterable[TestResult]) -> str:
    """Return where the tests of a cause say that it probably lies.

    First comes a line whose change makes some of them pass, else the one that most say first; then further places
    that most tests have high among theirs.
    """
    guesses = [places_of(one) for one in tests if one.probably]
    if not guesses:
        return ""
    firsts = Counter(one[0] for one in guesses)
    mended = Counter({place: number for place, number in firsts.items() if TRIED.search(place)})
    first = (mended or firsts).most_common(1)[0][0]
    votes: Counter[str] = Counter()
    for guess in guesses:
        votes.update({TRIED.split(place)[0]: 1 / at for at, place in enumerate(guess, 1)})
    others = [place for place, _ in votes.most_common() if place != TRIED.split(first)[0]]
    most = max(map(len, guesses))
    return "\n".join([first, *others[: most - 1]])


def places_of(one: TestResult | Cause) -> list[str]:
    """Return the lines where a lost test, or a cause, probably lies, as `file:line: text`, the likelier first."""
    return [place.removeprefix(_WORKSPACE) for place in one.probably.splitlines()[:_PLACES]]


class AttemptLosses(NamedTuple):
    """What an attempt lost, by cause and by kind."""

    losses: Losses | None
    kinds: tuple[KindLoss, ...]


def attempt_losses(tests: Iterable[TestResult], verdict: Verdict) -> AttemptLosses:
    """Return what an attempt with the lost *tests* lost by its *verdict*."""
    groups = grouped(tests)
    return AttemptLosses(_losses(groups, verdict.reasons), kinds_of(groups, verdict))


def kinds_of(groups: Iterable[CauseGroup], verdict: Verdict | None) -> tuple[KindLoss, ...]:
    """Return what each kind of cause cost an attempt."""
    return kinds_lost(((group.cause.kind, group.cause.tests) for group in groups), verdict)


def losses_of(tests: Iterable[TestResult], reasons: Iterable[Reason]) -> Losses | None:
    """Return what was lost of *tests*; None where none was lost that is known by name.

    Of dependencies the *reasons* tell all: by what is wrong, with files and lines.
    """
    return _losses(grouped(tests), reasons)


def _losses(groups: Sequence[CauseGroup], reasons: Iterable[Reason]) -> Losses | None:
    groups = [group for group in groups if group.tests[0].kind != "dependency"]
    if not groups:
        return None
    lost = [one for group in groups for one in group.tests]
    return Losses(
        tests=len(lost),
        causes=tuple(group.cause for group in groups[:CAUSES_KEPT]),
        further=max(len(groups) - CAUSES_KEPT, 0),
        reasons=untold(reasons, lost),
    )


def untold(reasons: Iterable[Reason], shown: Sequence[TestResult]) -> tuple[Reason, ...]:
    """Return the reasons that say more than how many tests were lost, and which of those *shown* is the first."""
    tests = [one.id for one in shown if one.kind == "test"]
    dependencies = [_in_manifest(one) for one in shown if one.kind == "dependency"]
    dependencies += [_said(one) for one in shown if one.kind == "dependency" and _UNREAD.match(one.message)]
    return tuple(
        one
        for one in reasons
        if not (one.stage is Stage.TEST and any(test in one.message for test in tests))
        and not any(name in one.message for name in dependencies)
    )


def _in_manifest(dependency: TestResult) -> str:
    """Return what a reason says of a dependency: its name, and the manifest in which it stands or is missing."""
    where, name = where_and_name(dependency)
    return f"{name} in {where.partition('::')[0]}"


def _key(test: TestResult, place: _Place, hidden: HiddenFiles) -> tuple[str, str]:
    """Return what tests of one cause have in common."""
    if test.kind == "dependency":
        if MISNAMED.search(test.message) and place.where:
            return place.where, ""
        return "", test.message if _UNREAD.match(test.message) else _said(test)
    if place.where:
        exception = _EXCEPTION.match(service_error(test) or test.message)
        return place.where, exception[0] if exception else test.outcome
    if error := service_error(test):
        return "", _NUMBER.sub("#", error)
    exact = _said(test).removeprefix("AssertionError: ")  # pytest often leaves it out
    said = _NUMBER.sub("#", exact)
    examined = _subject(test, hidden)
    if _EXCEPTION.match(test.message) and not test.message.startswith("AssertionError"):
        return "" if is_of_interface(test.message) else examined, said
    # 404 for 200 is not 200 for 404.
    if _OF_NUMBERS.search(exact) and _CODE.search(f"{failing_line(test)[1]}\n{test.demand}"):
        return examined, f"{exact} {_ERROR_PRINTED.findall(test.demand)[-1:]}"
    differing = differing_places(test.demand)
    if not examined and differing in ("", "items", "keys"):  # nothing says that two such tests look at one thing
        return "", said
    return examined, differing or "whole"


def _subject(test: TestResult, hidden: HiddenFiles) -> str:
    """Return what the failed statement of *test* looks at: a function of the submission, a request, or names."""
    called, names = _called(test, hidden), _examined(test)
    defined = _DEFINED.search(called)
    # A function in an argument, or in an earlier statement, made what is examined, and is not it.
    if names and defined and defined["name"] not in names.split():
        return f"{called} {names}"
    return called or _exchanged(test) or names


def differing_places(demand: str) -> str:
    """Return in which parts two values differ, without the values; "" where they differ as a whole.

    The last key of a path stands for it: the same key in two documents has one cause, whatever holds it. Which
    elements of lists and lines of texts differ is due to the values of a test, and says nothing of the cause.
    """
    found = {
        (one["key"] or one["name"] or "", one["side"] or "!=") for one in _DIFFERING.finditer(compared(demand))
    }
    keys = sorted({(key, side) for key, side in found if key not in ("", ".length")})
    if {side for _, side in keys} >= {"only left", "only right"}:
        return "keys"
    return " ".join(f"{key} {side}" for key, side in keys) or ("items" if found else "")


def _called(test: TestResult, hidden: HiddenFiles) -> str:
    """Return where the submission defines what a failing statement calls; the submission's process says so."""
    found = _CALLED.match(test.calls)
    if found is None or not hidden.leave(found["file"]):
        return ""
    return test.calls.removeprefix(_WORKSPACE)


def _exchanged(test: TestResult) -> str:
    """Return the last request of a test of a service without what is its own: identifiers and queries."""
    found = _EXCHANGE.search(test.demand)
    if found is None:
        return ""
    return f"{found['method']} {re.sub(r'/[^/]*[0-9][^/]*', '/#', found['path'].partition('?')[0])}"


def _examined(test: TestResult) -> str:
    """Return the names of what a failed statement of *test* examines: what it calls, else attributes it reads.

    The outermost frame of the test's file counts, for helpers that compare are shared by all tests.
    """
    file = file_of(test)
    lines = (
        frame["code"].strip()
        for frame in _FRAME.finditer(last_of_chain(test.detail))
        if frame["code"] and (frame["native"] or frame["short"]).removeprefix(_WORKSPACE) == file
    )
    tree = _parsed(next(lines, ""))
    node = next(iter(getattr(tree, "body", ())), None)
    parts: list[ast.AST] = []
    if isinstance(node, ast.Assert):
        test_of = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        parts = [test_of.left, *test_of.comparators] if isinstance(test_of, ast.Compare) else [test_of]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        is_assertion = "assert" in ast.dump(call.func).lower()
        parts = list(call.args) if is_assertion else [call]
    elif node is not None:
        parts = [node]
    return next(filter(None, map(_names_in, parts)), "")


def _parsed(code: str) -> ast.AST | None:
    """Return the tree of a line of code, of a statement that goes on in the next line as far as it is there."""
    for end in ("", ")", "])", "))", ")))", "pass", "\n    pass"):
        try:
            return ast.parse(code.rstrip(" \\") + end)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _names_in(node: ast.AST) -> str:
    inner = [*ast.walk(node)]
    if named := _called_in(node):
        return " ".join(sorted(named))
    read = [one for one in inner if isinstance(one, ast.Attribute)]
    owners = {id(one.value) for one in read}
    return " ".join(sorted({one.attr for one in read if id(one) not in owners and one.attr not in _OF_PYTHON}))


def _called_in(node: ast.AST) -> set[str]:
    """Return the names of what an expression calls, without what the arguments of these calls call."""
    if isinstance(node, ast.Call):
        name = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
        if name and name not in _OF_PYTHON:
            return {name}
    return set().union(*map(_called_in, ast.iter_child_nodes(node)))


def _said(test: TestResult) -> str:
    """Return one line on why *test* was lost."""
    if test.kind == "dependency" and _UNREAD.match(test.message):
        return test.message.removeprefix("missing: ")
    if test.kind == "dependency":
        return f"{where_and_name(test)[0].replace('::', ', ')}: {test.message or 'missing, or one too many'}"
    if error := service_error(test):
        return f"the service: {error}; the test: {test.message}"
    if test.message:
        return test.message.replace(_WORKSPACE, "").removeprefix("org.opentest4j.")
    return "no result" if test.outcome == "missing" else test.outcome


def heading_of(test: TestResult) -> str:
    """Return why *test* was lost in a line, with values in place of those that pytest cut."""
    said = _said(test)
    if _NUMBERS.fullmatch(said) and (printed := _ERROR_PRINTED.findall(test.demand)):
        return f"{said}; {printed[-1]}"
    differing = difference_words(test.demand)
    if differing and is_shortened(said):
        return f"AssertionError: {differing}"
    if differing and said.startswith("AssertionError: ") and not _TELLS_VALUES.search(said):
        return f"{said}; {differing}"  # a test's own words
    return said


def is_shortened(said: str) -> bool:
    """Whether pytest or unittest left out parts of the values that a message tells."""
    return bool(_SHORTENED.match(said))


def difference_words(demand: str) -> str:
    """Return in one line the first parts in which two values differ, with both values; "" where none is known."""
    words: list[str] = []
    left = where = ""
    for line in compared(demand).splitlines():
        side = _SIDES.match(line)
        if side and side["side"] == "left ":
            left, where = side["value"].strip(), side["where"] or ""
        elif side and left and where == (side["where"] or ""):
            words.append(f"{where}{left} != {side['value']}")
            left = ""
        elif _DIFFERING.match(line) or line.endswith("ends in a line break"):
            words.append(line)
        if words and len("; ".join(words)) > _SAID:
            break
    return "; ".join(words)


def where_and_name(test: TestResult) -> tuple[str, str]:
    """Return the file of a test and its name there; of a dependency the manifest, and its section where known."""
    where, _, name = test.id.rpartition("::") if test.kind == "dependency" else test.id.partition("::")
    return where, name


def file_of(test: TestResult) -> str:
    """Return the file of a test, of a Java class the one that is named like it."""
    found = _JAVA_TEST.match(test.id)
    return f"{found[1].replace('.', '/')}.java" if found else test.id.partition("::")[0]


def failing_line(test: TestResult) -> tuple[str, str]:
    """Return the heading of the innermost frame in the file of *test*, and its code; "" where there is none."""
    file = file_of(test)
    found = "", ""
    for frame in _FRAME.finditer(last_of_chain(test.detail)):
        if (frame["native"] or frame["short"]).removeprefix(_WORKSPACE) == file:
            heading, *code = frame[0].strip().splitlines()
            found = heading.replace(_WORKSPACE, ""), "".join(code)
    return found


def lines_of(test: TestResult) -> list[int]:
    """Return the lines of the file of *test* in its traceback, the outermost first."""
    file = file_of(test)
    return [
        number_of(frame["native_line"] or frame["short_line"])
        for frame in _FRAME.finditer(last_of_chain(test.detail))
        if (frame["native"] or frame["short"]).removeprefix(_WORKSPACE) == file
    ]


def last_of_chain(detail: str) -> str:
    """Return the traceback of the last exception of a chain: the one that a test ended with."""
    return _EARLIER.split(detail)[-1]


def _declared(test: TestResult, dependencies: Mapping[str, TestResult]) -> _Place:
    """Return where a submission declares a dependency, or breaks its file; what is only missing has no line.

    What is missing because another one of *dependencies* stands for it is where that one is declared.
    """
    if test.message.startswith("missing") and (meant := MISNAMED.search(test.message)):
        other = dependencies.get(f"{test.id.rpartition('::')[0]}::{meant['other']}".lower())
        return _Place() if other is None else _declared(other, {})
    if unread := _UNREAD.match(test.message):
        return _Place(unread["place"])
    found = _DECLARED.match(test.detail)
    if found is None or test.message.startswith("missing") or ": not at all; " in test.detail:
        return _Place()
    return _Place(f"{found['other'] or test.id.partition('::')[0]}:{found['line']}", found["text"])


def _place(test: TestResult, hidden: HiddenFiles) -> _Place:
    """Return the innermost line of the submission in the traceback, else one in brackets in the message."""
    found = _Place()
    # The last exception of a chain is the answer; where it has no line of the submission, earlier ones led to it.
    for traceback in reversed(_EARLIER.split(test.detail)):
        for frame in _FRAME.finditer(traceback):
            file = frame["native"] or frame["short"]
            if hidden.leave(file):
                line = frame["native_line"] or frame["short_line"]
                found = _Place(f"{file.removeprefix(_WORKSPACE)}:{line}", (frame["code"] or "").strip())
        if found.where:
            return found
    named = [
        (one["file"] or one["compiled"], one["line"] or one["at"]) for one in _IN_BRACKETS.finditer(test.message)
    ]
    own = [(file.removeprefix(_WORKSPACE), line) for file, line in named if hidden.leave(file)]
    return _Place(f"{own[-1][0]}:{own[-1][1]}") if own else found
