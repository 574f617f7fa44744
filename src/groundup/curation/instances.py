"""Making DI-Bench instances of repositories, and validating them: originals must pass, empty submissions fail.

The named repository is never written to: what is needed of it is fetched into a repository of our own.

Only line feeds end lines, as diffs count them; carriage returns stay in the lines that have them.

Knows nothing of how a job is found (`locating`) or executed (`grading`).

    <folder>/<subset>.jsonl                   one line per instance, sorted by id
    <folder>/<subset>/<language>/<id>/        the masked repository
"""

import asyncio
import contextlib
import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.curation.choosing import JobWish, TestJob, chosen_job, hindrance
from groundup.curation.foreign import foreign_workflows
from groundup.curation.instance_folders import ADVICE, InstanceFolder
from groundup.curation.locating import Located, located, read_workflows
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import checked_name, unknown
from groundup.domain.records import Record
from groundup.environments.git import GitRepository, address_of
from groundup.episodes.equipment import equipment
from groundup.grading.bench import Bench
from groundup.languages import LANGUAGES
from groundup.manifests.formats import FORMATS, find_manifests
from groundup.manifests.leaks import MaskedFile, MaskReport, mask_repository
from groundup.manifests.records import DependencyKind, Language, ManifestError
from groundup.settings import Settings
from groundup.suites.base import Validation, open_suite
from groundup.suites.dibench.dataset import Instance, InstanceMetadata
from groundup.suites.dibench.patches import PatchError, apply_to_file, parse_patch
from groundup.trees.scratch import scratch_folder
from groundup.workflows.tree import FolderTree


class RepositoryOrigin(NamedTuple):
    """Where a tree came from."""

    full_name: str | None
    """`owner/name`, where the address holds it."""
    commit: str
    commit_date: str | None = None
    """When it was committed, RFC 3339."""


async def check_out(
    repository: str, commit: str | None, destination: Path, work: Path, mirror: str | None
) -> RepositoryOrigin:
    """Write the tree of *repository* at *commit* (None: its HEAD) into the new folder *destination*.

    *repository* is a folder with a Git history, a Git directory, an address, or `host/owner/name`. *work* is a
    folder for files in between. Raises `UsageError`, `NetworkError` or `TaskError`.
    """
    if repository.startswith(("-", "ext::")):
        raise UsageError(f"{repository!r} is no repository; name a folder, an address, or host/owner/name")
    address, is_local = _address(repository, mirror)
    ours = GitRepository(work / "fetched.git")
    await ours.create()
    wanted = commit or await _head(ours, address)
    await ours.fetch_commit(address, wanted)
    found = await ours.resolve(wanted)
    if found is None:
        raise TaskError(f"{repository} has no commit {wanted}; name another one")
    await ours.export(found, destination, work)
    return RepositoryOrigin(_full_name(repository, is_local=is_local), found, await ours.date(found))


async def locate_in(
    repository: str, commit: str | None, settings: Settings, model: str | None = None, base_url: str | None = None
) -> Located:
    """Return which job of *repository* runs its tests, and what *model* says (`located`).

    A folder is read as it lies there unless a *commit* is named. Raises what `check_out` raises.
    """
    folder = Path(repository).expanduser()
    is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    if folder.is_dir() and not is_bare and commit is None:
        return _with_hindrances(await located(FolderTree(folder), model, base_url), folder)
    with scratch_folder("locate") as work:
        await check_out(repository, commit, work / "tree", work, settings.git_mirror)
        tree = FolderTree(work / "tree")
        foreign = await foreign_workflows(read_workflows(tree)[0], work, settings.git_mirror)
        called = {uses: one.data for uses, one in foreign.items()}
        return _with_hindrances(await located(tree, model, base_url, called), work / "tree")


_PLANNED = 5
"""How many candidates are looked at for what hinders them here."""


def _with_hindrances(found: Located, tree: Path) -> Located:
    """Return *found* with what keeps the best jobs from being run here."""
    told = []
    for candidate in found.candidates[:_PLANNED]:
        why = hindrance(tree, candidate.workflow, candidate.job, candidate.leg)
        unknown_yet = candidate.is_dynamic or candidate.through is not None  # an instance has it written out
        more = (f"cannot be run here: {why}",) if why and not unknown_yet else ()
        told.append(candidate.model_copy(update={"hindrances": (*candidate.hindrances, *more)}))
    return found.model_copy(update={"candidates": (*told, *found.candidates[_PLANNED:])})


async def has_commit(repository: str, commit: str, work: Path, mirror: str | None) -> bool:
    """Whether *commit* is in the history of *repository*, which answered before."""
    address, _ = _address(repository, mirror)
    ours = GitRepository(work / "asked.git")
    await ours.create()
    try:
        await ours.fetch_commit(address, commit)
    except TaskError:
        return False
    return True


def _address(repository: str, mirror: str | None) -> tuple[str, bool]:
    """Return where to fetch from, and whether that is a folder of this machine."""
    local = Path(repository).expanduser()
    is_local = local.is_dir()
    is_name = "/" not in repository and ":" not in repository
    if not local.exists() and (is_name or repository.startswith(("/", "./", "../", "~"))):
        raise UsageError(f"{repository} is no folder here; name a folder, an address, or host/owner/name")
    return (str(local.resolve()) if is_local else address_of(repository, mirror)), is_local


async def _head(ours: GitRepository, address: str) -> str:
    answer = await ours.run("ls-remote", "--", address, "HEAD")
    commit = answer.stdout.decode(errors="replace").split("\t")[0].strip() if answer.ok else ""
    if not commit:
        raise UsageError(f"{address} is no Git repository that can be read; name another one, or a commit of it")
    return commit


def _full_name(repository: str, *, is_local: bool) -> str | None:
    parts = [part for part in repository.removesuffix(".git").replace(":", "/").split("/") if part]
    return None if is_local or len(parts) < 2 else "/".join(parts[-2:])


_NO_END = b"\n\\ No newline at end of file\n"


def file_diff(path: str, old: bytes, new: bytes) -> bytes:
    """Return the unified diff that turns *old* into *new*, both files at *path*; empty when they are the same."""
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
    report: MaskReport
    job: TestJob


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


def _made(
    original: Path, masked: Path, wanted: InstanceRequest, job: TestJob, name: str, origin: RepositoryOrigin
) -> Made:
    """Write the masked copy of the repository at *original* into the new folder *masked*; return its instance.

    Raises `TaskError` when nothing is declared, a manifest cannot be understood, or the patch would not restore
    it.
    """
    language = wanted.language
    report = mask_repository(original, masked, language, wanted.kinds or masked_kinds(language))
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
    return Made(instance=instance, report=report, job=job)


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


async def add_instance(wanted: InstanceRequest, folder: Path, settings: Settings) -> Made:
    """Make the instance and add it to *folder*, in the place of an earlier one of the same id and commit.

    An instance of another repository or commit is never replaced, nor one that was edited. Raises `UsageError`,
    `TaskError` or `NetworkError`; then *folder* is as it was.
    """
    target = InstanceFolder(folder)
    with scratch_folder("curate") as work:
        original = work / "original"
        origin = await check_out(wanted.repository, wanted.commit, original, work, settings.git_mirror)
        wish = JobWish(workflow=wanted.workflow, job=wanted.job, leg=wanted.leg)
        foreign = await foreign_workflows(read_workflows(FolderTree(original))[0], work, settings.git_mirror)
        job = chosen_job(wish, wanted.repository, original, foreign)
        identity = checked_name(wanted.name or _name_of(origin, wanted.repository))
        earlier = target.earlier(wanted.language, identity)
        if earlier is not None:
            await _refuse_others(earlier, target.lines, wanted, origin, work, settings)
            target.refuse_edited(earlier)
        made = _made(original, work / "masked", wanted, job, identity, origin)
        target.put(made.instance, work / "masked", work)
    return made


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


async def validate(
    suite_name: str,
    wanted: Sequence[str],
    settings: Settings,
    *,
    times: int = 3,
    again: bool = False,
    progress: Callable[[Validation], None],
) -> list[Validation]:
    """Execute originals and empty submissions of the tasks or groups *wanted* (none: all), *times* each.

    *progress* is called with each result. What is known is found again only with *again*. Raises `UsageError`.
    """
    suite = open_suite(suite_name, settings)
    validator = suite.validator()
    if validator is None:
        raise UsageError(f"{suite_name} has nothing to validate; only suites that execute tasks of others have")
    every = {task.id: task for task in suite.tasks()}
    groups = suite.groups()
    for part in wanted:
        if part not in every and part not in groups:
            raise UsageError(unknown("task", part, [*every, *groups]))
    chosen = sorted({task for part in wanted for task in groups.get(part, (part,))} or every)
    turn = asyncio.Semaphore(settings.jobs)
    numbers = itertools.count()

    async with equipment(settings.sandbox, settings) as tools:
        with scratch_folder("validate") as folder:

            def bench() -> Bench:
                scratch = folder / str(next(numbers))
                scratch.mkdir()
                return tools.bench(scratch, None)

            async def one(task: str) -> Validation:
                async with turn:
                    found = await validator.validate(every[task], times, bench, again=again)
                progress(found)
                return found

            return list(await asyncio.gather(*map(one, chosen)))
