"""Counts what docs/developers/architecture.md shows: modules, lines, imports, circles, names of classes.

python -m benchmarks.structure             the figures
python -m benchmarks.structure --write     writes them into that page, as `make check` does
python -m benchmarks.structure packages    lines of each package, by kind
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "groundup"
PAGE = ROOT / "docs" / "developers" / "architecture.md"
BEGIN, END = "<!-- figures: python -m benchmarks.structure --write -->\n\n", "\n<!-- end of figures -->\n"
STALE = 0.02
"""Share by which a figure of the page may differ before the page is written anew."""
_GROWING = ("modules", "lines of source", "of these code", "words of these pages")


def modules(sources: Path) -> dict[str, Path]:
    """Return the files by dotted name; the reference services are submissions, no part of the program."""
    files = (path.relative_to(sources.parent) for path in sources.rglob("*.py"))
    ours = (path for path in files if not {"oracles", "task_data"} & set(path.parts))
    return {".".join(path.with_suffix("").parts): sources.parent / path for path in ours}


def statements(node: ast.AST, late: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield all statements below *node*, and whether they are run later than when the module is loaded, or never.

    Expressions, which are most of a tree, are left out.
    """
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, name, ()):
            yield inner, late
            defers = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            defers |= isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.dump(inner.test)
            yield from statements(inner, late or defers)


def imported(tree: ast.Module, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield the own modules that a module imports, and whether it does so when it is loaded."""
    for node, late in statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names] + [node.module, f"{node.module}.__init__"]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        yield from ((name, not late) for name in names if name in known)


def written(text: str, tree: ast.Module) -> Counter[str]:
    """Return how many lines of a module are of which kind; `code` is what is left."""
    rows = text.splitlines()
    found = Counter(
        empty=sum(not row.strip() for row in rows), comments=sum(row.lstrip().startswith("#") for row in rows)
    )
    for node, _ in statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found["imports"] += (node.end_lineno or node.lineno) - node.lineno + 1
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            inside = rows[node.lineno - 1 : node.end_lineno]
            found["docstrings"] += sum(bool(row.strip()) for row in inside)
    found["code"] = len(rows) - found.total()
    return found


def packages(sources: Path = SOURCES) -> dict[str, Counter[str]]:
    """Return the lines of each package by kind, the largest package first."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, path in modules(sources).items():
        text = path.read_text(encoding="utf-8")
        found[name.split(".")[1]] += written(text, ast.parse(text))
    return dict(sorted(found.items(), key=lambda item: -item[1].total()))


def figures(sources: Path = SOURCES) -> dict[str, str]:
    """Return the figures by name."""
    known = modules(sources)
    texts = {name: path.read_text(encoding="utf-8") for name, path in known.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    imports = {name: set(imported(tree, known)) - {(name, True), (name, False)} for name, tree in trees.items()}
    fan_out = {name: len({one for one, _ in found}) for name, found in imports.items()}
    importers = Counter(one for found in imports.values() for one in {name for name, _ in found})
    widest = max(fan_out, key=lambda name: fan_out[name])
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(name)
    lines = Counter({name: len(text.splitlines()) for name, text in texts.items()})
    kinds = sum((written(texts[name], tree) for name, tree in trees.items()), Counter[str]())
    return {
        "modules": f"{len(known):,}",
        "lines of source": f"{lines.total():,}",
        "of these code": f"{kinds['code']:,}",
        "comment lines per 100": f"{100 * kinds['comments'] / lines.total():.1f}",
        "modules under 60 lines": str(sum(count < 60 for count in lines.values())),
        "modules with one importer": str(
            sum(count == 1 and not name.endswith("__init__") for name, count in importers.items())
        ),
        "most own modules that one imports": f"{fan_out[widest]} ({widest.removeprefix('groundup.')})",
        "circles of imports": circle(
            {name: {one for one, at_load in found if at_load} for name, found in imports.items()}
        ),
        "public class names in several modules": str(sum(len(places) > 1 for places in classes.values())),
    }


def circle(imports: dict[str, set[str]]) -> str:
    """Return one circle, or that there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return " > ".join(error.args[1])
    return "none"


def of_documentation(docs: Path = PAGE.parents[1]) -> dict[str, str]:
    """Return how many pages users have, and how many words these are; developers' pages are apart."""
    pages = sorted(docs.glob("*.md"))
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    return {"pages for users": str(len(pages)), "words of these pages": f"{words:,}"}


def table(counted: dict[str, str]) -> str:
    """Return figures as the page has them."""
    return "| | |\n|---|---|\n" + "".join(f"| {name} | {figure} |\n" for name, figure in counted.items())


def shown(page: str) -> dict[str, str]:
    """Return the figures that *page* shows."""
    rows = page.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    return {row.split(" | ")[0].strip("| "): row.split(" | ")[1].strip("| ") for row in rows if " | " in row}


def stale(page: str, counted: dict[str, str]) -> list[str]:
    """Return the figures of size that *page* lacks, or has with an error of more than `STALE`."""
    known = shown(page)
    return [
        name
        for name in _GROWING
        if abs(_number(known.get(name, "0")) - _number(counted[name])) > STALE * _number(counted[name])
    ]


def _number(figure: str) -> int:
    return int(figure.replace(",", ""))


def write(page: Path = PAGE) -> None:
    """Replace the page's figures where one of them is stale."""
    text = page.read_text(encoding="utf-8")
    counted = figures() | of_documentation()
    if stale(text, counted):
        head, _, rest = text.partition(BEGIN)
        page.write_text(head + BEGIN + table(counted) + END + rest.partition(END)[2], encoding="utf-8")


def _print_packages() -> None:
    kinds = ("code", "empty", "docstrings", "imports", "comments")
    print("| package | lines |", " | ".join(kinds), "|")
    for name, counts in packages().items():
        print(f"| {name} | {counts.total():,} |", " | ".join(f"{counts[kind]:,}" for kind in kinds), "|")


if __name__ == "__main__":
    if sys.argv[1:] == ["packages"]:
        _print_packages()
    elif sys.argv[1:] == ["--write"]:
        write()
    else:
        for name, figure in (figures() | of_documentation()).items():
            print(f"| {name} | {figure} |")
