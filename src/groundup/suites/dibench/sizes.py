"""How large repositories are, and the data set in numbers.

Tokens are an approximation that needs no model's vocabulary: a run of letters counts one token for each eight of
them or part of it, a run of digits one for each three, every other printed character one, blanks nothing. Tests
are places where the usual frameworks of a language declare one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Score
from groundup.languages import LANGUAGES
from groundup.languages.formats import files_of
from groundup.manifests.records import Language
from groundup.sources.files import LARGEST, SUFFIXES
from groundup.suites.base import Summary
from groundup.suites.dibench.answers import answer
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.metrics import InstanceAnswer

TOKENIZER = (
    "tokenizer: groundup's estimate, no model's: a token for each 8 letters of a word, 3 digits of a number, "
    "other printed character, or part of them"
)
_PIECES = re.compile(rb"[A-Za-z\x80-\xff]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9\x80-\xff]")


class Size(Record):
    """What was counted."""

    files: int = 0
    lines: int = 0
    tokens: int = 0
    tests: int = 0


def source_size(root: Path, language: Language) -> Size:
    """Count everything in the source files of *language* below *root*."""
    files = lines = tokens = tests = 0
    declares_test = re.compile(LANGUAGES[language].test_pattern.encode(), re.MULTILINE)
    for data in _sources(root, language):
        files += 1
        lines += _line_count(data)
        tokens += sum(1 for _ in _PIECES.finditer(data))
        tests += sum(1 for _ in declares_test.finditer(data))
    return Size(files=files, lines=lines, tokens=tokens, tests=tests)


def sized(found: InstanceAnswer, problem: InstanceProblem) -> InstanceAnswer:
    """Return *found* with how much source code its repository holds."""
    size = source_size(problem.folder(), problem.instance.language)
    return found.but(lines=size.lines, tokens=size.tokens)


def _sources(root: Path, language: Language) -> Iterator[bytes]:
    for path in files_of(root):
        file = root / path
        if path.lower().endswith(SUFFIXES[language]) and file.stat().st_size <= LARGEST:
            yield file.read_bytes()


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


_COLUMNS = ("files", "lines", "tokens", "dependencies", "tests")


def set_statistics(problems: Iterable[InstanceProblem]) -> Summary:
    """Read all repositories and return the table."""
    groups: dict[str, list[tuple[Size, int]]] = {}
    left_out = []
    for problem in problems:
        instance = problem.instance
        try:
            size = source_size(problem.folder(), instance.language)
            found, _ = answer(problem, None)
        except TaskError as error:
            left_out.append(f"left out: {error}")
            continue
        measured = (size, sum(len(file.expected) for file in found.files))
        for name in (f"{problem.subset}, {instance.language}", f"{problem.subset}, all"):
            groups.setdefault(name, []).append(measured)
    scores = {name: _means(groups[name]) for name in sorted(groups)}
    sizes = {name: len(groups[name]) for name in groups}
    return Summary(
        headline="DI-Bench in numbers: means per repository",
        columns=("subset, language", "repositories", *_COLUMNS),
        rows=tuple(
            (name, str(sizes[name]), *(f"{row[column].value or 0:,.1f}" for column in _COLUMNS))
            for name, row in scores.items()
        ),
        scores={
            name: {"repositories": Score(numerator=sizes[name], denominator=1), **row}
            for name, row in scores.items()
        },
        notes=(
            "source files of the language only; dependencies are those that the masks took out; tests are counted "
            "by the usual ways to declare one",
            TOKENIZER,
            *left_out[:20],
        ),
    )


def _means(measured: Sequence[tuple[Size, int]]) -> dict[str, Score]:
    count = len(measured)
    sums = {
        "files": sum(size.files for size, _ in measured),
        "lines": sum(size.lines for size, _ in measured),
        "tokens": sum(size.tokens for size, _ in measured),
        "dependencies": sum(dependencies for _, dependencies in measured),
        "tests": sum(size.tests for size, _ in measured),
    }
    return {name: Score(numerator=total, denominator=count) for name, total in sums.items()}
