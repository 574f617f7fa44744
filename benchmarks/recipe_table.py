"""Print the table of shipped recipes in Markdown; with a run of their oracles, how long their tests took there.

python benchmarks/recipe_table.py [RUN_FOLDER]
"""

import json
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes

COLUMNS = (
    "task",
    "kind",
    "original",
    "Python",
    "expected",
    "781a1da",
    "ae9fb81",
    "differences, reason",
    "stub",
    "s",
)


def main() -> None:
    """Print the table."""
    seconds = durations(Path(sys.argv[1])) if len(sys.argv) > 1 else {}
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [row(recipe, seconds.get(recipe.task)) for recipe in shipped_recipes().values()]
    sys.stdout.write("".join(f"| {' | '.join(cells)} |\n" for cells in rows))


def row(recipe: Recipe, seconds: float | None) -> tuple[str, ...]:
    """Return the cells of one recipe."""
    assert recipe.frozen is not None
    return (
        recipe.task,
        recipe.source.kind,
        recipe.source.label,
        recipe.environment.python,
        str(len(recipe.expected)),
        str(recipe.declared.get("781a1da", "-")),
        str(recipe.declared.get("ae9fb81", "-")),
        differences(recipe),
        str(recipe.frozen.controls.get("stub", "-")),
        f"{recipe.frozen.duration_s if seconds is None else seconds:.1f}",
    )


def differences(recipe: Recipe) -> str:
    """Return what accounts for each count, and which tests are left out besides."""
    told = [f"{one.data_version} {one.tests:+d} {one.why.value}" for one in recipe.differences]
    excluded = Counter(one.why.value for one in recipe.excluded)
    told += [f"left out: {number} {why}" for why, number in sorted(excluded.items())]
    return "; ".join(told) or "-"


def durations(run: Path) -> dict[str, float]:
    """Return the median seconds of each task's tests in a run."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in (run / "verdicts.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        found[told["attempt"]["task"]].append(told["verdict"]["timings_s"]["tests"])
    return {task: statistics.median(values) for task, values in found.items()}


if __name__ == "__main__":
    main()
