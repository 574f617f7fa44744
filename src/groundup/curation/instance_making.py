"""Making an instance for a set: fetched, filtered, located and masked, and kept until it is settled.

.making/<entry>/data/        the instance, in the published layout
.making/<entry>/made.json    that it is whole
"""

import asyncio
from pathlib import Path

from pydantic import ValidationError

from groundup.curation.choosing import JobWish, chosen_job
from groundup.curation.filters import RepositoryFacts, facts_of, refuse
from groundup.curation.instance_folders import InstanceFolder
from groundup.curation.instances import InstanceRequest, Made, masked_instance, masked_kinds
from groundup.curation.repositories import RepositoryOrigin, check_out_listed, foreign_of
from groundup.curation.set_entries import EntryWalk, SetPlace, identity
from groundup.curation.trials import FailedJob
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.languages import LANGUAGES as RECORDS
from groundup.store.files import write_atomically
from groundup.suites.dibench.dataset import LANGUAGES, Instance
from groundup.suites.sets import SetRefetch
from groundup.trees.removal import remove_tree
from groundup.trees.scratch import scratch_folder

MAKING = ".making"
LARGE = 120_000
"""Tokens of source from which on a repository is large, as in the paper; by groundup's estimate."""
_MADE = "made.json"
DATA = "data"
_WRITTEN = "# Written by groundup:"


class InstanceInMaking(Record):
    """An instance that is made, and not settled yet."""

    instance: Instance
    facts: RepositoryFacts
    subset: str
    masked: int
    job: str = ""
    """How a line names its job."""
    failed: tuple[FailedJob, ...] = ()
    """Better jobs, in the order in which they were tried."""
    refetch: SetRefetch | None = None
    """None: it can be fetched from nowhere."""


def known_making(making: Path) -> InstanceInMaking | None:
    """Return what an earlier call made, whose note is written last."""
    try:
        return InstanceInMaking.model_validate_json((making / _MADE).read_bytes())
    except (OSError, ValidationError):
        return None


async def make_instance(
    walk: EntryWalk, place: SetPlace, making: Path, failed: tuple[FailedJob, ...] = ()
) -> InstanceInMaking:
    """Fetch, filter, locate and mask, with another job than *failed*.

    Raises `TaskError`, and `InfrastructureError` for what cannot be reached.
    """
    wish, mirror = walk.wish, place.settings.git_mirror
    await asyncio.to_thread(remove_tree, making)
    with scratch_folder("curate") as work:
        original = work / "original"
        origin = await check_out_listed(wish.what, wish.commit, original, work, mirror)
        walk.at("filtered")
        facts = await asyncio.to_thread(facts_of, original, origin.commit_date, wish.stars, wish.language)
        walk.facts = facts
        refuse(facts, place.filters)
        if facts.language is None:
            walk.cause = "no build file that is known"
            raise TaskError(f"it has no build file of {', '.join(RECORDS[one].name for one in LANGUAGES)}")
        walk.at("located")
        foreign = await foreign_of(original, work, mirror)
        job = chosen_job(JobWish(), wish.what, original, foreign, {one.title: one.why for one in failed})
        walk.say(job.title)
        walk.at("masked")
        wanted = InstanceRequest(repository=wish.what, language=facts.language, commit=origin.commit)
        name = identity(origin.full_name, wish.name, origin.commit[:12])
        made = await asyncio.to_thread(masked_instance, original, work / "masked", wanted, job, name, origin)
        return await asyncio.to_thread(_kept, made, walk, origin, failed, making, work)


def _kept(
    made: Made,
    walk: EntryWalk,
    origin: RepositoryOrigin,
    failed: tuple[FailedJob, ...],
    making: Path,
    work: Path,
) -> InstanceInMaking:
    """Write what was made to the folder *making*, so that a call after this one need not make it again."""
    wish, facts = walk.wish, walk.facts
    subset = "large" if facts.size.tokens > LARGE else "regular"
    (making / DATA).mkdir(parents=True)
    target = InstanceFolder(making / DATA, subset)
    place = target.place(made.instance)
    workflow = (work / "masked" / made.instance.ci_file).read_text(encoding="utf-8", errors="replace")
    refetch = SetRefetch(
        repository=wish.what,
        commit=origin.commit,
        kinds=tuple(sorted(kind.value for kind in masked_kinds(made.instance.language))),
        added={made.instance.ci_file: workflow} if workflow.startswith(_WRITTEN) else {},
        place=str(place.relative_to(making / DATA)),
    )
    target.put(made.instance, work / "masked", work)
    kept = InstanceInMaking(
        instance=made.instance,
        facts=facts,
        subset=subset,
        masked=len(made.report.masked),
        job=made.job.title,
        failed=failed,
        refetch=refetch if wish.kind == "git" else None,
    )
    write_atomically(making / _MADE, kept.model_dump_json().encode())
    return kept
