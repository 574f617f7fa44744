"""The table of all tasks for people: what each recipe expects, what its oracle got, and why counts differ."""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from groundup.domain.records import Record
from groundup.domain.verdicts import Verdict
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup.suites.nl2repobench.recipe import Recipe, Why, expected_seconds

COLUMNS = (
    "task",
    "kind",
    "original",
    "Python",
    "781a1da",
    "ae9fb81",
    "collected",
    "expected",
    "oracle",
    "stub baseline",
    "official",
    "s",
    "MB",
    "differences, reason",
)
WHOLE = 0.95
"""Share of the declared count from which on a task's expected tests are called whole."""
_COUNTED = "781a1da"


class SeenResults(Record):
    """What runs of oracles said of one task."""

    strict: str = "-"
    """Passed tests, as often as it was tried."""
    official: int | None = None
    seconds: float | None = None


def seen(verdicts: Iterable[tuple[str, Verdict]]) -> dict[str, SeenResults]:
    """Return what the oracles' *verdicts*, by task, come to."""
    found: dict[str, SeenResults] = {}
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for task, verdict in verdicts:
        groups.setdefault((task, verdict.grader.name), []).append(verdict)
    for (task, grader), several in groups.items():
        counts = [int(one.score.numerator) if one.score else 0 for one in several]
        shown = f"{counts[0]} x{len(counts)}" if len(set(counts)) == 1 else " ".join(map(str, counts))
        known = found.get(task, SeenResults())
        if grader == "official":
            # The score goes no higher than the declared count; the fact says what was counted.
            counted = [int(one.facts.get("passed") or count) for one, count in zip(several, counts, strict=True)]
            found[task] = known.but(official=max(counted))
        else:
            times = [one.timings_s["tests"] for one in several if "tests" in one.timings_s]
            seconds = statistics.median(times) if times else None
            found[task] = known.but(strict=shown, seconds=seconds)
    return found


def rows(recipes: Mapping[str, Recipe], runs: Mapping[str, SeenResults]) -> list[tuple[str, ...]]:
    return [_row(recipe, runs.get(task, SeenResults())) for task, recipe in sorted(recipes.items())]


def _row(recipe: Recipe, run: SeenResults) -> tuple[str, ...]:
    frozen = recipe.frozen
    official = run.official if run.official is not None or frozen is None else frozen.official
    seconds = run.seconds if run.seconds is not None else frozen.duration_s if frozen else None
    return (
        recipe.task,
        recipe.source.kind,
        recipe.source.label,
        recipe.environment.python,
        str(recipe.declared.get(_COUNTED, "-")),
        str(recipe.declared.get("ae9fb81", "-")),
        str(frozen.collected if frozen else "-"),
        str(len(recipe.expected)),
        run.strict if run.strict != "-" or frozen is None else f"{len(recipe.expected)} x{frozen.runs}",
        str(len(recipe.floor)),
        "-" if official is None else str(official),
        "-" if seconds is None else f"{seconds:.1f}",
        str(int(frozen.peak_memory_mb) if frozen and frozen.peak_memory_mb else "-"),
        differences(recipe),
    )


def differences(recipe: Recipe) -> str:
    """Return what accounts for each count, and which tests are left out besides."""
    accounts = [f"{one.data_version} {one.tests:+d} {one.why.value}" for one in recipe.differences]
    excluded = Counter(one.why.value for one in recipe.excluded)
    accounts += [f"left out: {number} {why}" for why, number in sorted(excluded.items())]
    return "; ".join(accounts) or "-"


def not_whole(recipes: Mapping[str, Recipe], decided: Mapping[str, TaskDecision]) -> Iterator[tuple[str, str]]:
    """Yield the tasks without a recipe, or with one that expects too few tests, and why."""
    for task, decision in sorted(decided.items()):
        recipe = recipes.get(task)
        declared = decision.declared[_COUNTED]
        if recipe is None:
            yield task, f"no recipe: {decision.blocked or 'not tried yet'}"
        elif len(recipe.expected) < declared * WHOLE:
            reasons = ", ".join(_missing(recipe))
            yield (
                task,
                f"{len(recipe.expected)} of {declared}: {decision.blocked or reasons or differences(recipe)}",
            )


_ALWAYS = frozenset({Why.SKIPPED, Why.EXPECTED_FAILURE})
_SHOWN = 90
"""Characters of a line of a log."""


def _missing(recipe: Recipe) -> Iterator[str]:
    """Yield how many tests are missing for each reason, with the line that most of them end with."""
    groups: dict[Why, Counter[str]] = {}
    for one in recipe.excluded:
        if one.why not in _ALWAYS:
            groups.setdefault(one.why, Counter())[one.note] += 1
    for why, notes in sorted(groups.items(), key=lambda group: -group[1].total()):
        line = notes.most_common(1)[0][0][:_SHOWN].translate({ord("|"): "/", ord("`"): "'"}).strip()
        yield f"{notes.total()} {why.value}" + (f" (`{line}`)" if line else "")


def standing(recipes: Mapping[str, Recipe], decided: Mapping[str, TaskDecision]) -> str:
    """Say in one sentence how many tasks are graded, and how many of them whole."""
    lacking = dict(not_whole(recipes, decided))
    whole = sum(task not in lacking for task in recipes)
    return (
        f"{len(recipes)} of {len(decided)} tasks have a recipe; {whole} of them expect at least {WHOLE:.0%} of "
        f"the declared count of {_COUNTED}."
    )


def markdown(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    every = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in every)


def shard(recipes: Mapping[str, Recipe], number: int, of: int) -> list[str]:
    """Return the tasks of part *number* (from 1) of *of* parts whose tests take about equally long."""
    parts: list[list[str]] = [[] for _ in range(of)]
    seconds = [0.0] * of
    for task in sorted(recipes, key=lambda task: (-expected_seconds(recipes[task]), task)):
        least = seconds.index(min(seconds))
        parts[least].append(task)
        seconds[least] += expected_seconds(recipes[task])
    return sorted(parts[number - 1])
