"""Several runs out of one file: `[[run]]` tables whose keys are the flags of `run`, with `-` or `_`.

A list where a flag takes one value means: one run for each. Runs are named by what they are, so that the same file
given again finishes what is left.
"""

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from groundup.api.flags import (
    AnyPath,
    GradingFlags,
    MakingFlags,
    RunFlags,
    SelectionFlags,
    SubjectFlags,
    VariantFlags,
    WorkFlags,
)
from groundup.api.requests import checked, running
from groundup.api.runs import finished
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, unknown
from groundup.runs.api import NewRun, Request, Resumption, Run
from groundup.runs.progress import Progress
from groundup.settings import Settings, load
from groundup.trees.walking import read_regular

_KNOWN = (
    {"suite", "agent", "name"}
    | SubjectFlags.__annotations__.keys()
    | SelectionFlags.__annotations__.keys()
    | VariantFlags.__annotations__.keys()
    | GradingFlags.__annotations__.keys()
    | MakingFlags.__annotations__.keys()
)
_LISTS = frozenset({"agent_option", "model_option"})
_NAMES = frozenset({"tasks", "exclude"})


@dataclass(frozen=True)
class MatrixEntry:
    """One run that the file asks for."""

    name: str
    suite: str
    agent: str
    flags: RunFlags

    def request(self, settings: Settings, work: WorkFlags) -> NewRun:
        """Return the run, not begun yet. Raises `UsageError`."""
        flags: RunFlags = {**self.flags, **work, "run_id": self.name}
        return running(self.suite, self.agent, settings=settings, **flags)


def matrix_requests(config: AnyPath, **work: Unpack[WorkFlags]) -> list[NewRun]:
    """Return the runs of the file, each of which could begin. Raises `UsageError`."""
    settings = load({name: work.get(name) for name in ("output", "jobs")}, Path(config))
    requests = [entry.request(settings, work) for entry in read_matrix(Path(config))]
    for request in requests:
        request.plan()
    return requests


def run_matrix(config: AnyPath, *, progress: Progress | None = None, **work: Unpack[WorkFlags]) -> list[Run]:
    """Make or finish all runs of the file *config*, as `groundup run --config` does.

    Returns the runs in their order, up to the first that was interrupted. Raises `UsageError`: before anything
    is done for what is wrong in the file, later for a run that was begun under another configuration.
    """
    ended: list[Run] = []
    for request in matrix_requests(config, **work):
        ended.append(finished(_begun_or_new(request), progress))
        if ended[-1].interrupted:
            break
    return ended


def _begun_or_new(request: NewRun) -> Request:
    """Return what is left of a run, which may have been begun by an earlier call."""
    folder = request.settings.output / str(request.run_id)
    if (folder / "config.json").exists():
        asked = dict(request.plan().configuration)
        return Resumption(folder, request.options, request.settings, asked)
    return request


def read_matrix(path: Path) -> list[MatrixEntry]:
    """Return the runs of the file. Raises `UsageError` naming the table and the key that is wrong."""
    try:
        document = tomllib.loads(read_regular(path).decode("utf-8-sig"), parse_float=_Written)
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # also numbers too long and lists too deep for Python
        raise UsageError(f"--config {path} is not valid TOML: {error}") from error
    tables = document.get("run")
    if not isinstance(tables, list) or not tables:
        raise UsageError(f"--config {path} has no [[run]] table (docs/runs.md)")
    entries = [
        entry
        for number, table in enumerate(tables, start=1)
        for entry in _entries(table, f"{path}, [[run]] table {number}")
    ]
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{path}: two runs would be called {name!r}; give their tables a `name`")
    return entries


def _entries(table: Mapping[str, object], place: str) -> Iterator[MatrixEntry]:
    given = {name.replace("-", "_"): value for name, value in table.items()}
    for name in _NAMES & given.keys():
        value = given[name]
        given[name] = [",".join(map(str, value))] if isinstance(value, list) else [value]
    for name in given:
        if name not in _KNOWN:
            raise UsageError(f"{place}: {unknown('key', name, _KNOWN)}")
    for name in ("suite", "agent"):
        if name not in given:
            raise UsageError(f"{place}: it has no {name}")
    axes = {
        name: value
        for name, value in given.items()
        if isinstance(value, list) and name not in _LISTS and name not in _NAMES
    }
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        one = {**given, **chosen}
        parts = [str(one.get(name)) for name in ("name", "suite", "agent", "model") if one.get(name)]
        parts += [str(value) for name, value in chosen.items() if name not in ("name", "suite", "agent", "model")]
        yield MatrixEntry(
            name=checked_name(re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(parts))[:120].strip("-.+")),
            suite=str(one["suite"]),
            agent=str(one["agent"]),
            flags=_flags(one, place),
        )


def _flags(given: Mapping[str, object], place: str) -> RunFlags:
    values = {name: value for name, value in given.items() if name not in ("suite", "agent", "name")}
    for name in _LISTS & values.keys():
        value = values[name]
        if isinstance(value, Mapping):
            values[name] = [f"{key}={_text(item)}" for key, item in value.items()]
    try:
        found: RunFlags = checked(RunFlags, values)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error
    return found


class _Written(float):
    """A number that remembers how it was written: 3.10 is a version for some."""

    text: str

    def __new__(cls, text: str) -> "_Written":
        made = super().__new__(cls, text)
        made.text = text
        return made


def _text(value: object) -> str:
    if isinstance(value, _Written):
        return value.text
    return value if isinstance(value, str) else json.dumps(value)
