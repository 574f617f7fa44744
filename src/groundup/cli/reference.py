"""What pages get from the code itself: every command with its options, and every setting.

A page asks for it by a comment, `<!-- every command -->` or `<!-- every setting -->`, which `make docs` and
`groundup docs` replace.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from groundup.cli.main import COMMANDS, JOBS, create_app, declared
from groundup.cli.options import kind_of_value
from groundup.settings import PREFIX, Settings

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
        for name in COMMANDS:
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
