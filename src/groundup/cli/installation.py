"""`groundup clean`, `docs` and `init`: what this installation holds.

What pages get from the code itself: every command with its options, and every setting.

A page asks for it by a comment, `<!-- every command -->` or `<!-- every setting -->`, which `make docs` and
`groundup docs` replace.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from groundup.api.flags import Output
from groundup.cli.main import JOBS, create_app, declared, every_command
from groundup.cli.options import DryRun, Examples, Json, kind_of_value
from groundup.domain.figures import size
from groundup.settings import PREFIX, Settings

EXAMPLES: dict[str, Examples] = {
    "clean": (
        ("What did killed processes leave?", "groundup clean --dry-run"),
        ("Runs, layers and verdicts untouched for a month, too", "groundup clean --older-than 30d -y"),
    ),
    "docs": (
        ("Which pages are there, and where?", "groundup docs"),
        ("The page that a message calls docs/runs.md", "groundup docs runs"),
    ),
    "init": (
        ("Write down your settings", "groundup init"),
        ("Beside other projects", "groundup init ~/evaluations"),
    ),
}


def clean(
    older_than: Annotated[
        str | None, typer.Option(help="Also runs, layers and verdicts untouched for so long, such as 12h or 30d.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: Output = None,
    json: Json = False,
    dry_run: DryRun = False,
) -> int:
    """Remove scratch folders that killed processes left; with --older-than also old runs and caches."""
    import sys

    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.durations import duration
    from groundup.domain.errors import UsageError
    from groundup.domain.names import count
    from groundup.runs.leftovers import leftovers, remove
    from groundup.settings import load

    settings = load({"output": output})
    found = leftovers(settings, None if older_than is None else duration(older_than, None))
    total = sum(leftover.bytes for leftover in found)
    removing = bool(found) and not dry_run
    if not json:
        print_table("", ("kind", "size", "path"), [(one.kind, size(one.bytes), str(one.path)) for one in found])
    if removing and not yes:
        if json or not sys.stdin.isatty():
            raise UsageError(
                f"would remove {count(len(found), 'thing')} ({size(total)}); say --yes, or look with --dry-run"
            )
        removing = typer.confirm(f"Remove these {len(found)} ({size(total)})?", err=True)
    for other in remove(found, settings) if removing else ():
        say(f"groundup: left {other}, which is not groundup's")
    if json:
        documents = [one.model_dump(mode="json") for one in found]
        print_document({"removed": removing, "bytes": total, "found": documents})
    what = f"{count(len(found), 'thing')}, {size(total)}"
    say(f"groundup: {'removed' if removing else 'left'} {what}" if found else "groundup: nothing to remove")
    return 0


def docs(
    page: Annotated[
        str | None, typer.Argument(metavar="PAGE", help="The page to print, such as `runs` or `docs/runs.md`.")
    ] = None,
) -> int:
    """Print a page of the documentation, or list the pages and where they lie."""
    from groundup.cli.console import print_table, say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown

    folder = _folder()
    pages = _pages(folder)
    if page is not None:
        name = page.partition("#")[0].removeprefix("docs/").removesuffix(".md").lower()
        alike = [one for one in pages if name in (one, one.rpartition("/")[2])]
        if not alike:
            raise UsageError(unknown("page", name, pages))
        found = pages[name if name in pages else alike[0]]
        sys.stdout.write(filled_in(found.read_text(encoding="utf-8")))
        return 0
    rows = [
        (name, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for name, path in pages.items()
    ]
    print_table("", ("page", "about"), rows)
    say(f"groundup: the pages lie in {folder}")
    return 0


def _pages(folder: Path) -> dict[str, Path]:
    """Return the pages by their place below *folder*, with those that a checkout has beside it."""
    beside = [folder.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found = {path.stem.lower(): path for path in beside if path.is_file()}
    for path in sorted(folder.rglob("*.md")):
        found[path.relative_to(folder).with_suffix("").as_posix().lower()] = path
    return found


def _folder() -> Path:
    """Return the folder of pages: the checkout's, else what was installed with the package."""
    package = Path(__file__).parents[1]
    checkout = package.parents[1] / "docs"
    return checkout if (checkout / "index.md").is_file() else package / "docs"


def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Folder for groundup.toml; commands that you call in it read it."),
    ] = Path(),
) -> int:
    """Write a commented groundup.toml into FOLDER; nothing changes until you take a comment sign away."""
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError
    from groundup.settings import CONFIG_FILE
    from groundup.store.files import write_atomically

    path = folder / CONFIG_FILE
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already; edit it, or name another folder")
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; make it first")
    write_atomically(path, commented_settings().encode())
    say(f"groundup: {path} holds every setting with its default; `groundup doctor` says what this machine can do")
    return 0


def commented_settings() -> str:
    """Return every setting with what it means and its default, as TOML in which nothing is set."""
    from groundup.settings import PREFIX, Settings

    lines = [
        "# Settings of groundup, for commands that are called in this folder. Take away a '#' to set one.",
        f"# Flags and variables such as {PREFIX}JOBS go before; `groundup doctor` says what the machine can do.",
        "",
        "[settings]",
    ]
    for name, field in Settings.model_fields.items():
        value = _toml(field.get_default(call_default_factory=True))
        lines += [f"# {field.description}", f"# {name} = {value}" if value else f"# {name} =", ""]
    return "\n".join([*lines, *_RUNS]) + "\n"


_RUNS = (
    "# Several runs at once, by `groundup run --config groundup.toml`. Keys are the flags of `groundup run`;",
    "# a list where a flag takes one value means a run for each.",
    "#",
    "# [[run]]",
    '# suite = "nl2repobench"',
    '# agent = "loop"',
    '# model = ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"]',
    '# tasks = ["sqlparse", "tenacity"]',
    "# max_cost = 5.0",
)


def _toml(value: object) -> str:
    """Return a default as TOML; nothing where it is not set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else f'"{value}"'


OPTIONS_OF_ALL = frozenset({"help", "install_completion", "show_completion"})
MADE = {"cache_dir": "`$XDG_CACHE_HOME/groundup`, else `~/.cache/groundup`", "jobs": "the number of processors"}
"""Defaults that depend on the machine."""


def filled_in(page: str) -> str:
    """Return *page*, in Markdown, with each comment replaced by what it asks for."""
    for comment, text in (("<!-- every command -->", commands), ("<!-- every setting -->", settings)):
        if comment in page:
            page = page.replace(comment, text())
    return page


def commands() -> str:
    """Return the reference of the command line."""
    lines: list[str] = []
    for job, members in JOBS.items():
        lines += [f"## {job}", ""]
        for name in every_command():
            if name.split()[0] in members:
                lines += _command(name)
    return "\n".join(lines)


def settings() -> str:
    """Return a table of all settings."""
    lines = ["| setting | variable | default | meaning |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        text = MADE.get(name) or ("none" if default is None else f"`{default}`")
        lines.append(f"| `{name}` | `{PREFIX}{name.upper()}` | {text} | {_cell(field.description or '')} |")
    return "\n".join(lines)


def find_command(name: str) -> Any:
    """Return the click command of *name*, such as `data pull`."""
    found: Any = create_app()
    for part in name.split():
        found = found.get_command(typer.Context(found), part)
    return found


def _command(name: str) -> Iterator[str]:
    function, examples = declared(name)
    found = find_command(name)
    context = typer.Context(found)
    usage = found.collect_usage_pieces(context)
    yield from (f"### groundup {name}", "", inspect.cleandoc(function.__doc__ or ""), "")
    yield from ("```text", f"groundup {name} {' '.join(usage)}", "```", "")
    rows = [_row(one, context) for one in found.params if one.name not in OPTIONS_OF_ALL]
    if rows:
        yield from ("| | |", "|---|---|", *rows, "")
    yield "```sh"
    for what, line in examples:
        yield from (f"# {what}", line)
    yield from ("```", "")


def _row(parameter: Any, context: Any) -> str:
    if parameter.param_type_name == "argument":
        written = f"`{parameter.metavar or (parameter.name or '').upper()}`"
    else:
        takes = "" if parameter.is_flag else f" {kind_of_value(parameter, context)}"
        short_last = sorted(parameter.opts, key=len, reverse=True)
        written = ", ".join(f"`{option}{takes if option == short_last[0] else ''}`" for option in short_last)
    return f"| {written} | {_cell(parameter.help or '')} |"


def _cell(text: str) -> str:
    """Return *text* for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").replace("[[", "&#91;[").strip()
