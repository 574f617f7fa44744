"""`groundup infer`: which packages does this source code need? Without a model, with the reason for each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup_infer.api import Declaration, Declarations
    from groundup_infer.records import Inference, InferredDependency

EXAMPLES: dict[str, Examples] = {
    "infer": (
        ("What does this repository need?", "groundup infer ."),
        ("A notebook, one file, or a diff", "groundup infer analysis.ipynb"),
        ("What do its manifests lack, and what do they declare for nothing?", "groundup infer . --declared"),
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
    beside: Annotated[
        bool, typer.Option("--declared", help="Say where manifests declare each, and what they declare unused.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--optional", help="Also what is optional or only for building and developing.")
    ] = False,
    json: Json = False,
) -> int:
    """Find which packages PATH needs, from its source code alone, and why.

    It reads declarations only with --declared or --write, and runs nothing. Exit code 2 with --write: something
    could not be written.
    """
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import count
    from groundup_infer import api

    if (write or beside) and not path.is_dir():
        raise UsageError(f"{'--write' if write else '--declared'} needs a repository; give its folder")
    found = api.infer(path, language)
    kinds = _KINDS if every else _KINDS[:1]
    changed, unwritten = api.write_missing(path, found, kinds) if write else ([], [])
    declared = api.declared(path, [one.language for one in found]) if beside else {}
    if json:
        documents = [one.model_dump(mode="json") for one in found]
        more = {"declared": [one.model_dump(mode="json") for one in declared.values()]} if beside else {}
        print_document(
            {"path": str(path), "languages": documents, "written": changed, "not_written": unwritten, **more}
        )
        return UNWRITTEN if unwritten else 0
    for one in found:
        shown = [item for item in one.dependencies if item.kind.value in kinds]
        title = f"{one.language}: {count(len(shown), 'package')} from {count(one.files, 'file')}"
        print_table(title, ("package", "kind", "why"), [_row(item) for item in shown])
        hidden = len(one.dependencies) - len(shown)
        if hidden and not shown:
            say(f"groundup: {one.language}: --optional shows {hidden} more: optional, for building or for tests")
        if one.language in declared:
            _print_declared(one, declared[one.language], shown)
        for limit in one.cannot_know:
            say(f"groundup: {one.language}: {limit}")
    for line in (*changed, *unwritten):
        say(f"groundup: {line}")
    return UNWRITTEN if unwritten else 0


def _print_declared(found: "Inference", declared: "Declarations", shown: "Sequence[InferredDependency]") -> None:
    """Print what manifests and source code say differently."""
    from groundup.cli.console import print_table, say

    rows = [(item.name, _places(declared.of(item.name)) or "nowhere") for item in shown]
    if rows:
        print_table("Declared", ("package", "where"), rows)
    unused = declared.unused(found)
    if unused:
        rows = [(one.name, _places([one])) for one in unused]
        print_table("Declared, and imported nowhere: plugins, data, or left over", ("package", "where"), rows)
    for problem in declared.unread:
        say(f"groundup: {problem}")


def _places(declarations: "Sequence[Declaration]") -> str:
    lines = (f"{one.path}{f':{one.line}' if one.line else ''} ({one.kind.value})" for one in declarations)
    return ", ".join(dict.fromkeys(lines))


def _row(item: "InferredDependency") -> tuple[str, ...]:
    name = f"{item.name}{' ' + item.constraint if item.constraint else ''}"
    name += f" ; {item.marker}" if item.marker else ""
    more = f" and {item.uses - 1} more" if item.uses > 1 else ""
    guess = "" if item.known else " (the name is a guess)"
    return name, item.kind.value, f"{item.evidence[0]}{more}{guess}"
