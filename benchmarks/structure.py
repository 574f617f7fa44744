"""Counts what docs/developers/architecture.md shows: modules, lines, imports, circles, names of classes.

python -m benchmarks.structure             the figures
python -m benchmarks.structure packages    lines of each package, by kind
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "groundup"


def modules(sources: Path) -> dict[str, Path]:
    """Return the files by dotted name; the reference services are submissions, no part of the program."""
    files = (path for path in sources.rglob("*.py") if not {"oracles", "task_data"} & set(path.parts))
    return {".".join(path.relative_to(sources.parent).with_suffix("").parts): path for path in files}


def imported(tree: ast.Module, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield the own modules that a module imports, and whether it does so when it is loaded."""
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names] + [node.module, f"{node.module}.__init__"]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        yield from ((name, node not in late) for name in names if name in known)


def written(path: Path) -> Counter[str]:
    """Return how many lines of a file are of which kind; `code` is what is left."""
    text = path.read_text(encoding="utf-8")
    rows = text.splitlines()
    found = Counter(
        empty=sum(not row.strip() for row in rows), comments=sum(row.lstrip().startswith("#") for row in rows)
    )
    for node in ast.walk(ast.parse(text)):
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
        found[name.split(".")[1]] += written(path)
    return dict(sorted(found.items(), key=lambda item: -item[1].total()))


def figures(sources: Path = SOURCES) -> dict[str, str]:
    """Return the figures by name."""
    known = modules(sources)
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in known.items()}
    imports = {name: set(imported(tree, known)) - {(name, True), (name, False)} for name, tree in trees.items()}
    fan_out = {name: len({one for one, _ in found}) for name, found in imports.items()}
    importers = Counter(one for found in imports.values() for one in {name for name, _ in found})
    widest = max(fan_out, key=lambda name: fan_out[name])
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(name)
    lines = Counter({name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in known.items()})
    kinds = sum((written(path) for path in known.values()), Counter[str]())
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


def _print_packages() -> None:
    kinds = ("code", "empty", "docstrings", "imports", "comments")
    print("| package | lines |", " | ".join(kinds), "|")
    for name, counts in packages().items():
        print(f"| {name} | {counts.total():,} |", " | ".join(f"{counts[kind]:,}" for kind in kinds), "|")


if __name__ == "__main__":
    if sys.argv[1:] == ["packages"]:
        _print_packages()
    else:
        for name, figure in figures().items():
            print(f"| {name} | {figure} |")
