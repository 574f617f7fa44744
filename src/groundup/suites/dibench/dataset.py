"""The published data on the disk: JSONL files and the folders of masked repositories.

    <data>/<any name with "regular" or "large">.jsonl     the instances of a subset
    <data>/<folder>/<language>/<instance_id>/             a masked repository

`<folder>` is `dibench-<subset>-<language>` (what an archive of the release unpacks to, with or without a folder of
the language in it), `<subset>`, `repo-<subset>`, `dibench-<subset>`, `repo-data`, or nothing: the first with it.
A JSONL file whose name says neither `regular` nor `large` is a subset of its own, named by the file.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.languages import LANGUAGES as RECORDS
from groundup.suites.base import DataSource
from groundup.suites.dibench.instances import LANGUAGES, Instance, as_lines, converted, documents, read_instances
from groundup.suites.pulling import PublishedFile, PublishedRelease
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree

SUBSETS = ("regular", "large")
PREDICTION_GROUPS: tuple[str, ...] = tuple(LANGUAGES)
"""Folders that published predictions may lie in: one per language."""


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


def read_dataset(root: Path) -> InstanceSet:
    """Read all subsets below *root*. Raises `UsageError` naming file, line and field."""
    found: list[tuple[str, Instance]] = []
    for path in sorted(root.glob("*.jsonl")):
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
    return InstanceSet(problems=tuple(problems), version=_version(problems))


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
    places = [own / instance.instance_id]
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
        return read_dataset(folder).version

    @override
    def convert(self, old: Path) -> bytes:
        """Return instances of the publishers' older schema in the published one. Raises `UsageError`."""
        return as_lines(converted(document, f"{old}, line {number}") for number, document in documents(old))
