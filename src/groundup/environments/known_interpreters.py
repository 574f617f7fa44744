"""Interpreters that were found before, so that a start need not ask uv again, which takes a second behind shims.

What decides an answer of uv's is kept with it: variables, configuration, and the folders that a new interpreter
changes. Where that or the interpreter differs, uv is asked. An unusable file costs time, nothing else.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.environments.interpreters import Interpreter, find_interpreter, pyenv_roots
from groundup.settings import environment
from groundup.store.files import write_atomically

_FORMAT = 1
_VARIABLES = ("PATH", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_PREFIXES = ("UV_", "PYENV_")

Stamp = tuple[int, int, int] | None
"""Inode, size and time of change; None: not there."""


class _Known(Record):
    circumstances: str
    program: Stamp
    interpreter: Interpreter


async def known_interpreter(minor: str, cache_dir: Path) -> Interpreter:
    """Return what `find_interpreter` returns; the folder for fetched ones is in *cache_dir*."""
    fetched = cache_dir / "interpreters"
    path = cache_dir / "found-interpreters" / f"{minor}.json"
    circumstances = _circumstances(environment(), fetched)
    known = _read(path)
    if known is not None and known.circumstances == circumstances and _still_there(known):
        return known.interpreter
    found = await find_interpreter(minor, fetched)
    # Finding may have fetched it, so the circumstances are looked at again.
    now = _Known(
        circumstances=_circumstances(environment(), fetched), program=_stamp(found.executable), interpreter=found
    )
    with contextlib.suppress(OSError, InfrastructureError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, now.model_dump_json().encode(), durable=False)
    return found


def _read(path: Path) -> _Known | None:
    try:
        return _Known.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _still_there(known: _Known) -> bool:
    library = known.interpreter.shared_library
    return (
        known.program is not None
        and _stamp(known.interpreter.executable) == known.program
        and all(folder.is_dir() for folder in known.interpreter.standard_library)
        and (library is None or library.is_file())
    )


def _circumstances(variables: Mapping[str, str], fetched: Path) -> str:
    chosen = {name: value for name, value in variables.items() if name in _VARIABLES or name.startswith(_PREFIXES)}
    places = {str(place): _stamp(place) for place in _places(variables, fetched)}
    return digest_of({"format": _FORMAT, "variables": chosen, "places": places, "running": sys.base_prefix})


def _places(variables: Mapping[str, str], fetched: Path) -> Iterator[Path]:
    """Yield folders in which interpreters appear, and files that choose between them."""
    yield fetched
    yield from (Path(folder) for folder in variables.get("PATH", "").split(":") if folder)
    for root in pyenv_roots(variables):
        yield from (root / "version", root / "versions")
    home = Path(variables.get("HOME", "/"))
    yield Path(variables.get("XDG_DATA_HOME") or home / ".local/share") / "uv/python"
    if managed := variables.get("UV_PYTHON_INSTALL_DIR"):
        yield Path(managed)
    yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "uv/uv.toml"
    yield Path("/etc/uv/uv.toml")


def _stamp(place: Path) -> Stamp:
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
