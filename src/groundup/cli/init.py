"""`groundup init`: a groundup.toml to begin with, every setting in it with what it means."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples

EXAMPLES: dict[str, Examples] = {
    "init": (
        ("Write down your settings", "groundup init"),
        ("Beside other projects", "groundup init ~/evaluations"),
    ),
}


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where it goes; commands that are called there read it.")
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
