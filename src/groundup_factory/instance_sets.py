"""Tasks of DI-Bench's kind for a set: a repository located, masked, executed with its answer and without, audited.

    regular.jsonl, large.jsonl           one line per instance, in the published schema
    regular/<language>/<id>/             the masked repository
    validity.jsonl                       how the executions ended
    .making/<entry>/                     an instance that is not settled yet, which the next call goes on with

Making an instance for a set: fetched, filtered, located and masked, and kept until it is settled.

    .making/<entry>/data/        the instance, in the published layout
    .making/<entry>/made.json    that it is whole
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.environments.checkouts import RepositoryOrigin
from groundup.languages import LANGUAGES as RECORDS
from groundup.store.files import write_atomically
from groundup.store.ownership import digest_of_entry
from groundup.suites.dibench.dataset import LANGUAGES, SUBSETS, Instance, InstanceProblem, read_dataset
from groundup.suites.dibench.execution_validity import Validity, read_validity
from groundup.suites.sets import VALIDITY, SetRefetch, SetTask
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree, in_thread
from groundup_factory.filters import RepositoryFacts, facts_of, refuse
from groundup_factory.instances.choosing import JobWish, chosen_job
from groundup_factory.instances.folders import InstanceFolder
from groundup_factory.instances.leaks import DependencyAuditor
from groundup_factory.instances.making import InstanceRequest, Made, masked_instance, masked_kinds
from groundup_factory.instances.repositories import check_out_listed, foreign_of
from groundup_factory.instances.trials import (
    FailedJob,
    InstanceTrial,
    JobsFailedError,
    first_that_stands,
    instance_trial,
)
from groundup_factory.instances.validity import keep_validity
from groundup_factory.set_entries import (
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
    await in_thread(remove_tree, making)
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
        made = await in_thread(masked_instance, original, work / "masked", wanted, job, name, origin)
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


class InstanceSets:
    """How a repository becomes an instance."""

    steps: tuple[str, ...] = ("fetched", "filtered", "located", "masked", "validated", "audited")

    def __init__(self, times: int) -> None:
        self._times = times

    def parse(self, text: str) -> SetWish:
        """Return which repository an entry names. Raises `UsageError`."""
        return parse_repository(text)

    async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Make and validate the instance of an entry, and put it in place; what was made before is taken."""
        making = place.folder / MAKING / walk.wish.slug
        made = known_making(making)
        if made is None:
            made = await make_instance(walk, place, making)
        walk.facts = made.facts
        same = earlier_task(place.earlier, made.instance.instance_id)
        if same is None:
            made = await self._validated(made, walk, place, making)
        else:
            walk.at("audited")
            keep_validity(making / VALIDITY, read_validity(same.folder / VALIDITY)[made.instance.instance_id])
        instance, data = made.instance, InstanceFolder(making / DATA, made.subset)
        found = read_validity(making / VALIDITY)[instance.instance_id]
        valid = _Valid(instance, made.subset, data.place(instance), found, made.refetch)
        await in_thread(_put_instance, valid, place.folder)
        return MadeTask(made.instance.instance_id, made.facts.size.tests)

    async def _validated(
        self, made: InstanceInMaking, walk: EntryWalk, place: SetPlace, making: Path
    ) -> InstanceInMaking:
        """Return *made* or, where its job shows nothing here, what was made with a runner-up.

        Raises `TaskError`.
        """

        async def execute(one: InstanceInMaking) -> FailedJob | None:
            async with instance_trial(making / DATA, making / VALIDITY, place.settings) as trial:
                walk.at("validated")
                end = await trial.execute(one.job, self._times, walk.evidence)
                if end is None:
                    walk.at("audited")
                    await _audit(trial, walk)
                return end

        async def runner_up(failed: tuple[FailedJob, ...]) -> InstanceInMaking:
            walk.otherwise = (failed[0].cause, failed[0].why)
            return await make_instance(walk, place, making, failed)

        try:
            return await first_that_stands(made, made.failed, execute, runner_up, walk.say)
        except JobsFailedError as error:
            walk.at("validated")
            walk.cause = error.failed[0].cause
            raise

    def finished(self, one: SetEntry, folder: Path) -> None:
        if one.standing != "failed":
            remove_tree(folder / MAKING / one.evidence)

    def is_there(self, one: SetEntry, folder: Path) -> bool:
        """Whether there is the instance's line."""
        return any(folder.glob(f"*/*/{one.task}"))

    def is_pending(self, one: SetEntry, folder: Path) -> bool:
        """Return False: nothing is added to a task later."""
        return False

    def described(self, one: SetEntry, folder: Path) -> SetTask:
        """Return what the manifest says of an instance."""
        (problem,) = (problem for problem in _problems(folder) if problem.id == one.task)
        instance = problem.instance
        place = str(problem.repository.relative_to(folder))
        copied = digest_of_entry(problem.repository)
        return SetTask(
            id=one.task,
            entry=one.entry,
            source=f"{instance.metadata.full_name or one.entry}@{instance.metadata.commit_sha}",
            licence=one.facts.licence,
            language=instance.language,
            specification="instruction",
            tests=one.tests,
            files={place: copied} if copied is not None else {},
            refetch=noted_refetch(problem.repository),
        )

    def adopt(self, one: SetEntry, part: Path, folder: Path) -> None:
        """Copy the masked repository, its line and its executions."""
        (problem,) = (problem for problem in _problems(part) if problem.id == one.task)
        refetch = noted_refetch(problem.repository)
        found = read_validity(part / VALIDITY)[one.task]
        subset = problem.repository.relative_to(part).parts[0]
        _put_instance(_Valid(problem.instance, subset, problem.repository, found, refetch), folder)

    def shared(self, folder: Path) -> Mapping[str, str]:
        """Return the files of lines."""
        names = (*(f"{subset}.jsonl" for subset in SUBSETS), VALIDITY)
        digests = {name: digest_of_entry(folder / name) for name in names}
        return {name: digest for name, digest in digests.items() if digest is not None}


def _problems(folder: Path) -> Sequence[InstanceProblem]:
    if not any((folder / f"{subset}.jsonl").is_file() for subset in SUBSETS):
        return ()
    return read_dataset(folder).problems


async def _audit(trial: InstanceTrial, walk: EntryWalk) -> None:
    """Grade the answer and nothing by their texts. Raises `TaskError` where the ruler does not tell them apart."""
    suite, task, context = trial.suite, trial.task, trial.context
    scores = {}
    for subject in ("oracle", "nop"):
        tools = context()
        submission = tools.scratch / "submission"
        submission.mkdir()
        await suite.reference(task, subject, submission, tools)
        graded = await suite.graders()[suite.default_grader].grade(task, submission, tools)
        scores[subject] = graded.verdict.score.value if graded.verdict.score else None
    leaks = await DependencyAuditor(suite.problems).answers(task, context())
    walk.say(f"{len(leaks)} lines of other files still name what was masked" + (f": {leaks[0]}" if leaks else ""))
    if scores["oracle"] != 1.0 or scores["nop"] != 0.0:
        walk.cause = "the text grader does not tell its answer from nothing"
        raise TaskError(f"by its text the answer gets {scores['oracle']}, and nothing gets {scores['nop']}")


class _Valid(NamedTuple):
    """A valid instance and where it lies."""

    instance: Instance
    subset: str
    masked: Path
    validity: Validity
    refetch: SetRefetch | None


def _put_instance(valid: _Valid, folder: Path) -> None:
    """Put a valid instance into the set; what an interruption left of an earlier putting is replaced."""
    instance = valid.instance
    with scratch_folder("put") as work:
        target = InstanceFolder(folder, valid.subset)
        if (earlier := target.earlier(instance.language, instance.instance_id)) is not None:
            target.refuse_edited(earlier)
        copy_tree(valid.masked, work / "masked")
        target.put(instance, work / "masked", work)
        if valid.refetch is not None:
            note_refetch(target.place(instance), valid.refetch)
        if read_validity(folder / VALIDITY).get(instance.instance_id) != valid.validity:
            keep_validity(folder / VALIDITY, valid.validity)
