"""Making a set of tasks from a list of repositories: unattended, several at once, resumable.

An entry is settled by its line in `entries.jsonl`, which is written after its files; the manifest follows from
both. So whatever ends the program, the next call goes on, and makes nothing twice. Nothing is replaced that
somebody else wrote or changed. What a task is made of is its kind's matter (`library_sets`, `instance_sets`).
"""

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import Field

from groundup.catalog import Table
from groundup.domain.errors import GroundupError, InfrastructureError, MissingExtraError, TaskError, UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.languages.python.setup_py import require_reader
from groundup.models.protocol import BudgetSpentError
from groundup.settings import Settings
from groundup.store.files import Journal
from groundup.store.ownership import write_made
from groundup.suites.sets import ENTRIES, MANIFEST, SetKindName, SetManifest, SetTask, read_manifest
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors
from groundup_factory.filters import FilterRules
from groundup_factory.instance_sets import InstanceSets
from groundup_factory.library_sets import LibrarySets
from groundup_factory.recipes.unpublished import MakingRules
from groundup_factory.service_sets import ServiceSets
from groundup_factory.services.proving import ProofRules
from groundup_factory.set_entries import (
    EVIDENCE,
    EntryWalk,
    MadeTask,
    SetEntry,
    SetPlace,
    SetWish,
    Standing,
    Tell,
    read_entries,
)
from groundup_factory.spending import CostMeter, EntryCost, SetModel, SetSpending

_LOCK = ".lock"
_VERSION = "1"
_BUSY = 3.0
"""Programs for each processor, beyond which minutes say nothing of an entry."""


class SetYield(Record):
    """What a call left behind."""

    folder: str
    label: str = Field(description="name, version and digest of the set")
    entries: tuple[SetEntry, ...]
    kept: int = Field(description="entries that were settled before this call")
    left: int = Field(default=0, description="entries that the time or the budget did not suffice for")
    why_left: str = Field(default="", description="in a sentence")


@dataclass(frozen=True)
class SetRequest:
    """What a set is to be made of."""

    entries: Sequence[str]
    folder: Path
    kind: SetKindName | None = None
    """None: that of the set which is there, else `library`."""
    name: str | None = None
    version: str | None = None
    filters: FilterRules = field(default_factory=FilterRules)
    rules: MakingRules = field(default_factory=MakingRules)
    """Of libraries."""
    model: SetModel | None = None
    """That writes specifications of libraries; None: they are extracted."""
    times: int = 3
    """That an original must pass, and an instance's masked repository fail."""
    mutants: int = 12
    """Of a service, which its tests should notice."""
    jobs: int = 1
    minutes: float = 30
    hours: float | None = None
    """After which no more is done; what is not settled then is left for the next call."""
    again: bool = False
    """Also entries that were rejected before."""
    earlier: Path | None = None
    """A version of the set of which tasks that would be made anew alike are taken."""


class SetKind(Protocol):
    """How tasks of one kind are made."""

    steps: tuple[str, ...]
    """An entry's steps, in their order."""

    def parse(self, text: str) -> SetWish:
        """Return what an entry of the list names. Raises `UsageError`."""

    async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Make the task of an entry and put its files in place. What it raises rejects the entry."""

    def finished(self, one: SetEntry, folder: Path) -> None:
        """Tidy up after an entry whose line was written."""

    def is_there(self, one: SetEntry, folder: Path) -> bool:
        """Whether the files of an accepted entry are in place."""

    def is_pending(self, one: SetEntry, folder: Path) -> bool:
        """Whether an accepted entry that is there lacks something that was asked for."""

    def described(self, one: SetEntry, folder: Path) -> SetTask:
        """Return what the manifest says of an accepted entry."""

    def adopt(self, one: SetEntry, part: Path, folder: Path) -> None:
        """Put the files of the accepted entry *one* of the set in *part* in place in *folder*."""

    def shared(self, folder: Path) -> Mapping[str, str]:
        """Return the files of several tasks, with their digests."""


class MadeElsewhere(Protocol):
    """Where entries are made that other machines can reach."""

    async def entry(self, one: SetWish, place: SetPlace, part: Path) -> SetEntry:
        """Make the set of this one entry elsewhere, write it to the new folder *part*, and return its result.

        Raises `InfrastructureError` where that is pending.
        """


SetWorker = Callable[[str, SetRequest, Settings, Tell], Coroutine[None, None, SetYield]]
"""Makes a set with other machines, whose address comes first."""
SET_WORKERS: Table[SetWorker] = Table("set worker", {})


def kind_of(name: SetKindName, request: SetRequest) -> SetKind:
    """Return how tasks of the kind *name* are made."""
    if name == "service":
        return ServiceSets(ProofRules(times=request.times, mutants=request.mutants))
    libraries = LibrarySets(request.rules, is_written=request.model is not None)
    return InstanceSets(request.times) if name == "dibench" else libraries


async def make_set(
    request: SetRequest,
    settings: Settings,
    tell: Tell,
    kind: SetKind | None = None,
    elsewhere: MadeElsewhere | None = None,
) -> SetYield:
    """Make the set that *request* asks for, or go on with it; without entries, bring its manifest up to date, and
    with a model have written what was extracted.

    *kind* replaces how tasks are made; *elsewhere* makes entries that are no folders of this machine. Raises
    `UsageError` before anything is begun, also for what this machine lacks.
    """
    named = _kind(request)
    if request.model is not None and named != "library":
        raise UsageError(f"a model writes specifications of libraries only; leave -m out for a {named} set")
    kind = kind or kind_of(named, request)
    wanted = _wanted(request, kind)
    with opened_set(request.folder) as folder, contextlib.ExitStack() as stack:
        spending = None
        if request.model is not None:
            spending = stack.enter_context(SetSpending(folder, request.model, settings.cache_dir))
        manifest = _begun(request, named, folder)
        settled = {one.entry: one for one in read_entries(folder)}
        pending = [one for one in wanted if _is_pending(one, settled, folder, kind, again=request.again)]
        place = SetPlace(folder, manifest, request.filters, request.earlier, settings, spending, dict(settled))
        tasks = {
            one.entry: kind.described(one, folder)
            for one in settled.values()
            if one.standing == "accepted" and kind.is_there(one, folder)
        }
        _write_manifest(place, tasks, kind)
        with Journal(folder / ENTRIES) as journal:
            places = asyncio.Semaphore(request.jobs)
            meter = CostMeter(settings.cache_dir)

            async def settle(one: SetWish) -> None:
                walk = EntryWalk(one, folder, tell)
                if elsewhere is not None and one.kind != "folder" and not _is_begun(one.text, place, kind):
                    found = await _adopted(walk, place, elsewhere, settled, kind)
                else:
                    async with places:
                        if spending is not None and spending.is_spent:
                            return
                        await asyncio.to_thread(meter.begin, one.text)
                        found = _or_before(
                            await _settled(walk, place, request.minutes, settled, kind), place, kind
                        )
                        cost = await asyncio.to_thread(meter.end, one.text)
                        found = at_cost(found, cost, place.settled.get(one.text))
                journal.append(found.model_dump_json().encode())
                settled[one.text] = found
                await asyncio.to_thread(kind.finished, found, folder)
                if found.standing == "accepted":
                    tasks[one.text] = kind.described(found, folder)
                    _write_manifest(place, tasks, kind)

            try:
                async with _within(request.hours), asyncio.TaskGroup() as group:
                    for one in pending:
                        group.create_task(settle(one))
            except* GroundupError as errors:  # of the set's own files: entries' errors are recorded
                raise errors.exceptions[0] from None
        shown = tuple(settled[one.text] for one in wanted if one.text in settled)
        shown = shown if wanted else tuple(settled.values())
        left = len(wanted) - len(shown) if wanted else 0
        is_spent = spending is not None and spending.is_spent
        return SetYield(
            folder=str(folder),
            label=read_manifest(folder).label,
            entries=shown,
            kept=(len(wanted) or len(shown)) - len(pending),
            left=left,
            why_left="" if not left else "the budget of models is spent" if is_spent else "the time is up",
        )


def _wanted(request: SetRequest, kind: SetKind) -> Sequence[SetWish]:
    """Return what is asked for, each once.

    Raises `UsageError` also for what a set is made with and this machine lacks, so that no entry is blamed for it.
    """
    entries = request.entries
    if not entries and request.model is not None:
        entries = [one.entry for one in read_entries(request.folder)]
    wanted = {one.text: one for one in map(kind.parse, entries)}
    if wanted:
        require_reader()
    if any(one.kind == "git" for one in wanted.values()) and shutil.which("git") is None:
        raise UsageError("repositories are fetched by Git, which is not on PATH; install it, then call this again")
    return list(wanted.values())


@contextlib.asynccontextmanager
async def _within(hours: float | None) -> AsyncIterator[None]:
    """End what is done inside after *hours*, and say nothing: the next call goes on with it."""
    try:
        async with asyncio.timeout(None if hours is None else hours * 3600):
            yield
    except TimeoutError:
        pass


def _kind(request: SetRequest) -> SetKindName:
    if not (request.folder / MANIFEST).is_file():
        return request.kind or "library"
    there = read_manifest(request.folder).kind
    if request.kind not in (None, there):
        raise UsageError(f"{request.folder} is a set of the kind {there}; make a {request.kind} set elsewhere")
    return there


@contextlib.contextmanager
def opened_set(folder: Path) -> Iterator[Path]:
    """Yield *folder* for this process alone. Raises `UsageError` where it holds something else than a set."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MANIFEST).is_file())):
        entries = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
        if not entries <= {_LOCK, ENTRIES, EVIDENCE, ".groundup-made"}:  # what a killed start left
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


def _begun(request: SetRequest, kind: SetKindName, folder: Path) -> SetManifest:
    if not (folder / MANIFEST).is_file():
        name = checked_name(request.name or folder.resolve().name)
        canary = secrets.token_hex(16)
        follows = read_manifest(request.earlier).label if request.earlier is not None else None
        version = request.version or _VERSION
        return SetManifest(name=name, version=version, kind=kind, canary=canary, follows=follows)
    manifest = read_manifest(folder)
    given = {"name": request.name, "version": request.version}
    return manifest.but(**{key: value for key, value in given.items() if value is not None})


def _is_begun(entry: str, place: SetPlace, kind: SetKind) -> bool:
    """Whether there is a task of *entry* that only lacks something."""
    before = place.settled.get(entry)
    return before is not None and kind.is_pending(before, place.folder)


def _or_before(found: SetEntry, place: SetPlace, kind: SetKind) -> SetEntry:
    """Return *found*, or the task that is there all the same, where only what it lacks failed."""
    if found.standing == "accepted" or not _is_begun(found.entry, place, kind):
        return found
    return place.settled[found.entry].but(gaps=(found.why,), seconds=found.seconds)


def _is_pending(
    one: SetWish, settled: Mapping[str, SetEntry], folder: Path, kind: SetKind, *, again: bool
) -> bool:
    found = settled.get(one.text)
    if found is None or found.is_unsettled:
        return True
    if found.standing == "accepted":
        return not kind.is_there(found, folder) or kind.is_pending(found, folder)
    return again


async def _settled(
    walk: EntryWalk, place: SetPlace, minutes: float, settled: Mapping[str, SetEntry], kind: SetKind
) -> SetEntry:
    """Make one entry. What goes wrong with it is its own, and ends no other."""
    try:
        walk.at(kind.steps[0])
        async with asyncio.timeout(minutes * 60):
            made = await kind.make(walk, place)
        _refuse_twin(made, walk, settled)
        return walk.ended("accepted", task=made.id, tests=made.tests, left_out=made.left_out)
    except TimeoutError:
        standing, why = out_of_time(minutes, os.getloadavg()[1] / (os.cpu_count() or 1))
        if walk.otherwise is None and standing == "failed":
            return walk.ended("failed", why)
        walk.cause, why = walk.otherwise or ("time", why)
        return walk.ended("rejected", why)
    except (InfrastructureError, MissingExtraError) as error:
        return walk.ended("failed", error)
    except BudgetSpentError as error:
        return walk.ended("pending", error)
    except GroundupError as error:
        return walk.ended("rejected", error)
    except Exception as error:  # noqa: BLE001 - the boundary of an entry: a stranger's package ends no night's work
        walk.cause = "a fault of groundup"
        return walk.ended("rejected", f"groundup could not cope with it: {type(error).__name__}: {error}")


def at_cost(found: SetEntry, cost: EntryCost, before: SetEntry | None) -> SetEntry:
    """Return *found* with what it took; what was taken *before* for the same task counts, too."""
    if before is None or before.standing != "accepted" or before.task != found.task:
        return found.but(processor_s=cost.processor_s, layers_mb=cost.layers_mb)
    return found.but(
        seconds=round(before.seconds + found.seconds, 1),
        processor_s=round(before.processor_s + cost.processor_s, 1),
        layers_mb=round(before.layers_mb + cost.layers_mb, 1),
    )


def out_of_time(minutes: float, load: float) -> tuple[Standing, str]:
    """Return what becomes of an entry that took more than *minutes*, where *load* programs want each processor."""
    said = f"it took more than {minutes:g} minutes"
    if load <= _BUSY:
        return "rejected", f"{said}; see --minutes"
    return "failed", f"{said} while {load:.0f} programs wanted each processor; the same command tries it again"


async def _adopted(
    walk: EntryWalk, place: SetPlace, elsewhere: MadeElsewhere, settled: Mapping[str, SetEntry], kind: SetKind
) -> SetEntry:
    """Have one entry made elsewhere, and put what came of it in place."""
    walk.at(kind.steps[0])
    with scratch_folder("part") as work:
        try:
            found = await elsewhere.entry(walk.wish, place, work / "part")
            await asyncio.to_thread(walk.take_evidence, work / "part" / EVIDENCE)
            if found.standing == "accepted":
                walk.facts, walk.step = found.facts, found.step
                _refuse_twin(MadeTask(found.task, found.tests), walk, settled)
                kind.adopt(found, work / "part", place.folder)  # one after another: they may share a file
        except (InfrastructureError, MissingExtraError) as error:
            return walk.ended("failed", error)
        except GroundupError as error:
            return walk.ended("rejected", error)
        else:
            return found


def _refuse_twin(made: MadeTask, walk: EntryWalk, settled: Mapping[str, SetEntry]) -> None:
    for one in settled.values():
        if one.standing == "accepted" and one.task == made.id and one.entry != walk.wish.text:
            walk.cause = "the same as another"
            raise TaskError(f"it is the task {made.id}, which {one.entry} is already")


def _write_manifest(place: SetPlace, tasks: Mapping[str, SetTask], kind: SetKind) -> None:
    ordered = tuple(sorted(tasks.values(), key=lambda task: task.id))
    shared = dict(kind.shared(place.folder)) if ordered else {}
    text = place.manifest.but(tasks=ordered, shared=shared).model_dump_json(indent=1) + "\n"
    write_made(place.folder / MANIFEST, text.encode())
