"""Writes the tables of the documentation as files that programs and spreadsheets read, into docs/data.

python -m benchmarks.tables                     what the recipes say: recipes.tsv, recipes-not-whole.tsv
python -m benchmarks.tables PAGE.md FILE.tsv    the first table of a page, such as `audit.md` of `groundup audit`
                                                or what `python -m tests.cheats.matrix --table` printed
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from groundup.suites.nl2repobench.decisions import decisions
from groundup.suites.nl2repobench.recipe import shipped_recipes

DATA = Path(__file__).parents[1] / "docs" / "data"


def of_recipes() -> dict[str, str]:
    """Return the files that follow from the recipes, by name; groundup_factory makes them."""
    from groundup_factory.recipes.table import COLUMNS, not_whole, rows

    recipes = shipped_recipes()
    lacking = [("task", "why it is not whole"), *not_whole(recipes, decisions())]
    return {
        "recipes.tsv": tabbed([COLUMNS, *rows(recipes, {})]),
        "recipes-not-whole.tsv": tabbed(lacking),
    }


def of_page(text: str) -> str:
    """Return the first table of a page in Markdown."""
    found = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    if found is None:
        raise SystemExit("the page has no table")
    lines = found[0].splitlines()
    return tabbed(
        [cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in [lines[0], *lines[2:]]
    )


def tabbed(lines: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as lines with tabs."""
    return "".join("\t".join(" ".join(cell.split()) for cell in cells) + "\n" for cells in lines)


if __name__ == "__main__":
    if sys.argv[1:]:
        page, file = map(Path, sys.argv[1:])
        file.write_text(of_page(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for name, text in of_recipes().items():
            (DATA / name).write_text(text, encoding="utf-8")
