"""Making a set of tasks from a list of libraries: unattended, one entry after the other, resumable.

An entry is settled by its line in `entries.jsonl`, which is written after its files; the manifest follows from
both. So whatever ends the program, the next call goes on, and makes nothing twice. Nothing is replaced that
somebody else wrote or changed.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from packaging.utils import canonicalize_name
from pydantic import Field, ValidationError

from groundup.curation.repositories import check_out
from groundup.domain.digests import digest_bytes
from groundup.domain.errors import GroundupError, InfrastructureError, UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.environments.git import GitRepository
from groundup.episodes.backends import opened_bench
from groundup.settings import Settings
from groundup.store.files import Journal, complete_lines
from groundup.store.ownership import copy_made, write_made
from groundup.suites.nl2repobench.library_set import (
    BUNDLE,
    MANIFEST,
    RECIPES,
    SPECIFICATIONS,
    SetManifest,
    SetTask,
    read_manifest,
)
from groundup.suites.nl2repobench.maker.extracted import extracted
from groundup.suites.nl2repobench.maker.unpublished import MakingRules, UnpublishedLibrary, make_recipe
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.recipe_file import read_recipe, recipe_text
from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX, fingerprint_of, fingerprint_text
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors

ENTRIES = "entries.jsonl"
_LOCK = ".lock"
_VERSION = "1"
Standing = Literal["accepted", "rejected", "failed"]
Tell = Callable[[str, str], None]
"""Takes a task and a line of what is done about it."""


class SetEntry(Record):
    """What became of one entry of the list."""

    entry: str
    task: str
    standing: Standing = Field(description="failed: by the machine or the network, and tried again")
    why: str = Field(default="", description="in a sentence; empty for what was accepted")
    tests: int = 0
    left_out: int = 0
    seconds: float = Field(ge=0)


class SetYield(Record):
    """What a call left behind."""

    folder: str
    label: str = Field(description="name, version and digest of the set")
    entries: tuple[SetEntry, ...]
    kept: int = Field(description="entries that were settled before this call")


@dataclass(frozen=True)
class SetRequest:
    """What a set is to be made of."""

    entries: Sequence[str]
    folder: Path
    name: str | None = None
    version: str | None = None
    rules: MakingRules = field(default_factory=MakingRules)
    jobs: int = 1
    minutes: float = 30
    again: bool = False
    """Also entries that were rejected before."""


@dataclass(frozen=True)
class LibraryEntry:
    """One entry of the list."""

    text: str
    task: str
    kind: Literal["sdist", "git", "folder"]
    what: str
    commit: str | None = None


def parse_entry(text: str) -> LibraryEntry:
    """Return what *text* names: NAME[==VERSION], a folder, or a Git repository[@COMMIT]. Raises `UsageError`."""
    if text.startswith((".", "/", "~")) and not text.startswith("git@"):
        folder = Path(text).expanduser().resolve()
        if not folder.is_dir():
            raise UsageError(f"{text}: no such folder; name one, a package of the index, or host/owner/name")
        return LibraryEntry(str(folder), checked_name(folder.name), "folder", str(folder))
    if "/" in text:
        what, _, commit = text.rpartition("@")
        if not what or "/" in commit or ":" in commit:
            what, commit = text, ""
        name = what.rstrip("/").removesuffix(".git").rpartition("/")[2]
        return LibraryEntry(text, checked_name(name), "git", what.removesuffix(".git"), commit or None)
    name, _, version = text.partition("==")
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name) or (version and " " in version):
        raise UsageError(
            f"{text!r} is no library; write NAME, NAME==VERSION, ./FOLDER, or host/owner/name[@COMMIT]"
        )
    return LibraryEntry(text, canonicalize_name(name), "sdist", text)


async def make_set(request: SetRequest, settings: Settings, tell: Tell) -> SetYield:
    """Make the set that *request* asks for, or go on with it; without entries, bring its manifest up to date.

    Raises `UsageError` before anything is begun.
    """
    wanted = list({one.text: one for one in map(parse_entry, request.entries)}.values())
    with _opened(request.folder) as folder:
        manifest = _begun(request, folder)
        settled = {one.entry: one for one in read_entries(folder)}
        _refuse_same_names(wanted, settled)
        owed = [one for one in wanted if _is_owed(one, settled, folder, again=request.again)]
        _write_manifest(folder, manifest, settled)
        with Journal(folder / ENTRIES) as journal:
            places = asyncio.Semaphore(request.jobs)

            async def settle(one: LibraryEntry) -> None:
                async with places:
                    found = await _settled(one, manifest, request, folder, settings, tell)
                journal.append(found.model_dump_json().encode())
                settled[one.text] = found
                _write_manifest(folder, manifest, settled)

            try:
                async with asyncio.TaskGroup() as group:
                    for one in owed:
                        group.create_task(settle(one))
            except* GroundupError as errors:  # of the set's own files: entries' errors are recorded
                raise errors.exceptions[0] from None
        shown = tuple(settled[one.text] for one in wanted) if wanted else tuple(settled.values())
        return SetYield(
            folder=str(folder),
            label=read_manifest(folder).label,
            entries=shown,
            kept=len(shown) - len(owed),
        )


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """Yield *folder* for this process alone. Raises `UsageError` where it holds something else than a set."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MANIFEST).is_file())):
        entries = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
        if not entries <= {_LOCK, ENTRIES, ".groundup-made"}:  # what a killed start left
            raise UsageError(f"{folder} is there, and is no set; name a new folder with -o")
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    except BlockingIOError as error:
        raise UsageError(f"another `groundup curate set` works in {folder}; wait for it, or end it") from error
    finally:
        os.close(descriptor)


def _begun(request: SetRequest, folder: Path) -> SetManifest:
    if not (folder / MANIFEST).is_file():
        name = checked_name(request.name or folder.resolve().name)
        return SetManifest(name=name, version=request.version or _VERSION, canary=secrets.token_hex(16))
    manifest = read_manifest(folder)
    given = {"name": request.name, "version": request.version}
    return manifest.but(**{key: value for key, value in given.items() if value is not None})


def read_entries(folder: Path) -> list[SetEntry]:
    """Return what became of the entries of the set in *folder*, the last word on each. Raises `UsageError`."""
    found: dict[str, SetEntry] = {}
    for number, line in complete_lines(folder / ENTRIES):
        try:
            one = SetEntry.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(
                f"{folder / ENTRIES}:{number}: no entry of a set; remove the line, and the entry is made again"
            ) from error
        found[one.entry] = one
    return list(found.values())


def _refuse_same_names(wanted: Sequence[LibraryEntry], settled: dict[str, SetEntry]) -> None:
    names: dict[str, str] = {one.task: one.entry for one in settled.values() if one.standing == "accepted"}
    for one in wanted:
        other = names.setdefault(one.task, one.text)
        if other != one.text:
            raise UsageError(f"{other} and {one.text} would both be the task {one.task}; make a set for each")


def _is_owed(one: LibraryEntry, settled: dict[str, SetEntry], folder: Path, *, again: bool) -> bool:
    found = settled.get(one.text)
    if found is None or found.standing == "failed":
        return True
    if found.standing == "accepted":
        return not (folder / RECIPES / f"{one.task}.toml").is_file()
    return again


async def _settled(
    one: LibraryEntry, manifest: SetManifest, request: SetRequest, folder: Path, settings: Settings, tell: Tell
) -> SetEntry:
    """Make one entry. What goes wrong with it is its own, and ends no other."""
    began = time.monotonic()
    standing: Standing = "accepted"
    why, tests, left_out = "", 0, 0
    try:
        with scratch_folder("set") as work:
            async with asyncio.timeout(request.minutes * 60):
                recipe = await _made(one, manifest, request.rules, work, folder, settings, tell)
        tests, left_out = len(recipe.expected), len(recipe.excluded)
    except TimeoutError:
        standing, why = "rejected", f"it took more than {request.minutes:g} minutes; see --minutes"
    except InfrastructureError as error:
        standing, why = "failed", str(error)
    except GroundupError as error:
        standing, why = "rejected", str(error)
    except Exception as error:  # noqa: BLE001 - the boundary of an entry: a stranger's package ends no night's work
        standing, why = "rejected", f"groundup could not cope with it: {type(error).__name__}: {error}"
    why = why.partition("\n")[0][:600]
    tell(one.task, f"{standing}: {why}" if why else f"accepted with {tests} tests, {left_out} left out")
    seconds = round(time.monotonic() - began, 1)
    return SetEntry(
        entry=one.text, task=one.task, standing=standing, why=why, tests=tests, left_out=left_out, seconds=seconds
    )


async def _made(
    one: LibraryEntry,
    manifest: SetManifest,
    rules: MakingRules,
    work: Path,
    folder: Path,
    settings: Settings,
    tell: Tell,
) -> Recipe:
    """Make one entry and put its files in place."""
    library = await _found(one, work, settings)
    async with opened_bench(settings) as context:
        recipe = await make_recipe(library, rules, context, settings, lambda line: tell(one.task, line))
        original = await original_tree(recipe, context)
        text = await asyncio.to_thread(extracted, recipe, original, manifest.canary)
        prints = await asyncio.to_thread(fingerprint_of, recipe, original)
    with disk_errors(folder):
        for place in (RECIPES, SPECIFICATIONS):
            (folder / place).mkdir(exist_ok=True)
    if library.kept is not None:
        copy_made(work / library.kept, folder / RECIPES / library.kept)
    write_made(folder / SPECIFICATIONS / f"{one.task}.md", text.encode("utf-8", "replace"))
    write_made(folder / RECIPES / f"{one.task}{FINGERPRINT_SUFFIX}", fingerprint_text(prints).encode())
    write_made(folder / RECIPES / f"{one.task}.toml", recipe_text(recipe).encode())
    return recipe


async def _found(one: LibraryEntry, work: Path, settings: Settings) -> UnpublishedLibrary:
    """Return where the original of an entry is; that of a folder is put into a bundle."""
    if one.kind == "sdist":
        return UnpublishedLibrary(one.task, f"sdist:{one.what}")
    if one.kind == "git":
        try:
            origin = await check_out(one.what, one.commit, work / "tree", work, settings.git_mirror)
        except UsageError as error:  # what cannot be reached tonight reads like what is no repository
            raise InfrastructureError(str(error)) from error
        return UnpublishedLibrary(one.task, f"git:{one.what}@{origin.commit}")
    ours = GitRepository(work / "snapshot.git")
    await ours.create()
    bundle = work / f"{one.task}{BUNDLE}"
    commit = await ours.snapshot(Path(one.what), bundle)
    return UnpublishedLibrary(one.task, f"git:{bundle}@{commit}", kept=bundle.name)


def _write_manifest(folder: Path, manifest: SetManifest, settled: dict[str, SetEntry]) -> None:
    accepted = sorted((one for one in settled.values() if one.standing == "accepted"), key=lambda one: one.task)
    tasks = tuple(_described(one, folder) for one in accepted if (folder / RECIPES / f"{one.task}.toml").is_file())
    text = manifest.but(tasks=tasks).model_dump_json(indent=1) + "\n"
    write_made(folder / MANIFEST, text.encode())


def _described(one: SetEntry, folder: Path) -> SetTask:
    recipe = read_recipe(folder / RECIPES / f"{one.task}.toml")
    places = [
        f"{SPECIFICATIONS}/{one.task}.md",
        *(f"{RECIPES}/{one.task}{suffix}" for suffix in (".toml", FINGERPRINT_SUFFIX, BUNDLE)),
    ]
    return SetTask(
        id=one.task,
        entry=one.entry,
        source=recipe.source.label,
        licence=recipe.source.licence,
        tests=len(recipe.expected),
        left_out=len(recipe.excluded),
        files={
            place: digest_bytes((folder / place).read_bytes()) for place in places if (folder / place).is_file()
        },
    )
