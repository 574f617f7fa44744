"""Why tests and attempts were lost, as one of a few kinds, by rules from what tests and graders say. Pure.

A kind is what a message claims, which can come out of the submission's process: it is for people alone.
"""

import re
from collections import Counter
from collections.abc import Iterable

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.verdicts import UNPASSABLE, Reason, Score, Stage, Status, TestResult, Verdict, counted

NOT_RUN = "not run"
"""Of a test without a word, which has the kind of its attempt."""
NOBODY_PASSES = "unpassable"
"""Of a test that no submission passes, so that mending it is no choice."""
PRINTED = "printed "
"""Begins a line of a demand that tells what a test printed."""
_BY_MESSAGE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("wrong place", r"lies at .* in the submission; the tests expect it at|the submission has it at"),
        (
            "syntax",
            r"\b(?:Syntax|Indentation|Tab)Error\b"
            r"|\bis not valid (?:TOML|JSON|XML|YAML)\b"
            r"|it does not compile: .*(?:' expected|illegal start of|unclosed |reached end of file)",
        ),
        (
            "not implemented",
            r"\bNotImplementedError\b|^(?:AssertionError: )?not implemented\b"
            r"|Exception(?:: |\(\W)[Nn]ot (?:yet )?implemented|\b(?:todo|unimplemented)!\(",
        ),
        ("did not install", r"^(?:it does not compile: |fetching what the project's )"),
        ("missing module", r"do not compile with the submission: .*package \S+ does not exist"),
        (
            "wrong signature",
            r"do not compile with the submission: .*(?:cannot be applied to|no suitable |incompatible types)",
        ),
        (
            "missing name",
            r"\bImportError: cannot import name\b"
            r"|^(\w+) cannot be imported: AttributeError: (?:partially \w+ )?module '\1\b.* has no attribute"
            r"|do not compile with the submission: .*cannot find symbol",
        ),
        ("not handed in", r"the submission has no file|nothing was handed in|the tests expect it at"),
        ("missing module", r"\b(?:ModuleNotFoundError|No module named)\b"),
        (
            "hung",
            r"hung for|it took longer than|\b(?:Read|Http|Socket)Timeout(?:Exception|Error)?: "
            r"|ran when the .* of all tests were over|were stopped after .* s\b",
        ),
        ("crashed", r"ended the (?:test )?process|the test process (?:was ended|left)|was broken off by"),
        ("limit", r"\bused too (?:much|many)\b|using too (?:much|many)"),
        ("gave up", r"\bgave up with exit code\b"),
        (
            "wrong port",
            r"another port|wrong port|listens? (?:on|at) port"
            r"|port (\d+) did not .*: it listens on (?!\S+:\1\b)\S+:\d",
        ),
        (
            "refused",
            r"Skipped: .*(?:server|service).* (?:not |un)available"
            r"|[Cc]onnection refused|Connection(?:Refused|Reset)?Error|ConnectError|Connection reset",
        ),
    )
)
_SIGNATURE = re.compile(
    r"TypeError: .*(?:unexpected keyword argument|positional argument|required (?:keyword-only )?argument"
    r"|multiple values for argument|takes no arguments|takes exactly|takes no keyword)"
)
_NAME = re.compile(r"AttributeError: .*has no attribute|AttributeError: \S+$")
_ANSWER_500 = re.compile(r"\b500\b|Internal Server Error")
_LACKING = re.compile(r"AttributeError: .*has no attribute '(\w+)'")
_TEXTS = re.compile(
    r"^(?:.*: )?(?:left  b?['\"]|line \d+: |differ from character|b?['\"].* != b?['\"])|ends in a line break",
    re.MULTILINE,
)
_SAID_TEXTS = re.compile(
    r"(?:assert |AssertionError: )(?:[A-Z]\w*\()?b?['\"].* (?:==|!=|in|not in) (?:[A-Z]\w*\()?b?['\"]"
    r"|[Rr]egex|does not match"
)
_ASSERTION = re.compile(r"^(?:(?:[\w.]+\.)?Assertion(?:Failed)?Error\b|assert\b|Failed: |Expected )|.* != .*")
_IN_JAVA = re.compile(r"expected: <(.*)> but was: <(.*)>", re.DOTALL)
_STATUS = re.compile(r"expected: <?[1-5]\d\d>?(?:\s|\\n)+but was: <?[1-5]\d\d>?(?!\d)")
"""How Java's tests of services tell another status than the one that they want."""
_NO_TEXT = re.compile(r"-?[\d.]+(?:E-?\d+)?|true|false|null|[\[{].*[\]}]|[\w.$]+@[0-9a-f]+", re.DOTALL)
"""How Java shows what is no text; it shows texts without quotes."""
_RAISES = re.compile(
    r"to be thrown, but nothing was|Unexpected exception type|DID NOT (?:RAISE|WARN)"
    r"|\bnot raised\b|\bnot triggered\b|no logs of level"
)
_ANSWERED = re.compile(r"^last exchange: .* -> (?:[1-4]\d\d|not known)(?!\S)", re.MULTILINE)
"""Of a test whose last request a service answered, as far as is known without failing."""
_LACKS_FIELD = re.compile(
    r"^(?:[\w.]+\.)?(?:KeyError|IndexError|JSONDecodeError|JSONException|PathNotFoundException)\b"
    r"|TypeError: .*(?:not subscriptable|indices must be)"
    r"|['\"]\w+['\"] (?:in|not found in) [{\[]|\bNo value (?:for|at JSON path)\b"
)
"""How tests say that an answer has not what they read of it; others give up, and are skipped."""
_ANSWER = re.compile(r"status_?code|statusCode|\.status\b|\.json\(\)|<Response")
_BY_DECLARATION = {
    "missing": "not declared",
    "one too many": "one too many",
    "declared elsewhere": "wrong place",
    "declared otherwise": "declared otherwise",
}
MISNAMED = re.compile(r": (?:(?P<other>\S+) probably stands in its place|probably in the place of \S+)$")
"""Of a missing name and of the one that stands for it, which mending replaces."""
BY_NAMES = {"precision", "recall"}
"""Further scores of what is scored by names, whose main score is F1."""
_OF_SERVICE = re.compile(r"^the service: (.+)\Z", re.MULTILINE)
_BY_STAGE: dict[Stage, str] = {
    Stage.INTAKE: "not handed in",
    Stage.INSTALL: "did not install",
    Stage.START: "did not start",
    Stage.CRASH: "crashed",
    Stage.TIMEOUT: "hung",
    Stage.LIMIT: "limit",
    Stage.IMPORT: "exception",
    Stage.COLLECTION: "exception",
}


def kind_of_test(test: TestResult, *, in_submission: bool) -> str:
    """Return the kind of a lost test; *in_submission*: whether its exception came out of the submission's code."""
    said = test.message.removeprefix("not collected: ")
    if test.kind == "dependency":
        return _of_dependency(said)
    if not said or said.startswith(UNPASSABLE):
        return NOBODY_PASSES if said else NOT_RUN
    error = service_error(test)
    guess = test.probably.partition("\n")[0] if _ANSWER_500.search(said) else ""
    if found := _by_message(error or said) or ("exception" if error else "") or _by_guess(guess):
        return found
    if in_submission and _is_asked_for(test, said):
        return "missing name"
    if not in_submission and (_SIGNATURE.search(said) or _NAME.search(said)):
        return "wrong signature" if _SIGNATURE.search(said) else "missing name"
    answered = not in_submission and _ANSWERED.search(test.demand)
    lacks_field = answered and (_LACKS_FIELD.search(said) or said.startswith("Skipped: "))
    if not lacks_field and (_RAISES.search(said) or not (_ASSERTION.match(said) or _ANSWER.search(test.detail))):
        return "exception"
    if answered or _ANSWER.search(test.detail) or _STATUS.search(said):
        return "contract"
    both = _IN_JAVA.search(said)
    is_text = (
        (both and not any(map(_NO_TEXT.fullmatch, both.groups())))
        or _TEXTS.search(compared(test.demand))
        or _SAID_TEXTS.search(f"{said}\n{compared(test.demand)}")
    )
    return "wrong text" if is_text else "wrong value"


def _by_guess(place: str) -> str:
    """Return the kind of an answer 500 whose service logs nothing, by the line that probably gave it."""
    return kind if (kind := _by_message(place)) == "not implemented" else ""


def _is_asked_for(test: TestResult, said: str) -> bool:
    """Whether the attribute that is missing is one of which the test's own statement speaks."""
    found = _LACKING.search(said)
    if found is None:
        return False
    file = re.escape(test.id.partition("::")[0])
    said = rf"^(?:/workspace/)?{file}:\d+: in .*\n    .*\.{found[1]}\b"
    return re.search(said, test.detail, re.MULTILINE) is not None


def compared(demand: str) -> str:
    """Return *demand* without what was printed, which can look like anything."""
    return "\n".join(line for line in demand.splitlines() if not line.startswith(PRINTED))


def is_of_interface(said: str) -> bool:
    """Whether a message names what a submission lacks, which is one cause whoever asks for it."""
    return _by_message(said) in ("missing name", "missing module", "syntax") or bool(_NAME.search(said))


def service_error(test: TestResult) -> str:
    """Return what a service logged at the last request of a lost test; "" where nothing is known."""
    found = _OF_SERVICE.search(test.demand)
    return found[1] if found else ""


def _of_dependency(said: str) -> str:
    """Return what is wrong with a declaration: misnamed, made up where no registry has it, else as it begins."""
    if MISNAMED.search(said):
        return "misnamed"
    if "no registry has it" in said or "the repository does not have it" in said:
        return "made up"
    wrong, _, why = said.partition(": ")
    return _by_message(why) or _BY_DECLARATION.get(wrong, "dependency")


def kind_of_reason(reason: Reason) -> str:
    """Return the kind of what a grader says of an attempt."""
    return _by_message(reason.message) or _BY_STAGE.get(reason.stage, NOT_RUN)


def _by_message(said: str) -> str:
    return next((kind for kind, pattern in _BY_MESSAGE if pattern.search(said)), "")


class KindLoss(Record):
    """What was lost by causes of one kind."""

    kind: str
    tests: int = Field(description="lost by it, or names of dependencies; 0 where no test is known")
    points: float = Field(description="of 100, which mending it alone would bring back")


def kinds_lost(causes: Iterable[tuple[str, int]], verdict: Verdict | None) -> tuple[KindLoss, ...]:
    """Return what each kind of cause cost an attempt, the largest first; nothing where all points are there.

    *causes*: the kind of each with its tests; those without a word have the kind of the verdict's first reason.
    """
    reward = counted(verdict)
    if verdict is None or reward is None or reward >= 1:
        return ()
    of_attempt = [kind_of_reason(one) for one in verdict.reasons]
    if reward == 0 and {Stage.INSTALL, Stage.START} <= {one.stage for one in verdict.reasons}:
        causes = [(_why_no_service(verdict.reasons), tests) for _, tests in causes]  # all tests miss the service
    silent = "tampered" if verdict.status is Status.TAMPERED else of_attempt[0] if of_attempt else NOT_RUN
    # Where the whole package is elsewhere or nowhere, each test misses a module.
    whole = next((kind for kind in of_attempt if kind in ("not handed in", "wrong place")), "missing module")
    counts: Counter[str] = Counter()
    for kind, tests in causes:
        counts[silent if kind == NOT_RUN else whole if kind == "missing module" else kind] += tests
    by_names = verdict.scores.keys() >= BY_NAMES
    if by_names and "F1" in verdict.scores:  # names stand beside a job, which decides
        by_names, counts = False, Counter()
    if by_names and verdict.score is not None:
        brought = [(kind, names, _of_names(kind, names, verdict.score) - reward) for kind, names in counts.items()]
    else:
        total = sum(counts.values())
        counts = counts or Counter({silent: 0})
        brought = [(kind, tests, (1 - reward) * (tests / total if total else 1)) for kind, tests in counts.items()]
    found = [KindLoss(kind=kind, tests=tests, points=round(100 * share, 4)) for kind, tests, share in brought]
    found = [one for one in found if one.kind != NOBODY_PASSES]
    return tuple(sorted(found, key=lambda one: (-one.points, -one.tests, one.kind)))


def _why_no_service(reasons: Iterable[Reason]) -> str:
    """Return why a service could not be installed, and so did not start."""
    return next(kind_of_reason(one) for one in reasons if one.stage is Stage.INSTALL)


def _of_names(kind: str, names: int, score: Score) -> float:
    """Return the F1 of dependencies once *names* of a kind are mended: the right ones twice, of both lists."""
    right, of = score.numerator, score.denominator
    if kind in ("one too many", "made up"):
        of -= names
    elif kind == "wrong place":
        right += 2 * names
    elif kind == "misnamed":  # two names of each pair
        right += names
    elif kind != "declared otherwise":
        right, of = right + 2 * names, of + names
    return min(right / of, 1.0) if of > 0 else 1.0
