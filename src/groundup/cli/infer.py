"""`groundup infer`: which packages does this source code need? Without a model, with the reason for each."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup.sources.records import Inference, InferredDependency

EXAMPLES: dict[str, Examples] = {
    "infer": (
        ("What does this repository need?", "groundup infer ."),
        ("A notebook, one file, or a diff", "groundup infer analysis.ipynb"),
        ("Write what is missing into its manifests", "groundup infer . --write"),
        ("For programs", "groundup infer . --json"),
    ),
}
_KINDS = ("runtime", "optional", "build", "dev")
UNWRITTEN = 2
"""The exit code when something is needed and could not be written."""


def infer(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A repository, a source file, a notebook or a diff.")
    ],
    language: Annotated[
        str | None, typer.Option(help="Only python, rust, javascript or csharp (default: all that are found).")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Add what is missing to the manifests of the repository, in place.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also what is optional or only for building and developing.")
    ] = False,
    json: Json = False,
) -> int:
    """Say which packages PATH needs, and why. Declarations are not read; nothing is run.

    With --write it ends with 2 when something that is missing could not be written.
    """
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.sources.inference import INFERERS, infer

    if language is not None and language not in INFERERS:
        raise UsageError(unknown("language", language, INFERERS))
    if write and not path.is_dir():
        raise UsageError("--write needs a repository; give its folder")
    found = infer(path, None if language is None else {language})
    if not found:
        raise UsageError(f"{path} holds no source code of {language or 'a known language'}")
    kinds = _KINDS if every else _KINDS[:1]
    changed, unwritten = _write(path, found, kinds) if write else ([], [])
    if json:
        documents = [one.model_dump(mode="json") for one in found]
        print_document({"path": str(path), "languages": documents, "written": changed, "not_written": unwritten})
        return UNWRITTEN if unwritten else 0
    for inference in found:
        shown = [item for item in inference.dependencies if item.kind.value in kinds]
        title = f"{inference.language}: {len(shown)} packages from {inference.files} files"
        print_table(title, ("package", "kind", "why"), [_row(item) for item in shown])
        for limit in inference.cannot_know:
            say(f"groundup: {inference.language}: {limit}")
    for line in (*changed, *unwritten):
        say(f"groundup: {line}")
    return UNWRITTEN if unwritten else 0


def _row(item: "InferredDependency") -> tuple[str, ...]:
    name = f"{item.name}{' ' + item.constraint if item.constraint else ''}"
    name += f" ; {item.marker}" if item.marker else ""
    more = f" and {item.uses - 1} more" if item.uses > 1 else ""
    guess = "" if item.known else " (the name is a guess)"
    return name, item.kind.value, f"{item.evidence[0]}{more}{guess}"


def _write(root: Path, found: "Sequence[Inference]", kinds: "Sequence[str]") -> tuple[list[str], list[str]]:
    """Add what is missing to each language's manifests; return sentences on what was done and what not."""
    from groundup.manifests.formats import find_manifests
    from groundup.manifests.records import DependencyKind
    from groundup.suites.dibench.inferred import WRITABLE, write_inferred

    done: list[str] = []
    failed: list[str] = []
    for inference in found:
        language = inference.language
        manifests = [one for one in find_manifests(root, language) if one.format in WRITABLE]
        paths = _one_per_folder([one.path for one in manifests])
        needed = [item.name for item in inference.dependencies if item.kind.value in kinds]
        if not paths and needed:
            failed.append(f"{language}: there is no manifest to write {', '.join(needed[:5])} to; make one first")
        wanted = {DependencyKind(kind) for kind in kinds}
        for file in write_inferred(root, language, paths, lambda path: _content(root / path), wanted):
            problem = file.problem or (_put(root / file.path, file.content) if file.added else "")
            if problem:
                failed.append(f"{file.path}: left as it is: {problem}")
            else:
                told = f"added {', '.join(file.added)}" if file.added else "nothing is missing"
                done.append(f"{file.path}: {told}")
    return done, failed


def _content(path: Path) -> bytes:
    from groundup.domain.errors import UsageError
    from groundup.trees.reading import read_regular

    try:
        return read_regular(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; mend that or remove it") from error


def _put(path: Path, content: bytes) -> str:
    """Write a manifest in place, its mode kept; return why that failed, empty when it did not."""
    from groundup.domain.errors import InfrastructureError
    from groundup.store.files import write_atomically

    if not os.access(path, os.W_OK):
        return "it cannot be written: permission denied"
    mode = path.stat().st_mode
    try:
        write_atomically(path, content)
        path.chmod(mode & 0o7777)
    except (OSError, InfrastructureError) as error:
        return str(error)
    return ""


def _one_per_folder(paths: "Sequence[str]") -> list[str]:
    """Return the manifest of each folder that a project's dependencies belong in: the first in this order."""
    order = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "package.json", "Cargo.toml")

    def rank(path: str) -> tuple[int, str]:
        name = path.rpartition("/")[2]
        return (order.index(name) if name in order else len(order)), path

    chosen: dict[str, str] = {}
    for path in sorted(paths, key=rank):
        chosen.setdefault(path.rpartition("/")[0], path)
    return sorted(chosen.values())
