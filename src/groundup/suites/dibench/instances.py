"""One line of the published data: a repository with its dependencies masked, and the patch that restores them.

Reads strictly: errors name file, line and field. The older schema of the publishers' own samples
is understood by `converted` only, which is called when a user asks for it.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.names import Name
from groundup.domain.plainly import plainly
from groundup.domain.records import Record
from groundup.manifests.records import Language
from groundup.trees.walking import open_regular

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
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"{place}: an object was expected, with the fields of an instance")
    return document


def as_lines(instances: Iterable[Instance]) -> bytes:
    """Return instances as JSON lines."""
    return b"".join(instance.model_dump_json().encode() + b"\n" for instance in instances)
