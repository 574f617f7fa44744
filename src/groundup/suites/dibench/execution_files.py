"""Which build files are executed, and what the published act command asks for.

A build file can hold more than declarations: scripts, code, switches. A submission that turns `npm test` into
`true` has not inferred anything. So where a file differs from the masked one in more than what it declares, its
declarations are written into the masked one, and that is executed.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.manifests.formats import format_of
from groundup.manifests.records import DependencyKind, ManifestError
from groundup.manifests.sections import ManifestFormat
from groundup.suites.dibench.answers import Edited, original
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.instances import Instance

_EMPTY_ARGUMENT = re.compile(
    r"(?:install_requires|extras_require|tests_require|setup_requires)=(?:\[\]|\{\}|\(\)|None|\"\"|'')"
)
_EMPTY_GROUP = re.compile(r"<ItemGroup[^>]*/>|<ItemGroup[^>]*></ItemGroup>")


class ExecutedFiles(Record):
    """Contents by path; None: the file is removed."""

    contents: dict[str, bytes | None]
    taken_back: tuple[str, ...] = ()
    """Files in which changes of something else than declarations were not executed."""


def executed_files(problem: InstanceProblem, edited: Edited) -> ExecutedFiles:
    """Return the build files to execute."""
    contents: dict[str, bytes | None] = {}
    taken_back = []
    wanted = original(problem)
    for path in problem.instance.build_files:
        masked, data = problem.read(path), edited.read(path)
        if data in (masked, wanted(path)) or path in edited.broken:
            contents[path] = masked if path in edited.broken else data
            continue
        contents[path], changed = _declarations_only(path, masked, data)
        if changed:
            taken_back.append(path)
    return ExecutedFiles(contents=contents, taken_back=tuple(taken_back))


def _declarations_only(path: str, masked: bytes | None, data: bytes | None) -> tuple[bytes | None, bool]:
    """Return what is executed of *data*, and whether that is less than it."""
    known = format_of(path)
    if known is None or masked is None or data is None:
        return (data, False) if known is None and data is not None else (masked, True)
    try:
        present = known.read(data, path)
        if _skeleton(known, masked, path) == _skeleton(known, data, path):
            return data, False
    except (ManifestError, ValueError, RecursionError):
        return data, False  # no installer reads what is no manifest
    try:
        return known.write(masked, present.dependencies, path), True
    except ManifestError:
        return masked, True


def _skeleton(known: ManifestFormat, data: bytes, path: str) -> object:
    """Return what a file says besides its declarations, however it is laid out."""
    bare = known.mask(data, path, frozenset(DependencyKind)).decode("utf-8-sig", errors="replace")
    return _READERS.get(path.rpartition(".")[2], _compact)(bare)


def _pruned(value: object) -> object:
    """Return *value* without anything empty: an empty section says as little as none."""
    if isinstance(value, dict):
        found = {key: _pruned(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in ({}, [], None)}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return value


def _compact(text: str) -> str:
    bare = _EMPTY_GROUP.sub("", re.sub(r"[\s,]+", "", re.sub(r"(?m)^\s*#.*$", "", text)))
    return _EMPTY_ARGUMENT.sub("", bare)


_READERS: dict[str, Callable[[str], object]] = {
    "json": lambda text: _pruned(json.loads(text)),
    "toml": lambda text: _pruned(tomllib.loads(text)),
}


_VALUED = {
    "-j": "job", "--job": "job", "-W": "workflow", "--workflows": "workflow", "--workflow": "workflow",
    "-m": "matrix", "--matrix": "matrix",
}  # fmt: skip
_OTHERS_VALUED = ("-P", "--platform", "-s", "--secret", "--env", "-e", "--eventpath", "-C", "--directory")


class JobCommand(Record):
    """Which job of which workflow is the test."""

    workflow: str
    job: str | None
    matrix: dict[str, str] = {}


def job_command(instance: Instance) -> JobCommand:
    """Return what the instance's command asks for. Raises `TaskError` for one that is not act's."""
    try:
        words = shlex.split(instance.act_command)
    except ValueError as error:
        raise TaskError(f"{instance.instance_id}: act_command is no command line: {error}") from error
    if not words or words[0].rpartition("/")[2] != "act":
        raise TaskError(f"{instance.instance_id}: act_command does not call act: {instance.act_command[:100]}")
    found: dict[str, list[str]] = {}
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _VALUED:
            found.setdefault(_VALUED[name], []).append(value if equals else next(rest, ""))
        elif name in _OTHERS_VALUED and not equals:
            next(rest, None)
    pins = [pin.partition(":") for pin in found.get("matrix", [])]
    workflow = found.get("workflow", [instance.ci_file])[-1].removeprefix("./")
    return JobCommand(
        workflow=workflow if workflow.endswith((".yml", ".yaml")) else instance.ci_file,
        job=found.get("job", [None])[-1],
        matrix={key: value.strip() for key, _, value in pins},
    )
