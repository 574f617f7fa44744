"""What one submission says of one problem: the build files before and after, and what they declare.

A submission is a tree that is laid over the masked repository: a file in it stands in the place of the masked one.
A tree that holds nothing but `patch.diff` is a unified diff against the masked repository. Only build files count;
other files are reported and not looked at.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from groundup.domain.errors import SubmissionError, TaskError
from groundup.languages.formats import FORMATS, files_of, format_of
from groundup.manifests.records import Dependency, Manifest, ManifestError, Note
from groundup.manifests.sections import ManifestFormat
from groundup.suites.base import PATCH_FILE
from groundup.suites.dibench.central import CentralDefinitions, Definition, definition_of
from groundup.suites.dibench.dataset import InstanceProblem, Read
from groundup.suites.dibench.declarations import exact_key
from groundup.suites.dibench.metrics import FileAnswer, InstanceAnswer
from groundup.suites.dibench.patches import FilePatch, PatchError, apply_to_file, parse_patch
from groundup.trees.walking import read_regular

_LARGEST = 2 * 1024 * 1024
_TOO_LARGE = "is larger than any manifest (2 MiB)"
_REQUIREMENTS = "requirements.txt"
USUAL = 1000
"""Declarations of one file, more than any has that people wrote."""


@dataclass
class Edited:
    """A masked repository with edits laid over it."""

    read: Read
    broken: dict[str, str] = field(default_factory=dict)
    """Build files whose edit could not be made, with the reason."""
    ignored: int = 0
    """Files that were handed in and are no build files."""


def original(problem: InstanceProblem) -> Read:
    """Return the original's build files. Raises `TaskError` when the published patch does not fit."""
    try:
        patches = parse_patch(problem.instance.patch.encode())
        edited = _patched(problem, patches, only=None)
    except PatchError as error:
        raise TaskError(f"{problem.id}: the published patch cannot be read: {error}") from error
    if edited.broken:
        path, reason = next(iter(edited.broken.items()))
        raise TaskError(f"{problem.id}: the published patch does not fit {path}: {reason}; pull the data again")
    return edited.read


def submitted(problem: InstanceProblem, submission: Path) -> Edited:
    """Return the build files as *submission* makes them. Raises `PatchError` for a patch that is none."""
    build_files = set(problem.instance.build_files)
    handed_in = list(files_of(submission, frozenset({".git"})))
    if handed_in == [PATCH_FILE]:
        try:
            data = read_regular(submission / PATCH_FILE)
        except OSError as error:
            raise PatchError(f"{PATCH_FILE} cannot be read: {error.strerror}") from error
        return _patched(problem, parse_patch(data), only=build_files)
    laid_over = build_files & set(handed_in)
    large = [path for path in laid_over if (submission / path).stat().st_size > _LARGEST]
    return Edited(
        lambda path: (submission / path).read_bytes() if path in laid_over else problem.read(path),
        broken=dict.fromkeys(large, _TOO_LARGE),
        ignored=len(handed_in) - len(laid_over),
    )


def _patched(problem: InstanceProblem, patches: list[FilePatch], only: set[str] | None) -> Edited:
    """Apply *patches*; with *only*, those of these files."""
    changed: dict[str, bytes | None] = {}
    broken: dict[str, str] = {}
    ignored: set[str] = set()
    for patch in patches:
        path = patch.new or patch.old
        if path is None or (only is not None and path not in only):
            ignored.add(path or "binary")
            continue
        try:
            content = changed[path] if path in changed else problem.read(path)
            changed[path] = apply_to_file(patch, content)
        except PatchError as error:
            broken[path] = str(error)
        if len(changed.get(path) or b"") > _LARGEST:
            broken[path] = _TOO_LARGE
    return Edited(
        lambda path: changed[path] if path in changed else problem.read(path), broken, ignored=len(ignored)
    )


def answer(problem: InstanceProblem, edited: Edited | None) -> tuple[InstanceAnswer, dict[str, str]]:
    """Return what is compared, and why files say nothing, by path. *edited* is None where nothing was taken in.

    What the masked build file still declares is given, so it counts neither way. What is inherited from central
    definitions stands in the place of the request that inherits it. Raises `TaskError`.
    """
    wanted = original(problem)
    broken = {} if edited is None else dict(edited.broken)
    masked, whole = CentralDefinitions(problem.read), CentralDefinitions(wanted)
    handed_in = CentralDefinitions(wanted if edited is None else edited.read)
    files = []
    for path in problem.instance.build_files:
        try:
            given = masked.written_out(path, declared(path, problem.read, problem))
        except ManifestError:  # masking may leave what is no manifest by itself
            given = ()
        try:
            expected = whole.written_out(path, declared(path, wanted, problem))
        except ManifestError as error:
            raise TaskError(f"{problem.id}: the original's {error}") from error
        predicted: tuple[Dependency, ...] | None = None
        if edited is not None and path not in broken:
            try:
                said = declared(path, edited.read, problem)
                refuse_excess(path, "dependencies", len(said), USUAL, len(expected))
                predicted = handed_in.written_out(path, said)
            except (ManifestError, SubmissionError) as error:
                predicted, broken[path] = None, str(error)
        files.append(FileAnswer(path=path, expected=expected, predicted=predicted, given=given))
    inherited = whole.inherited | handed_in.inherited
    instance = problem.instance
    found = InstanceAnswer(
        id=problem.id,
        language=instance.language,
        subset=problem.subset,
        files=tuple(_added(file, inherited) for file in files),
    )
    return found, {path: why if why.startswith(path) else f"{path}: {why}" for path, why in broken.items()}


def _added(file: FileAnswer, inherited: Collection[Definition]) -> FileAnswer:
    """Return *file* without what the masked one declares, and without definitions that count with requests."""
    given = {exact_key(item) for item in file.given}

    def kept(items: tuple[Dependency, ...]) -> tuple[Dependency, ...]:
        return tuple(
            item
            for item in items
            if exact_key(item) not in given and definition_of(file.path, item) not in inherited
        )

    predicted = None if file.predicted is None else kept(file.predicted)
    return file.but(expected=kept(file.expected), predicted=predicted)


def refuse_excess(path: str, what: str, count: int, usual: int, original: int) -> None:
    """Raise `SubmissionError` for more of something than is *usual*, and than twice what the *original* has.

    Registries are asked for each name, and writing takes longer with each group: hours, for a file of 2 MiB.
    """
    most = max(usual, 2 * original)
    if count > most:
        raise SubmissionError(f"{path} declares {count} {what}, more than {most}; declare what the code needs")


def manifest_format(path: str) -> ManifestFormat | None:
    """Return the format of a build file; a text of any name counts as requirements."""
    return format_of(path) or (FORMATS[_REQUIREMENTS] if path.endswith((".txt", ".in", ".pip")) else None)


def declared(path: str, read: Read, problem: InstanceProblem) -> tuple[Dependency, ...]:
    """Return what a build file declares, referred requirements files included. Raises `ManifestError`."""
    return tuple(_declared(path, read, frozenset(problem.instance.build_files), {path}))


def _declared(path: str, read: Read, apart: frozenset[str], seen: set[str]) -> Iterator[Dependency]:
    known = manifest_format(path)
    if known is None:
        raise ManifestError(path, "is no manifest of a known format")
    data = read(path)
    if data is None:
        raise ManifestError(path, "does not exist")
    manifest: Manifest = known.read(data, path)
    yield from manifest.dependencies
    for note in manifest.notes if known.language == "python" else ():
        target = _target(note, path, read)
        if target is not None and target not in seen and target not in apart:
            seen.add(target)
            yield from _referred(note, target, read, apart, seen)


def _referred(note: Note, target: str, read: Read, apart: frozenset[str], seen: set[str]) -> Iterator[Dependency]:
    """Yield what a file of requirements declares, for what the reference says it is for."""
    data = read(target)
    assert data is not None
    manifest = FORMATS[_REQUIREMENTS].read(data, target)
    for item in manifest.dependencies:
        yield item.but(kind=note.kind, group=note.group)
    for further in manifest.notes:
        below = _target(further, target, read)
        if below is not None and below not in seen and below not in apart:
            seen.add(below)
            yield from _referred(note, below, read, apart, seen)


def _target(note: Note, path: str, read: Read) -> str | None:
    """Return the file of requirements that *note* refers to, when the repository has it."""
    if note.topic != "reference" or not note.target or "://" in note.target:
        return None
    if PurePosixPath(note.target).suffix not in (".txt", ".in", ".pip", ""):
        return None
    parts: list[str] = []
    for part in (*PurePosixPath(path).parent.parts, *PurePosixPath(note.target).parts):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    target = "/".join(parts)
    if not target or target.startswith("/") or read(target) is None:
        return None
    return target


def new_dependencies(found: InstanceAnswer) -> Mapping[str, tuple[Dependency, ...]]:
    """Return what a prediction adds, by build file."""
    return {file.path: file.predicted for file in found.files if file.predicted}
