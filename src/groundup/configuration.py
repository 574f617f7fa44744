"""What a user has set, before it is checked: groundup.toml < environment (GROUNDUP_*) < flags.

The only reader of the environment. Needs the standard library only, so that a short answer comes at once.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from groundup.domain.errors import UsageError

CONFIG_FILE = "groundup.toml"
PREFIX = "GROUNDUP_"


class VariableWarning(UserWarning):
    """A variable GROUNDUP_* that sets nothing, such as a misspelt one."""


_LARGEST = 16 * 1024 * 1024


def unusable_surroundings() -> str:
    """Say what is wrong with the folders that paths are looked up from; empty where nothing is."""
    try:
        Path.cwd()
    except OSError:
        return "the working directory was removed; change to one that is there"
    home = environment().get("HOME")
    try:
        Path.home()
    except RuntimeError:
        return "HOME is not set, and this user has no home; set it to a folder"
    if home and os.path.isdir(home) and not os.access(home, os.X_OK):  # noqa: PTH112  # which Path.is_dir may raise
        return f"HOME is {home}, which this user may not enter; set it to a folder of yours, as `sudo -H` does"
    return f"HOME is {home}, which is a file; set it to a folder" if home and os.path.isfile(home) else ""  # noqa: PTH113


def environment() -> Mapping[str, str]:
    """Return the process's environment; nothing else in groundup reads it."""
    return os.environ


def without_plugins_of_records() -> None:
    """Let pydantic look for no plug-ins: it would read what is installed, file by file."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def default_cache() -> Path:
    """Return where groundup keeps what it has fetched and built unless the user names a place."""
    base = environment().get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "groundup"


def with_home(text: str) -> str:
    """Return *text* with the home in place of a `~` at its beginning, as shells have it."""
    return str(Path(text).expanduser()) if text == "~" or text.startswith("~/") else text


def words_with_home(words: Sequence[str]) -> list[str]:
    """Let `~/` be the home also where shells leave it: behind `=`, in quotes. Commands in sandboxes keep it."""
    found = []
    for before, word in pairwise(["", *words]):
        option, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
        is_command = (option or before) in ("-c", "--command")
        found.append(word if is_command else f"{option}{equals}{with_home(value)}")
    return found


def gathered(known: Iterable[str], flags: Mapping[str, object], config: Path | None = None) -> dict[str, Any]:
    """Return what is set: all that the file *config* holds, *known* names of the environment, *flags* not None.

    An empty variable sets nothing, as an unset one.

    Raises `UsageError` for a file that cannot be read.
    """
    values: dict[str, Any] = {}
    path = config or Path(CONFIG_FILE)
    if config is not None or os.path.lexists(path):
        values.update(_from_file(path))
    for name in known:
        if text := environment().get(PREFIX + name.upper()):  # an empty path would be the current folder
            values[name] = text
    values = {name: with_home(value) if isinstance(value, str) else value for name, value in values.items()}
    values.update({name: value for name, value in flags.items() if value is not None})
    return values


def origin(name: str, flags: Mapping[str, object], config: Path | None = None) -> str:
    """Return where the value of the setting *name* comes from, for a sentence that says what is wrong with it."""
    if flags.get(name) is not None:
        return f"setting {name}"
    if environment().get(variable := PREFIX + name.upper()):
        return f"the variable {variable}"
    return f"{config or CONFIG_FILE}, setting {name}"


_TABLES = frozenset({"settings", "run"})
"""Of a configuration file; the second is for `groundup run --config`."""


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > _LARGEST:  # a device would be read for ever
        what = "a folder" if path.is_dir() else "no regular file" if path.exists() else "not there"
        what = "a link that leads to no file" if path.is_symlink() and not path.exists() else what
        raise UsageError(
            f"{path} is {what}, so no setting can be read from it; write a file with TOML, or move it"
        )
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; change its mode, or move it") from error
    except (ValueError, RecursionError) as error:  # also numbers too long and lists too deep for Python
        raise UsageError(f"{path}: not valid TOML: {error}; mend the file, or remove it") from error
    for name in document.keys() - _TABLES:
        raise UsageError(
            f"{path}: {name!r} stands in no table; settings stand below a line [settings], runs below [[run]]"
        )
    table = document.get("settings", {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: settings must be a table; write [settings], and each setting on a line below")
    for name, value in table.items():
        if value == "":
            raise UsageError(f"{path}, setting {name} is empty; give it a value or leave it out")
    return table
