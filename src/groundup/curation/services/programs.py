"""Which Python files a start command brings along, by what they import: a repository may hold several programs."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from groundup.trees.walking import read_regular


def files_of(root: Path, commands: Sequence[str]) -> frozenset[str]:
    """Return the files below *root* that the last of *commands* runs or imports; empty: that is not clear."""
    base = PurePosixPath(".")
    for command in commands[:-1]:
        if (folder := re.fullmatch(r"cd (\S+)", command.strip())) is not None:
            base /= folder[1]
    last = commands[-1] if commands else ""
    program = re.search(r"\bpython3? (?:-\w )*([\w./-]+\.py)\b", last)
    module = re.search(r"(?:^|[ =])([A-Za-z_][\w.]*):\w+", last)
    if program is not None:
        first = str(base / program[1].removeprefix("./"))
        bases: tuple[PurePosixPath, ...] = (PurePosixPath(first).parent, base)
        found = [first]
    else:
        bases = (base,)
        found = list(_files(root, bases, module[1])) if module is not None else []
    seen: set[str] = set()
    while found:
        file = found.pop()
        if file not in seen and (root / file).is_file() and not (root / file).is_symlink():
            seen.add(file)
            found += _imported(root, file, bases)
    return frozenset(seen)


def _imported(root: Path, file: str, bases: Sequence[PurePosixPath]) -> Iterator[str]:
    try:
        tree = ast.parse(read_regular(root / file))
    except (SyntaxError, ValueError, OSError):
        return
    here = PurePosixPath(file).parent
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from _files(root, bases, one.name)
        elif isinstance(node, ast.ImportFrom):
            around: Sequence[PurePosixPath] = bases
            if node.level:
                around = [here, *here.parents][node.level - 1 : node.level]
            for one in node.names:
                yield from _files(root, around, ".".join(filter(None, (node.module, one.name))))


def _files(root: Path, bases: Sequence[PurePosixPath], module: str) -> Iterator[str]:
    """Yield the files of *module* and of the packages around it; its last name may be one within a module."""
    parts = module.split(".")
    for base in bases:
        for count in range(1, len(parts) + 1):
            inner = base.joinpath(*parts[:count])
            for file in (inner / "__init__.py", inner.with_name(inner.name + ".py")):
                if (root / file).is_file():
                    yield str(file)
        if (root / base / "__init__.py").is_file() and str(base) != ".":
            yield str(base / "__init__.py")
