"""Giving a set away: one archive of what its manifest names, and taking such an archive in.

A masked repository whose licence is not known to allow copies is left out where it can be fetched: who installs
the set fetches the commit, and masks it again. The digests of the manifest say whether it is the same.

The next version of a set: its entries again, at the commits and releases of today.
"""

import gzip
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.settings import Settings
from groundup.store.ownership import copy_made
from groundup.suites.sets import SetTask, checked_set, copy_set, is_set, read_manifest
from groundup.trees.archives import anonymous
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors
from groundup_factory.filters import allows_copies
from groundup_factory.set_entries import SetWish, Tell, parse_wish, read_entries
from groundup_factory.sets import SetRequest, SetYield, make_set


class PackedSet(Record):
    """An archive of a set."""

    label: str
    tasks: int
    bytes: int
    fetched: tuple[str, ...]
    """Tasks whose repositories are fetched by who installs it, because their licences allow no copy."""
    doubtful: tuple[str, ...]
    """Tasks of which it holds a copy without a licence that allows it: they can be fetched from nowhere."""


def pack_set(folder: Path, output: Path) -> PackedSet:
    """Write the set in *folder* to the archive *output*: the same bytes for the same set.

    Raises `UsageError`, also for a set that was changed, and where *output* is somebody else's.
    """
    manifest = checked_set(folder, read_manifest(folder).kind)
    if not manifest.tasks:
        raise UsageError(f"{folder} has no task yet; `groundup curate set` makes some")
    closed = [task for task in manifest.tasks if not allows_copies(task.licence)]
    left_out = {task.refetch.place for task in closed if task.refetch is not None}

    def member(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if info.name in left_out else anonymous(info)

    with scratch_folder("pack") as work, disk_errors(work):
        copy_set(folder, work / "set")
        with (
            (work / "packed").open("wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for path in sorted((work / "set").iterdir()):
                tar.add(path, path.name, filter=member)
        copy_made(work / "packed", output)
    return PackedSet(
        label=manifest.label,
        tasks=len(manifest.tasks),
        bytes=output.stat().st_size,
        fetched=tuple(task.id for task in closed if task.refetch is not None),
        doubtful=tuple(task.id for task in closed if task.refetch is None and _holds_copy(task)),
    )


def _holds_copy(task: SetTask) -> bool:
    return task.specification == "instruction" or any(
        place.endswith(".bundle") or place.startswith("references/") for place in task.files
    )


class SetChange(Record):
    """What became of one task."""

    entry: str
    before: str | None = Field(description="the task's id in the earlier version")
    after: str | None
    change: Literal["the same", "renewed", "new", "gone", "pending"]
    why: str = ""


class SetRefresh(Record):
    """A new version of a set, and how it differs."""

    made: SetYield
    follows: str = Field(description="the label of the earlier version")
    changes: tuple[SetChange, ...]


async def refresh_set(earlier: Path, request: SetRequest, settings: Settings, tell: Tell) -> SetRefresh:
    """Make the version after *earlier* in the folder of *request*, which says the rest; its entries come on top.

    A task whose original is the same is taken over as it is. Raises `UsageError`.
    """
    manifest = read_manifest(earlier)
    before = {one.entry: one.task for one in read_entries(earlier) if one.standing == "accepted"}
    if request.folder.resolve() == earlier.resolve():
        raise UsageError(f"{earlier} stays as it is; name a new folder for its next version with -o")
    newest = {entry: newest_entry(parse_wish(entry)) for entry in before}
    begun = is_set(request.folder)
    wanted = replace(
        request,
        entries=[*dict.fromkeys(newest.values()), *request.entries],
        kind=manifest.kind,
        name=request.name or (None if begun else manifest.name),
        version=request.version or (None if begun else next_version(manifest.version)),
        earlier=earlier,
    )
    made = await make_set(wanted, settings, tell)
    old = {newest[entry]: task for entry, task in before.items()}
    changes = []
    for one in made.entries:
        was = old.get(parse_wish(one.entry).text)
        accepted = one.standing == "accepted"
        word: Literal["the same", "renewed", "new", "gone", "pending"]
        if accepted:
            word = "new" if was is None else "the same" if was == one.task else "renewed"
        elif one.is_unsettled:
            word = "pending"
        else:
            word = "gone"
        if was is not None or accepted:
            after = one.task if accepted else None
            changes.append(SetChange(entry=one.entry, before=was, after=after, change=word, why=one.why))
    return SetRefresh(made=made, follows=manifest.label, changes=tuple(changes))


def newest_entry(wish: SetWish) -> str:
    """Return the entry that names what *wish* names, at no commit or release in particular."""
    return wish.what.partition("==")[0] if wish.kind == "package" else wish.what


def next_version(version: str) -> str:
    """Return the version after *version*: its last number and one. Raises `UsageError` where it has none."""
    match = re.fullmatch(r"(.*?)(\d+)(\D*)", version)
    if match is None:
        raise UsageError(f"the version {version!r} has no number to count on; name the next one with --version")
    return f"{match[1]}{int(match[2]) + 1}{match[3]}"
