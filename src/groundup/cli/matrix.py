"""Several runs out of one file: `[[run]]` tables whose keys are the flags of `groundup run`.

A list where a flag takes one value means: one run for each. Runs are named by what they are, so that the same file
given again finishes what is left.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from groundup.cli.console import say
from groundup.cli.options import Judging, Making, Selection, Subjects, Talk, Work
from groundup.cli.progress import telling
from groundup.cli.reporting import below, print_result, read_report
from groundup.cli.run import named
from groundup.cli.settings import run_options, settings_from
from groundup.cli.working import BELOW, configured, print_plan
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, unknown
from groundup.domain.plainly import plainly
from groundup.runs import api
from groundup.runs.subjects import submissions_of
from groundup.store.records import RunConfiguration
from groundup.trees.reading import read_regular

G = TypeVar("G", Subjects, Selection, Judging, Making)
_GROUPS = (Subjects, Selection, Judging, Making)
_LISTS = frozenset({"agent_option", "model_option"})
_NAMES = frozenset({"tasks", "exclude"})
_OWN = ("suite", "name")


@dataclass(frozen=True)
class MatrixEntry:
    """One run that the file asks for."""

    name: str
    suite: str
    subject: Subjects
    selection: Selection
    judging: Judging
    making: Making


def run_matrix(config: Path, work: Work, talk: Talk, *, dry_run: bool) -> int:
    """Make or finish all runs of the file; return the gravest exit code."""
    entries = read_matrix(config)
    planned = [(entry, _configuration(entry, work, config)) for entry in entries]
    if dry_run:
        for entry, configuration in planned:
            say(f"groundup: the run {entry.name}:")
            settings = settings_from(output=work.output, config=config)
            print_plan(api.plan(configuration, settings), talk.report_format)
        return 0
    folders = []
    codes = [0]
    for entry, configuration in planned:
        settings = settings_from(output=work.output, sandbox=entry.judging.sandbox, jobs=work.jobs, config=config)
        options = run_options(work, settings, entry.making)
        folder = settings.output / entry.name
        with telling(talk) as progress:
            if (folder / "config.json").exists():
                changes = dict(configuration)
                result = api.resume(folder, options, settings, changes=changes, progress=progress)
            else:
                result = api.run(configuration, options, settings, run_id=entry.name, progress=progress)
        folders.append(result.folder)
        codes.append(result.exit_code)
        if result.interrupted:
            break
    report = read_report(folders)
    print_result(report, talk)
    if max(codes):
        say(f"groundup: not everything has a verdict; `groundup run --config {config}` goes on")
        return max(codes)
    if failed := below(report, talk.fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return 0


def read_matrix(path: Path) -> list[MatrixEntry]:
    """Return the runs of the file. Raises `UsageError` naming the table and the key that is wrong."""
    try:
        document = tomllib.loads(read_regular(path).decode(), parse_float=_Written)
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
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
    known = ({field.name for group in _GROUPS for field in fields(group)} | set(_OWN)) - {"config"}
    given = {name.replace("-", "_"): value for name, value in table.items()}
    for name in _NAMES & given.keys():
        value = given[name]
        given[name] = [",".join(map(str, value))] if isinstance(value, list) else [value]
    for name in given:
        if name not in known:
            raise UsageError(f"{place}: {unknown('key', name, known)}")
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
            name=checked_name(re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(parts)).strip("-.")[:120]),
            suite=str(one["suite"]),
            subject=_group(Subjects, one, place),
            selection=_group(Selection, one, place),
            judging=_group(Judging, one, place),
            making=_group(Making, one, place),
        )


def _group(kind: type[G], given: Mapping[str, object], place: str) -> G:
    values = {field.name: given[field.name] for field in fields(kind) if field.name in given}
    for name in _LISTS & values.keys():
        value = values[name]
        if isinstance(value, Mapping):
            values[name] = [f"{key}={_text(item)}" for key, item in value.items()]
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{place}: {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


class _Written(float):
    """A number that remembers how it was written: 3.10 is a version for some."""

    text: str

    def __new__(cls, text: str) -> "_Written":
        made = super().__new__(cls, text)
        made.text = text
        return made


def _text(value: object) -> str:
    import json

    if isinstance(value, _Written):
        return value.text
    return value if isinstance(value, str) else json.dumps(value)


def _configuration(entry: MatrixEntry, work: Work, config: Path) -> RunConfiguration:
    settings = settings_from(output=work.output, sandbox=entry.judging.sandbox, config=config)
    submissions = submissions_of(entry.suite, named(entry.subject), settings)
    configuration = configured(entry.suite, submissions, (entry.selection, entry.judging), settings)
    api.plan(configuration, settings)
    return configuration
