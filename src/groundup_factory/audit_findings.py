"""What an audit says of tasks, from the verdicts of its runs and from their hidden tests. Runs nothing.

Hidden tests: reads Python by its syntax, and paths of addresses in any language. What is computed at run time is
not seen, so a finding is a reason to look and no verdict.

An audit is a folder of runs: the oracle several times, the empty submission, the suite's own worthless ones, and
others that somebody brings. What they passed, test by test, says what a score of the task is worth.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.domain.verdicts import Graded, Status
from groundup.grammars import python_tree
from groundup.suites.base import HiddenCode

_CHECKS = re.compile(
    r"assert|check|verif|expect|raises|warns|fail|should|validate|compare|ensure|equal|eq_", re.IGNORECASE
)
_PATH = re.compile(r"""["'`](/[A-Za-z][\w./{}$<>:-]*)""")
_SEGMENT = re.compile(r"[A-Za-z][\w-]*")
_WORD = re.compile(r"\w+")


class Readings(Record):
    """What was found in the hidden tests of one task."""

    tests: int = 0
    """Test functions that were read."""
    assert_nothing: tuple[str, ...] = ()
    """`file::Class::function` of those without a visible check."""
    hidden_names: tuple[str, ...] | None = ()
    """Dotted names, or paths of addresses, that tests use and the specification does not mention.

    None: there is no specification at hand.
    """


def read_hidden_tests(code: HiddenCode) -> Readings:
    """Return what the tests in *code* show."""
    trees = {path: tree for path, text in code.files.items() if (tree := _parsed(path, text)) is not None}
    nothing = [name for path, tree in trees.items() for name in _asserting_nothing(path, tree)]
    count = sum(1 for tree in trees.values() for _ in _tests(tree))
    names: tuple[str, ...] | None = None
    if code.specification is not None:
        known = set(_WORD.findall(code.specification.lower()))
        used = {name for tree in trees.values() for name in _names_used(tree, code.packages)}
        if not code.packages:
            used = {path for text in code.files.values() for path in _PATH.findall(text)}
        names = tuple(sorted(name for name in used if not _is_given(name, known)))
    return Readings(tests=count, assert_nothing=tuple(sorted(nothing)), hidden_names=names)


def _parsed(path: str, text: str) -> ast.Module | None:
    if not path.endswith(".py"):
        return None
    try:
        return python_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _tests(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, Function) and item.name.startswith("test"):
                    yield f"{node.name}::{item.name}", item


def _asserting_nothing(path: str, tree: ast.Module) -> Iterator[str]:
    checking = _checking_helpers(tree)
    for name, function in _tests(tree):
        if not _checks(function, checking):
            yield f"{path}::{name}"


def _checking_helpers(tree: ast.Module) -> set[str]:
    """Return the names of functions of the file that check something, also through each other."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    found: set[str] = set()
    while more := {one.name for one in functions if one.name not in found and _checks(one, found)}:
        found |= more
    return found


def _checks(function: Function, helpers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call):
            called = _last_name(node.func)
            if called in helpers or _CHECKS.search(called):
                return True
        if isinstance(node, ast.arg) and node.arg in helpers:  # a fixture that checks
            return True
    return False


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names_used(tree: ast.Module, packages: tuple[str, ...]) -> Iterator[str]:
    """Yield dotted names of *packages* that a file imports, or reaches as attributes of what it imported."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_own(alias.name, packages):
                    yield alias.name
                    bound[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_own(node.module or "", packages):
            for alias in node.names:
                if alias.name != "*":
                    yield f"{node.module}.{alias.name}"
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            yield f"{bound[node.value.id]}.{node.attr}"


def _is_own(module: str, packages: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _is_given(name: str, known: set[str]) -> bool:
    """Whether the last part of a dotted name, or all fixed parts of a path, are words of the specification."""
    if name.startswith("/"):
        fixed = [part for part in name.split("/") if not re.search(r"[{}$<>:]", part)]
        words = [word for part in fixed for segment in _SEGMENT.findall(part) for word in _WORD.findall(segment)]
        return all(word.lower() in known for word in words)
    last = name.rpartition(".")[2]
    return last.lower() in known or (last.startswith("__") and last.endswith("__"))


NOP, ORACLE = "nop", "oracle"
Standing = Literal["valid", "doubtful", "invalid", "not audited"]


class Floor(Record):
    """What a submission that deserves nothing got."""

    status: str
    """graded, tampered or infrastructure; "none": there is no verdict."""
    numerator: float = 0
    denominator: float = 0
    passed: tuple[str, ...] = Field(default=(), description="expected tests that passed")


class Reference(Record):
    """What the runs of the oracle did."""

    runs: int
    full: int = Field(description="runs with the full score")
    numerator: float | None = Field(default=None, description="the lowest one")
    denominator: float | None = None
    statuses: tuple[str, ...] = Field(default=(), description="of each run")
    flaky: tuple[str, ...] = Field(default=(), description="tests that did not do the same in each run")
    seconds: float | None = Field(default=None, description="of the slowest grading")


class TaskFacts(Record):
    """What is known of a task without running it."""

    task: str
    declared: dict[str, int] = Field(
        default={}, description="data version -> published count; `collected` for tasks that were never published"
    )
    readings: Readings | None = Field(default=None, description="None: there is nothing that can be read")
    answers: tuple[str, ...] = Field(default=(), description="files within reach that hold what is asked for")
    unread: tuple[str, ...] = Field(default=(), description="why a part could not be read, in sentences")


DOUBTFUL_STUB = 0.5
"""Where names without behaviour pass this share or more, the tests measure next to nothing."""
LEAST_SHARE = 0.5
"""A task whose hidden tests are fewer than this share of those that it had measures something else."""
_STUB = "stub"


class TaskAudit(Record):
    """What was found of one task."""

    task: str
    standing: Standing
    why: tuple[str, ...] = Field(default=(), description="what speaks against it, in sentences")
    oracle: Reference
    floors: dict[str, Floor] = Field(default={}, description="by submission: `nop`, `stub`, and what was brought")
    facts: TaskFacts

    @property
    def free(self) -> tuple[str, ...]:
        """Expected tests that a submission without behaviour passes."""
        return tuple(sorted({test for floor in self.floors.values() for test in floor.passed}))


class Audit(Record):
    """What was found of a suite's tasks."""

    format: Literal[1] = 1
    suite: str
    grader: str
    groundup: str
    tasks: tuple[TaskAudit, ...]


def judged(
    facts: TaskFacts,
    oracle: Sequence[Graded],
    others: Mapping[str, Graded | None],
    *,
    worthless: Iterable[str],
) -> TaskAudit:
    """Return what the attempts at one task say. *worthless* are those of *others* that may pass no test at all."""
    reference = _reference(oracle)
    floors = {name: _floor(graded) for name, graded in others.items()}
    invalid, doubts = [], []
    if reference.full < sum(status != Status.INFRASTRUCTURE for status in reference.statuses):
        shown = f"{reference.numerator:g} of {reference.denominator:g}" if reference.denominator else "no score"
        invalid.append(f"the oracle has its full score in {reference.full} of {reference.runs} runs ({shown})")
    if reference.flaky:
        doubts.append(f"{count(len(reference.flaky), 'flaky test')}: {_few(reference.flaky)}")
    for name, floor in floors.items():
        if floor.status != Status.GRADED or not floor.numerator:
            continue
        # What every importable skeleton passes is told beside each score; only too much of it is a doubt.
        if name == _STUB and floor.numerator < DOUBTFUL_STUB * floor.denominator:
            continue
        what = f"{name} scores {floor.numerator:g} of {floor.denominator:g}"
        (invalid if name in set(worthless) else doubts).append(what)
    if facts.answers:
        doubts.append(f"the answer is within reach: {_few(facts.answers)}")
    least = min(facts.declared.values(), default=0)
    if reference.denominator is not None and reference.denominator < LEAST_SHARE * least:
        doubts.append(f"{reference.denominator:g} of {least} tests are expected of a submission")
    unknown = _unknown(facts, reference, floors)
    standing: Standing = "invalid" if invalid else "not audited" if unknown else "doubtful" if doubts else "valid"
    if not _settled(reference):
        standing = "not audited"
    why = (*invalid, *unknown, *doubts)
    return TaskAudit(task=facts.task, standing=standing, why=why, oracle=reference, floors=floors, facts=facts)


def _unknown(facts: TaskFacts, reference: Reference, floors: Mapping[str, Floor]) -> list[str]:
    """Return what an audit would have to know and does not, in sentences."""
    missing = [] if reference.runs else ["there is no oracle"]
    if Status.INFRASTRUCTURE.value in reference.statuses:
        missing.append("the oracle has no verdict")
    missing += [
        f"{name} has no verdict" for name, floor in floors.items() if floor.status == Status.INFRASTRUCTURE
    ]
    if facts.readings is not None and facts.readings.hidden_names is None:
        missing.append("there is no specification to compare the tests with")
    return [*missing, *facts.unread]


def _settled(reference: Reference) -> bool:
    return bool(reference.runs) and Status.INFRASTRUCTURE.value not in reference.statuses


def _reference(attempts: Sequence[Graded]) -> Reference:
    verdicts = [one.verdict for one in attempts]
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    lowest = min(scores, key=lambda score: score.value or 0.0, default=None)
    outcomes: dict[str, set[str]] = {}
    with_tests = [one for one in attempts if one.tests]
    for one in with_tests:
        for test in one.tests:
            outcomes.setdefault(test.id, set()).add(test.outcome)
    counts = {name: sum(any(test.id == name for test in one.tests) for one in with_tests) for name in outcomes}
    return Reference(
        runs=len(verdicts),
        full=sum(1 for score in scores if score.value == 1.0),
        numerator=None if lowest is None else lowest.numerator,
        denominator=None if lowest is None else lowest.denominator,
        statuses=tuple(verdict.status.value for verdict in verdicts),
        flaky=tuple(sorted(n for n, seen in outcomes.items() if len(seen) > 1 or counts[n] < len(with_tests))),
        seconds=max((verdict.timings_s.get("all", 0.0) for verdict in verdicts), default=None),
    )


def _floor(graded: Graded | None) -> Floor:
    if graded is None:
        return Floor(status="none")
    verdict = graded.verdict
    score = verdict.score
    return Floor(
        status=verdict.status.value,
        numerator=score.numerator if score else 0,
        denominator=score.denominator if score else 0,
        passed=tuple(sorted(test.id for test in graded.tests if test.expected and test.outcome == "passed")),
    )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def page(audit: Audit) -> str:
    """Return the audit as a page for people, in Markdown."""
    others = sorted({name for task in audit.tasks for name in task.floors})
    head = [
        "task",
        "standing",
        "oracle",
        "flaky",
        *others,
        "declared",
        "assert nothing",
        "hidden names",
        "answers",
    ]
    lines = [
        f"# Audit of {audit.suite} ({audit.grader})",
        "",
        f"By groundup {audit.groundup}. *Oracle*: the lowest of its scores, and runs with the full one. *Assert",
        "nothing* and *hidden names* are read in the text of the tests: reasons to look, no verdicts.",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(_row(task, others))} |" for task in audit.tasks),
    ]
    for task in audit.tasks:
        lines += _details(task)
    return "\n".join(lines) + "\n"


def _row(task: TaskAudit, others: Sequence[str]) -> list[str]:
    oracle, readings = task.oracle, task.facts.readings
    score = "-" if oracle.denominator is None else f"{oracle.numerator:g}/{oracle.denominator:g}"
    floors = [task.floors.get(name) for name in others]
    declared = ", ".join(str(count) for count in dict.fromkeys(task.facts.declared.values())) or "-"
    return [
        task.task,
        task.standing,
        f"{score} ({oracle.full} of {oracle.runs})",
        str(len(oracle.flaky)),
        *(
            "-" if one is None else f"{one.numerator:g}" if one.status == "graded" else one.status
            for one in floors
        ),
        declared,
        "-" if readings is None else f"{len(readings.assert_nothing)} of {readings.tests}",
        "-" if readings is None or readings.hidden_names is None else str(len(readings.hidden_names)),
        str(len(task.facts.answers)),
    ]


def _details(task: TaskAudit) -> list[str]:
    readings = task.facts.readings
    parts = [
        ("", task.why),
        ("Flaky", task.oracle.flaky),
        ("Pass without the submission's behaviour", task.free),
        ("Assert nothing", readings.assert_nothing if readings else ()),
        ("Names that the specification does not mention", (readings and readings.hidden_names) or ()),
        ("Answers within reach", task.facts.answers),
    ]
    found = [(title, names) for title, names in parts if names]
    if not found:
        return []
    lines = ["", f"## {task.task}"]
    for title, names in found:
        shown = [f"`{name}`" if title else name for name in names[:_SHOWN]]
        more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
        joiner = ", " if title else "; "
        lines += ["", f"{title + ': ' if title else ''}{joiner.join([*shown, *more])}"]
    return lines


_SHOWN = 30
