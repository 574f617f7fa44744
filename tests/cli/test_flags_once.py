"""A flag is declared once: a command that takes it, too, says at most other words for its help."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from groundup.api.flags import Output, flag_of
from groundup.cli.main import every_command
from groundup.extensions import EXTENSIONS
from tests.cli.conftest import command_of

SOURCES = Path(__file__).parents[2] / "src"
OTHER_THINGS = {
    "again": "instances that were validated, and entries that were rejected",
    "bundle": "a site of pages, and a file of layers",
    "context_tokens": "a judge's window is never smaller than its question",
    "declared": "counts of tests, and dependencies",
    "format": "of a report, of a comparison, of an export",
    "from": "a copy of data, and a file of layers",
    "full": "texts, and tracebacks",
    "host": "where clients come, and where nodes come",
    "image": "sandboxes are made from it, and recipes are compared with it",
    "language": "one of an instance, several of a set, several of what is read",
    "layout": "of a report here, and of the publishers'",
    "max_tokens": "of an attempt, and of a set",
    "name": "of an instance, an image, a set",
    "output": "of `leaderboard pack`, whose -o is --to",
    "port": "of a server, and of a scheduler",
    "python": "in place of what tasks ask for, and of what is made",
    "rounds": "of an attempt, and of a specification",
    "seed": "of a sample, an order, a check, fresh inputs",
    "slots": "of a server, and of a node",
    "task": "whose predictions these are, and what is built",
    "time": "in seconds of a run, and in hours of a set",
    "timeout": "of a run, and of a check of one",
    "times": "that something is executed: each command does it to something else",
    "to": "the file or the folder that each command makes",
    "token": "several of a server's clients, and one of pages",
    "version": "of a set, and of the next",
    "with": "requirements of a recipe, and packages of an image",
    "yes": "to installing, and to removing",
}
"""Names that mean something else in each command that has them."""


def test_a_flag_is_declared_once() -> None:
    """`Annotated[Jobs, "Tasks at once."]` is one more use of a flag, not one more flag."""
    declared = Counter(name for path in SOURCES.rglob("*.py") for name in _declared(path))
    again = {name for name, times in declared.items() if times > 1}
    assert again <= OTHER_THINGS.keys()
    if all(package.present() for package in EXTENSIONS):
        assert again == OTHER_THINGS.keys()


FOR_PEOPLE = {
    "demo": "a story to read",
    "docs": "a page to read",
    "init": "it writes one file",
    "shell": "its output is that of the program in it",
    "serve": "its address is asked by HTTP",
    "view": "its pages are asked by HTTP",
    "fleet up": "--address-file is for programs",
    "fleet join": "its state is asked by `fleet doctor --json`",
}
"""Commands without `--json`, and why programs do not miss it."""


def test_every_command_that_a_program_would_read_has_json() -> None:
    """`docs/cli.md` names the others."""
    without = {name for name in every_command() if "json" not in {one.name for one in command_of(name).params}}
    assert without == {name for name in FOR_PEOPLE if name in every_command()}
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8")
    assert [name for name in FOR_PEOPLE if f"`{name}`" not in page] == []


def test_output_is_the_folder_of_runs_in_every_command() -> None:
    """What a command makes besides runs is `--to`; both have the short form."""
    told = {
        (max(one.opts, key=len), one.help)
        for name in every_command()
        for one in command_of(name).params
        if "--output" in one.opts or "-o" in one.opts
    }
    assert {text for option, text in told if option == "--output"} == {flag_of(Output).help}  # type: ignore[union-attr]
    assert {option for option, _ in told} == {"--output", "--to"}


def _declared(path: Path) -> Iterator[str]:
    """Yield the names of the options that a module declares."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(args=args):
                named = [(one.arg, one.annotation) for one in (*args.args, *args.kwonlyargs)]
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                named = [(name, annotation)]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named = [(name.lower(), value)]
            case _:
                continue
        for name, hint in named:
            for call in ast.walk(hint) if hint is not None else ():
                if isinstance(call, ast.Call) and ast.unparse(call.func) in ("typer.Option", "FlagHelp"):
                    words = [one.value for one in call.args if isinstance(one, ast.Constant)]
                    long = [word for word in words if isinstance(word, str) and word.startswith("--")]
                    yield long[0].removeprefix("--").replace("-", "_") if long else name
