"""What building the original writes into its packages, given to submissions that lack it: grading runs no build.

A recipe has the text of whole files; data and assignments that a build adds are taken from the original, where a
build has run. What a submission has of its own stays.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path, PurePosixPath

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import HiddenTests
from groundup.grammars import python_tree
from groundup.trees.walking import read_regular

_LARGEST = 1024 * 1024


def generated_files(
    submission: Path, original: Path, hidden: HiddenTests, kept: Set[str]
) -> dict[str, bytes | None]:
    """Return what *submission*, of which the paths *kept* stay, is given: path -> bytes, None for a folder.

    It takes the place of what *submission* has there. Raises `TaskError` when the original lacks what is named.
    """
    given: dict[str, bytes | None] = {}
    for name, content in hidden.generated.items():
        path = PurePosixPath(name)
        has_folder = str(path.parent) in {*kept, *given, "."}
        if not has_folder or any((submission / above).is_symlink() for above in path.parents):
            continue
        present = str(path) in kept and not _leads_nowhere(submission / path)
        if isinstance(content, str):
            if not present:
                given[str(path)] = None if name.endswith("/") else content.encode()
        elif name.endswith("/"):
            if not present and str(path.parent) in kept:
                given[str(path)] = None
                given |= _copied(path, _of_original(original, path, hidden.import_roots), content)
        elif present and not (submission / path).is_symlink():
            given |= _appended(path, submission, _of_original(original, path, hidden.import_roots), content)
    return given


def _copied(path: PurePosixPath, source: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    found = {file for pattern in patterns for file in source.rglob(pattern) if file.is_file()}
    return {str(path / file.relative_to(source)): read_regular(file, _LARGEST) for file in found}


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _of_original(original: Path, path: PurePosixPath, roots: Iterable[str]) -> Path:
    """Return where the original has *path*, which may lie below another import root there."""
    inside = [path.relative_to(root) for root in roots if path.is_relative_to(root)]
    for place in (path, *(PurePosixPath(root, name) for root in roots for name in inside)):
        if (original / place).exists():
            return original / place
    raise TaskError(f"the original has no {str(path)!r}, which its recipe calls generated; mend the recipe")


def _appended(path: PurePosixPath, submission: Path, source: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the submission's module with the original's assignments of *names*, where it binds none of them.

    One that lacks what the assignments use is left alone: it would not be importable afterwards.
    """
    try:
        own = read_regular(submission / path, _LARGEST)
        bound = set(_bound(python_tree(own).body))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    text = source.read_text(encoding="utf-8")
    body = python_tree(text).body
    chosen = [one for one in body if isinstance(one, ast.Assign) and {*names} & set(_bound([one]))]
    used = [node for one in chosen for node in ast.walk(one) if isinstance(node, ast.Name)]
    needed = {node.id for node in used if isinstance(node.ctx, ast.Load)}
    needed -= {node.id for node in used if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    if bound & {*names, "*"} or needed - bound:
        return {}
    lines = [ast.get_source_segment(text, one) or "" for one in chosen]
    return {str(path): own + ("\n\n" + "\n".join(lines) + "\n").encode()}


def _bound(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements of a module bind, in blocks as well; `*` for those of another module."""
    waiting = list(body)
    while waiting:
        match node := waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((one.asname or one.name).partition(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
        waiting += ast.iter_child_nodes(node)
