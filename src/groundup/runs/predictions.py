"""Submissions that somebody already has: a folder of repositories, packed ones, or a JSONL file.

Owns the layouts and the rules where one could be read in two ways; docs/guide-evaluate.md has them.
What is unreadable, the whole or one prediction, is a `UsageError` before anything runs; what is wrong with a
tree that can be read is that attempt's `SubmissionError`, and the others go on.
"""

import difflib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.names import printable, unknown
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.runs.submissions import SubmissionSource
from groundup.store.attempts import AttemptFolder
from groundup.store.folder import RunFolder
from groundup.store.records import GivenSubmissions
from groundup.suites.base import PATCH_FILE
from groundup.trees.archives import ARCHIVES, DamagedArchiveError, extract_archive, refuse_damaged
from groundup.trees.digest import tree_digest, untrusted_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import open_regular, read_regular
from groundup.trees.writer import TakenIn, TreeLimits, TreeWriter, copy_tree, in_thread, named_dropped

PROJECT_FILES = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "package.json",
    "Cargo.toml",
    "pom.xml",
    "build.gradle",
    "go.mod",
    "start.sh",
)
"""A folder that holds one of these is a repository rather than a folder of repositories."""
_UNREADABLE = "change its mode, or take it away"
_OF_RUNS = "`groundup regrade RUN` grades it again, and `groundup export RUN FOLDER` writes predictions"
_INDEX = re.compile(r"0|[1-9][0-9]{0,2}")
_ATTEMPT = re.compile(r"(?:run|attempt|try|trial|rep|repeat|sample|seed|k)[-_ ]?\d+", re.IGNORECASE)
_UNREAD = re.compile(r".*\.(?:rar|7z|zipx|ace|arj|cab|lz|lzma|lz4|gz|bz2|xz|zst|iso|dmg|tar\.\w+)", re.IGNORECASE)
"""Archives of kinds that are not read, and those that are, under another name than `submission`."""
_DOCUMENT = re.compile(r"(?:readme|licen[cs]e|notice|copying)(?:\..*)?|.*\.(?:md|rst|txt|pdf)", re.IGNORECASE)
"""What lies beside an archive and is no submission by itself."""
_POINTER, _POINTER_BYTES = b"version https://git-lfs.github.com/spec/", 1024
_BESIDE = frozenset(
    {
        "__macosx",
        "__pycache__",
        "cache",
        "log",
        "logs",
        "output",
        "outputs",
        "report",
        "reports",
        "result",
        "results",
    }
)
"""Folders that tools leave beside predictions, however near their names are to a task's."""
_LINE_BYTES = 16 * 1024 * 1024
_A_LINE_EACH = "write one object on each line, with `instance_id` and `path` (docs/guide-evaluate.md)"
_PATCHES = (".diff", ".patch")


class FoundPrediction(NamedTuple):
    """One prediction: where it lies (links resolved), or why it cannot be used."""

    name: str
    """As the user knows it: relative to what was given."""
    place: Path | None = None
    refusal: str | None = None
    model_name: str | None = None
    patch: bytes | None = None
    """A diff from a line of JSON; there is no place then."""


class PredictionLayout(NamedTuple):
    """What a suite allows besides `<predictions>/<task>/` with a tree in it."""

    groups: tuple[str, ...] = ()
    """Folders that may stand between: `<predictions>/<group>/<task>/`."""
    patches: bool = False
    """Whether diffs can be handed in: `<task>/patch.diff` (nothing else counts then), `model_patch` in a line."""

    @property
    def packed(self) -> tuple[str, ...]:
        """Endings of files that are a whole submission."""
        return (*ARCHIVES, *_PATCHES) if self.patches else ARCHIVES


class GivenSource(SubmissionSource):
    """What `open_predictions` found."""

    def __init__(
        self,
        spec: GivenSubmissions,
        found: Mapping[AttemptKey, FoundPrediction],
        limits: TreeLimits,
        strays: Sequence[str] = (),
    ) -> None:
        self.strays = tuple(strays)
        """Folders beside the predictions that have no task's name."""
        self._spec = spec
        self._found = found
        self._limits = limits

    @override
    def attempts(self) -> int:
        """Return the highest index, plus one."""
        return max(key.index for key in self._found) + 1

    @override
    def identity(self, attempts: Collection[AttemptKey]) -> Mapping[str, str]:
        """Return a digest for each prediction. Raises `UsageError` with the first unreadable one."""
        digests: dict[str, str] = {}
        wrong: list[str] = []
        for key in sorted(self._found.keys() & attempts, key=str):
            try:
                digests[str(key)] = self._digest(self._found[key])
            except UsageError as error:
                wrong.append(f"{self._spec.path}: {error}")
        if wrong:
            more = f" ({len(wrong) - 1} more cannot be used)" if len(wrong) > 1 else ""
            raise UsageError(wrong[0] + more)
        return digests

    @override
    def holds(self, attempt: AttemptKey) -> bool:
        """Whether there is a prediction, usable or not."""
        return attempt in self._found

    @override
    async def take_in(
        self, task: Task, attempt: AttemptKey, destination: Path, context: GradingContext
    ) -> Submission:
        """Copy or unpack the prediction into *destination*."""
        found = self._found[attempt]
        taken = await in_thread(_take, found, destination, self._limits)
        tree = await in_thread(tree_digest, destination)
        return Submission(
            kind="patch" if _is_patch(found) else "tree",
            **tree._asdict(),
            provenance=Provenance(
                source=self._spec.source,
                agent_name=self._spec.agent_name,
                model_name=self._spec.model_name or found.model_name,
                path=found.name,
            ),
            dropped=named_dropped(taken),
        )

    def _digest(self, found: FoundPrediction) -> str:
        if found.patch is not None:
            return digest_bytes(found.patch)
        if found.place is None or found.refusal:
            raise UsageError(found.refusal or "it cannot be used")
        try:
            if found.place.is_dir():
                _refuse_pointers(found.place)
                return untrusted_digest(found.place, self._limits)
            if not _is_patch(found):
                refuse_damaged(found.place, self._limits)
            with open_regular(found.place) as file:
                return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        except (UsageError, DamagedArchiveError) as error:
            raise UsageError(f"{found.name}: {error}") from error
        except OSError as error:
            raise UsageError(f"{found.name} cannot be read: {error.strerror}; {_UNREADABLE}") from error


def open_predictions(
    spec: GivenSubmissions,
    tasks: Sequence[str],
    limits: TreeLimits | None = None,
    *,
    layout: PredictionLayout | None = None,
) -> GivenSource:
    """Find the predictions that *spec* names. *tasks* are all ids of the suite, not only the run's.

    Raises `UsageError` when the whole cannot be read, names no task, or a line names an unknown one. Folders of
    other names are left alone, but for a name that is nearly a task's, and where *spec* is strict.
    """
    path, strays = Path(spec.path), list[str]()
    layout = layout or PredictionLayout()
    if spec.task is not None and spec.task not in tasks:
        raise UsageError(unknown("task", spec.task, tasks))
    try:
        if path.is_dir() and RunFolder(path).was_run():
            raise UsageError(f"{path} is a run; {_OF_RUNS}")
        if spec.task is not None:
            _refuse_other_predictions(path, spec.task, tasks)
            found = dict(_of_one_task(path, spec.task, tasks, layout))
        elif path.is_dir():
            _refuse_one_repository(path, tasks, layout)
            found = dict(_of_folder(path, tasks, layout, strays))
            if strays and (spec.strict_names or not found):
                raise UsageError(_no_task(path, strays[0], tasks))
        elif path.is_file():
            if spec.model_name is None:
                model_named_in(path)  # refuses several
            found = dict(_of_lines(path, tasks, layout))
        else:
            raise UsageError(f"{path}: no such predictions; give a folder or a JSONL file with -p{_fetched(path)}")
    except OSError as error:
        said = f"{error.filename or path} cannot be read: {error.strerror or error}"
        raise UsageError(f"{said}; {_UNREADABLE}") from error
    if not found:
        wanted = (
            "lines with `instance_id` and `path`" if path.is_file() else f"{path}/<task>/ with a repository in it"
        )
        raise UsageError(f"{path} holds no predictions; expected {wanted}")
    if len(found) > 1 and all(_is_empty(one) for one in found.values()):
        raise UsageError(f"all {len(found)} folders of {path} are empty: nothing was handed in")
    if all(key.index > 0 for key in found):
        raise UsageError(f"{path}: attempts count from 0, and no task has an attempt 0; rename the folders")
    return GivenSource(spec, found, limits or TreeLimits(), strays)


def _fetched(path: Path) -> str:
    return "; fetch what lies at an address first, such as by `git clone`" if ":/" in str(path) else ""


def _is_empty(found: FoundPrediction) -> bool:
    return found.place is not None and found.place.is_dir() and not any(found.place.iterdir())


ABLATION_FILE = "ablation.json"
"""Beside predictions that `groundup ablate` wrote."""


class AblationRecord(Record):
    """Whose submissions predictions were, and what was taken out of them."""

    ablation: str
    run: str
    agent: str
    model: str | None = None


def ablated_as(path: Path) -> AblationRecord | None:
    """Return what `groundup ablate` says of the predictions in *path*; None where it did not write them."""
    file = path / ABLATION_FILE
    if not file.is_file():
        return None
    try:
        return AblationRecord.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{file} is not what `groundup ablate` wrote; remove it, or ablate again") from error


def model_named_in(path: Path) -> str | None:
    """Return the `model_name_or_path` of a JSONL file's lines; None for anything else.

    Raises `UsageError` for several: attempts of two models are no attempts of one.
    """
    if not path.is_file() or path.name.endswith(ARCHIVES):
        return None
    found: str | None = None
    for number, line in _lines(path):
        if line.model_name_or_path and line.model_name_or_path != (found := found or line.model_name_or_path):
            raise UsageError(
                f"{path}, line {number}: a second model ({found}, {line.model_name_or_path}); make one file and "
                "one run for each, or name one for all with --model-name"
            )
    return found


def is_one_submission(path: Path) -> bool:
    """Whether *path* is a repository or an archive, rather than predictions for several tasks."""
    return path.name.endswith(ARCHIVES) or project_file(path) is not None


def project_file(folder: Path) -> str | None:
    """Return the file that tells that *folder* is one repository; None where it is not."""
    return next((name for name in PROJECT_FILES if (folder / name).is_file()), None)


def _refuse_one_repository(path: Path, tasks: Sequence[str], layout: PredictionLayout) -> None:
    """Raise `UsageError` for one repository: a package in it may have the name of a task."""
    telling = project_file(path)
    inside = {entry.name for entry in path.iterdir() if entry.is_dir()}
    named = inside.intersection(tasks)
    if telling is None or len(named) > 1 or inside.intersection(layout.groups):
        return
    near = difflib.get_close_matches(path.resolve().name, tasks, n=1, cutoff=0.6) or sorted(named)
    which = f", such as --task {near[0]}" if near else " with --task"
    raise UsageError(f"{path} holds {telling}, so it is one repository; say which task it is for{which}")


def _refuse_other_predictions(path: Path, task: str, tasks: Sequence[str]) -> None:
    """Raise `UsageError` for a folder with nothing of *task*: what is not there would be graded as a zero."""
    entries = {entry.name for entry in path.iterdir()} if path.is_dir() else {task}
    if not entries:
        raise UsageError(f"{path} is empty; give the folder that holds the repository")
    others = sorted(one for one in entries.intersection(tasks) if _holds_predictions(path, one))
    if others and task not in entries:
        raise UsageError(
            f"{path} holds predictions for {', '.join(others)} and none for {task}; name one of these"
        )


def _refuse_packed_predictions(path: Path, tasks: Sequence[str]) -> None:
    """Raise `UsageError` for an archive of predictions for several tasks; one that is damaged is told of later."""
    if not path.name.endswith(ARCHIVES):
        return
    with scratch_folder("archive") as place, suppress(SubmissionError):
        extract_archive(path, place / "tree")
        entries = list((place / "tree").iterdir())
        if len(entries) == 1 and entries[0].is_dir() and entries[0].name not in tasks:
            entries = list(entries[0].iterdir())
        named = sorted(entry.name for entry in entries if entry.name in tasks and entry.is_dir())
        if len(named) > 1:
            raise UsageError(
                f"{path} holds predictions for {len(named)} tasks, such as {named[0]}; unpack it, and give the "
                "folder with -p"
            )


def _of_one_task(
    path: Path, task: str, tasks: Sequence[str], layout: PredictionLayout
) -> Iterator[tuple[AttemptKey, FoundPrediction]]:
    """Treat *path* as `<predictions>/<task>`, which may be an archive or a link, or take that folder out of it."""
    if not path.exists():
        raise UsageError(f"{path}: no such folder or archive; give one with -p{_fetched(path)}")
    place = path.resolve()
    if place.is_dir() and _holds_predictions(place, task):
        yield from _of_task_entry(place, place / task, task, layout)
    elif place.is_dir():
        yield from _attempts(place, task, place, path.name, layout)
    elif path.name.endswith(layout.packed) and place.is_file():
        _refuse_packed_predictions(path, tasks)
        yield AttemptKey(task=task), FoundPrediction(path.name, place)
    else:
        raise UsageError(f"{path} is neither a folder nor an archive ({', '.join(ARCHIVES)})")


def _holds_predictions(folder: Path, task: str) -> bool:
    """Whether *folder* is no repository, and what is called *task* in it is one rather than a package."""
    inner = folder / task
    if project_file(folder) is not None or any(folder.glob("*.py")) or not inner.is_dir():
        return False
    if project_file(inner) is not None:
        return True
    return not any(inner.glob("*.py")) or any((inner / name).exists() for name in (task, f"{task}.py", "tests"))


def _of_folder(
    path: Path, tasks: Sequence[str], layout: PredictionLayout, strays: list[str]
) -> Iterator[tuple[AttemptKey, FoundPrediction]]:
    """Yield what lies there, and add to *strays* the folders that have no task's name, nor one that is near."""
    root = path.resolve()
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name in tasks:
            yield from _of_task_entry(root, entry, name, layout)
        elif name.startswith("."):
            continue
        elif name in layout.groups and entry.is_dir():
            yield from _of_folder(entry, tasks, PredictionLayout(patches=layout.patches), strays)
        elif name.endswith(ARCHIVES):
            task = without_ending(name)
            hint = task if task in tasks else "<task>"
            ending = name[len(task) :]
            raise UsageError(f"{printable(name)} in {path}: put it at {hint}/submission{ending}")
        elif entry.is_dir() or entry.is_symlink():
            inner = next((task for task in tasks if entry.is_dir() and (entry / task).is_dir()), None)
            if inner or _is_near(name, tasks) or project_file(entry):
                raise UsageError(_no_task(path, name, tasks, inner))
            strays.append(name)


def _is_near(name: str, tasks: Sequence[str]) -> bool:
    """Whether *name* is a task's, but for a slip."""
    typed, known = name.casefold(), [task.casefold() for task in tasks]
    is_swapped = sorted(typed) in map(sorted, known)
    return typed not in _BESIDE and (is_swapped or bool(difflib.get_close_matches(typed, known, 1, 0.75)))


def _no_task(path: Path, name: str, tasks: Sequence[str], inner: str | None = None) -> str:
    deeper = f"; if {printable(name)}/{inner} is one, give -p {path / name}" if inner else ""
    return (
        f"{path}: {unknown('task', printable(name), tasks)} "
        f"(if the folder is itself one repository, name its task with --task{deeper})"
    )


def _of_task_entry(
    root: Path, entry: Path, task: str, layout: PredictionLayout
) -> Iterator[tuple[AttemptKey, FoundPrediction]]:
    found = _resolved(root, entry, task)
    if found.place is not None and found.place.is_dir():
        try:
            yield from list(_attempts(root, task, found.place, task, layout))
        except OSError as error:
            name = os.path.relpath(error.filename, root) if error.filename else task
            refusal = f"{name} cannot be read: {error.strerror}; {_UNREADABLE}"
            yield AttemptKey(task=task), FoundPrediction(task, refusal=refusal)
    elif found.place is not None:
        refusal = f"{task} is a file; a prediction is a folder {task}/ or an archive {task}/submission.tar.gz"
        yield AttemptKey(task=task), FoundPrediction(task, refusal=refusal)
    else:
        yield AttemptKey(task=task), found


def _attempts(
    root: Path, task: str, folder: Path, name: str, layout: PredictionLayout
) -> Iterator[tuple[AttemptKey, FoundPrediction]]:
    """Yield `<index>/` folders when there is nothing else, otherwise the folder itself."""
    entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(".")]
    if entries and all(_ATTEMPT.fullmatch(entry.name) and entry.is_dir() for entry in entries):
        refusal = (
            f"{name} holds {', '.join(entry.name for entry in entries[:3])}, which look like attempts; call them "
            "0, 1, 2 and so on, or move the repository up"
        )
        yield AttemptKey(task=task), FoundPrediction(name, refusal=refusal)
    elif entries and all(_INDEX.fullmatch(entry.name) and not _is_plain_file(entry) for entry in entries):
        for entry in entries:
            inner = f"{name}/{entry.name}"
            found = _resolved(root, entry, inner)
            if found.place is not None and found.place.is_dir():
                found = _packed_or_tree(root, found.place, inner, layout)
            yield AttemptKey(task=task, index=int(entry.name)), found
    else:
        yield AttemptKey(task=task), _packed_or_tree(root, folder, name, layout)


def _packed_or_tree(root: Path, folder: Path, name: str, layout: PredictionLayout) -> FoundPrediction:
    """Return `submission.<archive>` in *folder* when there is one, otherwise the folder, or the diff in it."""
    if layout.patches and os.path.lexists(folder / PATCH_FILE):
        return _resolved(root, folder / PATCH_FILE, f"{name}/{PATCH_FILE}")
    packed = [folder / f"submission{ending}" for ending in ARCHIVES]
    packed = [path for path in packed if os.path.lexists(path)]
    if len(packed) > 1:
        both = " and ".join(path.name for path in packed)
        return FoundPrediction(name, refusal=f"{name} holds {both}; leave one of them")
    if packed:
        return _resolved(root, packed[0], f"{name}/{packed[0].name}")
    if AttemptFolder(folder).made() is not None:  # with records around it, which would be graded as a repository
        return FoundPrediction(name, refusal=f"{name} is an attempt of a run; {_OF_RUNS}")
    visible = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    if len(visible) == 1 and visible[0].is_dir() and (telling := project_file(visible[0])):
        inner = f"{name}/{visible[0].name}"
        refusal = f"{name} holds only the folder {inner}, which has the {telling}; move what is in it up to {name}"
        return FoundPrediction(name, refusal=refusal)
    return FoundPrediction(name, folder, refusal=_why_none(folder, visible, name, layout))


def _why_none(folder: Path, visible: Sequence[Path], name: str, layout: PredictionLayout) -> str | None:
    """Say why what lies in *folder* can be nobody's submission; None: it can be, be it empty."""
    if not visible:
        hidden = sorted(entry.name for entry in folder.iterdir())
        if not hidden:
            return None
        return f"{name} holds only {', '.join(hidden[:3])}; check the repository out again, or empty the folder"
    telling = [entry for entry in visible if not (_is_plain_file(entry) and _DOCUMENT.fullmatch(entry.name))]
    if len(telling) == 1 and _is_plain_file(telling[0]):
        file, beside = telling[0].name, " and documents" if len(visible) > 1 else ""
        if file.endswith(ARCHIVES):
            ending = file[len(without_ending(file)) :]
            return f"{name} holds only {file}{beside}; call it submission{ending}, or unpack it there"
        if file.endswith(layout.packed):
            return f"{name} holds only {file}{beside}; call it {PATCH_FILE}"
        if _UNREAD.fullmatch(file):
            return f"{name} holds only {file}{beside}, an archive that is not read here; unpack it there"
    return None


def _refuse_pointers(folder: Path) -> None:
    """Raise `UsageError` where most files are pointers, which Git LFS leaves for what it did not fetch."""
    pointers = files = 0
    for root, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for path in (Path(root, one) for one in names if not one.startswith(".")):
            if _is_plain_file(path):
                files += 1
                pointers += path.lstat().st_size < _POINTER_BYTES and read_regular(path).startswith(_POINTER)
    if pointers and 2 * pointers >= files:
        raise UsageError(f"{pointers} of its {files} files are pointers of Git LFS; run `git lfs pull` there")


def _resolved(root: Path, path: Path, name: str) -> FoundPrediction:
    """Follow links as long as they stay below *root*, and refuse what is neither folder nor file."""
    try:
        place = path.resolve(strict=True)
    except FileNotFoundError:
        what = "is a link to nothing" if path.is_symlink() else "is not there"
        return FoundPrediction(name, refusal=f"{name} {what}; put the repository there")
    except (OSError, RuntimeError) as error:
        is_circle = getattr(error, "errno", errno.ELOOP) == errno.ELOOP
        what = "is a link in a circle" if is_circle else f"cannot be there: {error}"[:200]
        return FoundPrediction(name, refusal=f"{name[:200]} {what}; put the repository there")
    if not place.is_relative_to(root):
        return FoundPrediction(
            name, refusal=f"{name} is a link that leads out of the predictions; put a copy there"
        )
    mode = place.stat().st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        return FoundPrediction(name, refusal=f"{name} is neither a folder nor a file; a prediction is a folder")
    if not os.access(place, os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0)):
        return FoundPrediction(
            name, refusal=f"{name} cannot be read: permission denied; change its mode, or take it away"
        )
    return FoundPrediction(name, place)


def _is_plain_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


class _Line(BaseModel):
    """One line of a JSONL file, as far as it matters here; other fields are other tools'."""

    instance_id: str
    model_name_or_path: str | None = None
    path: str | None = None
    model_patch: str | None = None


def _of_lines(
    path: Path, tasks: Sequence[str], layout: PredictionLayout
) -> Iterator[tuple[AttemptKey, FoundPrediction]]:
    if path.name.endswith(ARCHIVES):
        _refuse_packed_predictions(path, tasks)
        raise UsageError(f"{path} is one archive; name its task with --task")
    root = path.resolve().parent
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        place = f"{path}, line {number}"
        if line.instance_id not in tasks:
            raise UsageError(f"{place}: {unknown('task', printable(line.instance_id), tasks)}")
        if line.model_patch and not line.path and not layout.patches:
            raise UsageError(f"{place}: this suite takes whole repositories, not a model_patch; give a path")
        index = seen[line.instance_id] = seen.get(line.instance_id, -1) + 1
        if line.path:  # an empty one: nothing was handed in, which the index records
            key = AttemptKey(task=line.instance_id, index=index)
            yield key, _of_line(root, line.path, line.model_name_or_path, layout)
        elif line.model_patch is not None and layout.patches:
            data = line.model_patch.encode(errors="surrogatepass")
            yield (
                AttemptKey(task=line.instance_id, index=index),
                FoundPrediction(f"{path.name}, line {number}", model_name=line.model_name_or_path, patch=data),
            )
    if not seen:
        raise UsageError(f"{path} holds no predictions; {_A_LINE_EACH}")


def _of_line(root: Path, given: str, model: str | None, layout: PredictionLayout) -> FoundPrediction:
    """Resolve a line's path: a relative one must stay in the file's folder, an absolute one is the user's word."""
    name = printable(given)
    path = Path(given)
    if not _is_a_path(given):
        return FoundPrediction(name, refusal=f"{name} is no path; mend its line")
    found = _resolved(Path("/") if path.is_absolute() else root, root / path, name)
    if found.place is not None and found.place.is_dir():
        found = _packed_or_tree(found.place, found.place, name, layout)
    elif found.place is not None and not path.name.endswith(layout.packed):
        found = FoundPrediction(name, refusal=f"{name} is a file; a prediction is a folder or an archive")
    return FoundPrediction(found.name, found.place, found.refusal, model)


def _is_a_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def without_ending(name: str) -> str:
    """Return the name of an archive without what says so."""
    return next((name.removesuffix(ending) for ending in ARCHIVES if name.endswith(ending)), name)


def _lines(path: Path) -> Iterator[tuple[int, _Line]]:
    with open_regular(path) as file:
        for number in range(1, 10_000_000):
            data = file.readline(_LINE_BYTES + 1)
            if not data:
                return
            if len(data) > _LINE_BYTES:
                raise UsageError(f"{path}, line {number} is longer than 16 MiB; is this a JSONL file?")
            if data.strip():
                yield number, _parsed(data, f"{path}, line {number}")


def _parsed(data: bytes, place: str) -> _Line:
    try:
        document = json.loads(data.decode("utf-8-sig").rstrip())
        if isinstance(document, list):
            raise UsageError(f"{place}: a list; {_A_LINE_EACH}")
        return _Line.model_validate(document)
    except UnicodeDecodeError as error:
        raise UsageError(f"{place}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{place}: not JSON: {error.msg} (column {error.colno}); {_A_LINE_EACH}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise UsageError(f"{place}: {field}: {plainly(first)}; {_A_LINE_EACH}") from error
    except (ValueError, RecursionError) as error:  # numbers too long and lists too deep for Python
        raise UsageError(
            f"{place}: not JSON that can be read: {str(error).partition(';')[0]}; mend that line"
        ) from error


def _is_patch(found: FoundPrediction) -> bool:
    if found.patch is not None:
        return True
    return found.place is not None and found.place.name.endswith(_PATCHES) and found.place.is_file()


def _take(found: FoundPrediction, destination: Path, limits: TreeLimits) -> TakenIn:
    place = found.place
    if found.patch is not None or _is_patch(found):
        data = found.patch if place is None else _patch_bytes(place)
        with TreeWriter(destination, limits) as writer:
            writer.file((PATCH_FILE,), [data or b""], executable=False, size=len(data or b""))
            return writer.finish()
    assert place is not None
    if place.is_dir():
        return copy_tree(place, destination, limits)
    return extract_archive(place, destination, limits)


def _patch_bytes(place: Path) -> bytes:
    try:
        return read_regular(place, _LINE_BYTES)
    except OSError as error:
        raise SubmissionError(f"{place.name} cannot be read: {error.strerror}") from error
