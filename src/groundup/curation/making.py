"""Adding an instance to a folder of DI-Bench data: check out, locate, mask, write.

<folder>/<subset>.jsonl                   one line per instance, sorted by id; the folder's name is the subset's
<folder>/<subset>/<language>/<id>/        the masked repository
"""

import shutil
import tempfile
from pathlib import Path

from groundup.curation.instances import Job, Made, make_instance
from groundup.curation.locating import locate
from groundup.curation.repositories import Origin, check_out, has_commit
from groundup.curation.tree import FolderTree
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.ids import checked_name
from groundup.domain.records import Record
from groundup.grading.ci.matrix import pinned
from groundup.grading.ci.workflow import as_text, read_workflow
from groundup.manifests.records import Kind, Language
from groundup.settings import Settings
from groundup.store.files import write_atomically
from groundup.suites.dibench.instances import Instance, Metadata, as_lines, read_instances
from groundup.trees.removal import remove_tree


class Wanted(Record):
    """What an instance is to be made of."""

    repository: str
    language: Language
    commit: str | None = None
    name: str | None = None
    workflow: str | None = None
    job: str | None = None
    leg: dict[str, str] | None = None
    kinds: frozenset[Kind] | None = None


async def add_instance(wanted: Wanted, folder: Path, settings: Settings) -> Made:
    """Make the instance and add it to *folder*, in the place of an earlier one of the same id.

    An instance of another repository is never replaced. Raises `UsageError`, `TaskError` or `NetworkError`; then
    *folder* is as it was.
    """
    subset = checked_name(folder.resolve().name)
    lines = folder / f"{subset}.jsonl"
    with tempfile.TemporaryDirectory(prefix="groundup-curate-") as name:
        work = Path(name)
        original = work / "original"
        origin = await check_out(wanted.repository, wanted.commit, original, work, settings.git_mirror)
        job, runner = chosen_job(wanted, original)
        identity = wanted.name or _name_of(origin, wanted.repository)
        place = folder / subset / wanted.language / checked_name(identity)
        await _refuse_others(lines, place, wanted, origin, work, settings)
        made = make_instance(
            original,
            work / "masked",
            wanted.language,
            job,
            name=identity,
            metadata=Metadata(
                full_name=origin.full_name, commit_sha=origin.commit, commit_date=origin.commit_date
            ),
            kinds=wanted.kinds,
            runner=runner,
        )
        if place.exists():
            remove_tree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "masked", place)
    _write(lines, made.instance)
    return made


async def _refuse_others(
    lines: Path, place: Path, wanted: Wanted, origin: Origin, work: Path, settings: Settings
) -> None:
    """Raise `UsageError` when what lies at *place* was made of another repository."""
    advice = "give this one another --name, or choose another --output"
    known = (one for one in (read_instances(lines) if lines.exists() else ()) if one.language == wanted.language)
    earlier = next((one for one in known if one.instance_id == place.name), None)
    if earlier is None:
        if place.exists():
            raise UsageError(f"{place} is there and belongs to no instance; {advice}")
        return
    there, here = earlier.metadata.full_name, origin.full_name
    if there is not None and here is not None:
        same = there.casefold() == here.casefold()
    else:  # a folder has no name that tells repositories apart; their commits do
        commit = earlier.metadata.commit_sha
        same = commit is not None and await has_commit(wanted.repository, commit, work, settings.git_mirror)
    if not same:
        told = there or f"another repository (commit {(earlier.metadata.commit_sha or 'unknown')[:12]})"
        raise UsageError(f"the instance {earlier.instance_id} in {lines} was made of {told}; {advice}")


def chosen_job(wanted: Wanted, original: Path) -> tuple[Job, str]:
    """Return the job that is asked for or located, every key of its matrix pinned, and what it runs on."""
    found = locate(FolderTree(original))
    fitting = [
        one
        for one in found.candidates
        if wanted.workflow in (None, one.workflow) and wanted.job in (None, one.job)
    ]
    if not fitting and (wanted.workflow is None or wanted.job is None):
        raise TaskError(
            f"no job of {wanted.repository} seems to run tests; name one with --workflow and --job "
            f"({'; '.join(found.unread[:1]) or 'every workflow was read'})"
        )
    workflow = wanted.workflow or fitting[0].workflow
    name = wanted.job or fitting[0].job
    asked = wanted.leg if wanted.leg is not None else fitting[0].leg if fitting else {}
    file = original / workflow
    if not file.is_file():
        raise UsageError(f"{wanted.repository} has no {workflow}; name a workflow file that it has")
    job = read_workflow(file.read_bytes(), workflow).job(name)
    leg = {} if job.matrix.dynamic else pinned(job, asked)
    pins = {key: text for key, value in leg.items() if (text := as_text(value)) is not None}
    runner = fitting[0].runner if fitting else ", ".join(job.runs_on)
    return Job(workflow=workflow, name=name, leg=pins), runner


def _name_of(origin: Origin, repository: str) -> str:
    if origin.full_name is not None:
        return origin.full_name.replace("/", "_")
    return Path(repository).resolve().name.removesuffix(".git")


def _write(file: Path, instance: Instance) -> None:
    """Put the line of *instance* into the JSONL file, sorted by language and id."""
    kept = list(read_instances(file)) if file.exists() else []
    key = (instance.language, instance.instance_id)
    others = [one for one in kept if (one.language, one.instance_id) != key]
    write_atomically(file, as_lines(sorted([*others, instance], key=lambda one: (one.language, one.instance_id))))
