"""What test runners say of their tests in a step's output: how many passed, and how many failed. Pure.

A job can end well and have tested nothing: `dotnet test` without an adapter, a suite whose tests are all skipped,
`pytest || true`. Each form of a summary is one row of a table.

Lines are printed by the tested code, too. A submission declares packages and changes nothing else that runs, so it
could raise a count only by a package that prints such lines, and packages are trusted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.names import number_of
from groundup.domain.records import Record


class RunnerTally(Record):
    """What one line of a runner says."""

    runner: str
    passed: int | None = None
    """None: the line tells failures only, or nobody knows."""
    failed: int = 0


class _Form(NamedTuple):
    """How a line is written. Groups: `passed`, or `total` less the others; `counts`: a list of `3 passed`."""

    runner: str
    line: re.Pattern[str]
    last: bool = False
    """The runner repeats it while it goes on: the last line counts."""


def _forms(*rows: tuple[str, str]) -> tuple[_Form, ...]:
    return tuple(_Form(runner, re.compile(line)) for runner, line in rows)


_FORMS: tuple[_Form, ...] = (
    *_forms(
        ("dotnet test", r"(?:Passed|Failed|Skipped)!\s+- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), "),
        ("dotnet test", r"Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+)"),
        ("console", r" +(?:Passed: +|succeeded: )(?P<passed>\d+)$"),  # of dotnet test, and uvu
        ("console", r" +(?:Failed: +|failed: )(?P<failed>\d+)$"),
        ("dotnet test", r"(?:No test is available in |No test matches the given testcase filter)(?P<none>)"),
        ("dotnet test", r"(?:Test run summary: )?Zero tests ran(?P<none>)"),
        ("nunit", r" *Test Count: \d+, Passed: (?P<passed>\d+), Failed: (?P<failed>\d+)"),
        ("xunit", r" *(?:\S+ +)?Total: (?P<total>\d+), Errors: (?P<errors>\d+), Failed: (?P<failed>\d+), "
                  r"Skipped: (?P<skipped>\d+)(?:, Not Run: (?P<other>\d+))?"),
        ("cargo test", r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed"),
        ("nextest", r" *Summary \[.{0,40}?\] +\d+(?:/\d+)? tests? run: (?P<counts>.*)"),
        ("nextest", r"error: no tests to run(?P<none>)"),
        ("cucumber", r"\d+ scenarios? \((?P<counts>[^)]*)\)"),
        ("jest", r"Tests: +(?P<counts>(?:\d+ \w+, )*\d+ total)"),
        ("jest", r"No tests? (?:files? )?found, exiting with code \d(?P<none>)"),  # vitest, too
        ("jest", r"No tests found related to files changed(?P<none>)"),
        ("vitest", r" +Tests +(?P<counts>\d+ [^()]*)\(\d+\)"),
        ("vitest", r" +Tests +no tests(?P<none>)"),
        ("vitest", r" +Errors +(?P<errors>\d+) errors?$"),
        ("mocha", r' *(?:(?P<passed>\d+) passing\b|"passes": (?P<reported>\d+),$)'),
        ("mocha", r' *(?:(?P<failed>\d+) failing\b|"failures": (?P<errors>\d+),$)'),
        ("ava", r" *(?P<passed>\d+) tests? passed\b"),  # lab, too
        ("ava", r" *(?P<failed>\d+) (?:(?:tests?|hooks?) failed|uncaught exception|unhandled rejection)"),
        ("ava", r" *\d+ tests? (?:skipped|todo)$(?P<none>)"),
        ("ava", r" *\d+ known failures?$(?P<none>)"),
        ("ava", r"\W{0,4}(?:Couldn.t find any files to test|Based on your configuration, \d+ test)(?P<none>)"),
        ("lab", r" *(?P<failed>\d+) of (?P<total>\d+) tests failed"),
        ("jasmine", r"(?P<total>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<other>\d+) pending specs?)?"),
        ("jasmine", r"(?:Incomplete: )?No specs found(?P<none>)"),
        ("uvu", r" +FAIL +\S(?P<one>)"),
        ("node --test", r"(?:#|\u2139) pass +(?P<passed>\d+)$"),  # whatever writes TAP, too
        ("node --test", r"(?:#|\u2139) (?:fail|cancelled) +(?P<failed>\d+)$"),
        ("tap", r"1\.\.0(?: .*)?$(?P<none>)"),
        ("tap", r"# \{ total: (?P<counted>\d+)(?:, pass: (?P<passed>\d+))?(?:, fail: (?P<failed>\d+))?"),
        ("tap", r" *Asserts: +(?P<counts>\d+ .*)"),
        ("playwright", r" {2,}(?P<passed>\d+) passed(?: \(.*\))?$"),  # pytest-sugar, too
        ("playwright", r" {2,}(?P<failed>\d+) failed$"),
        ("bun", r" (?P<passed>\d+) pass$"),
        ("bun", r" (?P<failed>\d+) fail$"),
        ("deno", r"(?:ok|FAILED) \| (?P<passed>\d+) passed\b.*\| (?P<failed>\d+) failed"),
        ("web-test-runner", r".{0,200}test files? \| (?P<passed>\d+) passed, (?P<failed>\d+) failed"),
        ("bats", r"(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<other>\d+) skipped)?"),
        ("ctest", r"\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
        ("ctest", r"No tests were found!!!(?P<none>)"),
        ("pytest", r"(?:=+ )?(?P<counts>\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?"
                   r"|rerun)\b.*?) in \d[\d.]*(?:s\b| seconds)"),
        ("pytest", r"(?:=+ )?no tests ran in \d(?P<none>)"),
        ("stestr", r" - Passed: (?P<passed>\d+)$"),
        ("stestr", r" - Failed: (?P<failed>\d+)$"),
        ("zope-testrunner", r" *Ran (?P<total>\d+) tests with (?P<failed>\d+) failures, (?P<errors>\d+) errors"
                            r"(?: and|,) (?P<skipped>\d+) skipped"),
        ("ward", r"\w+ in \d[\d.]* seconds \[ (?P<counts>.*)\]"),
        ("behave", r"(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed"),
        ("robot", r"\d+ tests?, (?P<passed>\d+) passed, (?P<failed>\d+) failed"),
        ("doctest", r"(?P<passed>\d+) passed(?: and (?P<failed>\d+) failed)?\.$"),
        ("doctest", r"\*\*\*Test Failed\*\*\* (?P<failed>\d+) failure"),
    ),
    _Form(
        "karma",
        re.compile(
            r".{0,200}?\bExecuted (?P<total>\d+) of \d+ ?(?:.{0,10}\((?P<failed>\d+) FAILED\))?(?P<none>)"
        ),
        last=True,
    ),
)  # fmt: skip
"""The first that fits a line is taken."""
_MAYBE = re.compile(
    r"pass|fail|test|spec|scenario|succeeded|error|cancelled|rejection|exception|Passed|Failed|Total|Test|1\.\.0|FAIL|Asserts"
    r"|Executed|skipped|deselected|xfailed|warning|Ran |Summary"
)
"""What each of these lines has."""
_PASSED = frozenset({"passed", "pass", "passing", "succeeded", "xpassed"})
_FAILED = frozenset({"failed", "fail", "failing", "error", "errors", "timed"})
_PAIR = re.compile(r"(\d+) ([a-z]+)")
_LINE = 500
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIX = re.compile(
    r"(?:\[[^\]\s]{1,80}\]:? ?"
    r"|[@\w.][@\w./-]{0,80}(?<!Error)(?<!Exception)(?<!arning)(?: [\w:.-]{1,40}|:[\w:.-]{1,40})?(?:[$:]) "
    r"|\S{1,3} YN0000: (?:\S )?\[.{1,80}?\]: "
    r"|[@\w./-]{1,80} +\| )"
)
"""What `pnpm -r`, turbo, lerna, Yarn, concurrently and containers write before each line of a program."""


def tallies_of(output: str) -> tuple[RunnerTally, ...]:
    """Return what runners say in a step's output, line by line."""
    lines = [line[:_LINE] for line in _COLOURS.sub("", output).splitlines()]
    found = [*_by_forms(lines), *_of_unittest(lines)]
    runners = {one.runner for one in found}
    if "pytest" not in runners:
        found += _of_dots(lines)
    if not runners:
        found += _of_plain_tap(lines)
    return tuple(one.but(passed=0) if one.passed and _only_directives(one, lines) else one for one in found)


def _by_forms(lines: Sequence[str]) -> Iterator[RunnerTally]:
    kept: dict[str, RunnerTally] = {}
    for line in lines:
        if not _MAYBE.search(line):
            continue
        form, tally = _of_line(line)
        if tally is None:
            continue
        if form is not None and form.last:
            kept[form.runner] = tally
        else:
            yield tally
    yield from kept.values()


def _of_line(line: str) -> tuple[_Form | None, RunnerTally | None]:
    prefix = _PREFIX.match(line)
    for text in (line, line[prefix.end() :] if prefix else ""):
        for form in _FORMS if text else ():
            if match := form.line.match(text):
                return form, _tally(form.runner, match.groupdict())
    return None, None


def _tally(runner: str, found: Mapping[str, str | None]) -> RunnerTally | None:
    """Return what the groups of a form say; None where a line says nothing, such as that 0 failed."""
    known = {name: number_of(text) for name, text in found.items() if text and text.isdigit()}
    if (counts := found.get("counts")) is not None:
        pairs = [(number_of(number), word) for number, word in _PAIR.findall(counts)]
        passed: int | None = sum(number for number, word in pairs if word in _PASSED)
        return RunnerTally(runner=runner, passed=passed, failed=sum(n for n, word in pairs if word in _FAILED))
    failed = known.get("failed", 0) + known.get("errors", 0) + ("one" in found)
    passed = next((known[name] for name in ("passed", "reported") if name in known), None)
    if "total" in known:
        passed = max(known["total"] - failed - known.get("skipped", 0) - known.get("other", 0), 0)
    elif passed is None and ("none" in found or "counted" in known):
        passed = 0
    return None if passed is None and not failed else RunnerTally(runner=runner, passed=passed, failed=failed)


_RAN = re.compile(r"Ran (\d+) tests? in \d")
_RESULT = re.compile(r"(?:OK|FAILED|PASSED|NO TESTS RAN)(?: \((.*)\))?$")
_NAMED = re.compile(r"([a-z ]+)=(\d+)")
_MARKS = re.compile(r"[.sxuFE]+$")
_VERBOSE = re.compile(r".* \.\.\. (ok|skipped|FAIL|ERROR|expected failure|unexpected success)\b")
_DOT = re.compile(r"[sxuFE]*\.(?!\w*/)")


def _of_unittest(lines: Sequence[str]) -> Iterator[RunnerTally]:
    """Yield what unittest, and what prints as it does, says: a line of how many ran, one of how that ended."""
    begin = 0
    for position, line in enumerate(lines):
        text = line if _RAN.match(line) else _PREFIX.sub("", line, count=1)
        ran = _RAN.match(text)
        if ran is None:
            continue
        ends = (_RESULT.match(_PREFIX.sub("", one, count=1)) for one in lines[position + 1 : position + 6])
        end = next((match for match in ends if match), None)
        counts = {name.strip(): number_of(number) for name, number in _NAMED.findall((end and end[1]) or "")}
        yield from _ended(number_of(ran[1]), counts, lines[begin:position])
        begin = position + 1


def _ended(ran: int, counts: Mapping[str, int], before: Sequence[str]) -> Iterator[RunnerTally]:
    """Yield one run's tally. Python 3.12.1 leaves skipped tests out of those that ran; the marks decide."""
    failed = sum(counts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    skipped = sum(counts.get(name, 0) for name in ("skipped", "skips"))
    decided = max(ran - failed - counts.get("expected failures", 0), 0)
    passed: int | None = counts.get("successes", counts.get("passes"))
    if passed is None and skipped:
        marks = "".join(line for line in before if _MARKS.match(line))
        words = [match[1] for line in before if (match := _VERBOSE.match(line))]
        if max(len(marks), len(words)) >= ran:
            passed = min(marks.count(".") + words.count("ok"), decided)
        elif decided > skipped or not any(map(_DOT.match, before)):
            passed = max(decided - skipped, 0)
    elif passed is None:
        passed = decided
    yield RunnerTally(runner="unittest", passed=passed, failed=failed)


_PROGRESS = re.compile(r"([.sxXFE]+) +\[ *\d+%\]$")


def _of_dots(lines: Sequence[str]) -> list[RunnerTally]:
    """Return what `pytest -qq` says: marks, and no closing line."""
    marks = "".join(match[1] for line in lines if (match := _PROGRESS.match(line)))
    if not marks:
        return []
    return [
        RunnerTally(
            runner="pytest", passed=marks.count(".") + marks.count("X"), failed=len(re.findall("[FE]", marks))
        )
    ]


_POINT = re.compile(r"(not )?ok\b(?: \d+\b)?(.*)")
_PLAN = re.compile(r"1\.\.\d+$")
_DIRECTIVE = re.compile(r"#\s*(?:skip|todo)", re.IGNORECASE)


def _only_directives(tally: RunnerTally, lines: Sequence[str]) -> bool:
    """Whether all points of TAP that *tally* sums up are skipped or to be done, which some count as passed."""
    if tally.runner != "node --test":
        return False
    points = [match[2] for line in lines if (match := _POINT.match(line))]
    return bool(points) and all(map(_DIRECTIVE.search, points))


def _of_plain_tap(lines: Sequence[str]) -> list[RunnerTally]:
    """Return what points of TAP say that no runner sums up."""
    if not any(map(_PLAN.match, lines)):
        return []
    points = [match for line in lines if (match := _POINT.match(line)) and not _DIRECTIVE.search(match[2])]
    failed = sum(1 for match in points if match[1])
    return [RunnerTally(runner="tap", passed=len(points) - failed, failed=failed)]
