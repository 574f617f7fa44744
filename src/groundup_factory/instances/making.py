"""Making DI-Bench instances of repositories, and executing them before they are taken, where that is wished.

The named repository is never written to: what is needed of it is fetched into a repository of our own.

Only line feeds end lines, as diffs count them; carriage returns stay in the lines that have them.

Knows nothing of how a job is found (`locating`) or executed (`grading`).

    <folder>/<subset>.jsonl                   one line per instance, sorted by id
    <folder>/<subset>/<language>/<id>/        the masked repository
    <folder>/validity.jsonl                   how executions ended, of those that were executed
"""

import asyncio
import contextlib
import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.environments.checkouts import RepositoryOrigin, check_out
from groundup.languages import LANGUAGES
from groundup.languages.formats import FORMATS, find_manifests
from groundup.languages.masking import MaskedFile, mask_repository
from groundup.manifests.records import DependencyKind, Language, ManifestError
from groundup.settings import Settings
from groundup.suites.dibench.dataset import SUBSETS, Instance, InstanceMetadata
from groundup.suites.dibench.execution_validity import Validity, read_validity, validity_file
from groundup.suites.dibench.patches import PatchError, apply_to_file, parse_patch, utf16_text
from groundup.suites.sets import VALIDITY
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import copy_tree
from groundup_factory.instances.choosing import JobWish, TestJob, chosen_job
from groundup_factory.instances.folders import ADVICE, InstanceFolder
from groundup_factory.instances.leaks import InstanceReport, with_leaks
from groundup_factory.instances.repositories import foreign_of, has_commit
from groundup_factory.instances.trials import FailedJob, first_that_stands, instance_trial
from groundup_factory.instances.validity import keep_validity

_NO_END = b"\n\\ No newline at end of file\n"


def file_diff(path: str, old: bytes, new: bytes) -> bytes:
    """Return the unified diff that turns *old* into *new*, both files at *path*; empty when they are the same.

    Of files in UTF-16 it is the diff of their texts.
    """
    wide = [utf16_text(data) for data in (old, new)]
    if wide[0] is not None and wide[1] is not None:
        old, new = wide[0][2].encode(), wide[1][2].encode()
    return b"".join(_lines_of(path, old, new)) if old != new else b""


def _lines_of(path: str, old: bytes, new: bytes) -> Iterator[bytes]:
    name = path.encode()
    changes = difflib.diff_bytes(
        difflib.unified_diff, _split(old), _split(new), b"a/" + name, b"b/" + name, lineterm=b"\n"
    )
    for line in changes:
        yield line if line.endswith(b"\n") else line + _NO_END


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def masked_kinds(language: Language) -> frozenset[DependencyKind]:
    """Return what is taken out unless the request says otherwise.

    `[workspace.dependencies]` and central package versions name what the members need, so they go with it; pnpm's
    catalogs also hold tools that tests need, so they stay.
    """
    central = {DependencyKind.CONSTRAINT} if LANGUAGES[language].has_central_versions else set()
    return frozenset({DependencyKind.RUNTIME, *central})


class Made(Record):
    """An instance, with what its maker saw while masking."""

    instance: Instance
    report: InstanceReport
    job: TestJob
    lacking: tuple[str, ...] = ()
    """Pictures and documents that the mirror does not hold."""


class InstanceRequest(Record):
    """What an instance is to be made of."""

    repository: str
    language: Language
    commit: str | None = None
    name: str | None = None
    workflow: str | None = None
    job: str | None = None
    leg: dict[str, str] | None = None
    kinds: frozenset[DependencyKind] | None = None
    times: int = 0
    """How often original and masked repository are executed before it is taken; 0: it is taken unseen."""


def masked_instance(
    original: Path, masked: Path, wanted: InstanceRequest, job: TestJob, name: str, origin: RepositoryOrigin
) -> Made:
    """Write the masked copy of the repository at *original* into the new folder *masked*; return its instance.

    Raises `TaskError` when nothing is declared, a manifest cannot be understood, or the patch would not restore
    it.
    """
    language = wanted.language
    kinds = wanted.kinds or masked_kinds(language)
    report = mask_repository(original, masked, language, kinds)
    if report.refused:
        raise TaskError(f"{name} cannot be masked: {report.refused[0]}; take another commit, or fix the manifest")
    changed = [item for item in report.masked if _differs(original, masked, item)]
    if not changed:
        raise TaskError(_nothing_declared(original, language, name))
    instance = Instance(
        instance_id=name,
        metadata=InstanceMetadata(
            full_name=origin.full_name, commit_sha=origin.commit, commit_date=origin.commit_date
        ),
        language=language,
        act_command=job.act_command,
        ci_file=job.workflow,
        patch=_patch(original, masked, changed, name),
        build_files=tuple(item.path for item in changed),
        env_specs=_specifications(language, job),
    )
    told = with_leaks(report, masked, language, kinds)
    return Made(instance=instance, report=told, job=job, lacking=origin.lacking)


def _nothing_declared(original: Path, language: Language, name: str) -> str:
    """Return the sentence on a repository without what is taken out usually: with what there is instead."""
    kinds: Counter[str] = Counter()
    for found in find_manifests(original, language):
        with contextlib.suppress(ManifestError):
            read = FORMATS[found.format].read((original / found.path).read_bytes(), found.path)
            kinds.update(item.kind.value for item in read.dependencies)
    there = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    if not there:
        return f"{name} declares nothing that could be masked in {language}; name another language"
    return (
        f"{name} declares nothing that could be masked in {language} of the kinds that are taken out (there are: "
        f"{there}); name others with --kinds, such as --kinds {kinds.most_common(1)[0][0]}"
    )


def _differs(original: Path, masked: Path, item: MaskedFile) -> bool:
    return (original / item.path).read_bytes() != (masked / item.path).read_bytes()


def _patch(original: Path, masked: Path, changed: Collection[MaskedFile], name: str) -> str:
    """Return the diff from the masked build files to the original ones, and prove that it restores them."""
    whole = b""
    for item in changed:
        old, new = (masked / item.path).read_bytes(), (original / item.path).read_bytes()
        diff = file_diff(item.path, old, new)
        try:
            restored = apply_to_file(parse_patch(diff)[0], old)
        except PatchError as error:
            raise TaskError(f"{name}: the patch of {item.path} does not fit ({error}); report it") from error
        if restored != new:
            raise TaskError(f"{name}: the patch of {item.path} does not restore it; report it")
        whole += diff
    try:
        return whole.decode()
    except UnicodeDecodeError as error:
        raise TaskError(
            f"{name}: a build file is not UTF-8, which an instance cannot hold; leave it out"
        ) from error


def _specifications(language: Language, job: TestJob) -> dict[str, str]:
    """Return what the published data hold on the environment: operating system and SDK."""
    known = LANGUAGES[language]
    versions = [value for key, value in job.leg.items() if any(word in key for word in known.version_keys)]
    return {"OS": job.runner, "SDK": f"{known.sdk} {versions[0]}" if versions else known.sdk}


async def add_instance(
    wanted: InstanceRequest, folder: Path, settings: Settings, say: Callable[[str], None] = lambda _: None
) -> Made:
    """Make the instance and add it to *folder*, in the place of an earlier one of the same id and commit.

    Where it is executed before, a job that shows nothing is replaced by a runner-up, which *say* reports. How that
    ended is noted as `validate` does. An instance of another repository or commit is never replaced, nor one that
    was edited. Raises `UsageError`, `TaskError` or `NetworkError`; then *folder* is as it was.
    """
    target = InstanceFolder(folder)
    with scratch_folder("curate") as work:
        original = work / "original"
        origin = await check_out(wanted.repository, wanted.commit, original, work, settings.git_mirror)
        foreign = await foreign_of(original, work, settings.git_mirror)
        name = checked_name(wanted.name or _name_of(origin, wanted.repository))

        def candidate(failed: tuple[FailedJob, ...]) -> _Candidate:
            place = work / f"job-{len(failed)}"
            copy_tree(original, place / "original")  # a workflow that a job calls is written into it
            wish = JobWish(workflow=wanted.workflow, job=wanted.job, leg=wanted.leg)
            tried = {one.title: one.why for one in failed}
            job = chosen_job(wish, wanted.repository, place / "original", foreign, tried)
            made = masked_instance(place / "original", place / "masked", wanted, job, name, origin)
            return _Candidate(made, place / "masked")

        best = candidate(())
        earlier = target.earlier(wanted.language, name)
        if earlier is not None:
            await _refuse_others(earlier, target.lines, wanted, origin, work, settings)
            target.refuse_edited(earlier)
        validity: Validity | None = None
        if wanted.times:
            best, validity = await _executed(best, candidate, wanted.times, settings, say)
        target.put(best.made.instance, best.masked, work)
        if validity is not None:
            for place in (target.validity, validity_file(settings)):
                keep_validity(place, validity)
    return best.made


class _Candidate(NamedTuple):
    """An instance with one of the jobs, and where its masked repository lies."""

    made: Made
    masked: Path


async def _executed(
    best: _Candidate,
    runner_up: Callable[[tuple[FailedJob, ...]], _Candidate],
    times: int,
    settings: Settings,
    say: Callable[[str], None],
) -> tuple[_Candidate, Validity]:
    """Return the first whose job shows something here, and how its executions ended. Raises `TaskError`."""

    async def execute(one: _Candidate) -> FailedJob | None:
        data, work = one.masked.with_name("data"), one.masked.with_name("work")
        copy_tree(one.masked, work / "masked")
        InstanceFolder(data, SUBSETS[0]).put(one.made.instance, work / "masked", work)
        title = one.made.job.title
        say(f"{title}: executing the original and the masked repository, {times} times each; this can take long")
        async with instance_trial(data, data / VALIDITY, settings) as trial:
            return await trial.execute(title, times)

    async def other(failed: tuple[FailedJob, ...]) -> _Candidate:
        return await asyncio.to_thread(runner_up, failed)

    found = await first_that_stands(best, (), execute, other, say)
    validity = read_validity(found.masked.with_name("data") / VALIDITY)[found.made.instance.instance_id]
    passed = next((one.passed_tests for one in validity.tries if one.passed_tests), None)
    say(f"{found.made.job.title}: valid" + (f"; {passed} tests pass with the original" if passed else ""))
    return found, validity


async def _refuse_others(
    earlier: Instance,
    lines: Path,
    wanted: InstanceRequest,
    origin: RepositoryOrigin,
    work: Path,
    settings: Settings,
) -> None:
    """Raise `UsageError` when *earlier* was made of another repository or commit."""
    there, here = earlier.metadata.full_name, origin.full_name
    if there is not None and here is not None:
        same = there.casefold() == here.casefold()
    else:  # a folder has no name that tells repositories apart; their commits do
        commit = earlier.metadata.commit_sha
        same = commit is not None and await has_commit(wanted.repository, commit, work, settings.git_mirror)
    known = (earlier.metadata.commit_sha or "unknown")[:12]
    if not same:
        made_of = there or f"another repository (commit {known})"
    elif earlier.metadata.commit_sha != origin.commit:
        made_of = f"the commit {known}, not of {origin.commit[:12]}"
    else:
        return
    raise UsageError(f"the instance {earlier.instance_id} in {lines} was made of {made_of}; {ADVICE}")


def _name_of(origin: RepositoryOrigin, repository: str) -> str:
    if origin.full_name is not None:
        return origin.full_name.replace("/", "_")
    return Path(repository).resolve().name.removesuffix(".git")
