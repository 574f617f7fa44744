"""The published data: its lines, each a masked repository with the patch that restores it, and its folders.

Reads strictly: errors name file, line and field. The older schema of the publishers' own samples
is understood by `converted` only, which is called when a user asks for it.

    <data>/<any name with "regular" or "large">.jsonl     the instances of a subset, or repo-<subset>.json
    <data>/<folder>/<language>/<instance_id>/             a masked repository

`<folder>` is `dibench-<subset>-<language>` (what an archive of the release unpacks to, with or without a folder of
the language in it), `<subset>`, `repo-<subset>`, `dibench-<subset>`, `repo-data`, or nothing: the first with it.
A JSONL file whose name says neither `regular` nor `large` is a subset of its own, named by the file; only
`validity.jsonl` says how executions ended.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import Name, checked_name
from groundup.domain.records import Record, plainly
from groundup.languages import LANGUAGES as RECORDS
from groundup.manifests.records import Language
from groundup.settings import Settings
from groundup.suites.base import DataSource
from groundup.suites.places import PublishedFile, PublishedRelease, data_folder
from groundup.suites.sets import ENTRIES, VALIDITY, canary_line, checked_set, is_set, read_manifest
from groundup.trees.walking import open_regular, read_regular
from groundup.trees.writer import copy_tree

NAME = "dibench"
LANGUAGES: tuple[Language, ...] = get_args(Language)
_MOST_BYTES = 64 * 1024 * 1024
OLDER_FIELDS = ("act_cmd", "dependency_file")


def _inside(value: str) -> str:
    path = PurePosixPath(value)
    if not value or path.is_absolute() or ".." in path.parts or "\\" in value or "\0" in value:
        raise ValueError("must be a relative path inside the repository, with '/'")
    return str(path)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


RepositoryPath = Annotated[str, AfterValidator(_inside)]
"""A relative path that stays inside the repository."""


class InstanceMetadata(Record):
    """What is known of the repository, as far as anything here uses it; other keys are the publishers' own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    full_name: str | None = None
    commit_sha: str | None = None
    commit_date: str | None = Field(default=None, description="of the commit, RFC 3339")
    pushed_at: str | None = Field(
        default=None, description="of the repository, when its newest commit was taken: never before the commit"
    )
    stargazers_count: int | None = None


class Instance(Record):
    """One problem of the benchmark, with its answer."""

    instance_id: Name
    metadata: InstanceMetadata = InstanceMetadata()
    language: Annotated[Language, BeforeValidator(_lower)]
    act_command: str = Field(description="how the publishers run the repository's own CI test job")
    ci_file: RepositoryPath
    patch: str = Field(min_length=1, description="unified diff from the masked build files to the original ones")
    build_files: tuple[RepositoryPath, ...] = Field(min_length=1)
    env_specs: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """The digest of everything that defines it, the answer included."""
        dates = {"metadata": {"commit_date", "pushed_at"}}  # of what registries had, of which graders tell
        return digest_of(self.model_dump(mode="json", exclude=dates))

    @property
    def known_date(self) -> str | None:
        """The day of its commit in UTC, where it is known: no package of a later day was there for it."""
        for written in (self.metadata.commit_date, self.metadata.pushed_at):
            try:
                moment = datetime.fromisoformat(written or "")
            except ValueError:
                continue
            return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date().isoformat()
        return None


def read_instances(path: Path) -> Iterator[Instance]:
    """Yield the instances of a JSONL file. Raises `UsageError` naming line and field."""
    for number, document in documents(path):
        place = f"{path}, line {number}"
        older = [field for field in OLDER_FIELDS if field in document]
        if older:
            raise UsageError(
                f"{place}: {older[0]}: a field of the older schema; convert the file with "
                "`groundup data convert dibench OLD.jsonl -o NEW.jsonl`"
            )
        yield _validated(document, place)


def documents(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each line of a JSONL file that is not blank. Raises `UsageError`."""
    try:
        with open_regular(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_MOST_BYTES), b""), start=1):
                if line.strip():
                    yield number, _object(line, f"{path}, line {number}")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def converted(document: dict[str, Any], place: str) -> Instance:
    """Return an instance of the older schema as one of the published schema. Raises `UsageError`."""
    known = _older(document, place)
    metadata = document.get("metadata")
    return _validated(
        {
            "instance_id": known.instance_id,
            "metadata": metadata if isinstance(metadata, dict) else {},
            "language": known.language,
            "act_command": known.act_cmd,
            "ci_file": known.ci_file,
            "patch": known.patch,
            "build_files": known.dependency_file
            if isinstance(known.dependency_file, list)
            else [known.dependency_file],
            "env_specs": {},
        },
        place,
    )


class _OlderInstance(BaseModel):
    """The fields of the older schema that the published one has too; it has more, which are dropped."""

    instance_id: str
    language: str
    act_cmd: str
    ci_file: str
    dependency_file: str | list[str]
    patch: str
    model_name_or_path: Literal["gold"] = "gold"


def _older(document: dict[str, Any], place: str) -> _OlderInstance:
    try:
        return _OlderInstance.model_validate(document)
    except ValidationError as error:
        raise _told(error, place) from error


def _validated(document: dict[str, Any], place: str) -> Instance:
    try:
        return Instance.model_validate(document)
    except ValidationError as error:
        raise _told(error, place) from error


def _told(error: ValidationError, place: str) -> UsageError:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or "the line"
    return UsageError(f"{place}: {field}: {plainly(first)}")


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        document = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{place}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"{place}: an object was expected, with the fields of an instance")
    return document


def as_lines(instances: Iterable[Instance]) -> bytes:
    return b"".join(instance.model_dump_json().encode() + b"\n" for instance in instances)


SUBSETS = ("regular", "large")
PREDICTION_GROUPS: tuple[str, ...] = tuple(LANGUAGES)
"""Folders that published predictions may lie in: one per language."""


Read = Callable[[str], bytes | None]
"""Returns the content of a file of a repository by its path; None for a missing one."""


class InstanceProblem(Record):
    """An instance with where it belongs."""

    id: str
    """The instance's id; where several have one, `<id>.<language>.<subset>`."""
    subset: str
    instance: Instance
    repository: Path

    def read(self, path: str) -> bytes | None:
        """Return a file of the masked repository; None when there is none. Raises `TaskError`."""
        file = self.folder() / path
        if file.is_symlink() or not file.resolve().is_relative_to(self.repository.resolve()):
            raise TaskError(f"{self.id}: {path} leads out of the repository; pull the data again")
        try:
            return read_regular(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TaskError(f"{self.id}: {path} cannot be read: {error.strerror}") from error

    @property
    def language(self) -> str:
        """The language's name for people."""
        return RECORDS[self.instance.language].name

    def copy_to(self, destination: Path) -> None:
        """Copy the masked repository. Raises `TaskError`."""
        copy_tree(self.folder(), destination)

    def folder(self) -> Path:
        """Return the masked repository's folder. Raises `TaskError` when it is not at hand."""
        if not self.repository.is_dir():
            raise TaskError(
                f"{self.id}: there is no folder {self.instance.language}/{self.instance.instance_id} in the data; "
                "unpack the archive of its language beside it and run `groundup data pull dibench --from FOLDER`"
            )
        return self.repository


class InstanceSet(Record):
    """All problems at hand, sorted by id."""

    problems: tuple[InstanceProblem, ...] = ()
    version: str = "none"
    remark: str = Field(default="", description="ends each instruction: the canary of a set of one's own")
    validity: Path | None = Field(default=None, description="what those found who made the instances")


def pulled_dataset(settings: Settings) -> "InstanceSet":
    folder = data_folder(NAME, settings)
    return InstanceSet() if folder is None else read_dataset(folder)


def read_dataset(root: Path) -> InstanceSet:
    """Read all subsets below *root*. Raises `UsageError` naming file, line and field."""
    found: list[tuple[str, Instance]] = []
    manifest = read_manifest(root) if is_set(root) else None
    for path in sorted([*root.glob("*.jsonl"), *root.glob("repo-*.json")]):
        if path.name == VALIDITY or (manifest is not None and path.name == ENTRIES):
            continue
        subset = _subset(path)
        seen: set[tuple[str, str]] = set()
        for instance in read_instances(path):
            key = (instance.language, instance.instance_id)
            if key in seen:
                raise UsageError(f"{path}: instance_id: {instance.instance_id} stands there twice; remove one")
            seen.add(key)
            found.append((subset, instance))
    if not found:
        raise UsageError(f"{root} holds no instances; expected a JSONL file such as {root}/repo-regular.jsonl")
    problems = sorted(_named(found, root), key=lambda problem: problem.id)
    if manifest is None:
        return InstanceSet(problems=tuple(problems), version=_version(problems), validity=root / VALIDITY)
    return InstanceSet(
        problems=tuple(problems),
        version=manifest.label,
        remark=canary_line(manifest.canary),
        validity=root / VALIDITY,
    )


def _subset(path: Path) -> str:
    named = [name for name in SUBSETS if name in path.stem.lower()]
    return named[0] if named else checked_name(path.stem)


def _named(found: Sequence[tuple[str, Instance]], root: Path) -> Iterator[InstanceProblem]:
    often = Counter(instance.instance_id for _, instance in found)
    for subset, instance in found:
        name = instance.instance_id
        if often[name] > 1:
            name = f"{name}.{instance.language}.{subset}"
        yield InstanceProblem(
            id=name, subset=subset, instance=instance, repository=_repository(root, subset, instance)
        )


def _repository(root: Path, subset: str, instance: Instance) -> Path:
    own = root / f"dibench-{subset}-{instance.language}"
    folders = [own, *(root / name for name in (subset, f"repo-{subset}", f"dibench-{subset}", "repo-data")), root]
    places = [own / instance.instance_id, own / own.name / instance.instance_id]
    places += [folder / instance.language / instance.instance_id for folder in folders]
    return next((place for place in places if place.is_dir()), places[-1])


def _version(problems: Sequence[InstanceProblem]) -> str:
    digest = digest_of([(problem.subset, problem.instance) for problem in problems])
    return digest.partition(":")[2][:12]


_REPOSITORY = "https://github.com/microsoft/DI-Bench"


class DiBenchData(DataSource):
    """The publishers' release."""

    published = PublishedRelease(
        address=_REPOSITORY,
        files=tuple(
            PublishedFile(address=f"{_REPOSITORY}/releases/download/v1.0/{name}")
            for subset in SUBSETS
            for name in (
                f"dataset-dibench-{subset}.jsonl",
                *(f"dibench-{subset}-{language}.tar.gz" for language in LANGUAGES),
            )
        ),
        licence="MIT for the benchmark; each repository in it has its own",
    )

    @override
    def check(self, folder: Path) -> str:
        """Read the instances strictly and return their version. Raises `UsageError`."""
        if is_set(folder):
            checked_set(folder, "dibench")
        return read_dataset(folder).version

    @override
    def convert(self, old: Path) -> bytes:
        """Return instances of the publishers' older schema in the published one. Raises `UsageError`."""
        return as_lines(converted(document, f"{old}, line {number}") for number, document in documents(old))
