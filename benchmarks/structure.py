"""Counts what docs/architecture.md shows of the sources: modules, lines, imports, circles, names of classes.

python -m benchmarks.structure
"""

import ast
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


def figures(sources: Path = SOURCES) -> dict[str, str]:
    """Return the figures by name."""
    known = modules(sources)
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in known.items()}
    imports = {name: set(imported(tree, known)) - {(name, True), (name, False)} for name, tree in trees.items()}
    fan_out = {name: len({one for one, _ in found}) for name, found in imports.items()}
    widest = max(fan_out, key=lambda name: fan_out[name])
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(name)
    lines = Counter({name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in known.items()})
    return {
        "modules": f"{len(known):,}",
        "lines of source": f"{lines.total():,}",
        "modules under 60 lines": str(sum(count < 60 for count in lines.values())),
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


if __name__ == "__main__":
    for name, figure in figures().items():
        print(f"| {name} | {figure} |")
