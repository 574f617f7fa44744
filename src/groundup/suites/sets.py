"""A set of tasks of one's own: a folder whose manifest names its tasks, and says what each file must be.

    set.json           name, version, kind, canary; of each task where it is from, its licence, digests
    entries.jsonl      what became of each repository that was asked for, in the order in which that was settled

The rest is as the suite of its kind has it: recipes and specifications of libraries (`nl2repobench/own_suite`),
instances and masked repositories of DI-Bench, services and their references (`repogenesis/tasks`). What
stands in no manifest, such as `evidence/`, is its maker's.
"""

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import UsageError
from groundup.domain.names import Name, checked_name
from groundup.domain.records import Record, plainly
from groundup.store.ownership import digest_of_entry
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree

MANIFEST = "set.json"
ENTRIES = "entries.jsonl"
VALIDITY = "validity.jsonl"
"""Of a set of DI-Bench: how its makers' executions ended."""
SetKindName = Literal["library", "dibench", "service"]
SUITE_OF_KIND: dict[SetKindName, str] = {"library": "nl2repobench", "dibench": "dibench", "service": "repogenesis"}
"""Kind of a set -> the suite that has such tasks."""


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ValueError("must be a relative path inside the set, with '/'")
    return path


SetPath = Annotated[str, AfterValidator(_inside)]


class SetRefetch(Record):
    """How a masked repository, or a service's reference, is made again where a set holds no copy of it."""

    repository: str = Field(description="`host/owner/name`, or an address")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    kinds: tuple[str, ...] = Field(description="of dependencies that are masked; none: it is as it is")
    added: dict[SetPath, str] = Field(
        default={}, description="files that it lacks, or has otherwise: path -> text"
    )
    place: SetPath = Field(description="its folder in the set")


class SetTask(Record):
    """One task of a set."""

    id: Name
    entry: str = Field(description="what was asked for")
    source: str = Field(description="what the original is called")
    licence: str = Field(description="of the original, as it states it")
    language: str = "python"
    specification: Literal["extracted", "written", "instruction"] = "extracted"
    tests: int = Field(ge=0, description="expected ones; of an instance those that its sources seem to declare")
    left_out: int = Field(default=0, ge=0)
    files: dict[SetPath, str] = Field(description="path of a file or folder in the set -> digest")
    refetch: SetRefetch | None = None


class SetManifest(Record):
    """What a set is."""

    format: Literal[1] = 1
    name: Name
    version: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
    kind: SetKindName = "library"
    canary: str = Field(
        description="stands in each specification, so that a training corpus can be searched for it"
    )
    follows: str | None = Field(default=None, description="the label of the version that this one refreshes")
    tasks: tuple[SetTask, ...] = ()
    shared: dict[SetPath, str] = Field(default={}, description="files of several tasks -> digest")

    @property
    def digest(self) -> str:
        """Of all that decides a verdict, and the texts."""
        return digest_of({task.id: task.files for task in self.tasks})

    @property
    def label(self) -> str:
        """Which data this is, in verdicts."""
        return f"{self.name} {self.version} {short(self.digest)}"

    @property
    def files(self) -> dict[str, str]:
        return {place: digest for task in self.tasks for place, digest in task.files.items()} | self.shared


def is_set(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def canary_line(canary: str) -> str:
    """Return what stands in a specification, so that a training corpus can be searched for it."""
    return f"<!-- groundup canary {canary}: text of a benchmark, not for training -->"


def read_manifest(folder: Path) -> SetManifest:
    """Return the manifest of the set in *folder*. Raises `UsageError`."""
    path = folder / MANIFEST
    try:
        return SetManifest.model_validate_json(read_regular(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name the folder of a set") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no manifest of a set: {plainly(error.errors()[0])}") from error


def copy_set(folder: Path, destination: Path) -> None:
    """Copy what the manifest of the set in *folder* names to *destination*; its maker's evidence stays.

    Raises `UsageError` for what is absent, and as `copy_tree` does.
    """
    manifest = read_manifest(folder)
    for place in [MANIFEST, *([ENTRIES] if (folder / ENTRIES).is_file() else []), *manifest.files]:
        source, target = folder / place, destination / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            copy_tree(source, target)
            continue
        try:
            target.write_bytes(read_regular(source))
        except OSError as error:
            raise UsageError(f"{source} cannot be read: {error.strerror}; copy the set again") from error


def checked_set(folder: Path, kind: SetKindName) -> SetManifest:
    """Return the manifest of the set in *folder*, whose files are as it says. Raises `UsageError`."""
    manifest = read_manifest(folder)
    if manifest.kind != kind:
        suite = SUITE_OF_KIND[manifest.kind]
        raise UsageError(f"{folder} is a set of the kind {manifest.kind}, which is for {suite}")
    for place, digest in manifest.files.items():
        found = digest_of_entry(folder / place)
        if found is None:
            raise UsageError(f"{folder / place} cannot be read; copy the set again")
        if found != digest:
            raise UsageError(
                f"{folder / place} is not as {MANIFEST} says; copy the set again, or if the change is yours, "
                f"`groundup curate set -o {folder}` brings the manifest up to date"
            )
    return manifest


def holds_set(source: Path) -> bool:
    """Whether *source* is the folder of a set, or an archive of one."""
    if is_set(source):
        return True
    import tarfile

    if not source.is_file():  # to open a pipe would wait for its writer
        return False
    try:
        with tarfile.open(source) as tar:
            return any(PurePosixPath(one.name) == PurePosixPath(MANIFEST) for one in tar)
    except (tarfile.TarError, OSError, EOFError):
        return False


def name_of_installed(name: str, folder: Path) -> str:
    """Return SUITE@NAME for the set in *folder*: *name* may be the set's, that with a version, or SUITE@NAME.

    Raises `UsageError`.
    """
    manifest = read_manifest(folder)
    suite = SUITE_OF_KIND[manifest.kind]
    base, at, rest = name.partition("@")
    if base in SUITE_OF_KIND.values():
        if base != suite:
            raise UsageError(f"a set of the kind {manifest.kind} is data of {suite}, not of {base}")
        return f"{suite}@{checked_name(rest)}" if at else f"{suite}@{manifest.name}@{manifest.version}"
    if at and rest != manifest.version:
        raise UsageError(f"the set is of version {manifest.version}; install it as {base}@{manifest.version}")
    return f"{suite}@{checked_name(base)}@{manifest.version}"
