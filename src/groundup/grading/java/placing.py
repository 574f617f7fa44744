"""Stacks and compilers' complaints of Java in the form that reports read: file, line, text. Decides nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from groundup.domain.names import number_of, printable
from groundup.grading.java.requests import BrokenOff, JavaTests
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import CHAINED, called_in_java, followed
from groundup.grading.submitted_sources import Sources

_ABOVE = 30
"""Lines before a failing one in which its variables may get their values."""
_MISSED = re.compile(
    r"^tests/\S+\.java:\d+: error: (?P<said>.+)\n(?P<more>(?:(?!\S+\.java:\d+: error: ).*\n?)*)", re.MULTILINE
)
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)")
_SYMBOL = re.compile(r"^\s+symbol:\s+(.+)$", re.MULTILINE)
_LOCATION = re.compile(r"^\s+location:\s+(?:variable \w+ of type |class |interface )?(\S+)", re.MULTILINE)
_REQUIRED = re.compile(r"^\s+required:\s+(.+)$\s+found:\s+(.+)$", re.MULTILINE)
_MOST = 12
_REFUSED = re.compile(r"but was:? ?<?[45]\d\d\b")


def led_back(
    results: Mapping[NumberedTest, Result],
    frames: Mapping[str, str],
    texts: Mapping[str, bytes],
    tree: Path,
    log: bytes,
) -> Mapping[NumberedTest, Result]:
    """Return *results*, the lost ones with where in *tree* they lead; *log*: what tests printed."""
    if all(result.outcome == "passed" for result in results.values()):
        return results
    sources, tests = Sources.of(tree), java_tests(texts)
    failed = {
        test.id: BrokenOff(*place, is_refused=bool(_REFUSED.search(result.message)))
        for test, result in results.items()
        if (place := _failed_at(_said_of(test, frames), tests))
    }
    asked = tests.asked_by([test.id for test in results], failed)
    return followed(placed(results, frames, tests, sources), log, sources, asked)


def java_tests(texts: Mapping[str, bytes]) -> JavaTests:
    """Return the sources of hidden tests by the paths that stacks call them."""
    tests = {}
    for path, text in texts.items():
        lines = text.decode("utf-8", "replace").splitlines()
        tests[_path_of_frames(path, lines)] = lines
    return JavaTests(tests)


def _said_of(test: NumberedTest, frames: Mapping[str, str]) -> str:
    """Return the stacks of a test, else those of its class."""
    numbered = test.id if test.id.endswith("]") else f"{test.id}[1]"
    return frames[numbered] if numbered in frames else frames.get(test.id.partition("#")[0], "")


def _failed_at(said: str, tests: JavaTests) -> tuple[str, int] | None:
    """Return file and line where a test broke off."""
    last = said.rsplit("\n\n", maxsplit=1)[-1]
    return next(((path, number) for path, number, _ in _frames(last) if tests.lines(path)), None)


def placed(
    results: Mapping[NumberedTest, Result], frames: Mapping[str, str], tests: JavaTests, sources: Sources
) -> dict[NumberedTest, Result]:
    """Return *results*, the lost ones with their stacks and what their failing statement calls.

    *frames*: what the runner said, by numbered test or class.
    """
    found = dict(results)
    for test, result in results.items():
        said = _said_of(test, frames)
        if result.outcome not in ("failed", "error") or not said:
            continue
        parts = [[*_stack(part, tests, sources)] for part in said.split("\n\n")]
        words = [f"E   {line}" for line in result.message.splitlines() if line.strip()]
        detail = f"\n\n{CHAINED}\n\n".join("\n".join([*frames, *words]) for frames in parts if frames)
        last = said.split("\n\n")[-1]
        asked = _asked(last, tests, result.message)
        demand = "\n".join(filter(None, (asked, result.demand)))
        found[test] = result.but(detail=detail, demand=demand, calls="" if asked else _calls(last, tests, sources))
    return found


def _path_of_frames(path: str, lines: list[str]) -> str:
    """Return what frames call a file: by its package, for it may lie in another folder."""
    package = next((found[1] for line in lines if (found := _PACKAGE.match(line))), "")
    return "/".join(filter(None, (package.replace(".", "/"), path.rpartition("/")[2])))


def _asked(stack: str, tests: JavaTests, message: str) -> str:
    """Return the last request of a test; "" where it sends none."""
    place = _failed_at(stack, tests)
    return tests.last_exchange(*place, message) if place else ""


def _frames(stack: str) -> Iterator[tuple[str, int, str]]:
    """Yield path, line and method of each frame, the innermost first."""
    for line in stack.splitlines():
        parts = line.split(" ")
        if len(parts) == 4 and parts[2].isascii() and parts[2].isdecimal():
            folder = parts[0].rpartition(".")[0].replace(".", "/")
            yield f"{folder}/{parts[1]}" if folder else parts[1], number_of(parts[2]), printable(parts[3])


def _stack(stack: str, tests: JavaTests, sources: Sources) -> Iterator[str]:
    """Yield the frames of tests and of the submission as pytest shows them, the innermost last."""
    for path, number, method in reversed([*_frames(stack)]):
        if lines := tests.lines(path):
            yield f"{path}:{number}: in {method}\n    {_text(lines, number)}"
        elif own := sources.named(path):
            yield f"{own}:{number}: in {method}\n    {sources.line(own, number)}"


def _text(lines: Sequence[str], number: int) -> str:
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _calls(stack: str, tests: JavaTests, sources: Sources) -> str:
    place = _failed_at(stack, tests)
    if place is None:
        return ""
    lines, number = tests.lines(place[0]), place[1]
    above = lines[max(number - 1 - _ABOVE, 0) : max(number - 1, 0)]
    return called_in_java(_text(lines, number), reversed(above), sources)


def missed(output: str) -> str:
    """Return all that hidden tests use and the compiler did not find, and calls that do not fit; "" for none."""
    found: dict[str, None] = {}
    for one in _MISSED.finditer(output):
        symbol, where, call = (
            _SYMBOL.search(one["more"]),
            _LOCATION.search(one["more"]),
            _REQUIRED.search(one["more"]),
        )
        if symbol:
            found[f"{symbol[1]}{f' of {where[1]}' if where else ''}"] = None
        elif call:
            said = f"{one['said']}: required {call[1].strip()}, found {call[2].strip()}"
            found[said] = None
    named = [printable(one) for one in found]
    more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
    return "; ".join(named[:_MOST]) + more
