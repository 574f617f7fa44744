"""What `groundup clean` can remove: what killed processes left, and what was not used for a while.

Everything is known by a record that groundup wrote into it: a run by its configuration, a shell by its lock, a
layer and a verdict by their digests. Folders of the same names without one are somebody else's.
"""

import os
import re
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from groundup.domain.records import Record
from groundup.environments.layers import layer_store
from groundup.sandbox.containers.engine import stale_containers
from groundup.sandbox.host_state import clean_stale_state, stale_state
from groundup.settings import Settings
from groundup.store.folder import LOCK_NAME, RunFolder, is_held
from groundup.trees.scratch import abandoned_folders, remove_abandoned_folders
from groundup.trees.walking import remove_tree

SHELLS = "shells"
"""Folder in the cache where opened attempts have their copies."""
_VERDICT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}\.json")


class Leftover(Record):
    """Something that can be removed."""

    kind: Literal["run", "scratch", "layer", "verdicts", "sandbox", "container", "temporary"]
    path: Path
    bytes: int


def leftovers(settings: Settings, older_than_s: float | None = None) -> tuple[Leftover, ...]:
    """List what can go.

    Scratch folders of runs and shells that no process works on; sandboxes, containers and temporary folders of
    killed ones; with *older_than_s* also runs, layers and cached verdicts that were not used for so long.
    """
    return tuple(_found(settings, older_than_s))


def remove(found: tuple[Leftover, ...], settings: Settings) -> list[Path]:
    """Remove *found*, except what a process works on meanwhile: runs, their scratch folders, shells, and layers.

    Return what somebody else put into runs, which stays.
    """
    layers = layer_store(settings)
    others: list[Path] = []
    for leftover in found:
        if leftover.kind == "layer":
            layers.remove(leftover.path)
            continue
        if leftover.kind == "sandbox":
            clean_stale_state()
            continue
        if leftover.kind == "temporary":
            remove_abandoned_folders()
            continue
        if leftover.kind == "container":
            stale_containers(remove=True)
            continue
        if any(map(is_held, (leftover.path, leftover.path.parent))):  # a scratch folder lies in its run
            continue
        with suppress(FileNotFoundError):  # somebody else cleans, too
            if leftover.kind == "run" and (strange := RunFolder(leftover.path).others()):
                others += strange
                _remove_around(leftover.path, strange)
                continue
            gone = _aside(leftover.path)
            leftover.path.rename(gone)  # others see it whole or not at all
            remove_tree(gone)
    return others


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.gone")


def _remove_around(run: Path, kept: Collection[Path]) -> None:
    """Remove the run from its folder, in which *kept* stays; without its configuration it is no run any more."""
    gone = _aside(run)
    gone.mkdir()
    for entry in sorted(run.iterdir(), key=lambda entry: entry.name != "config.json"):
        if entry not in kept:
            entry.rename(gone / entry.name)
    remove_tree(gone)


def _found(settings: Settings, older_than_s: float | None) -> Iterator[Leftover]:
    yield from _of_runs(settings.output, older_than_s)
    for shell in _folders(settings.cache_dir / SHELLS):
        if is_shell(shell) and not is_held(shell):
            yield a_leftover("scratch", shell)
    for state in stale_state():
        yield a_leftover("sandbox", state)
    for folder in abandoned_folders():
        yield a_leftover("temporary", folder)
    for container in stale_containers():
        yield Leftover(kind="container", path=Path(container), bytes=0)
    if older_than_s is not None:
        for layer in layer_store(settings).unused(older_than_s):
            yield a_leftover("layer", layer)
        for verdict in settings.cache_dir.glob("verdicts/*/*"):
            if _VERDICT.fullmatch(f"{verdict.parent.name}/{verdict.name}") and _older(verdict, older_than_s):
                yield a_leftover("verdicts", verdict)


def _of_runs(output: Path, older_than_s: float | None) -> Iterator[Leftover]:
    for run in _folders(output):
        if not RunFolder(run).is_run() or is_held(run):
            continue
        if older_than_s is not None and _older(run / "verdicts.jsonl", older_than_s):
            yield a_leftover("run", run)
            continue
        for scratch in (run / "scratch", *sorted(run.glob(".scratch.*.gone"))):
            if scratch.exists():
                yield a_leftover("scratch", scratch)


def is_shell(path: Path) -> bool:
    """Whether *path* is the copy of an attempt that `groundup shell` opened."""
    return re.fullmatch(r"[0-9a-f]{16}", path.name) is not None and (path / LOCK_NAME).is_file()


def _folders(path: Path) -> list[Path]:
    return (
        sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
        if path.is_dir()
        else []
    )


def _older(path: Path, than_s: float) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > than_s
    except FileNotFoundError:
        return _older(path.parent, than_s)


def a_leftover(
    kind: Literal["run", "scratch", "layer", "verdicts", "sandbox", "container", "temporary"], path: Path
) -> Leftover:
    """Return *path* with how much it holds."""
    return Leftover(kind=kind, path=path, bytes=_size(path))


def _size(path: Path) -> int:
    """Return the bytes below *path* as far as they can be read; links are not followed."""
    total = path.lstat().st_size
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(FileNotFoundError):  # somebody else cleans, too
                total += (Path(folder) / name).lstat().st_size
    return total
