"""Which build files are executed, and what the published act command asks for.

A build file can hold more than declarations: scripts, code, switches, and what one parser reads differently than
another. So no submitted byte is executed: what a file declares is read as values, and these are written into the
masked file. A file that cannot be read, or that computes what it declares, is refused.
"""

import contextlib
import html
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from groundup.domain.errors import SubmissionError, TaskError, reading_submission
from groundup.domain.records import Record
from groundup.languages.javascript.package_json import parse_specifier
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Manifest, ManifestError
from groundup.manifests.sections import ManifestFormat
from groundup.suites.dibench.answers import USUAL, Edited, manifest_format, original, refuse_excess
from groundup.suites.dibench.dataset import Instance, InstanceProblem, Read

_EMPTY_ARGUMENT = re.compile(
    r"(?:install_requires|extras_require|tests_require|setup_requires)=(?:\[\]|\{\}|\(\)|None|\"\"|'')"
)
_USUAL_GROUPS = 64
"""Extras, groups and targets of one file, more than almost any has."""
_RUNNERS = re.compile(r"(?:pytest|nose2?|tox|coverage)(?:-.*)?")
"""Names of distributions in Python that change how tests run wherever they are installed."""
_CODE = (re.compile(r"\{…\}"), re.compile(r"\$\((?!\w+\))|[@%]\("))
"""What is no literal: what a formatted string computes, and, in C#, functions and lists of MSBuild."""
_HIDING = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[|\]\]>", re.DOTALL)
"""What MSBuild leaves out of the text of an element."""
_STEERING = re.compile(
    r"AdditionalProperties|Properties|Targets|SetConfiguration|SetPlatform|SetTargetFramework|UndefineProperties"
    r"|GlobalPropertiesToRemove",
    re.IGNORECASE,
)
"""Metadata by which a reference between projects says how the other project is built."""
_ELEMENT = re.compile(r"<\s*(?:[\w.-]+:)?([\w.-]+)")
_EMPTY_GROUP = re.compile(r"<ItemGroup[^>]*/>|<ItemGroup[^>]*></ItemGroup>")


class ExecutedFiles(Record):
    """Contents by path; None: the file is removed."""

    contents: dict[str, bytes | None]
    taken_back: tuple[str, ...] = ()
    """Files in which changes of something else than declarations were not executed."""


def executed_files(problem: InstanceProblem, edited: Edited) -> ExecutedFiles:
    """Return the build files to execute. Raises `SubmissionError` for one that is refused."""
    contents: dict[str, bytes | None] = {}
    taken_back = []
    wanted = original(problem)
    usual = _usual(problem, wanted)
    for path in problem.instance.build_files:
        masked, data, whole = problem.read(path), edited.read(path), wanted(path)
        if data == whole:
            contents[path] = whole
        elif data == masked or path in edited.broken:
            contents[path] = masked
        else:
            contents[path], changed = _declarations_only(path, masked, data, whole, usual)
            if changed:
                taken_back.append(path)
    return ExecutedFiles(contents=contents, taken_back=tuple(taken_back))


class _Usual(NamedTuple):
    """What the original and the masked repository declare in any of their build files."""

    names: frozenset[str]
    own: frozenset[str]
    """Names under which code finds a registry's package of the very name."""
    others: frozenset[tuple[str, ...]]
    """What code finds under another name, or what comes from elsewhere."""


def _usual(problem: InstanceProblem, wanted: Read) -> _Usual:
    found: list[Dependency] = []
    for path in problem.instance.build_files:
        known = manifest_format(path)
        texts = (wanted(path), problem.read(path))
        manifests = [_readable(known, text, path) for text in texts] if known else []
        found += [item for manifest in manifests if manifest for item in manifest.dependencies]
    own = frozenset(item.name for item in found if _other(item) is None)
    others = frozenset(other for item in found if (other := _other(item)) is not None)
    return _Usual(frozenset(item.normalised for item in found), own, others)


def _other(item: Dependency) -> tuple[str, ...] | None:
    """Return what code finds under a name that is not a registry's package of that name; None where it is."""
    if item.language == "javascript" and item.kind is DependencyKind.OVERRIDE:
        targets = tuple(text for text in _values(item) if _is_elsewhere(text))
        return (item.name, *targets) if targets else None
    if item.source is DependencySource.REGISTRY and item.alias in ("", item.name):
        return None
    return item.alias or item.name, item.source, item.normalised


def _values(item: Dependency) -> Iterator[str]:
    """Yield what an override of JavaScript puts in the place of packages."""
    yield item.constraint
    for name, value in item.details:
        if name == "value":
            yield from _leaves(json.loads(value))
        elif name == "lines":
            yield from (word for word in value.split() if not word.endswith(":"))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value


def _is_elsewhere(text: str) -> bool:
    found = parse_specifier("", text)
    return bool(found.alias or found.name) or found.source is not DependencySource.REGISTRY


def _is_intruding(item: Dependency, usual: _Usual) -> bool:
    """Whether a declaration changes how tests run by what the repository does without.

    `pytest-vw` makes failing tests pass wherever the variable CI is set, and nothing but installing it is needed.
    `"tape": "npm:lodash.noop"` is a function that runs no test, and a folder of the repository may be one, too.
    """
    if item.language == "python":
        return _RUNNERS.fullmatch(item.normalised) is not None and item.normalised not in usual.names
    other = _other(item)
    if other is None or other in usual.others:
        return False
    return other[0] in usual.own or item.kind is DependencyKind.OVERRIDE


def _declarations_only(
    path: str, masked: bytes | None, data: bytes | None, whole: bytes | None, usual: _Usual
) -> tuple[bytes | None, bool]:
    """Return the masked file with what *data* declares, and whether that is less than all that *data* says."""
    known = manifest_format(path)
    if known is None or masked is None or data is None:
        return masked, True
    with reading_submission(path):
        try:
            present = known.read(data, path)
        except ManifestError as error:
            raise SubmissionError(f"{error}; it is not executed") from error
        ours = {text: manifest for text in (masked, whole) if (manifest := _readable(known, text, path))}
        _refuse_code(path, present, tuple(ours.values()))
        _refuse_many(path, present, tuple(ours.values()))
        declared = [item for item in present.dependencies if not _is_intruding(item, usual)]
        if masked not in ours:  # masking left no manifest, so the original's declarations are replaced
            complete = whole is not None and whole in ours and ours[whole].complete
            return (known.write(whole, declared, path) if whole and complete else masked), True
        # What is left of both files without declarations is compared: where it differs, the submission changed
        # more.
        written, complete = _written(known, masked, declared, path)
        complete = complete and len(declared) == len(present.dependencies)
        return written, not complete or _skeleton(known, masked, path) != _skeleton(known, data, path)


def _readable(known: ManifestFormat, data: bytes | None, path: str) -> Manifest | None:
    """Return what a file of ours declares, or None where that is not known."""
    try:
        return None if data is None else known.read(data, path)
    except ManifestError:
        return None


def _refuse_code(path: str, present: Manifest, ours: Sequence[Manifest]) -> None:
    """Raise `SubmissionError` when a value is computed, or would be read as more than a value.

    What the masked or the original file has as well is the repository's own.
    """
    known = {(note.kind, note.group, note.message) for one in ours for note in one.notes}
    for note in present.notes:
        if note.topic == "cannot-say" and (note.kind, note.group, note.message) not in known:
            raise SubmissionError(f"{path}: {note.message}; only literal values are executed")
    usual = {text for one in ours for item in one.dependencies for text in _texts(item)}
    for item in present.dependencies:
        for text in _texts(item):
            code = _CODE[item.language == "csharp"].search(text)
            if code and text not in usual:
                raise SubmissionError(f"{path}: {text[:80]!r} is computed; only literal values are executed")
            if not (" ".join(text.split()) if item.language == "csharp" else text).isprintable():
                raise SubmissionError(f"{path}: {text[:80]!r} has a control character; write it plainly")
    steering = {detail for one in ours for item in one.dependencies for detail in _steering(item)}
    for item in present.dependencies:
        for name, value in _steering(item):
            if (name, value) not in steering:
                raise SubmissionError(
                    f"{path}: {name} of {item.name} says how another project is built; write the reference alone"
                )


def _steering(item: Dependency) -> Iterator[tuple[str, str]]:
    """Yield what a reference between C# projects says of how the other one is built."""
    if item.source is DependencySource.PROJECT:
        for name, value in item.details:
            names = _ELEMENT.findall(value) if name == "metadata" else [name]
            yield from ((one, value) for one in names if _STEERING.fullmatch(one))


def _refuse_many(path: str, present: Manifest, ours: Sequence[Manifest]) -> None:
    """Raise `SubmissionError` for more than can be written soon."""
    groups, known = _groups(present), max(map(_groups, ours), default=0)
    refuse_excess(path, "groups of dependencies", groups, _USUAL_GROUPS, known)
    most = max((len(one.dependencies) for one in ours), default=0)
    refuse_excess(path, "dependencies", len(present.dependencies), USUAL, most)


def _groups(manifest: Manifest) -> int:
    return len({(item.kind, item.group, item.marker) for item in manifest.dependencies})


def _texts(item: Dependency) -> tuple[str, ...]:
    """Return all that a declaration writes; XML that is written as it stands also as MSBuild reads it."""
    details = [part for detail in item.details for part in detail]
    details += [html.unescape(_HIDING.sub("", value)) for name, value in item.details if name == "metadata"]
    named = (item.name, item.constraint, item.marker, item.group, item.origin, item.alias)
    return (*named, *item.extras, *details)


def _written(
    known: ManifestFormat, masked: bytes, dependencies: Sequence[Dependency], path: str
) -> tuple[bytes, bool]:
    """Return *masked* with *dependencies*, and whether it has a place for all of them."""
    try:
        return known.write(masked, dependencies, path), True
    except ManifestError:
        written = masked
    for kind in DependencyKind:
        with contextlib.suppress(ManifestError):
            written = known.write(written, dependencies, path, kinds={kind})
    return written, False


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
