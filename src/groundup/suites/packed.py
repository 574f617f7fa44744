"""Taking in a set that somebody packed: what it may not hold is fetched and masked again."""

import asyncio
from pathlib import Path
from typing import get_args

from groundup.domain.errors import SubmissionError, UsageError
from groundup.environments.checkouts import check_out
from groundup.languages.masking import mask_repository
from groundup.manifests.records import DependencyKind, Language
from groundup.settings import Settings
from groundup.store.ownership import digest_of_entry
from groundup.suites.sets import SetTask, copy_set, read_manifest
from groundup.trees.archives import extract_archive
from groundup.trees.writer import TreeLimits, copy_tree, in_thread

_LIMITS = TreeLimits(files=2_000_000, bytes=50 * 1024**3, ratio=1000)


def taken_in(source: Path, work: Path, settings: Settings) -> Path:
    """Return the whole set of *source* in the folder *work*, with what it leaves to be fetched. Not for a loop.

    Raises `UsageError`, and as `check_out` does.
    """
    folder = work / "set"
    if source.is_dir():
        copy_set(source, folder)
    else:
        try:
            extract_archive(source, folder, _LIMITS)
        except SubmissionError as error:
            raise UsageError(f"{source}: {error}; copy the archive again") from error
    for number, task in enumerate(read_manifest(folder).tasks):
        if task.refetch is not None and not (folder / task.refetch.place).exists():
            between = work / str(number)
            between.mkdir()
            asyncio.run(_fetch(task, folder, between, settings))
    return folder


async def _fetch(task: SetTask, folder: Path, work: Path, settings: Settings) -> None:
    """Make the masked repository of *task* again. Raises `UsageError` where it is not the same."""
    wanted = task.refetch
    assert wanted is not None
    original = work / "original"
    await check_out(wanted.repository, wanted.commit, original, work, settings.git_mirror)
    for path, text in wanted.added.items():
        (original / path).parent.mkdir(parents=True, exist_ok=True)
        (original / path).write_text(text, encoding="utf-8")
    language: Language = next(one for one in get_args(Language) if one == task.language)
    kinds = frozenset(DependencyKind(kind) for kind in wanted.kinds)
    place = folder / wanted.place
    place.parent.mkdir(parents=True, exist_ok=True)
    if kinds:
        await in_thread(mask_repository, original, place, language, kinds)
    else:
        await in_thread(copy_tree, original, place)
    if digest_of_entry(place) != task.files[wanted.place]:
        raise UsageError(
            f"{task.id} is not the repository that was packed, once it is fetched and masked here; use the "
            "version of groundup that packed it"
        )
