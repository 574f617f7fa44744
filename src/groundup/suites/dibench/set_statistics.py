"""The data in numbers by language and subset: means of files, lines, tokens, dependencies and tests."""

from collections.abc import Iterable, Sequence

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Score
from groundup.suites.dibench.answers import answer
from groundup.suites.dibench.dataset import Problem
from groundup.suites.dibench.sizes import Size, source_size
from groundup.suites.protocol import Summary

_COLUMNS = ("files", "lines", "tokens", "dependencies", "tests")


def set_statistics(problems: Iterable[Problem]) -> Summary:
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
            "source files of the language only; tokens and tests are approximations (docs/dibench.md); "
            "dependencies are those that the masks took out",
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
