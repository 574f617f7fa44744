"""The published data of NL2RepoBench: layout, strictly parsed, its release, and originals as submissions.

Owns nothing but reading: `start.md`, `test_commands.json`, `test_files.json`, `test_case_count.txt`, one folder
per task. What the publishers do not give for a task stays absent.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field
from typing_extensions import override

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import DataSource
from groundup.suites.nl2repobench import listing
from groundup.suites.nl2repobench.recipe import Recipe, own_names
from groundup.suites.places import PublishedRepository, data_folder
from groundup.suites.sets import checked_set, is_set
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree, in_thread

RELEASES = {
    "sha256:74a2d92034f5373f588e72cbfed0302fbe9ba9f45ed19a34c98a5c320f23d160": "ae9fb81",
    "sha256:ff4830c255520cd04927a5dfbfe0f0e4efb636290bbbfd99c1f18b76dddb526b": "781a1da",
}
"""Digest of all declared counts, commands and file lists -> commit of the published repository."""


class PublishedTask(Record):
    """What the publishers give for one task."""

    id: str
    text: str | None = Field(default=None, description="the specification, where it was read already")
    file: Path | None = Field(default=None, description="start.md, read when somebody asks for it")
    commands: tuple[str, ...] = Field(min_length=1)
    test_files: tuple[str, ...]
    declared: int = Field(ge=1, description="test_case_count.txt")

    @property
    def is_specified(self) -> bool:
        return self.text is not None or self.file is not None

    @property
    def specification(self) -> str | None:
        """The specification; None where it was not published. Raises `UsageError` for a file that is no text."""
        return self.text if self.file is None else _text(self.file)


class PublishedData(Record):
    """All tasks of one release of the data."""

    tasks: tuple[PublishedTask, ...]
    version: str = Field(description="a commit where the release is known, else a digest")


class Nl2RepoBenchData(DataSource):
    """The publishers' repository."""

    published = PublishedRepository(
        address="https://github.com/multimodal-art-projection/NL2RepoBench",
        commit=listing.DEFAULT_DATA_VERSION,
        folder="test_files",
        licence="none stated in the repository",
    )

    @override
    def check(self, folder: Path) -> str:
        """Read published data, or a set of one's own, and return which release it is."""
        if is_set(folder):
            return checked_set(folder, "library").label
        found = read_published(folder)
        for task in found.tasks:
            _ = task.specification
        return found.version


def pulled(settings: Settings) -> PublishedData | None:
    """Return the data that lies on this machine; None: none was pulled. Raises `UsageError`."""
    folder = data_folder("nl2repobench", settings)
    return None if folder is None else read_published(folder)


def read_published(folder: Path) -> PublishedData:
    """Read *folder*, or its `test_files` sub-folder. Raises `UsageError` naming the file that is wrong."""
    root = folder / "test_files" if (folder / "test_files").is_dir() else folder
    if not root.is_dir():
        raise UsageError(f"{folder}: no such folder; point to a checkout of the published data")
    return _read_unchanged(root, tuple(_state_of(path) for path in _task_folders(root)))


_FILES = ("start.md", "test_commands.json", "test_files.json", "test_case_count.txt")


def _state_of(folder: Path) -> tuple[object, ...]:
    """Return what differs when a file of a task was changed: a command opens the suite several times."""
    found: list[object] = [folder.name]
    for name in _FILES:
        try:
            seen = os.lstat(f"{folder}/{name}")
        except OSError:
            found.append(None)
        else:
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
    return tuple(found)


@lru_cache(maxsize=2)
def _read_unchanged(root: Path, states: tuple[tuple[object, ...], ...]) -> PublishedData:
    tasks = tuple(_read_task(root / str(state[0])) for state in states)
    if not tasks:
        raise UsageError(f"{root}: no task folders with test_case_count.txt; is this the published data?")
    return PublishedData(tasks=tasks, version=_release_of(tasks))


def _task_folders(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir(), key=lambda item: item.name):
        if path.is_dir() and not path.name.startswith("."):
            yield path


def _read_task(folder: Path) -> PublishedTask:
    specification = folder / "start.md"
    return PublishedTask(
        id=checked_name(folder.name),
        file=specification if specification.is_file() else None,
        commands=_strings(folder / "test_commands.json"),
        test_files=tuple(
            _relative(name, folder / "test_files.json") for name in _strings(folder / "test_files.json")
        ),
        declared=_count(folder / "test_case_count.txt"),
    )


def _text(path: Path) -> str:
    try:
        return read_regular(path).decode()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: missing; every task folder of the published data has it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; this is not the published file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error


def _strings(path: Path) -> tuple[str, ...]:
    try:
        value: Any = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: must be a list of strings")
    return tuple(value)


def _relative(name: str, path: Path) -> str:
    """Return *name* when it stays inside the workspace; the data must not delete outside of it."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise UsageError(f"{path}: {name!r} is not a relative path inside the workspace")
    return str(pure)


def _count(path: Path) -> int:
    text = _text(path).strip()
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise UsageError(f"{path}: must hold one positive whole number, not {text[:40]!r}")
    return int(text)


def _release_of(tasks: tuple[PublishedTask, ...]) -> str:
    decisive = {task.id: [task.declared, list(task.commands), list(task.test_files)] for task in tasks}
    digest = digest_of(decisive)
    return RELEASES.get(digest, f"sha256-{short(digest)}")


async def original_tree(recipe: Recipe, context: GradingContext) -> Path:
    return (await context.builder.source(recipe.source_request())).path


async def graded_tree(recipe: Recipe, context: GradingContext) -> Path:
    """Return the original with its hidden tests as `strict` runs them."""
    return (await context.builder.source(recipe.graded_request())).path


async def write_original(recipe: Recipe, destination: Path, context: GradingContext) -> None:
    """Write the original of *recipe* into the empty folder *destination*. Raises as the environment builder."""
    await in_thread(copy_tree, await original_tree(recipe, context), destination)


def withheld_names(task: str, recipe: Recipe | None) -> tuple[str, ...]:
    """Return the distributions that hand out the original of *task*, sorted: its own, forks and known copies."""
    plain = task.partition("@")[0].rpartition("__")[2]  # of a set, whose ids name owner and version, too
    names = {plain, *_further_names().get(task, ())}
    if recipe is not None:
        names.update(own_names(recipe), recipe.tests.packages)
    return tuple(sorted(name.partition(".")[0] for name in names))


@cache
def _further_names() -> Mapping[str, tuple[str, ...]]:
    text = (files("groundup.suites.nl2repobench") / "withheld.toml").read_text(encoding="utf-8")
    return {task: tuple(names) for task, names in tomllib.loads(text)["names"].items()}
