"""A run as one archive for others, and whether what it claims can be true. Packs and opens bundles.

A bundle is a stranger's: it is unpacked under limits, and nothing in it counts that its manifest does not name by
digest. It holds neither trajectories nor logs, so no conversation with a model and no output of a host. A run
enters a leaderboard with one of the board's fixed sets of tasks, whole; what cannot be true is named before
anything is graded.
"""

import hashlib
import re
import secrets
import tarfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, TaskError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, Stage, Status, Verdict
from groundup.domain.version import __version__
from groundup.episodes.loading import find_grader
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.ownership import digest_of_file, note_made, refuse_others
from groundup.store.records import ConfigFile, LockFile, RunConfiguration, VerdictLine
from groundup.suites.base import Grader, Suite
from groundup.trees.archives import anonymous, extract_archive
from groundup.trees.digest import tree_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import read_regular
from groundup.trees.writer import TreeLimits, copy_tree, disk_errors

MANIFEST = "manifest.json"
SUFFIX = ".tar.gz"
LIMITS = TreeLimits(files=1_000_000, bytes=32 * 1024**3)
"""Of a whole bundle: many submissions, each of which was within the limits for one."""
_FILES = ("config.json", "lock.json", "verdicts.jsonl")
_FILE_BYTES = 1024**3
_PLACE = re.compile(r"(?P<kind>[\w-]+/)?/(?:.*/)?(?P<name>[^/]+)/?")
"""An absolute path, maybe behind a provider: `scripted//a/b`."""


class Disclosure(Record):
    """What the one who hands a run in says of it, besides what its configuration says."""

    contamination: str = Field(max_length=2000, description="what the model may have seen of the tasks")
    notes: str = Field(default="", max_length=2000)
    languages: tuple[str, ...] = Field(default=(), max_length=20, description="of the tasks")


class BundleManifest(Record):
    """What a bundle holds: every file and every submission by its digest."""

    format: int = Field(default=1, ge=1, le=1)
    groundup: str = Field(description="version that packed it")
    disclosure: Disclosure
    files: dict[str, str] = Field(description="SHA-256 of each file of the run, by its path in the run's folder")
    submissions: tuple[str, ...] = Field(description="digests of trees, as verdicts name them")


class Bundle:
    """An opened bundle: a run's folder without submissions, which lie beside it by digest."""

    def __init__(self, folder: Path) -> None:
        """Check what was unpacked to *folder* against its manifest. Raises `UsageError` naming what is wrong."""
        self._submissions = folder / "submissions"
        self.run = RunFolder(folder / "run")
        try:
            self.manifest = BundleManifest.model_validate_json(read_regular(folder / MANIFEST, _FILE_BYTES))
        except OSError as error:
            raise UsageError(f"this is no bundle: it has no {MANIFEST}") from error
        except ValidationError as error:
            raise UsageError(f"{MANIFEST} of the bundle is wrong: {plainly(error.errors()[0])}") from error
        self._check_files()
        self._check_submissions()

    def _check_files(self) -> None:
        found = {str(path.relative_to(self.run.path)) for path in _regular(self.run.path)}
        if found != set(self.manifest.files):
            differing = ", ".join(sorted(found ^ set(self.manifest.files))[:4])
            raise UsageError(f"the bundle's files are not those of its manifest: {differing}")
        for name, digest in self.manifest.files.items():
            if _sha256(self.run.path / name) != digest:
                raise UsageError(f"{name} of the bundle has another digest than its manifest says")

    def _check_submissions(self) -> None:
        wanted = {line.submission for line in self.run.latest().values() if line.submission}
        packed = set(self.manifest.submissions)
        if lacking := sorted(wanted - packed):
            raise UsageError(f"the bundle lacks submissions that verdicts name, such as {lacking[0]}")
        for digest in packed:
            place = self._submissions / _name(digest)
            if not place.is_dir() or tree_digest(place).digest != digest:
                raise UsageError(f"the submission {digest} of the bundle is absent or has another digest")

    def lay_out(self, keys: Collection[AttemptKey]) -> None:
        """Put the submissions of *keys* where a run's folder has them, to be graded again."""
        lines = self.run.latest()
        for key in keys:
            digest = lines[key].submission
            if digest is not None:
                copy_tree(self._submissions / _name(digest), self.run.attempt(key).submission)
            else:  # whatever record of one the bundle has
                self.run.attempt(key).submission_file.unlink(missing_ok=True)

    def give(self, timeout_s: float | None) -> None:
        """Let tests have *timeout_s* (None: what their recipes say) and no image of the run's choice."""
        config = self.run.config()
        asked = config.configuration.but(timeout_s=timeout_s)
        _write_config(self.run.config_file, config, asked)
        lock = self.run.lock().but(images={})
        write_atomically(self.run.path / "lock.json", lock.model_dump_json(indent=1).encode() + b"\n")


def pack(run: RunFolder, path: Path, disclosure: Disclosure) -> BundleManifest:
    """Write *run* as a bundle to *path*, a `.tar.gz`. Raises `UsageError` for a run that is not finished."""
    refuse_others(path)
    config, lines = run.config(), run.latest()
    pending = [key for key in config.planned.keys if key not in lines or not lines[key].settles]
    if pending:
        raise UsageError(f"{len(pending)} attempts of {config.run_id} have no verdict; `groundup resume` it first")
    files = {name: run.path / name for name in _FILES if (run.path / name).is_file()}
    trees: dict[str, Path] = {}
    for key, line in lines.items():
        attempt = run.attempt(key)
        record = attempt.record()
        if line.submission is None or record is None:
            continue
        if record.digest != line.submission or tree_digest(attempt.submission).digest != line.submission:
            raise UsageError(f"the submission of {key} was changed after its verdict; regrade the run first")
        trees[line.submission] = attempt.submission
        files[str(attempt.submission_file.relative_to(run.path))] = attempt.submission_file
    with scratch_folder("pack") as room:
        files |= _without_places(run, room)
        manifest = BundleManifest(
            groundup=__version__,
            disclosure=disclosure,
            files={name: _sha256(file) for name, file in sorted(files.items())},
            submissions=tuple(sorted(trees)),
        )
        listed = room / MANIFEST
        write_atomically(listed, manifest.model_dump_json(indent=1).encode() + b"\n")
        _write(path, listed, files, trees)
    return manifest


def _without_places(run: RunFolder, room: Path) -> dict[str, Path]:
    """Write configuration and lock of *run* to *room*, of paths here only the last name; return both."""
    made = {name: room / name for name in ("config.json", "lock.json")}
    config = run.config()
    shared = _last_names(config.configuration.model_dump(mode="json"))
    _write_config(made["config.json"], config, RunConfiguration.model_validate(shared))
    lock = LockFile.model_validate(_last_names(run.lock().model_dump(mode="json")))
    write_atomically(made["lock.json"], lock.model_dump_json(indent=1).encode() + b"\n")
    return made


def _write_config(path: Path, config: ConfigFile, configuration: RunConfiguration) -> None:
    digest = ConfigFile.digest_for(configuration, config.planned, config.pinned)
    made = config.but(configuration=configuration, digest=digest)
    write_atomically(path, made.model_dump_json(indent=1).encode() + b"\n")


def _last_names(value: JsonValue) -> JsonValue:
    """Return *value* with the last name of each absolute path."""
    if isinstance(value, dict):
        return {name: _last_names(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_last_names(one) for one in value]
    found = _PLACE.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else f"{found['kind'] or ''}{found['name']}"


def _write(path: Path, listed: Path, files: dict[str, Path], trees: dict[str, Path]) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(partial, "w:gz", format=tarfile.PAX_FORMAT) as tar:
                tar.add(listed, MANIFEST, filter=anonymous)
                for name, file in sorted(files.items()):
                    tar.add(file, f"run/{name}", filter=anonymous)
                for digest, tree in sorted(trees.items()):
                    tar.add(tree, f"submissions/{_name(digest)}", filter=anonymous)
            note_made(path, digest_of_file(partial))
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def unpack(path: Path, folder: Path) -> Bundle:
    """Unpack the bundle at *path* to the absent or empty *folder* and check it. Raises `UsageError`."""
    if not path.is_file():
        raise UsageError(f"{path} is no file; name a bundle that `groundup leaderboard pack` wrote")
    try:
        taken = extract_archive(path, folder, LIMITS)
    except SubmissionError as error:
        raise UsageError(f"{path} is no bundle: {error}") from error
    if taken.dropped:
        raise UsageError(f"{path} holds what no bundle does: {taken.dropped[0]}")
    return Bundle(folder)


def _regular(folder: Path) -> Iterator[Path]:
    """Yield what is no folder below *folder*; a link is none of a bundle's files and fails to be one."""
    yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_regular(path, _FILE_BYTES)).hexdigest()


def _name(digest: str) -> str:
    """Return a digest as the name of a folder. Raises `UsageError` for what is none, such as a path."""
    name = digest.replace(":", "-")
    if not name.replace("-", "").isalnum():
        raise UsageError(f"{digest!r} is no digest")
    return name


_ROUNDING = 1e-9
_NAMED = 3
"""So many attempts are named of those with one fault."""


class TaskSet(Record):
    """A fixed set of a suite's tasks. Runs are ranked among those of the same one."""

    name: str
    digest: str = Field(description="of suite, version, and each task's name and content")
    tasks: tuple[str, ...]


class Claims(Record):
    """What a run stands for, and why it cannot."""

    tasks: TaskSet | None = Field(description="None: the run's are no fixed set")
    faults: tuple[str, ...]


def board_sets(suite: Suite, own: Sequence[str]) -> list[TaskSet]:
    """Return the suite's fixed sets and the board's *own*: NAME=FILE with a task a line, or a group's name.

    Raises `UsageError` for what cannot be read, and for unknown tasks and groups.
    """
    every = suite.by_name()
    named = {name.partition("=")[0]: _own_set(name, suite.groups()) for name in own}
    found = []
    for name, chosen in {**suite.task_sets(), **named}.items():
        strangers = sorted(set(chosen) - every.keys())
        if strangers:
            raise UsageError(f"of the set {name}: {unknown('task', strangers[0], every)}")
        tasks = tuple(sorted(chosen))
        content = [suite.name, suite.version, *((task, every[task].graded_digest) for task in tasks)]
        found.append(TaskSet(name=name, digest=digest_of(content), tasks=tasks))
    return found


def _own_set(named: str, groups: Mapping[str, Collection[str]]) -> Collection[str]:
    name, _, file = named.partition("=")
    if not file and name in groups:
        return groups[name]
    if not file:
        raise UsageError(f"{unknown('group', name, groups)}; --set NAME=FILE reads a set from a file")
    try:
        return set(Path(file).read_text("utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--set {named}: {file} cannot be read: {error}") from error


def check_claims(run: RunFolder, suite: Suite, sets: Sequence[TaskSet]) -> Claims:
    """Hold configuration and verdicts of *run* against *suite*, of whose *sets* its tasks must be one."""
    config, lines = run.config(), run.latest()
    planned = sorted(set(config.planned.tasks))
    found = next((one for one in sets if one.tasks == tuple(planned)), None)
    faults = [*_faults_of_plan(config, lines, suite)]
    if found is None:
        known = ", ".join(f"{one.name} ({len(one.tasks)} tasks)" for one in sets)
        count = f"{len(planned)} tasks" if len(planned) != 1 else "1 task"
        faults.append(f"its {count}: no fixed set, which are {known}; --set NAME=FILE fixes one of your own")
    faults += _faults_of_verdicts(config, lines, suite)
    return Claims(tasks=found, faults=tuple(faults))


def _faults_of_plan(config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], suite: Suite) -> Iterator[str]:
    planned = config.planned
    if len(set(planned.tasks)) < len(planned.tasks) or len(planned.keys) != len(planned.tasks) * planned.attempts:
        yield "its plan does not name each task as often as the others"
    if config.digest != ConfigFile.digest_for(config.configuration, planned, config.pinned):
        yield "its configuration has another digest than it says"
    if config.pinned.get("suite") != f"{suite.name} {suite.version}":
        yield f"it was made with the suite {config.pinned.get('suite')}; here is {suite.name} {suite.version}"
    every = suite.by_name()
    others = [
        name
        for name in planned.tasks
        if name not in every or config.pinned.get(f"task {name}") not in _digests(every[name])
    ]
    if others:
        advice = f"`groundup data pull {suite.name}`, or grade the run again with this version and pack it"
        yield f"the suite here has other content for {_some(others)}: {advice}"
    keys = set(planned.keys)
    if beyond := [str(key) for key in lines if key not in keys]:
        yield f"it has verdicts on what it did not plan: {_some(beyond)}"
    if pending := [str(key) for key in planned.keys if key not in lines or not lines[key].settles]:
        yield f"it has no verdict on {_some(pending)}"


def _digests(task: Task) -> tuple[str, str]:
    return task.digest, task.graded_digest


def _faults_of_verdicts(
    config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], suite: Suite
) -> Iterator[str]:
    """Yield each kind of fault once, with attempts that have it."""
    grader = find_grader(suite, config.grader)
    tasks = suite.by_name()
    points = _Points(grader)
    attempts: dict[str, list[str]] = {}
    for key, line in sorted(lines.items(), key=lambda item: str(item[0])):
        task = tasks.get(key.task)
        if task is not None and line.verdict is not None and line.verdict.settles:
            for fault in _faults_of_verdict(line, line.verdict, points.of(task)):
                attempts.setdefault(fault, []).append(str(key))
    for fault, of in attempts.items():
        yield f"{fault}: {_some(of)}"
    judged = {
        (line.verdict.grader.name, line.verdict.grader.version)
        for line in lines.values()
        if line.verdict and line.verdict.settles
    }
    if len(judged) > 1 or any(name != config.grader for name, _ in judged):
        named = ", ".join(f"{name} {version}" for name, version in sorted(judged))
        yield f"its grader is {config.grader}, and its verdicts are of {named}"


def _faults_of_verdict(line: VerdictLine, verdict: Verdict, points: float | str | None) -> Iterator[str]:
    score = verdict.score
    if verdict.status is not Status.GRADED:
        if score is not None:
            yield "it is tampered and has a score"
        return
    if score is None:
        yield "it is graded and has no score"
        return
    if any(not _is_share(one) for one in (score, *verdict.scores.values())):
        yield "a score is no share of what could be got"
    if score.numerator and line.submission is None:
        yield "it has a score and no submission"
    if isinstance(points, str):
        yield f"how many points there are is not known here ({points})"
    elif points is not None and score.denominator != points:
        yield f"its score is of {score.denominator:g} points, and there are {points:g}"


def _is_share(score: Score) -> bool:
    """Whether a score is within what it is of; what is not a number is not."""
    if score.denominator == 0:
        return score.numerator == 0
    return score.denominator > 0 and -_ROUNDING <= score.numerator <= score.denominator * (1 + _ROUNDING)


class _Points:
    """How many points a task has: None where that depends on the submission, a sentence where it is not known."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self._known: dict[str, float | str | None] = {}

    def of(self, task: Task) -> float | str | None:
        if task.id not in self._known:
            self._known[task.id] = self._ask(task) if self._grader.fixed_points else None
        return self._known[task.id]

    def _ask(self, task: Task) -> float | str | None:
        try:
            zero = self._grader.zero(task, Reason(stage=Stage.INTAKE, message="asked for its points"))
        except TaskError as error:
            return str(error)
        return zero.verdict.score.denominator if zero.verdict.score else None


def _some(names: Sequence[str]) -> str:
    counted = Counter(names)
    more = f" and {len(counted) - _NAMED} more" if len(counted) > _NAMED else ""
    return ", ".join(list(counted)[:_NAMED]) + more
