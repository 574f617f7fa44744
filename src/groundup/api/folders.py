"""Where runs lie that somebody names."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from groundup.api.flags import AnyPath
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.settings import Settings
from groundup.store.folder import RunFolder, runs_in

LATEST = "latest"
"""What a user may say for the run of the output folder begun last; a run that is called so comes first."""


def run_folder(run: AnyPath, settings: Settings) -> Path:
    """Return the folder of *run*: a path, an id in the output folder, or `latest` there. Raises `UsageError`."""
    given, inside = Path(run), settings.output / run
    for folder in (given, inside):
        if _is_there(folder / "config.json"):
            return folder
    for folder in (given, inside):
        if folder.is_dir():
            raise UsageError(f"{folder} is not a run folder: it has no config.json; `groundup runs` lists runs")
    there = runs_in(settings.output)
    if str(run) == LATEST and there:
        return max(there, key=_begun)
    runs = [path.name for path in there]
    looked = f"looked in {settings.output}; --output names another folder"
    raise UsageError(f"{unknown('run', str(run), runs)} ({looked})")


def _begun(run: Path) -> int:
    """Return when the configuration of *run* was written, which is the first file of a run."""
    try:
        return (run / "config.json").lstat().st_mtime_ns
    except OSError:
        return 0


def _is_there(path: Path) -> bool:
    """Whether anything is at *path*. Raises `UsageError` for a folder that may not be entered."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be read: {error.strerror}; change its mode") from error
    return True


def holds_runs(folder: Path) -> bool:
    return folder.is_dir() and not RunFolder(folder).was_run()


def runs_below(folder: Path) -> list[Path]:
    """Return what *folder* holds at any depth: folders of runs, and report files of others, `report*.json`.

    Raises `UsageError` for a folder that holds neither.
    """
    if found := sorted(_below(folder)):
        return found
    raise UsageError(f"{folder} holds neither runs nor report*.json")


def _below(folder: Path) -> Iterator[Path]:
    """Yield runs, also those that cannot be read any more, and report files that lie beside runs."""
    for root, folders, files in os.walk(folder):
        if RunFolder(Path(root)).was_run():
            folders.clear()
            yield Path(root)
        else:
            yield from (Path(root) / name for name in files if re.fullmatch(r"report.*[.]json", name))
