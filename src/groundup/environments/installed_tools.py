"""Which interpreters and toolchains are here, by names of files alone: for lists, which start nothing."""

import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from groundup.configuration import environment
from groundup.domain.languages import ToolchainName
from groundup.languages import TOOLCHAINS

FETCHED = "interpreters"
"""The folder in the cache for interpreters that uv fetches for groundup."""
HERE = "here"
"""The column of a table of tasks that says whether this machine can grade each: `YES`, or what it lacks."""
YES = "yes"


@cache
def python_at_hand(minor: str, fetched: Path | None = None) -> bool:
    """Return whether a CPython *minor* (`3.11`) seems to be here; *fetched* is the folder of those from uv.

    `groundup doctor` starts them and knows for certain.
    """
    variables = environment()
    if minor == f"{sys.version_info.major}.{sys.version_info.minor}" or shutil.which(f"python{minor}"):
        return True
    folders = [uv_folder(variables), *([fetched] if fetched else [])]
    if any(next(folder.glob(f"cpython-{minor}.*"), None) for folder in folders):
        return True
    return any(programs_of_pyenv(root, minor) for root in pyenv_roots(variables))


def toolchain_lack(name: ToolchainName, variables: Mapping[str, str]) -> str:
    """Return that the toolchain *name* is not on this machine, and how it comes here; "" where it is."""
    record = TOOLCHAINS[name]
    if shutil.which(record.program, path=variables.get("PATH", os.defpath)):
        return ""
    return f"{record.program} is not on this machine; {record.install}"


def uv_folder(variables: Mapping[str, str]) -> Path:
    """Return where uv keeps the interpreters that it fetched."""
    if named := variables.get("UV_PYTHON_INSTALL_DIR"):
        return Path(named)
    data = variables.get("XDG_DATA_HOME") or Path(variables.get("HOME") or "/nonexistent", ".local", "share")
    return Path(data) / "uv" / "python"


def programs_of_pyenv(root: Path, minor: str) -> list[Path]:
    """Return the folders of programs of *minor* that pyenv has at *root*."""
    try:
        return list(root.glob(f"versions/{minor}.*/bin"))
    except PermissionError:  # of another user, whose variables we have: as after `su`
        return []


def pyenv_roots(variables: Mapping[str, str]) -> list[Path]:
    """Return where pyenv lies: where it says so, else beside its shims."""
    shims = [Path(place).parent for place in variables.get("PATH", "").split(":") if Path(place).name == "shims"]
    return [Path(variables["PYENV_ROOT"])] if variables.get("PYENV_ROOT") else shims
