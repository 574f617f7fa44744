"""Tasks of RepoGenesis' kind for a set: a service started, explored, recorded, specified and proven.

tasks/<id>/README.md, task.toml, tests/   the task, as `data pull repogenesis@NAME` takes it
references/<id>/                          the original, with what starts it and the versions that it needs
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from groundup.environments.checkouts import RepositoryOrigin
from groundup.episodes.backends import opened_context
from groundup.settings import Settings
from groundup.store.ownership import digest_of_entry, note_made, refuse_others
from groundup.suites.repogenesis.tasks import README, REFERENCES, TASK_FILE, TASKS, parse_task
from groundup.suites.sets import SetRefetch, SetTask
from groundup.trees.digest import tree_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import read_regular, remove_tree
from groundup.trees.writer import copy_tree, disk_errors, in_thread
from groundup_factory.filters import facts_of, refuse
from groundup_factory.instances.repositories import check_out_listed
from groundup_factory.recipes.history import GitHistory
from groundup_factory.services.making import MadeService, OriginalService, make_service
from groundup_factory.services.proving import ProofRules
from groundup_factory.set_entries import (
    EarlierTask,
    EntryWalk,
    MadeTask,
    SetEntry,
    SetPlace,
    SetWish,
    earlier_task,
    identity,
    note_refetch,
    noted_refetch,
    parse_repository,
)


class ServiceSets:
    """How a repository becomes a service's task."""

    steps: tuple[str, ...] = ("fetched", "filtered", "started", "explored", "recorded", "proven")

    def __init__(self, rules: ProofRules) -> None:
        self._rules = rules

    def parse(self, text: str) -> SetWish:
        """Return which repository an entry names. Raises `UsageError`."""
        return parse_repository(text)

    async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Make the task of an entry with its reference, and put both in place."""
        with scratch_folder("service") as work:
            origin = await _original(walk.wish, work, place.settings)
            name = identity(origin.full_name, walk.wish.name, origin.commit[:12])
            walk.facts = await asyncio.to_thread(
                facts_of, work / "tree", origin.commit_date, walk.wish.stars, walk.wish.language
            )
            walk.at("filtered")
            refuse(walk.facts, place.filters)
            same = earlier_task(place.earlier, name)
            if same is not None:
                return await asyncio.to_thread(_taken_over, same, walk, place)
            original = OriginalService(
                id=name, tree=work / "tree", moment=origin.commit_date, canary=place.manifest.canary
            )
            async with opened_context(place.settings) as context:
                made = await make_service(original, work, self._rules, walk, context, place.settings)
            refetch = _refetch(walk.wish, origin, made)
            await in_thread(_put, made.folder, made.reference.tree, made.id, refetch, place.folder)
        return MadeTask(made.id, made.tests, made.left_out)

    def finished(self, one: SetEntry, folder: Path) -> None:
        """Do nothing: an entry that was interrupted begins anew, with the environments that were built."""

    def is_there(self, one: SetEntry, folder: Path) -> bool:
        """Whether there is the task, which is put in place last."""
        return (folder / TASKS / one.task / TASK_FILE).is_file()

    def is_pending(self, one: SetEntry, folder: Path) -> bool:
        """Return False: nothing is added to a task later."""
        return False

    def described(self, one: SetEntry, folder: Path) -> SetTask:
        """Return what the manifest says of a service."""
        task = parse_task((folder / TASKS / one.task / TASK_FILE).read_text(encoding="utf-8"), one.task)
        places = (f"{TASKS}/{one.task}", f"{REFERENCES}/{one.task}")
        digests = {place: digest_of_entry(folder / place) for place in places}
        return SetTask(
            id=one.task,
            entry=one.entry,
            source=one.entry.partition("@")[0] + "@" + one.task.rpartition("@")[2],
            licence=one.facts.licence,
            language=task.language,
            specification="extracted",
            tests=task.tests.count,
            left_out=one.left_out,
            files={place: digest for place, digest in digests.items() if digest is not None},
            refetch=noted_refetch(folder / REFERENCES / one.task),
        )

    def adopt(self, one: SetEntry, part: Path, folder: Path) -> None:
        reference = part / REFERENCES / one.task
        _put(part / TASKS / one.task, reference, one.task, noted_refetch(reference), folder)

    def shared(self, folder: Path) -> Mapping[str, str]:
        """Return none: each task has its own files."""
        return {}


async def _original(wish: SetWish, work: Path, settings: Settings) -> RepositoryOrigin:
    """Write the original of an entry to `tree` in *work*; a folder as it lies there, without what it ignores."""
    if wish.kind == "git":
        return await check_out_listed(wish.what, wish.commit, work / "tree", work, settings.git_mirror)
    ours = GitHistory(work / "snapshot.git")
    await ours.create()
    commit = await ours.snapshot(Path(wish.what), work / "snapshot.bundle")
    await ours.export(commit, work / "tree", work)
    return RepositoryOrigin(None, commit)


def _refetch(wish: SetWish, origin: RepositoryOrigin, made: MadeService) -> SetRefetch | None:
    if wish.kind != "git" or origin.lacking:
        return None
    return SetRefetch(
        repository=wish.what,
        commit=origin.commit,
        kinds=(),
        added=made.reference.added,
        place=f"{REFERENCES}/{made.id}",
    )


def _put(task: Path, reference: Path, name: str, refetch: SetRefetch | None, folder: Path) -> None:
    """Put a task into the set, its reference first. What an interruption left of it is replaced."""
    with disk_errors(folder):
        for place in (REFERENCES, TASKS):
            (folder / place).mkdir(exist_ok=True)
    copy_folder_made(reference, folder / REFERENCES / name)
    if refetch is not None:
        note_refetch(folder / REFERENCES / name, refetch)
    copy_folder_made(task, folder / TASKS / name)


def _taken_over(same: EarlierTask, walk: EntryWalk, place: SetPlace) -> MadeTask:
    """Put the task of an earlier version in place, with this one's canary."""
    walk.facts = same.entry.facts
    walk.at("proven")
    with scratch_folder("service") as work:
        task = work / "task"
        copy_tree(same.folder / TASKS / same.task.id, task)
        text = read_regular(task / README).replace(same.canary.encode(), place.manifest.canary.encode())
        (task / README).write_bytes(text)
        reference = same.folder / REFERENCES / same.task.id
        _put(task, reference, same.task.id, same.task.refetch, place.folder)
    return MadeTask(same.task.id, same.task.tests, same.task.left_out)


def copy_folder_made(source: Path, path: Path) -> None:
    """Copy the folder *source* to *path*, as `write_made` writes. What an interruption left is replaced."""
    partial = path.with_name(f".{path.name}.partial")
    remove_tree(partial)
    copy_tree(source, partial)
    digest = tree_digest(partial).digest
    if digest_of_entry(path) != digest:
        refuse_others(path)
        note_made(path, digest)
        remove_tree(path)
        partial.rename(path)
    remove_tree(partial)
